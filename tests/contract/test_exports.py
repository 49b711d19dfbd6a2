"""The public names of the package, and the cost of importing it."""

from __future__ import annotations

import subprocess
import sys
from types import ModuleType

import pytest

import tracklight

PUBLIC = {
    "Audio",
    "Board",
    "Graph",
    "HParamsTable",
    "Histogram",
    "Image",
    "Log",
    "LogChanges",
    "Run",
    "RunView",
    "Series",
    "Table",
    "Text",
    "Values",
    "WideTable",
    "__version__",
    "asgi",
    "debugger",
    "errors",
    "fairness",
    "hparams",
    "notebook",
    "open",
    "profile",
    "projector",
    "run",
    "serve",
    "summary",
    "what_if",
}

#: Modules that a program that only logs must not load.
HEAVY = ("google.protobuf", "numpy", "starlette", "tracklight.index", "uvicorn", "watchfiles")


def test_exports_exactly_the_public_names() -> None:
    assert set(tracklight.__all__) == PUBLIC
    assert dir(tracklight) == sorted(PUBLIC)


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_all_public_names_exist(name: str) -> None:
    value = getattr(tracklight, name)
    if isinstance(value, ModuleType):
        assert value.__name__ == f"tracklight.{name}"
    elif name == "__version__":
        assert value.count(".") == 2
    else:
        assert value.__name__.lower() == name.lower()
        assert value.__module__.startswith("tracklight.")


def test_unknown_name_raises_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'opne'"):
        tracklight.opne  # noqa: B018


def test_import_of_summary_avoids_slow_modules() -> None:
    slow = {"dataclasses", "inspect", "numpy", "pathlib", "tempfile", "tracklight.profiler"}
    script = (
        "import sys; before = set(sys.modules); import tracklight.summary\n"
        f"print((set(sys.modules) - before) & {slow})"
    )
    result = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "set()"


def test_import_loads_nothing_heavy() -> None:
    script = f"import sys, tracklight; print([m for m in {HEAVY} if m in sys.modules])"
    result = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "[]"
