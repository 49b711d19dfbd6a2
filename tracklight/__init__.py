"""Log, read and serve TensorBoard logs.

    run = tracklight.run("logs/first")        # log from a training loop
    log = tracklight.open("logs")             # read logs from Python
    board = tracklight.serve("logs")          # serve the dashboards

``__all__`` is the public API. Names are imported on first use, so that a training job that only
logs never loads the index or the web server.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from tracklight import errors

if TYPE_CHECKING:
    from tracklight import (
        debugger,
        fairness,
        hparams,
        notebook,
        projector,
        summary,
        what_if,
    )
    from tracklight.profiler import profile
    from tracklight.reader import (
        Graph,
        HParamsTable,
        Log,
        LogChanges,
        RunView,
        Table,
        Values,
        WideTable,
        open,
    )
    from tracklight.server.serve import Board, asgi, serve
    from tracklight.summary.runs import Audio, Histogram, Image, Run, Text, run
    from tracklight.types import Series

__version__ = "0.1.0"

__all__ = [
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
]

#: Modules that are attributes of the package.
_LAZY_MODULES = {
    "debugger": "tracklight.debugger",
    "fairness": "tracklight.fairness",
    "hparams": "tracklight.hparams",
    "notebook": "tracklight.notebook",
    "projector": "tracklight.projector",
    "summary": "tracklight.summary",
    "what_if": "tracklight.what_if",
    # Replaces `from tensorboard import program` in existing scripts.
    "program": "tracklight.cli",
}

#: The module that defines each public name.
_LAZY_NAMES = {
    "asgi": "tracklight.server.serve",
    "Audio": "tracklight.summary.runs",
    "Board": "tracklight.server.serve",
    "Graph": "tracklight.reader",
    "Histogram": "tracklight.summary.runs",
    "HParamsTable": "tracklight.reader",
    "Image": "tracklight.summary.runs",
    "Log": "tracklight.reader",
    "LogChanges": "tracklight.reader",
    "open": "tracklight.reader",
    "profile": "tracklight.profiler",
    "Run": "tracklight.summary.runs",
    "run": "tracklight.summary.runs",
    "RunView": "tracklight.reader",
    "Series": "tracklight.types",
    "serve": "tracklight.server.serve",
    "Table": "tracklight.reader",
    "Text": "tracklight.summary.runs",
    "Values": "tracklight.reader",
    "WideTable": "tracklight.reader",
    # IPython calls these for `%load_ext tracklight`.
    "load_ipython_extension": "tracklight.notebook",
    "unload_ipython_extension": "tracklight.notebook",
}


def __getattr__(name: str) -> object:
    if name in _LAZY_MODULES:
        return importlib.import_module(_LAZY_MODULES[name])
    if name not in _LAZY_NAMES:
        raise AttributeError(f"module 'tracklight' has no attribute {name!r}")
    value: object = getattr(importlib.import_module(_LAZY_NAMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
