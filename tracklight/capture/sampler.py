"""Looks at the stacks of all threads of this program now and then."""

from __future__ import annotations

import sys
import threading
import time
from collections import defaultdict
from pathlib import Path
from types import FrameType

from tracklight.capture.stacks import StackFold, name_stack

#: No shorter than what threads of Python wait for each other.
_EVERY_S = 0.005
#: A thread that was ready for less of the time between two samples waited for something.
_RUNS = 0.5
_RUNNING = "Running"
_OURS = "tracklight-"
_TASKS = Path("/proc/self/task")
_ENDS_S = 5.0


class Sampler:
    """What threads did, by their numbers of the system; belongs to the thread that makes it.

    Times are those of `time.perf_counter_ns`.
    """

    def __init__(self) -> None:
        self.calls: dict[int, StackFold] = defaultdict(StackFold)
        self.running: dict[int, StackFold] = defaultdict(StackFold)
        """When threads were on a CPU or next in line for one; nothing where nobody knows."""
        self.names: dict[int, str] = {}
        self._ready_ns: dict[int, tuple[int, int]] = {}
        self._lock = threading.Lock()
        self._is_over = threading.Event()
        self._owner = threading.get_native_id()
        self._thread = threading.Thread(target=self._run, name=f"{_OURS}stacks", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._is_over.set()
        self._thread.join(_ENDS_S)
        now = time.perf_counter_ns()
        for fold in (*self.calls.values(), *self.running.values()):
            fold.cut(0, now)

    def cut(self, thread: int, depth: int, now_ns: int) -> None:
        """Let what a thread is in end now, but for the outermost calls."""
        with self._lock:
            if not self._is_over.is_set():
                self.calls[thread].cut(depth, now_ns)

    def _run(self) -> None:
        while not self._is_over.wait(_EVERY_S):
            with self._lock:
                self.look(time.perf_counter_ns())

    def look(self, now_ns: int) -> None:
        """Take a sample; no frame is held on to, as that would keep alive what it has made."""
        frames = sys._current_frames()
        seen = set()
        for thread in threading.enumerate():
            number, frame = thread.native_id, frames.get(thread.ident or 0)
            if number is not None and frame is not None and not thread.name.startswith(_OURS):
                seen.add(number)
                self.names[number] = thread.name
                self._see(number, frame, now_ns)
        for number in self.calls.keys() - seen:
            self.calls[number].cut(0, now_ns)
            self.running[number].cut(0, now_ns)

    def _see(self, number: int, frame: FrameType, now_ns: int) -> None:
        """Take down what a thread does; what all but the one that asks wait for is no matter."""
        runs = self._see_running(number, now_ns)
        if runs or number == self._owner:
            self.calls[number].see(name_stack(frame), now_ns)
        else:
            self.calls[number].cut(0, now_ns)

    def _see_running(self, number: int, now_ns: int) -> bool:
        """Return whether a thread ran since the last sample; True if the system does not tell.

        Linux reports this in nanoseconds, run queue time included. psutil's thread times are no
        substitute: they count in clock ticks of 10 ms, twice the time between two samples.
        """
        try:
            on_cpu, in_line, *_ = (_TASKS / str(number) / "schedstat").read_text().split()
        except (OSError, ValueError):  # a system that does not tell, or a thread that just ended
            return True
        ready = int(on_cpu) + int(in_line)
        before, then_ns = self._ready_ns.get(number, (ready, now_ns))
        self._ready_ns[number] = ready, now_ns
        runs = now_ns > then_ns and (ready - before) / (now_ns - then_ns) >= _RUNS
        # What was read now is about the time since the last sample.
        self.running[number].see([_RUNNING] if runs else [], then_ns)
        return runs
