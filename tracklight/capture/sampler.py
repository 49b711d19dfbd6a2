"""Sample the call stacks of all threads of this process in a background thread."""

from __future__ import annotations

import sys
import threading
import time
from collections import defaultdict
from pathlib import Path
from types import FrameType

from tracklight.capture.stacks import StackFold, name_stack

#: Python's thread switch interval; shorter intervals bring no new samples.
_INTERVAL_S = 0.005
#: A thread that was ready to run for a smaller share of the interval counts as waiting.
_MIN_READY_SHARE = 0.5
_RUNNING = "Running"
_OWN_THREADS = "tracklight-"
_TASKS = Path("/proc/self/task")
_JOIN_TIMEOUT_S = 5.0


class Sampler:
    """Records the calls of each thread, by native thread id.

    Of the thread that creates the sampler, waiting is recorded as well. Times are those of
    `time.perf_counter_ns`.
    """

    def __init__(self) -> None:
        self.calls: dict[int, StackFold] = defaultdict(StackFold)
        self.running: dict[int, StackFold] = defaultdict(StackFold)
        """When threads ran or were in the run queue; empty where the system does not tell."""
        self.names: dict[int, str] = {}
        self._ready_ns: dict[int, tuple[int, int]] = {}
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._owner = threading.get_native_id()
        self._thread = threading.Thread(target=self._run, name=f"{_OWN_THREADS}stacks", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        self._thread.join(_JOIN_TIMEOUT_S)
        now = time.perf_counter_ns()
        for fold in (*self.calls.values(), *self.running.values()):
            fold.cut(0, now)

    def cut(self, thread: int, depth: int, now_ns: int) -> None:
        """End the open calls of a thread below ``depth``."""
        with self._lock:
            if not self._stopping.is_set():
                self.calls[thread].cut(depth, now_ns)

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
                and not thread.name.startswith(_OWN_THREADS)
            ):
                seen.add(number)
                self.names[number] = thread.name
                self._record(number, frame, now_ns)
        for number in self.calls.keys() - seen:
            self.calls[number].cut(0, now_ns)
            self.running[number].cut(0, now_ns)

    def _record(self, number: int, frame: FrameType, now_ns: int) -> None:
        """Record the stack of a thread, unless it is waiting and not the owner of the sampler."""
        runs = self._record_running(number, now_ns)
        if runs or number == self._owner:
            self.calls[number].add(name_stack(frame), now_ns)
        else:
            self.calls[number].cut(0, now_ns)

    def _record_running(self, number: int, now_ns: int) -> bool:
        """Return whether a thread ran since the last sample; True if the system does not tell.

        Linux reports this in nanoseconds, run queue time included. psutil's thread times are no
        substitute: they count in clock ticks of 10 ms, twice the time between two samples.
        """
        try:
            on_cpu, in_line, *_ = (_TASKS / str(number) / "schedstat").read_text().split()
        except (OSError, ValueError):  # not Linux, or the thread has just ended
            return True
        ready = int(on_cpu) + int(in_line)
        before, then_ns = self._ready_ns.get(number, (ready, now_ns))
        self._ready_ns[number] = ready, now_ns
        runs = now_ns > then_ns and (ready - before) / (now_ns - then_ns) >= _MIN_READY_SHARE
        # The reading covers the time since the last sample.
        self.running[number].add([_RUNNING] if runs else [], then_ns)
        return runs
