"""The process that fuzzes: ``python -m tests.fuzz.run TARGET`` with options of libFuzzer's."""

from __future__ import annotations

import sys

import atheris

# Only what is imported in here counts as covered or not, which is what guides the fuzzer.
_READERS = ["tracklight.formats", "tracklight.analysis.graphs", "tracklight.analysis.profiles"]
with atheris.instrument_imports(include=_READERS):
    from tests.fuzz.targets import RUN

atheris.Setup([sys.argv[0], *sys.argv[2:]], RUN[sys.argv[1]])
atheris.Fuzz()
