"""Boards and charts in notebooks: ``%load_ext tracklight``, then ``%tracklight --logdir logs``.

`start` does the same as the magic, `list` prints the running servers, `display` shows one of them
again, `chart` returns a live chart widget (`widget`), and `show_session` shows What-If.

Servers run in their own processes and are shown in an iframe (`launch`); that of a What-If session
runs in a thread of this process, as its models are here. The package may import everything; nothing
imports it.
"""

from __future__ import annotations

import builtins
import importlib.util
import os
import shlex
import sys
import tempfile
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tracklight.errors import TracklightError, UsageError
from tracklight.notebook import launch
from tracklight.notebook.launch import HEIGHT_PX, list_service_flags, show_frame
from tracklight.server.instances import Instance, list_instances

if TYPE_CHECKING:
    from tracklight.notebook.widget import chart
    from tracklight.server.serve import Board

__all__ = [
    "chart",
    "display",
    "list",
    "load_ipython_extension",
    "show_session",
    "start",
    "unload_ipython_extension",
]


def __getattr__(name: str) -> object:
    # Imported on use: charts need the extra `notebook`.
    if name != "chart":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from tracklight.notebook.widget import chart

    return chart


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
        board = launch.find_running(words)
    except SystemExit:  # from --help and --version, which have printed their text
        return
    if board is None:
        launch.check_port(words)
        board = launch.launch(words)
    else:
        print(
            f"Reusing the server on port {board.port} (pid {board.pid}), started "
            f"{_format_age(board)} ago. (Use `{launch.format_stop_command(board)}` to stop it.)"
        )
    show_frame(board, height)


def list() -> None:
    """Print the servers that are running on this machine.

    Example:
        >>> tracklight.notebook.list()
    """
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

    Example:
        >>> tracklight.notebook.display(port=6006, height=600)
    """
    boards = [board for board in list_instances() if port in (None, board.port)]
    if not boards:
        where = "" if port is None else f" on port {port}"
        raise UsageError(f"no server is running{where}; `%tracklight --logdir DIR` starts one")
    show_frame(boards[-1], height or HEIGHT_PX)


def load_ipython_extension(shell: Any) -> None:
    """Register the magics; IPython calls this for ``%load_ext tracklight``.

    ``%tensorboard`` is registered as well, unless TensorBoard itself is installed.

    Args:
        shell: The IPython shell.

    Example:
        >>> get_ipython().run_line_magic("load_ext", "tracklight")
    """
    shell.register_magic_function(_run_magic, magic_name="tracklight")
    if importlib.util.find_spec("tensorboard") is None:
        shell.register_magic_function(_run_magic, magic_name="tensorboard")


def unload_ipython_extension(shell: Any) -> None:
    """Remove the magics; IPython calls this for ``%unload_ext tracklight``.

    Args:
        shell: The IPython shell.

    Example:
        >>> get_ipython().run_line_magic("unload_ext", "tracklight")
    """
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


# ---- What-If sessions

_MAX_START_S = 30.0
_POLL_S = 0.05

#: Running servers by the identity of their workspace, so that a cell can be run again.
_session_boards: dict[int, tuple[Any, Board]] = {}


def show_session(workspace: Any, height: int = HEIGHT_PX) -> Board:
    """Show the What-If page for a workspace below the cell, or print its URL elsewhere.

    The server stops when the program ends.

    Args:
        workspace: The data and models of a `tracklight.what_if.Session`.
        height: Height of the frame in pixels.

    Returns:
        The running server.

    Raises:
        TracklightError: The server did not start.

    Example:
        >>> tracklight.notebook.show_session(session.workspace)
    """
    known = _session_boards.get(id(workspace))
    board = known[1] if known is not None and known[1].is_serving else _serve_session(workspace)
    _session_boards[id(workspace)] = (workspace, board)
    show_frame(_wait_for_instance(board), height)
    return board


def _serve_session(workspace: Any) -> Board:
    # Imported on use: boards run in processes of their own, which load the server.
    from tracklight.analysis.source import DataAccess
    from tracklight.reader import create_catalog
    from tracklight.server.app import Settings
    from tracklight.server.serve import Board

    folder = tempfile.mkdtemp(prefix="tracklight-what-if-")
    hosts = [flag.partition("=")[2] for flag in list_service_flags()]
    settings = Settings(
        port=0,
        trusted_hosts=tuple(hosts),
        window_title="What-If",
        access=DataAccess(workspaces={"session": workspace}),
    )
    return Board(create_catalog(folder, (), (), False, "2GB"), settings)


def _wait_for_instance(board: Board) -> Instance:
    deadline = time.monotonic() + _MAX_START_S
    while time.monotonic() < deadline:
        for instance in list_instances():
            if instance.pid == os.getpid() and instance.port == board.port:
                return instance
        time.sleep(_POLL_S)
    raise TracklightError("the What-If server did not start")
