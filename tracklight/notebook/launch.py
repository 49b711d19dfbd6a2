"""Starts servers for notebooks, each in a process that a restarted kernel finds again."""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from typing import IO

from tracklight.cli.flags import parse_flags
from tracklight.errors import TracklightError, UsageError
from tracklight.server.instances import Instance, list_instances

_START_TIMEOUT_S = 60.0
_POLL_S = 0.05

#: The same on Windows, where a new session is not known; no window is opened for it, either.
_WINDOWS_FLAGS: int = getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0) | getattr(
    subprocess, "CREATE_NO_WINDOW", 0
)

#: What this kernel has started, so that Python does not think it was forgotten.
_STARTED: list[subprocess.Popen[bytes]] = []


def find_running(arguments: Sequence[str]) -> Instance | None:
    """A board that answers and was started here with flags that mean the same."""
    wanted = _parse_identity(arguments)
    for board in list_instances():
        if board.directory == os.getcwd() and _find_identity(board.arguments) == wanted:
            return board
    return None


def check_port(arguments: Sequence[str]) -> None:
    """Say which board has the port that another one is to get."""
    port = parse_flags(arguments).port
    for board in list_instances():
        if port and board.port == port:
            raise UsageError(
                f"port {port} is taken by the board of {board.logdir}; choose another --port, "
                f"or end that one with `{format_stop_command(board)}`"
            )


def format_stop_command(board: Instance) -> str:
    """The line of a cell that ends a board."""
    return f"!taskkill /F /PID {board.pid}" if os.name == "nt" else f"!kill {board.pid}"


def _parse_identity(arguments: Sequence[str]) -> dict[str, object]:
    """What the flags say, in whatever order and spelling they stand."""
    flags = parse_flags(arguments)
    if flags.command != "serve":
        raise UsageError(f"a notebook shows boards; run `!tracklight {flags.command}` for the rest")
    return vars(flags)


def _find_identity(arguments: Sequence[str]) -> dict[str, object] | None:
    try:
        return _parse_identity(arguments)
    except TracklightError:
        return None


def launch(arguments: Sequence[str]) -> Instance:
    """Start a board and wait until it answers."""
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(
            [sys.executable, "-m", "tracklight", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=said,
            # Behind a proxy, the frame comes by a name that the server cannot know.
            env={**os.environ, "TRACKLIGHT_PROXY_TOKEN": secrets.token_urlsafe(16)},
            # Who interrupts a cell does not mean the board.
            start_new_session=True,
            creationflags=_WINDOWS_FLAGS,
        )
        _STARTED.append(process)
        return _wait_for(process, said)


def _wait_for(process: subprocess.Popen[bytes], said: IO[bytes]) -> Instance:
    deadline = time.monotonic() + _START_TIMEOUT_S
    while time.monotonic() < deadline:
        if process.poll() is not None:
            said.seek(0)
            reason = said.read().decode(errors="replace").strip().removeprefix("tracklight: ")
            raise TracklightError(
                reason or f"the board ended at once (exit status {process.returncode})"
            )
        board = next((it for it in list_instances() if it.pid == process.pid), None)
        if board is not None:
            return board
        time.sleep(_POLL_S)
    raise TracklightError(
        f"the board did not answer for {_START_TIMEOUT_S:.0f} s; it may still do, as pid {process.pid}"
    )
