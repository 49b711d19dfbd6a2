"""``GET api/live``: the stream of changes as an HTTP answer; see ``server.live``."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import sys
import time
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator
from contextlib import nullcontext
from typing import ParamSpec, TypeVar

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

import tracklight
from tracklight.index.pack import release_pages
from tracklight.server.auth import get_route_path
from tracklight.server.events import LiveUpdates
from tracklight.server.responses import create_error_response
from tracklight.server.source import LogOverview
from tracklight.util.files import get_open_file_limit
from tracklight.util.memory import trim_memory

# A proxy that collects an answer before it passes it on would hold the stream back forever.
_STREAM_HEADERS = {"cache-control": "no-store", "x-accel-buffering": "no"}


class EventStreamResponse(Response):
    """Sends events until there are no more, or nobody listens any longer."""

    media_type = "text/event-stream"

    def __init__(self, events: AsyncGenerator[bytes, None]) -> None:
        self._events = events
        self.status_code = 200
        self.init_headers(_STREAM_HEADERS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        sending = asyncio.ensure_future(self._send(send))
        leaving = asyncio.ensure_future(_wait_for_disconnect(receive))
        leaving.add_done_callback(lambda _: sending.cancel())
        try:
            await sending
        except asyncio.CancelledError:
            if not leaving.done():  # it is the server that wants to end
                raise
        finally:
            leaving.cancel()

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


def create_stream_route(live: LiveUpdates) -> Route:
    async def follow(request: Request) -> Response:
        if live.notifier.subscriber_count >= get_open_file_limit() // 2:
            return create_error_response(503, "too many pages follow this board")
        since = request.query_params.get("since", "")
        return EventStreamResponse(live.stream(request.headers.get("last-event-id") or since))

    return Route("/live", follow)


# Nobody keeps all others waiting: each address has a few of its requests answered at a time.

P = ParamSpec("P")

T = TypeVar("T")

#: Requests are answered by as many threads as asyncio has by default; two are left to others.
MAX_CONCURRENT = max(2, min(32, (os.cpu_count() or 1) + 4) - 2)

#: In the scope of a request: what is held while it is worked on, though not while it is sent.
SEMAPHORE_KEY = "tracklight.turn"

#: A page asks for six things at once; ten pages behind one proxy do no harm.
MAX_QUEUED = 256


async def run_in_thread(scope: Scope, do: Callable[P, T], *args: P.args, **rest: P.kwargs) -> T:
    """Do something in a thread when it is the turn of who asked."""
    async with scope.get(SEMAPHORE_KEY) or nullcontext():
        return await asyncio.to_thread(do, *args, **rest)


class _ClientQueue:
    def __init__(self) -> None:
        self.semaphore = asyncio.Semaphore(MAX_CONCURRENT)
        self.requests = 0


class ConcurrencyLimitMiddleware:
    """Lets requests of one address wait for each other, and turns away who piles them up."""

    def __init__(self, app: ASGIApp, stream_path: str = "") -> None:
        self.app = app
        self._stream_path = stream_path
        """Answered for as long as somebody listens, without a thread of its own."""
        self._queues: dict[str, _ClientQueue] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or get_route_path(scope) == self._stream_path:
            await self.app(scope, receive, send)
            return
        address = scope["client"][0] if scope.get("client") else ""
        queue = self._queues.setdefault(address, _ClientQueue())
        if queue.requests >= MAX_CONCURRENT + MAX_QUEUED:
            answer = create_error_response(
                429, "too many requests of this address wait for an answer"
            )
            answer.headers["retry-after"] = "1"
            await answer(scope, receive, send)
            return
        queue.requests += 1
        scope[SEMAPHORE_KEY] = queue.semaphore
        try:
            await self.app(scope, receive, send)
        finally:
            queue.requests -= 1
            if queue.requests == 0:
                self._queues.pop(address, None)


# Hands memory back once a burst of requests is over, so that a board at rest is small.

IDLE_S = 2.0

#: Nobody is answered while Python looks at all that there is, which takes most of a second where
#: thousands of streams are open.
_MAX_COLLECTION_SHARE = 0.01


class MemoryTrimMiddleware:
    """Tidies up when no request has ended for a while after the last one did."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self._timer: asyncio.TimerHandle | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self.app(scope, receive, send)
        finally:
            if scope["type"] == "http":
                self._schedule()

    def _schedule(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(IDLE_S, self._trim)

    @staticmethod
    def _trim() -> None:
        # A server that is just ending takes no more work.
        with contextlib.suppress(RuntimeError):
            asyncio.get_running_loop().run_in_executor(None, release_idle_memory)


class GarbageCollector:
    """Drops what nobody refers to; as often as it likes what is new, and seldom all there is."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._next_full_s = 0.0

    def collect(self) -> None:
        began_s = self._clock()
        is_whole = began_s >= self._next_full_s
        if is_whole:
            gc.unfreeze()
        gc.collect()
        # What has stayed is likely to stay, and is not looked at until all is.
        gc.freeze()
        if is_whole:
            ended_s = self._clock()
            self._next_full_s = ended_s + (ended_s - began_s) / _MAX_COLLECTION_SHARE


_collector = GarbageCollector()


def release_idle_memory() -> None:
    """Drop what nobody refers to, the pages of the cache that were looked at, and free memory."""
    _collector.collect()
    release_pages()
    trim_memory()


# ``GET metrics``: counts for Prometheus, in its plain text.

_METRICS_MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_BUCKETS_S = (0.005, 0.025, 0.1, 0.5, 2.5, 10.0)

_START_TIME = time.time()

Samples = Iterable[tuple[str, float]]


class RequestStats:
    """What was answered so far, and how long it took."""

    def __init__(self) -> None:
        self.requests_by_status: Counter[int] = Counter()
        self.requests_by_bucket: Counter[float] = Counter()
        self.total_s = 0.0

    def add(self, status: int, seconds: float) -> None:
        self.requests_by_status[status] += 1
        self.total_s += seconds
        self.requests_by_bucket.update(bound for bound in _BUCKETS_S if seconds <= bound)


class MetricsMiddleware:
    """Counts every answer; one takes until it begins, as streams go on for as long as a page."""

    def __init__(self, app: ASGIApp, stats: RequestStats) -> None:
        self.app = app
        self.stats = stats

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began_s = time.perf_counter()

        async def send_and_count(message: Message) -> None:
            if message["type"] == "http.response.start":
                self.stats.add(message["status"], time.perf_counter() - began_s)
            await send(message)

        await self.app(scope, receive, send_and_count)


def create_metrics_route(live: LiveUpdates, overview: LogOverview, stats: RequestStats) -> Route:
    async def answer(_: Request) -> Response:
        lines = await asyncio.to_thread(lambda: [*_iter_lines(live, overview, stats)])
        return Response("\n".join(lines) + "\n", media_type=_METRICS_MEDIA_TYPE)

    return Route("/metrics", answer)


def _iter_lines(live: LiveUpdates, overview: LogOverview, tally: RequestStats) -> Iterator[str]:
    for name, kind, text, samples in [
        *_iter_log_metrics(live, overview),
        *_iter_server_metrics(live, tally),
    ]:
        yield f"# HELP {name} {text}"
        yield f"# TYPE {name} {kind}"
        yield from (f"{name}{labels} {value:.16g}" for labels, value in samples)


Metric = tuple[str, str, str, Samples]


def _iter_log_metrics(live: LiveUpdates, overview: LogOverview) -> Iterator[Metric]:
    runs = overview.runs().values()
    progress = live.source.progress
    yield _make_gauge("tracklight_runs", "Runs in the log.", len(runs))
    yield _make_gauge("tracklight_files", "Event files in the log.", sum(it.files for it in runs))
    yield _make_gauge(
        "tracklight_log_bytes", "Bytes of the event files.", sum(it.bytes for it in runs)
    )
    yield _make_gauge("tracklight_points", "Values in the log.", sum(it.points for it in runs))
    yield _make_gauge("tracklight_damaged", "Damaged places.", sum(it.damaged for it in runs))
    yield _make_gauge("tracklight_problems", "What cannot be read.", live.status().problem_count)
    yield _make_gauge(
        "tracklight_loading", "1 while much is being read.", live.refresher.is_loading
    )
    yield _make_gauge(
        "tracklight_failing", "1 if the log cannot be read.", bool(live.refresher.failure)
    )
    left = max(0, progress.bytes_total - progress.bytes_done)
    yield _make_gauge("tracklight_unread_bytes", "Bytes still to be read.", left)


def _iter_server_metrics(live: LiveUpdates, tally: RequestStats) -> Iterator[Metric]:
    version = f'{{version="{tracklight.__version__}"}}'
    yield "tracklight_info", "gauge", "The version that runs.", [(version, 1)]
    yield _make_gauge(
        "tracklight_streams", "Open live update streams.", live.notifier.subscriber_count
    )
    answers = [
        (f'{{status="{status}"}}', n) for status, n in sorted(tally.requests_by_status.items())
    ]
    yield "tracklight_answers_total", "counter", "Answers by status.", answers
    yield (
        "tracklight_answer_seconds",
        "histogram",
        "Time until an answer began.",
        [*_iter_histogram(tally)],
    )
    yield _make_gauge("process_start_time_seconds", "When the process began.", _START_TIME)
    cpu_s = sum(os.times()[:2])
    yield "process_cpu_seconds_total", "counter", "Time on processors.", [("", cpu_s)]
    memory = _read_resident_bytes()
    if memory is not None:
        yield _make_gauge("process_resident_memory_bytes", "Memory that is held.", memory)


def _make_gauge(name: str, text: str, value: float) -> Metric:
    return name, "gauge", text, [("", value)]


def _iter_histogram(tally: RequestStats) -> Iterator[tuple[str, float]]:
    for bound in _BUCKETS_S:
        yield f'_bucket{{le="{bound:g}"}}', tally.requests_by_bucket[bound]
    total = sum(tally.requests_by_status.values())
    yield '_bucket{le="+Inf"}', total
    yield "_sum", tally.total_s
    yield "_count", total


def _read_resident_bytes() -> int | None:
    if sys.platform != "linux":
        return None
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
