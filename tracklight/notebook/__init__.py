"""Boards and charts in notebooks: ``%load_ext tracklight``, then ``%tracklight --logdir logs``.

`start` does the same as the magic, `list` prints the running servers, `display` shows one of them
again, `chart` returns a live chart widget, and `show_session` shows What-If.

Servers run in their own processes and are shown in an iframe (`launch`). The package may import
everything; nothing imports it. Start reading at `boards.py`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from tracklight.notebook.boards import (
    display,
    list,
    load_ipython_extension,
    start,
    unload_ipython_extension,
)

if TYPE_CHECKING:
    from tracklight.notebook.sessions import show_session
    from tracklight.notebook.widget import chart

__all__ = [
    "chart",
    "display",
    "list",
    "load_ipython_extension",
    "show_session",
    "start",
    "unload_ipython_extension",
]


#: Imported on use: charts need the `notebook` extra, sessions load the server.
_LAZY_NAMES = {
    "chart": "tracklight.notebook.widget",
    "show_session": "tracklight.notebook.sessions",
}


def __getattr__(name: str) -> object:
    if name not in _LAZY_NAMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_LAZY_NAMES[name]), name)
