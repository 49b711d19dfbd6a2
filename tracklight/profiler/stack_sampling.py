"""Merge stack samples of a thread into nested spans."""

from __future__ import annotations

import gzip
import json
import linecache
import os
import sys
import sysconfig
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import lru_cache
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, NamedTuple

from tracklight.profiler.framework_profilers import create_profile_path
from tracklight.writer.warnings import get_user_frame

_MAX_DEPTH = 200

_MAX_LINE_CHARS = 80

_LIBRARY_DIRS = (
    *map(sysconfig.get_path, ("stdlib", "purelib", "platlib")),
    os.path.dirname(__file__),
)

_LIBRARY_PREFIXES = tuple(os.path.join(place, "") for place in _LIBRARY_DIRS)


class Span(NamedTuple):
    """A call; times are those of the samples."""

    name: str
    start_ns: int
    end_ns: int


class SpanBuilder:
    """The open and the finished calls of one thread.

    A function that is in two consecutive samples is taken for one call.
    """

    def __init__(self) -> None:
        self.spans: list[Span] = []
        self._open: list[tuple[str, int]] = []

    def add(self, names: list[str], now_ns: int) -> None:
        """Add a sample: the names of the running calls, outermost first."""
        same = 0
        for (name, _), seen in zip(self._open, names, strict=False):
            if name != seen:
                break
            same += 1
        self.close_below(same, now_ns)
        self._open += [(name, now_ns) for name in names[same:]]

    def close_below(self, depth: int, now_ns: int) -> None:
        """End all calls below ``depth``. They may have begun after ``now_ns`` was taken."""
        while len(self._open) > depth:
            name, start = self._open.pop()
            self.spans.append(Span(name, start, max(start, now_ns)))


def format_stack(frame: FrameType | None) -> list[str]:
    """Return the functions on a stack, outermost first, with lines for the user's own files."""
    frames: list[FrameType] = []
    while frame is not None and len(frames) < _MAX_DEPTH:
        frames.append(frame)
        frame = frame.f_back
    return [name for each in reversed(frames) for name in _iter_frame_names(each)]


def _iter_frame_names(frame: FrameType) -> Iterator[str]:
    yield _format_function(frame.f_code)
    if _is_user_file(frame.f_code.co_filename):
        yield _format_line(frame.f_code.co_filename, frame.f_lineno or 0)


@lru_cache(maxsize=16_384)
def _format_function(code: CodeType) -> str:
    name = getattr(code, "co_qualname", code.co_name)  # new in Python 3.11
    return f"{name} ({os.path.basename(code.co_filename)}:{code.co_firstlineno})"


@lru_cache(maxsize=16_384)
def _format_line(file: str, line: int) -> str:
    source = linecache.getline(file, line).strip()
    place = f"{os.path.basename(file)}:{line}"
    return f"{place}: {source[:_MAX_LINE_CHARS]}" if source else place


@lru_cache(maxsize=4_096)
def _is_user_file(file: str) -> bool:
    """Return whether a file is the user's: not of a library, and not generated code."""
    return not file.startswith((*_LIBRARY_PREFIXES, "<"))


# Sample the call stacks of all threads of this process in a background thread.

#: Python's thread switch interval; shorter intervals bring no new samples.
_INTERVAL_S = 0.005

#: A thread that was ready to run for a smaller share of the interval counts as waiting.
_MIN_READY_SHARE = 0.5

_RUNNING = "Running"

_THREAD_NAME_PREFIX = "tracklight-"

_PROC_TASK_DIR = Path("/proc/self/task")

_JOIN_TIMEOUT_S = 5.0


