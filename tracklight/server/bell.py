"""Wakes what waits in the event loop from other threads."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator

#: Thousands of streams are not woken together: who asks for something else would wait for them all.
_AT_ONCE = 50
_BETWEEN_S = 0.005


class Bell:
    """Rung by the follower's thread, heard by every open stream."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._waiting: set[asyncio.Event] = set()
        self.rings = 0
        """How often it was rung, after whatever had changed."""
        self.silent = False
        """True once the server shuts down: streams then end."""

    @property
    def listeners(self) -> int:
        return len(self._waiting)

    def attach(self) -> None:
        self._loop = asyncio.get_running_loop()

    def ring(self) -> None:
        self.rings += 1
        if self._loop is not None:
            # The loop may already be closed while the follower finishes its last refresh.
            with contextlib.suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._wake)

    def end(self) -> None:
        self.silent = True
        self.ring()

    @contextlib.contextmanager
    def listen(self) -> Iterator[asyncio.Event]:
        event = asyncio.Event()
        self._waiting.add(event)
        try:
            yield event
        finally:
            self._waiting.discard(event)

    def _wake(self) -> None:
        self._wake_some(list(self._waiting))

    def _wake_some(self, waiting: list[asyncio.Event]) -> None:
        for event in waiting[:_AT_ONCE]:
            event.set()
        if len(waiting) > _AT_ONCE and self._loop is not None:
            self._loop.call_later(_BETWEEN_S, self._wake_some, waiting[_AT_ONCE:])
