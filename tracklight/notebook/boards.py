"""Start servers from notebook cells, list them, and show them below a cell."""

from __future__ import annotations

import builtins
import importlib.util
import os
import shlex
import sys
import time
from collections.abc import Sequence
from typing import Any

from tracklight.errors import TracklightError, UsageError
from tracklight.notebook.launch import (
    HEIGHT_PX,
    check_port,
    find_running,
    format_stop_command,
    launch,
    list_service_flags,
    show_frame,
)
from tracklight.server.instances import Instance, list_instances


def start(arguments: str | Sequence[str], height: int = HEIGHT_PX) -> None:
    """Show a board below the cell, and start its server if it is not running yet.

    A server that was started from this directory with the same flags is reused.

    Args:
        arguments: Flags of the ``tracklight`` command, as one string or a list.
        height: Height of the frame in pixels.

    Raises:
        UsageError: A flag is invalid, or the port is in use.
        TracklightError: The server did not start.

    Example:
        >>> tracklight.notebook.start("--logdir logs --port 6006")
    """
    words = shlex.split(arguments) if isinstance(arguments, str) else builtins.list(arguments)
    words += list_service_flags()
    try:
        board = find_running(words)
    except SystemExit:  # from --help and --version, which have printed their text
        return
    if board is None:
        check_port(words)
        board = launch(words)
    else:
        print(
            f"Reusing the server on port {board.port} (pid {board.pid}), started "
            f"{_format_age(board)} ago. (Use `{format_stop_command(board)}` to stop it.)"
        )
    show_frame(board, height)


def list() -> None:
    """Print the servers that are running on this machine."""
    boards = list_instances()
    if not boards:
        print("No tracklight servers are running.")
        return
    print("Running tracklight servers:")
    for board in boards:
        print(
            f"  - port {board.port}: logdir {board.logdir} "
            f"(started {_format_age(board)} ago; pid {board.pid})"
        )


def display(port: int | None = None, height: int | None = None) -> None:
    """Show a running server below the cell.

    Args:
        port: The port of the server; by default the one that was started last.
        height: Height of the frame in pixels.

    Raises:
        UsageError: No server is running, or none on this port.
    """
    boards = [board for board in list_instances() if port in (None, board.port)]
    if not boards:
        where = "" if port is None else f" on port {port}"
        raise UsageError(f"no server is running{where}; `%tracklight --logdir DIR` starts one")
    show_frame(boards[-1], height or HEIGHT_PX)


def load_ipython_extension(shell: Any) -> None:
    """Register the magics; IPython calls this for ``%load_ext tracklight``.

    ``%tensorboard`` is registered as well, unless TensorBoard itself is installed.
    """
    shell.register_magic_function(_run_magic, magic_name="tracklight")
    if importlib.util.find_spec("tensorboard") is None:
        shell.register_magic_function(_run_magic, magic_name="tensorboard")


def unload_ipython_extension(shell: Any) -> None:
    """Remove the magics."""
    magics = shell.magics_manager.magics["line"]
    for name in ("tracklight", "tensorboard"):
        if magics.get(name) is _run_magic:
            del magics[name]


def _run_magic(line: str) -> None:
    """Show a board below this cell: %tracklight --logdir logs --port 6006

    Takes the flags of the `tracklight` command. A running server with the same flags is reused.
    """
    try:
        start(split_line(line))
    except TracklightError as error:
        print(f"tracklight: {error}", file=sys.stderr)


def split_line(line: str) -> builtins.list[str]:
    """Split a line like a shell does, up to a ``#``."""
    if os.name != "nt":
        return shlex.split(line, comments=True)
    # On Windows a backslash separates directories and does not escape.
    words = shlex.split(line, comments=True, posix=False)
    return [word.strip("\"'") for word in words]


def _format_age(board: Instance) -> str:
    minutes, seconds = divmod(int(max(0.0, time.time() - board.started)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}"
