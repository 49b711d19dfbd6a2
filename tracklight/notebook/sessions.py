"""Show What-If sessions below a cell: a server in a thread of this process, as models are here."""

from __future__ import annotations

import os
import tempfile
import time
from typing import Any

from tracklight.analysis.source import DataAccess
from tracklight.errors import TracklightError
from tracklight.notebook.launch import HEIGHT_PX, list_service_flags, show_frame
from tracklight.reader.opening import create_catalog
from tracklight.server.app import Settings
from tracklight.server.instances import Instance, list_instances
from tracklight.server.serve import Board

_MAX_START_S = 30.0
_POLL_S = 0.05

#: Running servers by the identity of their workspace, so that a cell can be run again.
_boards: dict[int, tuple[Any, Board]] = {}


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
    """
    known = _boards.get(id(workspace))
    board = known[1] if known is not None and known[1].is_serving else _start(workspace)
    _boards[id(workspace)] = (workspace, board)
    show_frame(_find_instance(board), height)
    return board


def _start(workspace: Any) -> Board:
    folder = tempfile.mkdtemp(prefix="tracklight-what-if-")
    hosts = [flag.partition("=")[2] for flag in list_service_flags()]
    settings = Settings(
        port=0,
        trusted_hosts=tuple(hosts),
        window_title="What-If",
        access=DataAccess(workspaces={"session": workspace}),
    )
    return Board(create_catalog(folder, (), (), False, "2GB"), settings)


def _find_instance(board: Board) -> Instance:
    deadline = time.monotonic() + _MAX_START_S
    while time.monotonic() < deadline:
        for instance in list_instances():
            if instance.pid == os.getpid() and instance.port == board.port:
                return instance
        time.sleep(_POLL_S)
    raise TracklightError("the What-If server did not start")
