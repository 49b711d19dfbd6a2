"""Middleware around all routes: concurrency limits, idle memory, audit log, metrics.

`tracklight.server.auth` has the middleware that decides who may send requests.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import os
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.types import Message as ASGIMessage

import tracklight
from tracklight.errors import Message, UsageError
from tracklight.index.pack import release_pages
from tracklight.logdir.object_store import METER, OPERATIONS
from tracklight.server.auth import USER_KEY, get_route_path
from tracklight.server.events import LiveUpdates
from tracklight.server.responses import create_error_response
from tracklight.server.source import LogOverview
from tracklight.util.files import FileUpdate
from tracklight.util.memory import trim_memory

_log = logging.getLogger(__name__)

P = ParamSpec("P")
T = TypeVar("T")

#: Requests of one client that are handled at a time. asyncio has ``min(32, cores + 4)`` threads by
#: default; two of them are left to other clients.
MAX_CONCURRENT_REQUESTS = max(2, min(32, (os.cpu_count() or 1) + 4) - 2)
#: Requests of one client that wait. A page sends six at once, so ten pages behind one proxy fit.
MAX_QUEUED_REQUESTS = 256
#: The key in the scope of a request for the semaphore of its client.
SEMAPHORE_KEY = "tracklight.semaphore"

#: Memory is released when no request has ended for this long.
IDLE_S = 2.0
#: The share of time that full garbage collections may take. They block all requests, for most of a
#: second when thousands of streams are open.
_MAX_COLLECTION_SHARE = 0.01

_METRICS_MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_BUCKETS_S = (0.005, 0.025, 0.1, 0.5, 2.5, 10.0)
_START_TIME = time.time()

#: Pairs of labels and value.
Samples = Iterable[tuple[str, float]]
#: Name, type, help text and samples.
Metric = tuple[str, str, str, Samples]


# ---- concurrency


class _ClientQueue:
    def __init__(self) -> None:
        self.semaphore = asyncio.Semaphore(MAX_CONCURRENT_REQUESTS)
        self.requests = 0


class ConcurrencyLimitMiddleware:
    """Limit concurrent requests per client address, and reject those beyond a queue.

    The limit applies while a handler runs (`run_in_thread`), not while its response is sent.

    Args:
        app: The next application.
        stream_path: The path of the event stream, which is exempt: it stays open and needs no
            thread.
    """

    def __init__(self, app: ASGIApp, stream_path: str = "") -> None:
        self.app = app
        self._stream_path = stream_path
        self._queues: dict[str, _ClientQueue] = {}

    @property
    def client_count(self) -> int:
        """The number of addresses with requests in progress."""
        return len(self._queues)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or get_route_path(scope) == self._stream_path:
            await self.app(scope, receive, send)
            return
        address = scope["client"][0] if scope.get("client") else ""
        queue = self._queues.setdefault(address, _ClientQueue())
        if queue.requests >= MAX_CONCURRENT_REQUESTS + MAX_QUEUED_REQUESTS:
            response = create_error_response(
                429,
                Message("http.too_many_requests", "too many requests of this client are waiting"),
            )
            response.headers["retry-after"] = "1"
            await response(scope, receive, send)
            return
        queue.requests += 1
        scope[SEMAPHORE_KEY] = queue.semaphore
        try:
            await self.app(scope, receive, send)
        finally:
            queue.requests -= 1
            if queue.requests == 0:
                self._queues.pop(address, None)


async def run_in_thread(scope: Scope, func: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run a function in a worker thread, within the concurrency limit of the client."""
    async with scope.get(SEMAPHORE_KEY) or contextlib.nullcontext():
        return await asyncio.to_thread(func, *args, **kwargs)


# ---- memory


class MemoryTrimMiddleware:
    """Release memory when the server has been idle for a while after the last request."""

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
        # The executor refuses work while the server shuts down.
        with contextlib.suppress(RuntimeError):
            asyncio.get_running_loop().run_in_executor(None, release_idle_memory)


