"""Boards below cells: started once, found again, shown in a frame."""

from __future__ import annotations

import builtins
import shlex
import time
from collections.abc import Sequence

from tracklight.errors import UsageError
from tracklight.notebook.frame import HEIGHT_PX, show_frame
from tracklight.notebook.launch import check_port, find_same, launch, say_end
from tracklight.notebook.services import surroundings
from tracklight.server.instances import Instance, read_instances


def start(arguments: str | Sequence[str], height: int = HEIGHT_PX) -> None:
    """Show a board with these flags of the command ``tracklight``.

    One that is already served from this directory with the same flags is shown again, provided that
    it answers.
    """
    words = shlex.split(arguments) if isinstance(arguments, str) else builtins.list(arguments)
    words += surroundings()
    try:
        board = find_same(words)
    except SystemExit:  # --help or --version, which were printed; a cell must not end by that
        return
    if board is None:
        check_port(words)
        board = launch(words)
    else:
        print(
            f"The board on port {board.port} (pid {board.pid}), started {_say_age(board)} ago, "
            f"is shown again. (`{say_end(board)}` ends it.)"
        )
    show_frame(board, height)


def list() -> None:
    """Print which boards are being served on this machine."""
    boards = read_instances()
    if not boards:
        print("No board is being served.")
        return
    print("Boards that are being served:")
    for board in boards:
        print(
            f"  - port {board.port}: logdir {board.logdir} "
            f"(started {_say_age(board)} ago; pid {board.pid})"
        )


def display(port: int | None = None, height: int | None = None) -> None:
    """Show the board at ``port``, or the one that was started last."""
    boards = read_instances()
    chosen = [board for board in boards if port in (None, board.port)]
    if not chosen:
        which = "no board is being served" if port is None else f"no board is served at port {port}"
        raise UsageError(f"{which}; `%tracklight --logdir DIR` starts one")
    show_frame(chosen[-1], height or HEIGHT_PX)


def _say_age(board: Instance) -> str:
    minutes, seconds = divmod(int(max(0.0, time.time() - board.started)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}"
