"""Boards and charts in notebooks: ``%load_ext tracklight``, then ``%tracklight --logdir logs``.

`start` does the same as the magic, `list` prints the running servers, `display` shows one of them
again, and `chart` returns a live chart widget.

Servers run in their own processes (`launch`) and are shown in an iframe (`frame`). The package may
import everything; nothing imports it. Start reading at `boards.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracklight.notebook.boards import (
    display,
    list,
    load_ipython_extension,
    start,
    unload_ipython_extension,
)

if TYPE_CHECKING:
    from tracklight.notebook.widget import chart

__all__ = [
    "chart",
    "display",
    "list",
    "load_ipython_extension",
    "start",
    "unload_ipython_extension",
]


def __getattr__(name: str) -> object:
    # Imported on use: only charts need the `notebook` extra.
    if name != "chart":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from tracklight.notebook.widget import chart

    return chart
