"""Read, show and write TensorBoard logs.

The names below are all that tracklight promises. All but the light ones are imported when first
asked for, so that a training job that only logs never loads the index or the web server.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from tracklight import errors

if TYPE_CHECKING:
    from tracklight import hparams, notebook, projector, summary
    from tracklight.capture import profile
    from tracklight.log import Log, Table, Values, open
    from tracklight.runs import Audio, Histogram, Image, Run, Text, run
    from tracklight.service import Board, asgi, serve
    from tracklight.types import Series

__version__ = "0.1.0"

__all__ = [
    "Audio",
    "Board",
    "Histogram",
    "Image",
    "Log",
    "Run",
    "Series",
    "Table",
    "Text",
    "Values",
    "__version__",
    "asgi",
    "errors",
    "hparams",
    "notebook",
    "open",
    "profile",
    "projector",
    "run",
    "serve",
    "summary",
]

_MODULES = {"hparams", "notebook", "projector", "summary"}

_HOMES = {
    "Audio": "tracklight.runs",
    "Histogram": "tracklight.runs",
    "Image": "tracklight.runs",
    "Text": "tracklight.runs",
    "Board": "tracklight.service",
    "Log": "tracklight.log",
    "Run": "tracklight.runs",
    "Series": "tracklight.types",
    "Table": "tracklight.log",
    "Values": "tracklight.log",
    # What IPython calls for `%load_ext tracklight`; nobody else does.
    "load_ipython_extension": "tracklight.notebook",
    "asgi": "tracklight.service",
    "open": "tracklight.log",
    "profile": "tracklight.capture",
    "run": "tracklight.runs",
    "serve": "tracklight.service",
    "unload_ipython_extension": "tracklight.notebook",
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
