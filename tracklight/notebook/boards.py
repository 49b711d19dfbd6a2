"""Boards below cells: started once, found again, shown in a frame."""

from __future__ import annotations

import builtins
import importlib.util
import builtins
import os
import shlex
import sys
import time
from collections.abc import Sequence
from typing import Any

from tracklight.errors import TracklightError, UsageError
from tracklight.notebook.frame import HEIGHT_PX, list_service_flags, show_frame
from tracklight.notebook.launch import check_port, find_running, format_stop_command, launch
from tracklight.server.instances import Instance, list_instances


def start(arguments: str | Sequence[str], height: int = HEIGHT_PX) -> None:
    """Show a board with these flags of the command ``tracklight``.

    One that is already served from this directory with the same flags is shown again, provided that
    it answers.
    """
    words = shlex.split(arguments) if isinstance(arguments, str) else builtins.list(arguments)
    words += list_service_flags()
    try:
        board = find_running(words)
    except SystemExit:  # --help or --version, which were printed; a cell must not end by that
        return
    if board is None:
        check_port(words)
        board = launch(words)
    else:
        print(
            f"The board on port {board.port} (pid {board.pid}), started {_format_age(board)} ago, "
            f"is shown again. (`{format_stop_command(board)}` ends it.)"
        )
    show_frame(board, height)


def list() -> None:
    """Print which boards are being served on this machine."""
    boards = list_instances()
    if not boards:
        print("No board is being served.")
        return
    print("Boards that are being served:")
    for board in boards:
        print(
            f"  - port {board.port}: logdir {board.logdir} "
            f"(started {_format_age(board)} ago; pid {board.pid})"
        )


def display(port: int | None = None, height: int | None = None) -> None:
    """Show the board at ``port``, or the one that was started last."""
    boards = list_instances()
    chosen = [board for board in boards if port in (None, board.port)]
    if not chosen:
        which = "no board is being served" if port is None else f"no board is served at port {port}"
        raise UsageError(f"{which}; `%tracklight --logdir DIR` starts one")
    show_frame(chosen[-1], height or HEIGHT_PX)


def _format_age(board: Instance) -> str:
    minutes, seconds = divmod(int(max(0.0, time.time() - board.started)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}"


# ``%tracklight``, and ``%tensorboard`` where nobody else serves it.


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


def split_line(line: str) -> builtins.list[str]:
    """The words of a line as a shell would see them, up to a ``#``."""
    if os.name != "nt":
        return shlex.split(line, comments=True)
    # A backslash is part of a path there.
    words = shlex.split(line, comments=True, posix=False)
    return [word.strip("\"'") for word in words]
