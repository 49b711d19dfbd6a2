"""The Python reading API: `open` returns a `Log`, which returns series, tables and values.

Start at `opening.py` and `log.py`. The package stands on the index and on the readers of sessions,
graphs and meshes; it must not import dashboards or the server.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from tracklight.log.log import Log, RunView
from tracklight.log.opening import open
from tracklight.log.table import Table, WideTable
from tracklight.log.values import Values
from tracklight.log.watch import LogChanges

if TYPE_CHECKING:
    from tracklight.formats.pr_curve import PRCurve
    from tracklight.log.graph import Edge, Graph, Node
    from tracklight.log.hparams import HParamsTable, Trial
    from tracklight.log.mesh import Mesh

__all__ = [
    "Edge",
    "Graph",
    "HParamsTable",
    "Log",
    "LogChanges",
    "Mesh",
    "Node",
    "PRCurve",
    "RunView",
    "Table",
    "Trial",
    "Values",
    "WideTable",
    "open",
]

#: Imported when they are first used, as `Log` does it.
_LAZY = {
    "Edge": "tracklight.log.graph",
    "Graph": "tracklight.log.graph",
    "HParamsTable": "tracklight.log.hparams",
    "Mesh": "tracklight.log.mesh",
    "Node": "tracklight.log.graph",
    "PRCurve": "tracklight.formats.pr_curve",
    "Trial": "tracklight.log.hparams",
}


def __getattr__(name: str) -> object:
    if name not in _LAZY:
        raise AttributeError(f"module 'tracklight.log' has no attribute {name!r}")
    value: object = getattr(importlib.import_module(_LAZY[name]), name)
    globals()[name] = value
    return value
