"""Sampling profiler for programs without a framework. It writes traces as PyTorch does."""

from __future__ import annotations

import gzip
import json
import os
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from tracklight.capture.sampler import Sampler
from tracklight.capture.stacks import Span, name_stack
from tracklight.sdk.lenient import find_user_frame
from tracklight.tracing.profilers import make_session

#: Added to thread ids for the tracks that show when a thread was running; above any real id.
_RUNNING_TRACK = 1 << 32


class PythonProfiler:
    """Implements `tracing.profilers.Profiler`."""

    def start(self, folder: str) -> None:
        self._folder = folder
        self._owner = threading.get_native_id()
        self._steps: list[Span] = []
        self._sampler = Sampler()
        self._sampler.start()

    def mark(self, step: int) -> AbstractContextManager[Any]:
        # The function that contains the loop stays open between steps.
        return self._mark(f"ProfilerStep#{step}", len(name_stack(find_user_frame().f_back)) + 1)

    def stop(self) -> None:
        """Stop sampling and write the trace. A step that has not ended is left out."""
        self._sampler.stop()
        trace = {
            "schemaVersion": 1,
            "displayTimeUnit": "ms",
            "baseTimeNanoseconds": time.time_ns() - time.perf_counter_ns(),
            "traceEvents": list(self._iter_events()),
        }
        path = make_session(self._folder, ".trace.json.gz")
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
            sampler.cut(self._owner, depth, now)

    def _iter_events(self) -> Iterator[dict[str, Any]]:
        yield _name("process_name", 0, "python")
        yield from _iter_spans(self._steps, self._owner, "user_annotation")
        for thread, name in self._sampler.names.items():
            yield _name("thread_name", thread, name)
            yield from _iter_spans(self._sampler.calls[thread].spans, thread, "python_function")
            runs = self._sampler.running[thread].spans
            if runs:
                yield _name("thread_name", thread + _RUNNING_TRACK, f"{name}: on a CPU")
            yield from _iter_spans(runs, thread + _RUNNING_TRACK, "thread_state")


def _name(what: str, thread: int, name: str) -> dict[str, Any]:
    return {"ph": "M", "name": what, "pid": os.getpid(), "tid": thread, "args": {"name": name}}


def _iter_spans(spans: list[Span], thread: int, kind: str) -> Iterator[dict[str, Any]]:
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