class GarbageCollector:
    """Collect new objects at every call, and all objects only now and then."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._next_full_s = 0.0

    def collect(self) -> None:
        started_s = self._clock()
        is_full = started_s >= self._next_full_s
        if is_full:
            gc.unfreeze()
        gc.collect()
        # Objects that have survived are skipped until the next full collection.
        gc.freeze()
        if is_full:
            ended_s = self._clock()
            self._next_full_s = ended_s + (ended_s - started_s) / _MAX_COLLECTION_SHARE


_collector = GarbageCollector()


def release_idle_memory() -> None:
    """Collect garbage, unmap cached pages, and return free memory to the system."""
    _collector.collect()
    release_pages()
    trim_memory()


# ---- audit log
#
# One JSON line for every request to a route that changes something, also if it was refused, before
# the client gets the response. Contents are not logged, only their sizes, because the file may be
# kept for longer than the notes.


#: The key in the scope of a request for its `Change`.
CHANGE_KEY = "tracklight.change"

_MAX_SUBJECTS = 20


class AuditEntry(msgspec.Struct, omit_defaults=True):
    """One line of the audit log."""

    time: str
    """UTC, in ISO 8601."""
    user: str
    """Empty for requests with a token, and on servers without users."""
    address: str
    method: str
    path: str
    status: int
    request_bytes: int
    subjects: Sequence[str] = ()
    """The runs, or the name or id of what was changed; the first ones of many."""
    old_bytes: int | None = None
    """The size of the stored file before and after the change; none if nothing was stored."""
    new_bytes: int | None = None


@dataclass
class Change:
    """What the router finds out about a request."""

    is_mutation: bool = False
    request_bytes: int = 0
    subjects: Sequence[str] = ()
    updates: list[FileUpdate] = field(default_factory=list)


def list_subjects(request: Any) -> Sequence[str]:
    """Return the names of what a decoded request is about."""
    runs = getattr(request, "runs", None)
    if isinstance(runs, (list, tuple)):
        return [str(run) for run in runs[:_MAX_SUBJECTS]]
    names = (getattr(request, field, None) for field in ("name", "id"))
    return [name for name in names if isinstance(name, str)]


class AuditLog:
    """A file to which lines are appended; it may be renamed at any time, as by logrotate.

    Args:
        path: The file, which is created if it does not exist.

    Raises:
        UsageError: The file cannot be written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._is_failing = False
        try:
            self._append(b"")
        except OSError as error:
            raise UsageError(
                f'cannot write the audit log "{path}": {error.strerror or error}'
            ) from error

    def write(self, entry: AuditEntry) -> None:
        """Append an entry; a failure is logged, because the change was made already."""
        try:
            self._append(msgspec.json.encode(entry) + b"\n")
            self._is_failing = False
        except OSError as error:
            if not self._is_failing:
                _log.error("cannot write the audit log %s: %s", self.path, error)
            self._is_failing = True

    def _append(self, line: bytes) -> None:
        # Only the user may read who did what. Appends of one call are not mixed with others.
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
        with self._lock:
            file = os.open(self.path, flags, 0o600)
            try:
                if line:
                    os.write(file, line)
            finally:
                os.close(file)


class AuditMiddleware:
    """Write the requests that change something to an audit log."""

    def __init__(self, app: ASGIApp, log: AuditLog) -> None:
        self.app = app
        self._log = log

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        change = scope[CHANGE_KEY] = Change()
        path: str = scope["path"]

        async def log_and_send(message: ASGIMessage) -> None:
            if message["type"] == "http.response.start" and change.is_mutation:
                entry = _create_entry(scope, path, message["status"], change)
                await asyncio.to_thread(self._log.write, entry)
            await send(message)

        await self.app(scope, receive, log_and_send)


def _create_entry(scope: Scope, path: str, status: int, change: Change) -> AuditEntry:
    now = datetime.now(timezone.utc).isoformat(timespec="milliseconds")
    client = scope.get("client")
    updates = change.updates
    return AuditEntry(
        time=now.replace("+00:00", "Z"),
        user=scope.get(USER_KEY, ""),
        address=client[0] if client else "",
        method=scope["method"],
        path=path,
        status=status,
        request_bytes=change.request_bytes,
        subjects=change.subjects,
        old_bytes=updates[0].old_bytes if updates else None,
        new_bytes=updates[-1].new_bytes if updates else None,
    )


# ---- metrics


class RequestStats:
    """Counts and durations of all requests so far."""

    def __init__(self) -> None:
        self.requests_by_status: Counter[int] = Counter()
        self.requests_by_bucket: Counter[float] = Counter()
        self.total_s = 0.0

    def add(self, status: int, duration_s: float) -> None:
        self.requests_by_status[status] += 1
        self.total_s += duration_s
        self.requests_by_bucket.update(bound for bound in _BUCKETS_S if duration_s <= bound)


class MetricsMiddleware:
    """Count requests and measure the time until their responses begin.

    The time until the end would say nothing: event streams stay open as long as a page.
    """

    def __init__(self, app: ASGIApp, stats: RequestStats) -> None:
        self.app = app
        self.stats = stats

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started_s = time.perf_counter()

        async def send_and_count(message: ASGIMessage) -> None:
            if message["type"] == "http.response.start":
                self.stats.add(message["status"], time.perf_counter() - started_s)
            await send(message)

        await self.app(scope, receive, send_and_count)


