"""Push changes to browsers as server-sent events, ``GET api/v1/live``.

A client holds a cursor: the point in this process's history of the index up to which it knows the
log. The stream sends what changed since then, so a slow client gets several changes as one, and a
client that reconnects continues where it was. A change applies to the cursor before it; a client
at any other cursor must not apply it, as a run that was added and removed in between is left out.
Browsers allow six connections per server, so share one stream between the tabs of a browser. The
events are

    status  {"loading", "progress", "problems", …}    first, and when it changes
    delta   {"cursor", "added", "removed", "changed", "tags", "points", …}
    reset   {"cursor"}                                the changes are not known: fetch all again
    alert   {"id", "run", "tag", "text", …}           an alert fired or was resolved
    notes   {"revision"}                              notes, layouts or alert rules have changed
    dashboard  {"name", "revision"}                   users have changed what it stores
    ping    {"interval_s"}                            nothing else was sent for about that long

Events are not repeated for clients that were not connected. Those about a revision are the
exception: the latest ones are sent first to every new client.

Where streams do not get through, poll ``api/v1/live/poll``, which returns the same.
"""

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
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route as StarletteRoute
from starlette.types import Receive, Scope, Send

from tracklight.analysis.source import Sentence
from tracklight.errors import Message
from tracklight.plugin import Route
from tracklight.server.responses import create_error_response
from tracklight.server.source import (
    ChangeLog,
    DeltaEvent,
    LogOverview,
    LogSource,
    ProgressRow,
    Refresher,
    make_progress_row,
    to_valid_unicode,
)
from tracklight.types import Delta
from tracklight.util.files import get_open_file_limit

HEARTBEAT_S = 15.0
PROGRESS_S = 0.25
_MAX_PROBLEMS = 20
_MAX_EVENTS = 256
#: Waking thousands of streams in one turn of the event loop would delay all other requests.
_WAKE_BATCH_SIZE = 50
_WAKE_INTERVAL_S = 0.005
#: A proxy that buffers responses would hold back the stream forever.
_STREAM_HEADERS = {"cache-control": "no-store", "x-accel-buffering": "no"}

KeyT = TypeVar("KeyT", bound=Hashable)
ValueT = TypeVar("ValueT")


class LoadStatus(msgspec.Struct):
    """Whether the log is being read, and what is wrong with it."""

    loading: bool
    progress: ProgressRow
    problems: list[Sentence]
    """The first messages about what could not be read; ``problem_count`` counts all."""
    problem_count: int


class ServerEvent(msgspec.Struct):
    """An event by name, such as ``alert``."""

    name: str
    data: object


class ResetEvent(msgspec.Struct):
    """The changes are not known: the client has to fetch everything again."""

    cursor: str


class NotesEvent(msgspec.Struct):
    """Notes, layouts or alert rules have changed."""

    revision: int


class DashboardEvent(msgspec.Struct):
    """What users store with a dashboard has changed, such as a workspace."""

    name: str
    revision: str


class PingEvent(msgspec.Struct):
    """The stream is open; the next event follows within ``interval_s`` seconds."""

    interval_s: float


class PollRequest(msgspec.Struct, frozen=True):
    """Where the client is: ``cursor`` and ``last_event`` of the previous response."""

    since: str = ""
    last_event: int | None = None


class PollResponse(msgspec.Struct):
    """What a stream would have sent. With ``reset`` the client has to fetch everything again."""

    cursor: str
    last_event: int
    reset: bool
    status: LoadStatus
    delta: DeltaEvent | None
    events: list[ServerEvent]


