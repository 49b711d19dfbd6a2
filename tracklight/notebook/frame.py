"""The frame in which a notebook shows a board."""

from __future__ import annotations

import html
import os
import sys
import uuid
from importlib.resources import files

import msgspec

from tracklight.notebook.services import find_proxy, find_shown
from tracklight.server.instances import Instance

HEIGHT_PX = 800

_FRAME = """\
<div id="{id}" style="min-height: {height}px; font: 13px system-ui, sans-serif">
The board of {logdir} is shown here while it is being served.
</div>
<script>({script})({board})</script>
"""


def show_frame(board: Instance, height: int = HEIGHT_PX) -> None:
    """Show a board below the cell, or where there are no cells say its address."""
    if not _is_in_notebook():
        print(f"The board is at {board.url}")
        return
    from IPython.display import HTML, display

    # A message about frames that IPython prints for such markup is for frames from elsewhere.
    display(HTML(make_frame(board, height)))


def make_frame(board: Instance, height: int) -> str:
    """Markup that finds out where a browser reaches the board, and shows it from there."""
    place = f"tracklight-{uuid.uuid4().hex[:12]}"
    details = {
        "id": place,
        "port": board.port,
        "path": board.path,
        "token": board.token,
        "height": height,
        "scheme": board.url.partition(":")[0],
        "proxy": find_proxy(board.port),
        "base": os.environ.get("JUPYTERHUB_SERVICE_PREFIX"),
        "shown": find_shown(board.port),
    }
    script = (files("tracklight.notebook") / "frame.js").read_text(encoding="utf-8")
    # A name of a directory may look like markup, in a script as well.
    as_script = msgspec.json.encode(details).decode().replace("<", "\\u003c")
    return _FRAME.format(
        id=place,
        height=int(height),
        logdir=html.escape(board.logdir),
        script=script.strip().rstrip(";"),
        board=as_script,
    )


def _is_in_notebook() -> bool:
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return hasattr(shell, "kernel")
