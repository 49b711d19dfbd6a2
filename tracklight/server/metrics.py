"""``GET metrics``: counts for Prometheus, in its plain text."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

import tracklight
from tracklight.server.live import Live
from tracklight.server.overview import Overview

_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_BOUNDS_S = (0.005, 0.025, 0.1, 0.5, 2.5, 10.0)
_STARTED = time.time()

Samples = Iterable[tuple[str, float]]


class Tally:
    """What was answered so far, and how long it took."""

    def __init__(self) -> None:
        self.answers: Counter[int] = Counter()
        self.within: Counter[float] = Counter()
        self.seconds = 0.0

    def add(self, status: int, seconds: float) -> None:
        self.answers[status] += 1
        self.seconds += seconds
        self.within.update(bound for bound in _BOUNDS_S if seconds <= bound)


class Meter:
    """Counts every answer; one takes until it begins, as streams go on for as long as a page."""

    def __init__(self, app: ASGIApp, tally: Tally) -> None:
        self.app = app
        self.tally = tally

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began_s = time.perf_counter()

        async def send_and_count(message: Message) -> None:
            if message["type"] == "http.response.start":
                self.tally.add(message["status"], time.perf_counter() - began_s)
            await send(message)

        await self.app(scope, receive, send_and_count)


def metrics_route(live: Live, overview: Overview, tally: Tally) -> Route:
    async def answer(_: Request) -> Response:
        lines = await asyncio.to_thread(lambda: [*_iter_lines(live, overview, tally)])
        return Response("\n".join(lines) + "\n", media_type=_TYPE)

    return Route("/metrics", answer)


def _iter_lines(live: Live, overview: Overview, tally: Tally) -> Iterator[str]:
    for name, kind, text, samples in [*_log_metrics(live, overview), *_server_metrics(live, tally)]:
        yield f"# HELP {name} {text}"
        yield f"# TYPE {name} {kind}"
        yield from (f"{name}{labels} {value:.16g}" for labels, value in samples)


Metric = tuple[str, str, str, Samples]


def _log_metrics(live: Live, overview: Overview) -> Iterator[Metric]:
    runs = overview.runs().values()
    progress = live.source.progress
    yield _gauge("tracklight_runs", "Runs in the log.", len(runs))
    yield _gauge("tracklight_files", "Event files in the log.", sum(it.files for it in runs))
    yield _gauge("tracklight_log_bytes", "Bytes of the event files.", sum(it.bytes for it in runs))
    yield _gauge("tracklight_points", "Values in the log.", sum(it.points for it in runs))
    yield _gauge("tracklight_damaged", "Damaged places.", sum(it.damaged for it in runs))
    yield _gauge("tracklight_problems", "What cannot be read.", live.status().problem_count)
    yield _gauge("tracklight_loading", "1 while much is being read.", live.follower.is_loading)
    yield _gauge("tracklight_failing", "1 if the log cannot be read.", bool(live.follower.failure))
    left = max(0, progress.bytes_total - progress.bytes_done)
    yield _gauge("tracklight_unread_bytes", "Bytes still to be read.", left)


def _server_metrics(live: Live, tally: Tally) -> Iterator[Metric]:
    version = f'{{version="{tracklight.__version__}"}}'
    yield "tracklight_info", "gauge", "The version that runs.", [(version, 1)]
    yield _gauge("tracklight_streams", "Open live update streams.", live.bell.listeners)
    answers = [(f'{{status="{status}"}}', n) for status, n in sorted(tally.answers.items())]
    yield "tracklight_answers_total", "counter", "Answers by status.", answers
    yield (
        "tracklight_answer_seconds",
        "histogram",
        "Time until an answer began.",
        [*_iter_histogram(tally)],
    )
    yield _gauge("process_start_time_seconds", "When the process began.", _STARTED)
    cpu_s = sum(os.times()[:2])
    yield "process_cpu_seconds_total", "counter", "Time on processors.", [("", cpu_s)]
    memory = _read_memory()
    if memory is not None:
        yield _gauge("process_resident_memory_bytes", "Memory that is held.", memory)


def _gauge(name: str, text: str, value: float) -> Metric:
    return name, "gauge", text, [("", value)]


def _iter_histogram(tally: Tally) -> Iterator[tuple[str, float]]:
    for bound in _BOUNDS_S:
        yield f'_bucket{{le="{bound:g}"}}', tally.within[bound]
    total = sum(tally.answers.values())
    yield '_bucket{le="+Inf"}', total
    yield "_sum", tally.seconds
    yield "_count", total


def _read_memory() -> int | None:
    if sys.platform != "linux":
        return None
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
