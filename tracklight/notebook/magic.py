"""``%tracklight``, and ``%tensorboard`` where nobody else serves it."""

from __future__ import annotations

import importlib.util
import os
import shlex
import sys
from typing import Any

from tracklight.errors import TracklightError
from tracklight.notebook.boards import start


def load_ipython_extension(shell: Any) -> None:
    """Register the magics; IPython calls this for ``%load_ext tracklight``."""
    shell.register_magic_function(_show_board, magic_name="tracklight")
    # Whoever has TensorBoard and writes %tensorboard means that.
    if importlib.util.find_spec("tensorboard") is None:
        shell.register_magic_function(_show_board, magic_name="tensorboard")


def unload_ipython_extension(shell: Any) -> None:
    """Take the magics away again."""
    magics = shell.magics_manager.magics["line"]
    for name in ("tracklight", "tensorboard"):
        if magics.get(name) is _show_board:
            del magics[name]


def _show_board(line: str) -> None:
    """Show a board below this cell: %tracklight --logdir logs --port 6006

    Takes the flags of the command `tracklight`. A board that is already being served with the same
    flags is shown again.
    """
    try:
        start(split_line(line))
    except TracklightError as error:
        print(f"tracklight: {error}", file=sys.stderr)


def split_line(line: str) -> list[str]:
    """The words of a line as a shell would see them, up to a ``#``."""
    if os.name != "nt":
        return shlex.split(line, comments=True)
    # A backslash is part of a path there.
    words = shlex.split(line, comments=True, posix=False)
    return [word.strip("\"'") for word in words]