def create_metrics_route(live: LiveUpdates, overview: LogOverview, stats: RequestStats) -> Route:
    """Create ``GET /metrics``, in the text format of Prometheus."""

    async def metrics(_: Request) -> Response:
        lines = await asyncio.to_thread(lambda: [*_iter_lines(live, overview, stats)])
        return Response("\n".join(lines) + "\n", media_type=_METRICS_MEDIA_TYPE)

    return Route("/metrics", metrics)


def _iter_lines(live: LiveUpdates, overview: LogOverview, stats: RequestStats) -> Iterator[str]:
    metrics = [
        *_iter_log_metrics(live, overview),
        *_iter_store_metrics(),
        *_iter_server_metrics(live, stats),
    ]
    for name, kind, text, samples in metrics:
        yield f"# HELP {name} {text}"
        yield f"# TYPE {name} {kind}"
        yield from (f"{name}{labels} {value:.16g}" for labels, value in samples)


def _iter_log_metrics(live: LiveUpdates, overview: LogOverview) -> Iterator[Metric]:
    runs = overview.runs().values()
    progress = live.source.progress
    unread = max(0, progress.bytes_total - progress.bytes_done)
    failing = bool(live.refresher.failure)
    yield _make_gauge("tracklight_runs", "Runs in the log.", len(runs))
    yield _make_gauge(
        "tracklight_event_files", "Event files in the log.", sum(run.files for run in runs)
    )
    yield _make_gauge("tracklight_log_bytes", "Size of event files.", sum(r.bytes for r in runs))
    yield _make_gauge("tracklight_points", "Values in the log.", sum(run.points for run in runs))
    yield _make_gauge(
        "tracklight_damaged_regions",
        "Damaged regions in event files.",
        sum(run.damaged for run in runs),
    )
    yield _make_gauge(
        "tracklight_problems", "Reported problems of the log.", live.status().problem_count
    )
    yield _make_gauge("tracklight_loading", "1 during a long refresh.", live.refresher.is_loading)
    yield _make_gauge("tracklight_failing", "1 if the log cannot be read.", failing)
    yield _make_gauge("tracklight_unread_bytes", "Bytes still to be read.", unread)


def _iter_store_metrics() -> Iterator[Metric]:
    counts = METER.get_totals()

    def by_operation(values: Mapping[str, int]) -> list[tuple[str, float]]:
        return [(f'{{operation="{name}"}}', values.get(name, 0)) for name in OPERATIONS]

    requests, received = by_operation(counts.requests), by_operation(counts.bytes)
    yield "tracklight_store_requests_total", "counter", "Requests to object stores.", requests
    yield "tracklight_store_bytes_total", "counter", "Bytes received from stores.", received
    yield (
        "tracklight_store_retries_total",
        "counter",
        "Repeated requests to object stores.",
        [("", counts.retries)],
    )
    budget = METER.budget
    if budget is not None:
        yield _make_gauge(
            "tracklight_store_budget", "Requests to object stores per hour.", budget.per_hour
        )
        yield _make_gauge(
            "tracklight_store_budget_remaining", "What is left of it now.", budget.remaining
        )


def _iter_server_metrics(live: LiveUpdates, stats: RequestStats) -> Iterator[Metric]:
    version = f'{{version="{tracklight.__version__}"}}'
    yield "tracklight_build_info", "gauge", "The running version.", [(version, 1)]
    yield _make_gauge(
        "tracklight_event_streams", "Open live update streams.", live.notifier.subscriber_count
    )
    requests = [(f'{{status="{code}"}}', n) for code, n in sorted(stats.requests_by_status.items())]
    yield "tracklight_http_requests_total", "counter", "HTTP requests by status.", requests
    yield (
        "tracklight_http_request_duration_seconds",
        "histogram",
        "Time until the response begins.",
        [*_iter_histogram(stats)],
    )
    yield _make_gauge("process_start_time_seconds", "Start time of the process.", _START_TIME)
    cpu_s = sum(os.times()[:2])
    yield "process_cpu_seconds_total", "counter", "User and system CPU time.", [("", cpu_s)]
    resident = _find_resident_bytes()
    if resident is not None:
        yield _make_gauge("process_resident_memory_bytes", "Resident memory.", resident)


def _make_gauge(name: str, text: str, value: float) -> Metric:
    return name, "gauge", text, [("", value)]


def _iter_histogram(stats: RequestStats) -> Iterator[tuple[str, float]]:
    for bound in _BUCKETS_S:
        yield f'_bucket{{le="{bound:g}"}}', stats.requests_by_bucket[bound]
    total = sum(stats.requests_by_status.values())
    yield '_bucket{le="+Inf"}', total
    yield "_sum", stats.total_s
    yield "_count", total


def _find_resident_bytes() -> int | None:
    if sys.platform != "linux":
        return None
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