class StackSampler:
    """Records the calls of each thread, by native thread id.

    Of the thread that creates the sampler, waiting is recorded as well. Times are those of
    `time.perf_counter_ns`.
    """

    def __init__(self) -> None:
        self.calls: dict[int, SpanBuilder] = defaultdict(SpanBuilder)
        self.running: dict[int, SpanBuilder] = defaultdict(SpanBuilder)
        """When threads ran or were in the run queue; empty where the system does not tell."""
        self.names: dict[int, str] = {}
        self._ready_ns: dict[int, tuple[int, int]] = {}
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._owner = threading.get_native_id()
        self._thread = threading.Thread(
            target=self._run, name=f"{_THREAD_NAME_PREFIX}stacks", daemon=True
        )

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        self._thread.join(_JOIN_TIMEOUT_S)
        now = time.perf_counter_ns()
        for fold in (*self.calls.values(), *self.running.values()):
            fold.close_below(0, now)

    def close_below(self, thread: int, depth: int, now_ns: int) -> None:
        """End the open calls of a thread below ``depth``."""
        with self._lock:
            if not self._stopping.is_set():
                self.calls[thread].close_below(depth, now_ns)

    def _run(self) -> None:
        while not self._stopping.wait(_INTERVAL_S):
            with self._lock:
                self.sample(time.perf_counter_ns())

    def sample(self, now_ns: int) -> None:
        """Take a sample. No frame is kept, as that would keep its local variables alive."""
        frames = sys._current_frames()
        seen = set()
        for thread in threading.enumerate():
            number, frame = thread.native_id, frames.get(thread.ident or 0)
            if (
                number is not None
                and frame is not None
                and not thread.name.startswith(_THREAD_NAME_PREFIX)
            ):
                seen.add(number)
                self.names[number] = thread.name
                self._record(number, frame, now_ns)
        for number in self.calls.keys() - seen:
            self.calls[number].close_below(0, now_ns)
            self.running[number].close_below(0, now_ns)

    def _record(self, number: int, frame: FrameType, now_ns: int) -> None:
        """Record the stack of a thread, unless it is waiting and not the owner of the sampler."""
        runs = self._record_running(number, now_ns)
        if runs or number == self._owner:
            self.calls[number].add(format_stack(frame), now_ns)
        else:
            self.calls[number].close_below(0, now_ns)

    def _record_running(self, number: int, now_ns: int) -> bool:
        """Return whether a thread ran since the last sample; True if the system does not tell.

        Linux reports this in nanoseconds, run queue time included. psutil's thread times are no
        substitute: they count in clock ticks of 10 ms, twice the time between two samples.
        """
        try:
            on_cpu, in_line, *_ = (_PROC_TASK_DIR / str(number) / "schedstat").read_text().split()
        except (OSError, ValueError):  # not Linux, or the thread has just ended
            return True
        ready = int(on_cpu) + int(in_line)
        before, then_ns = self._ready_ns.get(number, (ready, now_ns))
        self._ready_ns[number] = ready, now_ns
        runs = now_ns > then_ns and (ready - before) / (now_ns - then_ns) >= _MIN_READY_SHARE
        # The reading covers the time since the last sample.
        self.running[number].add([_RUNNING] if runs else [], then_ns)
        return runs


# Sampling profiler for programs without a framework. It writes traces as PyTorch does.

#: Added to thread ids for the tracks that show when a thread was running; above any real id.
_RUNNING_TRACK_OFFSET = 1 << 32


class StackSamplingProfiler:
    """Implements `tracing.profilers.Profiler`."""

    def start(self, folder: str) -> None:
        self._folder = folder
        self._owner = threading.get_native_id()
        self._steps: list[Span] = []
        self._sampler = StackSampler()
        self._sampler.start()

    def mark(self, step: int) -> AbstractContextManager[Any]:
        # The function that contains the loop stays open between steps.
        return self._mark(f"ProfilerStep#{step}", len(format_stack(get_user_frame().f_back)) + 1)

    def stop(self) -> None:
        """Stop sampling and write the trace. A step that has not ended is left out."""
        self._sampler.stop()
        trace = {
            "schemaVersion": 1,
            "displayTimeUnit": "ms",
            "baseTimeNanoseconds": time.time_ns() - time.perf_counter_ns(),
            "traceEvents": list(self._iter_events()),
        }
        path = create_profile_path(self._folder, ".trace.json.gz")
        with gzip.open(path, "wt", encoding="utf-8", compresslevel=5) as file:
            json.dump(trace, file, separators=(",", ":"))

    @contextmanager
    def _mark(self, name: str, depth: int) -> Iterator[None]:
        sampler, start = self._sampler, time.perf_counter_ns()
        try:
            yield
        finally:
            now = time.perf_counter_ns()
            self._steps.append(Span(name, start, now))
            sampler.close_below(self._owner, depth, now)

    def _iter_events(self) -> Iterator[dict[str, Any]]:
        yield _build_name_event("process_name", 0, "python")
        yield from _iter_span_events(self._steps, self._owner, "user_annotation")
        for thread, name in self._sampler.names.items():
            yield _build_name_event("thread_name", thread, name)
            yield from _iter_span_events(
                self._sampler.calls[thread].spans, thread, "python_function"
            )
            runs = self._sampler.running[thread].spans
            if runs:
                yield _build_name_event(
                    "thread_name", thread + _RUNNING_TRACK_OFFSET, f"{name}: on a CPU"
                )
            yield from _iter_span_events(runs, thread + _RUNNING_TRACK_OFFSET, "thread_state")


def _build_name_event(what: str, thread: int, name: str) -> dict[str, Any]:
    return {"ph": "M", "name": what, "pid": os.getpid(), "tid": thread, "args": {"name": name}}


def _iter_span_events(spans: list[Span], thread: int, kind: str) -> Iterator[dict[str, Any]]:
    # Inner calls end first, but readers take the first of two equal spans for the outer one.
    for name, start_ns, end_ns in reversed(spans):
        yield {
            "ph": "X",
            "cat": kind,
            "name": name,
            "pid": os.getpid(),
            "tid": thread,
            "ts": start_ns / 1000,
            "dur": (end_ns - start_ns) / 1000,
        }
