"""Fuzz one target with atheris: ``python -m tests.fuzz.run TARGET`` and options of libFuzzer."""

from __future__ import annotations

import sys

import atheris

# Only the coverage of these packages guides the fuzzer.
_READERS = ["tracklight.formats", "tracklight.analysis.graphs", "tracklight.analysis.profiles"]
with atheris.instrument_imports(include=_READERS):
    from tests.fuzz.targets import RUN

atheris.Setup([sys.argv[0], *sys.argv[2:]], RUN[sys.argv[1]])
atheris.Fuzz()
