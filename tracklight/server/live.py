"""What changed, pushed to every open page as server-sent events.

A client holds a cursor: where in this process's history of the index its picture stands. The stream
asks again and again what is new since then, so a slow client gets several changes as one, and one
that comes back after a lost connection goes on where it was. The events are

    status  {"loading", "progress", "problems", …}       at the start, and when it changes
    delta   {"cursor", "added", "removed", "changed"}    runs: rows, names, rows
    reset   {"cursor"}                                   the history does not reach back: ask anew
    beat    {}                                           nothing happened, the connection stands
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator

import msgspec
from starlette.concurrency import run_in_threadpool

from tracklight.server.follow import Follower
from tracklight.server.history import History
from tracklight.server.overview import Overview
from tracklight.server.source import Source
from tracklight.server.wire import ProgressRow, RunRow, progress_row, readable
from tracklight.types import Delta

BEAT_S = 15.0
PROGRESS_S = 0.25
_MOST_PROBLEMS = 20


class Status(msgspec.Struct):
    """How the reading goes."""

    loading: bool
    progress: ProgressRow
    problems: list[str]
    """The first sentences on what could not be read; ``problem_count`` counts all."""
    problem_count: int


class DeltaEvent(msgspec.Struct):
    """Runs that came, went or grew since the cursor before."""

    cursor: str
    added: list[RunRow]
    removed: list[str]
    changed: list[RunRow]


class Bell:
    """Wakes the streams, which wait in the event loop, from the follower's thread."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._waiting: set[asyncio.Event] = set()
        self.silent = False
        """True once the server shuts down: streams then end."""

    def attach(self) -> None:
        self._loop = asyncio.get_running_loop()

    def ring(self) -> None:
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
        for event in self._waiting:
            event.set()


class Live:
    """The state behind all streams of one server."""

    def __init__(self, source: Source, overview: Overview, follower: Follower) -> None:
        self.source = source
        self.overview = overview
        self.follower = follower
        self.history = History(source.version)
        self.bell = Bell()
        self.remarks: list[str] = []
        """What else is wrong with this server, in sentences."""
        follower.listener = self._publish

    def _publish(self, delta: Delta | None) -> None:
        if delta is not None and (delta.added or delta.removed or delta.changed):
            self.history.add(delta)
        self.bell.ring()

    def state(self) -> str:
        """Says something else whenever the index may have changed.

        The version grows at the end of a refresh, but runs do so all the while.
        """
        return f"{self.history.process}.{self.source.version}.{self.source.progress}"

    def status(self) -> Status:
        failure = self.follower.failure
        problems = [*([failure] if failure else []), *self.remarks, *self.source.problems]
        return Status(
            loading=self.follower.is_loading,
            progress=progress_row(self.source.progress),
            problems=[readable(problem) for problem in problems[:_MOST_PROBLEMS]],
            problem_count=len(problems),
        )

    async def stream(self, cursor: str) -> AsyncIterator[bytes]:
        """Server-sent events for a client whose picture stands at ``cursor``."""
        said: Status | None = None
        with self.bell.listen() as event:
            while not self.bell.silent:
                event.clear()
                status = self.status()
                if status != said:
                    said = status
                    yield encode_event("status", status)
                cursor, message = await run_in_threadpool(self._find_news, cursor)
                if message is not None:
                    yield message
                if not await _rings(event, PROGRESS_S if status.loading else BEAT_S):
                    if not status.loading:
                        yield encode_event("beat", {})

    def _find_news(self, cursor: str) -> tuple[str, bytes | None]:
        now, delta = self.history.find_since(cursor)
        if delta is None:
            return now, encode_event("reset", {"cursor": now}, now)
        if now == cursor:
            return now, None
        rows = self.overview.runs()
        body = DeltaEvent(
            cursor=now,
            added=[rows[name] for name in delta.added if name in rows],
            removed=list(delta.removed),
            changed=[rows[name] for name in delta.changed if name in rows],
        )
        return now, encode_event("delta", body, now)


def encode_event(name: str, body: object, cursor: str | None = None) -> bytes:
    """One server-sent event; its id is what a browser sends back when it reconnects."""
    head = f"event: {name}\n" + (f"id: {cursor}\n" if cursor else "")
    return head.encode() + b"data: " + msgspec.json.encode(body) + b"\n\n"


async def _rings(event: asyncio.Event, timeout_s: float) -> bool:
    try:
        await asyncio.wait_for(event.wait(), timeout_s)
    except asyncio.TimeoutError:
        return False
    return True
