"""Wakes what waits in the event loop from other threads."""

from __future__ import annotations

import asyncio
import contextlib
import random
import threading
import time
from collections import deque
from collections.abc import AsyncGenerator, Callable, Hashable, Iterator
from typing import Generic, TypeVar

import msgspec

from tracklight.plugin import Route
from tracklight.server.changelog import ChangeLog, DeltaEvent
from tracklight.server.source import (
    LogOverview,
    LogSource,
    ProgressRow,
    Refresher,
    make_progress_row,
    to_valid_unicode,
)
from tracklight.types import Delta

#: Thousands of streams are not woken together: who asks for something else would wait for them all.
_WAKE_BATCH_SIZE = 50

_WAKE_INTERVAL_S = 0.005


class Notifier:
    """Rung by the follower's thread, heard by every open stream."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._subscribers: set[asyncio.Event] = set()
        self.generation = 0
        """How often it was rung, after whatever had changed."""
        self.is_closed = False
        """True once the server shuts down: streams then end."""

    @property
    def subscriber_count(self) -> int:
        return len(self._subscribers)

    def attach_loop(self) -> None:
        self._loop = asyncio.get_running_loop()

    def notify(self) -> None:
        self.generation += 1
        if self._loop is not None:
            # The loop may already be closed while the follower finishes its last refresh.
            with contextlib.suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._wake)

    def close(self) -> None:
        self.is_closed = True
        self.notify()

    @contextlib.contextmanager
    def subscribe(self) -> Iterator[asyncio.Event]:
        event = asyncio.Event()
        self._subscribers.add(event)
        try:
            yield event
        finally:
            self._subscribers.discard(event)

    def _wake(self) -> None:
        self._wake_batch(list(self._subscribers))

    def _wake_batch(self, waiting: list[asyncio.Event]) -> None:
        for event in waiting[:_WAKE_BATCH_SIZE]:
            event.set()
        if len(waiting) > _WAKE_BATCH_SIZE and self._loop is not None:
            self._loop.call_later(_WAKE_INTERVAL_S, self._wake_batch, waiting[_WAKE_BATCH_SIZE:])


# Streams that stand at the same place are told the same, so it is put together once for all.

KeyT = TypeVar("KeyT", bound=Hashable)

ValueT = TypeVar("ValueT")


class Coalescer(Generic[KeyT, ValueT]):
    """Asks in a thread, at most once for each place between two rings of a bell.

    A bell rings after something has changed, and whoever then asks has heard it: what was put
    together before that ring is not what they get. Some things change without a ring; those are a
    moment old at most.
    """

    def __init__(
        self, notifier: Notifier, compute: Callable[[KeyT], ValueT], max_age_s: float
    ) -> None:
        self._notifier = notifier
        self._compute = compute
        self._max_age_s = max_age_s
        self._epoch = (-1, -1)
        self._pending: dict[KeyT, asyncio.Future[ValueT]] = {}

    async def get(self, key: KeyT) -> ValueT:
        moment = (self._notifier.generation, int(time.monotonic() / self._max_age_s))
        if moment != self._epoch:
            self._epoch, self._pending = moment, {}
        told = self._pending.get(key)
        if told is None:
            told = asyncio.ensure_future(asyncio.to_thread(self._compute, key))
            self._pending[key] = told
        # One client that leaves takes nothing away from the others.
        return await asyncio.shield(told)


# What the server has to say to all open pages beside the changes of the log.

_MAX_EVENTS = 256


class ServerEvent(msgspec.Struct):
    """An event by its name, such as ``alert``."""

    name: str
    body: object


class EventLog:
    """The latest sayings, counted, so that each listener knows how many it has heard."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._latest: deque[ServerEvent] = deque(maxlen=_MAX_EVENTS)
        self.count = 0

    def add(self, name: str, body: object) -> None:
        with self._lock:
            self._latest.append(ServerEvent(name, body))
            self.count += 1

    def find_since(self, last_event: int) -> list[ServerEvent] | None:
        """Those after the first ``heard``; None when some of them are no longer known."""
        with self._lock:
            missed = self.count - last_event
            if not 0 <= missed <= len(self._latest):
                return None
            return list(self._latest)[len(self._latest) - missed :]


# Push changes to browsers as server-sent events.
#
# A client holds a cursor: the point in this process's history of the index up to which it knows the
# log. The stream sends what changed since then, so a slow client gets several changes as one, and a
# client that reconnects continues where it was. A change applies to the cursor before it; a client
# at any other cursor must not apply it, as a run that came and went in between is left out. Browsers
# allow six connections per server, so share one stream between the tabs of a browser. The events are
#
#     status  {"loading", "progress", "problems", …}    at the start, and when it changes
#     delta   {"cursor", "added", "removed", "changed", "tags", "points", …}
#     reset   {"cursor"}                                what changed is not known: ask anew
#     alert   {"id", "run", "tag", "text", …}           an alarm was raised, or is over
#     notes   {"revision"}                              what is kept beside the log has changed
#     beat    {}                                        nothing was sent for about 15 seconds
#
# Where streams do not get through, poll ``api/live/poll``, which returns the same.

HEARTBEAT_S = 15.0

PROGRESS_S = 0.25

_MAX_PROBLEMS = 20


class LoadStatus(msgspec.Struct):
    """How the reading goes."""

    loading: bool
    progress: ProgressRow
    problems: list[str]
    """The first sentences on what could not be read; ``problem_count`` counts all."""
    problem_count: int


