"""Read logs from Python: `open` returns a `Log`, which returns series, tables and values.

The package also holds the code behind ``tracklight export`` (`export`, `export_values`) and
``tracklight inspect`` (`listing`, `summaries`). It may import `index`, `analysis` and what is below
them, but no dashboards and no server. Start reading at `opening.py` and `log.py`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from tracklight.reader.changes import LogChanges
from tracklight.reader.log import Log, RunView
from tracklight.reader.opening import open
from tracklight.reader.tables import Table, Values, WideTable

if TYPE_CHECKING:
    from tracklight.analysis.pr_curves import PRCurve
    from tracklight.reader.graph import Edge, Graph, Node
    from tracklight.reader.hparams import HParamsTable, Trial
    from tracklight.reader.mesh import Mesh

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

#: Imported on first use: programs that read scalars start a third faster without them.
_LAZY = {
    "Edge": "tracklight.reader.graph",
    "Graph": "tracklight.reader.graph",
    "HParamsTable": "tracklight.reader.hparams",
    "Mesh": "tracklight.reader.mesh",
    "Node": "tracklight.reader.graph",
    "PRCurve": "tracklight.analysis.pr_curves",
    "Trial": "tracklight.reader.hparams",
}


def __getattr__(name: str) -> object:
    if name not in _LAZY:
        raise AttributeError(f"module 'tracklight.reader' has no attribute {name!r}")
    value: object = getattr(importlib.import_module(_LAZY[name]), name)
    globals()[name] = value
    return value
