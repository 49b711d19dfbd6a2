"""Hangs up on who takes forever, to send a request or to read an answer.

Every so often a connection is looked at: one that owes the rest of a request and has sent next to
nothing, or that has taken nothing of what waits for it, is cut. Others never wait for such a
client, but it would hold a connection and its answer in memory for as long as it likes.
"""

from __future__ import annotations

import asyncio
import sys

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

#: What fits neither into a minute at 4 kB/s nor makes any progress is not a slow line.
LOOK_S = 15.0
LEAST_BYTES = 64 << 10

_WANTED_FILES = 65_536
_WINDOWS_FILES = 8192
_OWES_A_REQUEST = (h11.IDLE, h11.SEND_BODY)


class PatientProtocol(H11Protocol):
    """A connection with an end to its patience."""

    look_s = LOOK_S

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._received_bytes = 0
        self._waiting_bytes = 0
        self._timer = self.loop.call_later(self.look_s, self._look)

    def connection_lost(self, exc: Exception | None) -> None:
        self._timer.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._received_bytes += len(data)
        super().data_received(data)

    def send_400_response(self, msg: str) -> None:
        # Half way through an answer there is no room for another.
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            super().send_400_response(msg)
        else:
            self.transport.abort()

    def _look(self) -> None:
        waiting_bytes = self.transport.get_write_buffer_size()
        takes_nothing = waiting_bytes > 0 and waiting_bytes >= self._waiting_bytes > 0
        if takes_nothing or self._sends_nothing():
            self.transport.abort()
            return
        self._waiting_bytes, self._received_bytes = waiting_bytes, 0
        self._timer = self.loop.call_later(self.look_s, self._look)

    def _sends_nothing(self) -> bool:
        """Whether a request is owed; between two of them the server's own timer waits."""
        is_between = self.timeout_keep_alive_task is not None
        owes = self.conn.their_state in _OWES_A_REQUEST and not is_between
        return owes and self._received_bytes < LEAST_BYTES


def limit_connections() -> int:
    """How many connections there may be, so that files of the log can still be opened."""
    most_files = find_file_limit()
    return max(64, most_files - max(128, most_files // 8))


def find_file_limit() -> int:
    """How many files this process may have open; a connection is one."""
    if sys.platform == "win32":
        return _WINDOWS_FILES
    import resource

    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _WANTED_FILES if soft == resource.RLIM_INFINITY else int(soft)


def raise_file_limit() -> None:
    """Let this process open more files than the few that are usual, as far as it may."""
    if sys.platform == "win32":
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _WANTED_FILES if hard == resource.RLIM_INFINITY else min(_WANTED_FILES, hard)
    if resource.RLIM_INFINITY != soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