class PollRequest(msgspec.Struct, frozen=True):
    """Where the client stands: ``cursor`` and ``heard`` of the answer before."""

    since: str = ""
    heard: int | None = None


class PollResponse(msgspec.Struct):
    """What a stream would have said. With ``reset`` everything has to be asked for anew."""

    cursor: str
    heard: int
    reset: bool
    status: LoadStatus
    delta: DeltaEvent | None
    said: list[ServerEvent]


class LiveUpdates:
    """The state behind all streams of one server."""

    def __init__(
        self,
        source: LogSource,
        overview: LogOverview,
        refresher: Refresher,
        *,
        heartbeat_s: float = HEARTBEAT_S,
    ) -> None:
        self._heartbeat_s = heartbeat_s
        self.source = source
        self.refresher = refresher
        self.changelog = ChangeLog(source, overview)
        self.history = self.changelog.history
        self.event_log = EventLog()
        self.notifier = Notifier()
        self.server_problems: list[str] = []
        """What else is wrong with this server, in sentences."""
        self._coalescer = Coalescer(self.notifier, self._collect_updates, PROGRESS_S)
        refresher.listeners.append(self._on_refresh)

    def routes(self) -> list[Route]:
        return [Route("live/poll", PollRequest, self.poll, "GET")]

    def publish(self, name: str, body: object) -> None:
        """Send an event to every open page; from any thread."""
        self.event_log.add(name, body)
        self.notifier.notify()

    def get_etag(self) -> str:
        """Says something else whenever the index may have changed.

        The version grows at the end of a refresh, but runs do so all the while.
        """
        return f"{self.history.process}.{self.source.version}.{self.source.progress}"

    def status(self) -> LoadStatus:
        failure = self.refresher.failure
        problems = [*([failure] if failure else []), *self.server_problems, *self.source.problems]
        return LoadStatus(
            loading=self.refresher.is_loading,
            progress=make_progress_row(self.source.progress),
            problems=[to_valid_unicode(problem) for problem in problems[:_MAX_PROBLEMS]],
            problem_count=len(problems),
        )

    def poll(self, ask: PollRequest) -> PollResponse:
        """What the live stream would have said since the answer before."""
        heard = self.event_log.count if ask.heard is None else ask.heard
        said = self.event_log.find_since(heard)
        cursor, delta = self.changelog.get_since(ask.since)
        return PollResponse(
            cursor=cursor,
            heard=self.event_log.count if said is None else heard + len(said),
            reset=said is None or (delta is None and cursor != ask.since),
            status=self.status(),
            delta=delta,
            said=said or [],
        )

    async def stream(self, cursor: str) -> AsyncGenerator[bytes, None]:
        """Yield server-sent events for a client that has everything up to ``cursor``.

        A heartbeat is sent when nothing else was for about 15 seconds. It is due by the clock:
        every refresh of the log wakes the stream, mostly without anything to send.
        """
        place = PollRequest(cursor, self.event_log.count)
        sent_status: LoadStatus | None = None
        heartbeat_due_s = 0.0
        with self.notifier.subscribe() as event:
            while not self.notifier.is_closed:
                event.clear()
                answer, status_event, events = await self._coalescer.get(place)
                place = PollRequest(answer.cursor, answer.heard)
                if answer.status != sent_status:
                    sent_status = answer.status
                    events = [status_event, *events]
                if not events and time.monotonic() >= heartbeat_due_s:
                    events = [_HEARTBEAT]
                for encoded in events:
                    yield encoded
                now_s = time.monotonic()
                if events:
                    # Randomized, so that streams woken together do not all send at once.
                    heartbeat_due_s = now_s + self._heartbeat_s * random.uniform(0.7, 1.0)
                wait_s = max(0.0, heartbeat_due_s - now_s)
                await _wait_for(event, min(wait_s, PROGRESS_S) if sent_status.loading else wait_s)

    def _collect_updates(self, place: PollRequest) -> tuple[PollResponse, bytes, list[bytes]]:
        """What is new, and as events: the status, and the rest."""
        answer = self.poll(place)
        return answer, encode_event("status", answer.status), _encode_updates(answer)

    def _on_refresh(self, delta: Delta | None) -> None:
        # Files with vectors change where no run does.
        if delta is not None and delta.version != self.history.version:
            self.changelog.add(delta)
        self.notifier.notify()


def _encode_updates(answer: PollResponse) -> list[bytes]:
    messages = [encode_event(saying.name, saying.body) for saying in answer.said]
    if answer.reset:
        messages.append(encode_event("reset", {"cursor": answer.cursor}, answer.cursor))
    elif answer.delta is not None:
        messages.append(encode_event("delta", answer.delta, answer.cursor))
    return messages


def encode_event(name: str, body: object, cursor: str | None = None) -> bytes:
    """One server-sent event; its id is what a browser sends back when it reconnects."""
    head = f"event: {name}\n" + (f"id: {cursor}\n" if cursor else "")
    return head.encode() + b"data: " + msgspec.json.encode(body) + b"\n\n"


_HEARTBEAT = encode_event("beat", {})


async def _wait_for(event: asyncio.Event, timeout_s: float) -> bool:
    try:
        await asyncio.wait_for(event.wait(), timeout_s)
    except asyncio.TimeoutError:
        return False
    return True