class LiveUpdates:
    """The state behind all event streams of one server.

    Attributes:
        server_problems: Messages about the server itself, such as plugins that failed to load.
    """

    def __init__(
        self,
        source: LogSource,
        overview: LogOverview,
        refresher: Refresher,
        *,
        heartbeat_s: float = HEARTBEAT_S,
    ) -> None:
        self.source = source
        self.refresher = refresher
        self.changelog = ChangeLog(source, overview)
        self.history = self.changelog.history
        self.event_log = EventLog()
        self.notifier = Notifier()
        self.server_problems: list[Message] = []
        self._heartbeat_s = heartbeat_s
        self._ping = encode_event("ping", PingEvent(heartbeat_s))
        self._coalescer = Coalescer(self.notifier, self._collect_updates, PROGRESS_S)
        self._revisions: dict[tuple[str, str], ServerEvent] = {}
        refresher.listeners.append(self._on_refresh)

    def routes(self) -> list[Route]:
        return [Route("live/poll", PollRequest, self.poll, "GET")]

    def publish(self, name: str, data: object) -> None:
        """Send an event to every open page. May be called from any thread."""
        self.event_log.add(name, data)
        self.notifier.notify()

    def publish_revision(self, event: NotesEvent | DashboardEvent) -> None:
        """Send a new revision to every open page, and to pages that connect later."""
        name = "notes" if isinstance(event, NotesEvent) else "dashboard"
        key = event.name if isinstance(event, DashboardEvent) else ""
        self._revisions[name, key] = ServerEvent(name, event)
        self.publish(name, event)

    def get_etag(self) -> str:
        """Return a text that changes with every change that is reported to clients."""
        # Clients are notified at the end of a refresh. Pages that open during a long one show what
        # has been read so far.
        progress = self.source.progress if self.refresher.is_loading else ""
        return f"{self.history.process}.{self.source.version}.{progress}"

    def status(self) -> LoadStatus:
        failure = self.refresher.failure
        problems = [*([failure] if failure else []), *self.server_problems, *self.source.problems]
        return LoadStatus(
            loading=self.refresher.is_loading,
            progress=make_progress_row(self.source.progress),
            problems=[_make_valid_sentence(problem) for problem in problems[:_MAX_PROBLEMS]],
            problem_count=len(problems),
        )

    def poll(self, request: PollRequest) -> PollResponse:
        """Return what the event stream would have sent since the previous response."""
        events: list[ServerEvent] | None
        if request.last_event is None:
            last_event = self.event_log.count
            events = list(self._revisions.values())
        else:
            events = self.event_log.find_since(request.last_event)
            last_event = (
                self.event_log.count if events is None else request.last_event + len(events)
            )
        cursor, delta = self.changelog.get_since(request.since)
        return PollResponse(
            cursor=cursor,
            last_event=last_event,
            reset=events is None or (delta is None and cursor != request.since),
            status=self.status(),
            delta=delta,
            events=events or [],
        )

    async def stream(self, cursor: str) -> AsyncGenerator[bytes, None]:
        """Yield server-sent events for a client that has everything up to ``cursor``."""
        position = PollRequest(cursor, self.event_log.count)
        revisions = [encode_event(event.name, event.data) for event in self._revisions.values()]
        sent_status: LoadStatus | None = None
        # A ping is due by the clock: every refresh wakes the stream, mostly with nothing to send.
        ping_due_s = 0.0
        with self.notifier.subscribe() as wake_up:
            while not self.notifier.is_closed:
                wake_up.clear()
                response, status_event, events = await self._coalescer.get(position)
                position = PollRequest(response.cursor, response.last_event)
                if sent_status is None:
                    events = [*revisions, *events]
                if response.status != sent_status:
                    sent_status = response.status
                    events = [status_event, *events]
                if not events and time.monotonic() >= ping_due_s:
                    events = [self._ping]
                for encoded in events:
                    yield encoded
                now_s = time.monotonic()
                if events:
                    # Randomized, so that streams woken together do not all send at once.
                    ping_due_s = now_s + self._heartbeat_s * random.uniform(0.7, 1.0)
                wait_s = max(0.0, ping_due_s - now_s)
                await _wait_for(wake_up, min(wait_s, PROGRESS_S) if sent_status.loading else wait_s)

    def _collect_updates(self, position: PollRequest) -> tuple[PollResponse, bytes, list[bytes]]:
        """Return what is new, the encoded status, and the other encoded events."""
        response = self.poll(position)
        return response, encode_event("status", response.status), _encode_updates(response)

    def _on_refresh(self, delta: Delta | None) -> None:
        # A refresh may find only new tensor files, which does not change the version.
        if delta is not None and delta.version != self.history.version:
            self.changelog.add(delta)
        self.notifier.notify()


def encode_event(name: str, data: object, cursor: str | None = None) -> bytes:
    """Encode one server-sent event; browsers send its id back when they reconnect."""
    head = f"event: {name}\n" + (f"id: {cursor}\n" if cursor else "")
    return head.encode() + b"data: " + msgspec.json.encode(data) + b"\n\n"


def _encode_updates(response: PollResponse) -> list[bytes]:
    messages = [encode_event(event.name, event.data) for event in response.events]
    if response.reset:
        messages.append(encode_event("reset", ResetEvent(response.cursor), response.cursor))
    elif response.delta is not None:
        messages.append(encode_event("delta", response.delta, response.cursor))
    return messages


async def _wait_for(event: asyncio.Event, timeout_s: float) -> None:
    with contextlib.suppress(asyncio.TimeoutError):
        await asyncio.wait_for(event.wait(), timeout_s)


# ---- the HTTP response


