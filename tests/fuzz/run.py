"""Fuzz one target with atheris: ``python -m tests.fuzz.run TARGET`` and options of libFuzzer."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import atheris

_PACKAGE = Path(__file__).resolve().parents[2] / "tracklight"
# Only the coverage of these packages guides the fuzzer.
_READERS = ("tracklight.formats", "tracklight.analysis.graphs", "tracklight.analysis.profiles")


def _iter_other_modules() -> Iterator[str]:
    """Yield the modules that are not instrumented, which would take ten seconds.

    Of the names to include, atheris uses only the first part, which they all have in common.
    """
    for path in _PACKAGE.rglob("*.py"):
        parts = path.relative_to(_PACKAGE.parent).with_suffix("").parts
        name = ".".join(parts).removesuffix(".__init__")
        if not any(f"{name}.".startswith(f"{reader}.") for reader in _READERS):
            yield name


with atheris.instrument_imports(include=[_PACKAGE.name], exclude=[*_iter_other_modules()]):
    from tests.fuzz.targets import RUN

atheris.Setup([sys.argv[0], *sys.argv[2:]], RUN[sys.argv[1]])
atheris.Fuzz()
