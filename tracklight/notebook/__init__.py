"""Boards and charts in notebooks: ``%load_ext tracklight``, then ``%tracklight --logdir logs``.

`start` does what the magic does, `list` tells which boards are being served on this machine,
`display` shows one of them, and `chart` is a live chart in a cell of its own.
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
    # Charts need an extra, boards do not.
    if name != "chart":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from tracklight.notebook.widget import chart

    return chart