class EventStreamResponse(Response):
    """Send events until there are no more, or the client disconnects."""

    media_type = "text/event-stream"

    def __init__(self, events: AsyncGenerator[bytes, None]) -> None:
        self._events = events
        self.status_code = 200
        self.init_headers(_STREAM_HEADERS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        sending = asyncio.ensure_future(self._send(send))
        disconnect = asyncio.ensure_future(_wait_for_disconnect(receive))
        disconnect.add_done_callback(lambda _: sending.cancel())
        try:
            await sending
        except asyncio.CancelledError:
            if not disconnect.done():  # the server is shutting down
                raise
        finally:
            disconnect.cancel()

    async def _send(self, send: Send) -> None:
        start = {"type": "http.response.start", "status": 200, "headers": self.raw_headers}
        await send(start)
        async with contextlib.aclosing(self._events):
            async for event in self._events:
                await send({"type": "http.response.body", "body": event, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _wait_for_disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def create_stream_route(live: LiveUpdates) -> StarletteRoute:
    async def stream(request: Request) -> Response:
        if live.notifier.subscriber_count >= get_open_file_limit() // 2:
            return create_error_response(
                503, Message("http.too_many_pages", "too many pages are connected to this server")
            )
        since = request.query_params.get("since", "")
        return EventStreamResponse(live.stream(request.headers.get("last-event-id") or since))

    return StarletteRoute("/live", stream)


# ---- mechanisms


class EventLog:
    """The latest events, numbered, so that a client knows which ones it has received."""

    def __init__(self) -> None:
        self.count = 0
        self._lock = threading.Lock()
        self._latest: deque[ServerEvent] = deque(maxlen=_MAX_EVENTS)

    def add(self, name: str, data: object) -> None:
        with self._lock:
            self._latest.append(ServerEvent(name, data))
            self.count += 1

    def find_since(self, last_event: int) -> list[ServerEvent] | None:
        """Return the events after number ``last_event``; None if some are no longer known."""
        with self._lock:
            missed = self.count - last_event
            if not 0 <= missed <= len(self._latest):
                return None
            return list(self._latest)[len(self._latest) - missed :]


class Notifier:
    """Wake coroutines of the event loop from other threads.

    Attributes:
        generation: The number of notifications so far.
        is_closed: True once the server shuts down; streams then end.
    """

    def __init__(self) -> None:
        self.generation = 0
        self.is_closed = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._subscribers: set[asyncio.Event] = set()

    @property
    def subscriber_count(self) -> int:
        return len(self._subscribers)

    def attach_loop(self) -> None:
        """Notify subscribers in the running event loop from now on."""
        self._loop = asyncio.get_running_loop()

    def notify(self) -> None:
        """Wake all subscribers. Call it after the change that they are to see."""
        self.generation += 1
        if self._loop is not None:
            # The loop may already be closed while the refresher finishes its last refresh.
            with contextlib.suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._wake)

    def close(self) -> None:
        self.is_closed = True
        self.notify()

    @contextlib.contextmanager
    def subscribe(self) -> Iterator[asyncio.Event]:
        """Yield an event that is set by every notification."""
        event = asyncio.Event()
        self._subscribers.add(event)
        try:
            yield event
        finally:
            self._subscribers.discard(event)

    def _wake(self) -> None:
        self._wake_batch(list(self._subscribers))

    def _wake_batch(self, events: list[asyncio.Event]) -> None:
        for event in events[:_WAKE_BATCH_SIZE]:
            event.set()
        if len(events) > _WAKE_BATCH_SIZE and self._loop is not None:
            self._loop.call_later(_WAKE_INTERVAL_S, self._wake_batch, events[_WAKE_BATCH_SIZE:])


class Coalescer(Generic[KeyT, ValueT]):
    """Share one computation between concurrent callers that ask for the same key.

    Results are reused until the notifier's next notification or until `max_age_s` has passed.
    Cancelling one caller does not cancel the computation for the others.

    Args:
        notifier: A notification invalidates all results.
        compute: Called in a worker thread with the key.
        max_age_s: Upper bound on staleness for data that changes without a notification.
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
        epoch = (self._notifier.generation, int(time.monotonic() / self._max_age_s))
        if epoch != self._epoch:
            self._epoch, self._pending = epoch, {}
        value = self._pending.get(key)
        if value is None:
            value = asyncio.ensure_future(asyncio.to_thread(self._compute, key))
            self._pending[key] = value
        return await asyncio.shield(value)


def _make_valid_sentence(problem: Message) -> Sentence:
    """Return a message about a file as JSON can hold it; its path may not be UTF-8."""
    sentence = Sentence.make(problem)
    args = {
        name: to_valid_unicode(value) if isinstance(value, str) else value
        for name, value in sentence.args.items()
    }
    return Sentence(sentence.code, to_valid_unicode(sentence.text), args)
