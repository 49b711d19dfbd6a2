"""Start servers for notebooks, in processes that outlive the kernel and are found again."""

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

#: The counterpart of ``start_new_session`` on Windows; no console window is opened.
_WINDOWS_FLAGS: int = getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0) | getattr(
    subprocess, "CREATE_NO_WINDOW", 0
)

#: References to started processes; dropping them would raise ResourceWarning.
started_processes: list[subprocess.Popen[bytes]] = []


def find_running(arguments: Sequence[str]) -> Instance | None:
    """Return a running server that was started from this directory with equivalent flags.

    Raises:
        UsageError: A flag is invalid.
    """
    identity = _parse_identity(arguments)
    for board in list_instances():
        if board.directory == os.getcwd() and _find_identity(board.arguments) == identity:
            return board
    return None


def check_port(arguments: Sequence[str]) -> None:
    """Raise UsageError if another tracklight server uses the given port."""
    port = parse_flags(arguments).port
    for board in list_instances():
        if port and board.port == port:
            raise UsageError(
                f"port {port} is used by the server of {board.logdir}; choose another --port, "
                f"or stop that server with `{format_stop_command(board)}`"
            )


def format_stop_command(board: Instance) -> str:
    """Return the line that stops a server from a notebook cell."""
    return f"!taskkill /F /PID {board.pid}" if os.name == "nt" else f"!kill {board.pid}"


def _parse_identity(arguments: Sequence[str]) -> dict[str, object]:
    """Parse flags for comparison, independent of their order and spelling."""
    flags = parse_flags(arguments)
    if flags.command != "serve":
        raise UsageError(
            f"the magic only starts servers; run `!tracklight {flags.command}` instead"
        )
    return vars(flags)


def _find_identity(arguments: Sequence[str]) -> dict[str, object] | None:
    try:
        return _parse_identity(arguments)
    except TracklightError:
        return None


def launch(arguments: Sequence[str]) -> Instance:
    """Start a server and wait until it accepts requests.

    Raises:
        TracklightError: The server exited, or did not respond in time.
    """
    with tempfile.TemporaryFile() as stderr:
        process = subprocess.Popen(
            [sys.executable, "-m", "tracklight", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=stderr,
            # Proxies use host names that the server cannot know; the token grants access to them.
            env={**os.environ, "TRACKLIGHT_PROXY_TOKEN": secrets.token_urlsafe(16)},
            # Interrupting a cell must not stop the server.
            start_new_session=True,
            creationflags=_WINDOWS_FLAGS,
        )
        started_processes.append(process)
        return _wait_for(process, stderr)


def _wait_for(process: subprocess.Popen[bytes], stderr: IO[bytes]) -> Instance:
    deadline = time.monotonic() + _START_TIMEOUT_S
    while time.monotonic() < deadline:
        if process.poll() is not None:
            stderr.seek(0)
            reason = stderr.read().decode(errors="replace").strip().removeprefix("tracklight: ")
            raise TracklightError(
                reason or f"the server exited immediately with status {process.returncode}"
            )
        board = next((it for it in list_instances() if it.pid == process.pid), None)
        if board is not None:
            return board
        time.sleep(_POLL_S)
    raise TracklightError(
        f"the server did not respond within {_START_TIMEOUT_S:.0f} s; it may still be starting "
        f"(pid {process.pid})"
    )
