"""Read, show and write TensorBoard logs.

The names below are all that tracklight promises. All but the light ones are imported when first
asked for, so that a training job that only logs never loads the index or the web server.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from tracklight import errors

if TYPE_CHECKING:
    from tracklight import hparams, projector, summary
    from tracklight.log import Log, Table, Values, open
    from tracklight.runs import Run, run
    from tracklight.types import Series

__version__ = "0.1.0"

__all__ = [
    "Log",
    "Run",
    "Series",
    "Table",
    "Values",
    "__version__",
    "errors",
    "hparams",
    "open",
    "projector",
    "run",
    "summary",
]

_MODULES = {"hparams", "projector", "summary"}

_HOMES = {
    "Log": "tracklight.log",
    "Run": "tracklight.runs",
    "Series": "tracklight.types",
    "Table": "tracklight.log",
    "Values": "tracklight.log",
    "open": "tracklight.log",
    "run": "tracklight.runs",
}


def __getattr__(name: str) -> object:
    if name in _MODULES:
        return importlib.import_module(f"tracklight.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'tracklight' has no attribute {name!r}")
    value: object = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
