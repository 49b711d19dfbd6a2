"""Computations that take a while: asked for once, followed while they run, kept when they are done.

A job is known by what it is made of. Who asks again for the same gets the job that runs already,
or its result.
"""

from __future__ import annotations

import io
import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from tracklight.errors import TracklightError
from tracklight.projections.work import Cancelled, Work
from tracklight.types import Float32
from tracklight.util.file_cache import FileCache
from tracklight.util.hashing import hash_key

State = Literal["waiting", "running", "done", "failed", "cancelled"]
_MOST_KEPT = 50

Compute = Callable[[Work], Float32]


@dataclass(eq=False)
class Job:
    """One computation; its fields may be read at any time."""

    key: str
    state: State = "waiting"
    doing: str = ""
    done: int = 0
    total: int = 0
    problem: str = ""
    layout: Float32 | None = None
    """What there is so far; once done, the result."""
    frame: int = 0
    """How many layouts there have been."""
    _stop: threading.Event = field(default_factory=threading.Event)
    _end: threading.Event = field(default_factory=threading.Event)

    def cancel(self) -> None:
        """Ask it to stop; a layout that was there already stays."""
        self._stop.set()

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait until it has ended in one way or another; False if it has not."""
        return self._end.wait(timeout_s)

    def run(self, compute: Compute) -> None:
        self.state = "running"
        end: State = "failed"
        work = Work(self._report, self._show, self._stop.is_set)
        try:
            work.step("starting", 0, 0)
            self._show(compute(work))
            end = "done"
        except Cancelled:
            end = "cancelled"
        except (TracklightError, MemoryError, np.linalg.LinAlgError) as error:
            self.problem = str(error) or "there is not enough memory"
        finally:
            self.state = end
            self._end.set()

    def _report(self, doing: str, done: int, total: int) -> None:
        self.doing, self.done, self.total = doing, done, total

    def _show(self, layout: Float32) -> None:
        self.layout = layout
        self.frame += 1


class Jobs:
    """Runs one job at a time, as each uses all cores, and keeps what came of the last."""

    def __init__(self, cache: FileCache | None = None) -> None:
        self._cache = cache
        self._jobs: OrderedDict[str, Job] = OrderedDict()
        self._lock = threading.Lock()
        self._pool = ThreadPoolExecutor(1, "projection")

    def start(self, key: str, compute: Compute, is_kept: bool = True) -> Job:
        """The job of that key: the one that there is, or a new one.

        What is sooner made again than read need not be kept for another day.
        """
        with self._lock:
            job = self._jobs.get(key)
            if job is not None and job.state not in ("failed", "cancelled"):
                self._jobs.move_to_end(key)
                return job
            job = self._jobs[key] = Job(key)
            self._jobs.move_to_end(key)
            self._forget()
        if not (is_kept and self._load_from_cache(job)):
            self._pool.submit(self._run, job, compute, is_kept)
        return job

    def find(self, key: str) -> Job | None:
        return self._jobs.get(key)

    def close(self) -> None:
        """Stop all jobs and wait for the one that runs."""
        for job in list(self._jobs.values()):
            job.cancel()
        self._pool.shutdown()

    def _load_from_cache(self, job: Job) -> bool:
        content = self._cache.find(job.key) if self._cache else None
        layout = _decode_layout(content) if content else None
        if layout is None:
            return False
        job._show(layout)
        job.state = "done"
        job._end.set()
        return True

    def _run(self, job: Job, compute: Compute, is_kept: bool) -> None:
        job.run(compute)
        if is_kept and self._cache and job.state == "done" and job.layout is not None:
            self._cache.put(job.key, _encode_layout(job.layout))

    def _forget(self) -> None:
        ended = [job for job in self._jobs.values() if job.state not in ("waiting", "running")]
        for job in ended[: max(len(self._jobs) - _MOST_KEPT, 0)]:
            del self._jobs[job.key]


def make_key(*parts: object) -> str:
    """Return a key that tells a computation from all others, by its data and its settings."""
    return hash_key(repr(parts), size_bytes=16)


def _encode_layout(layout: Float32) -> bytes:
    file = io.BytesIO()
    np.save(file, layout, allow_pickle=False)
    return file.getvalue()


def _decode_layout(content: bytes) -> Float32 | None:
    """Return a layout, or None if the content is damaged."""
    try:
        layout = np.load(io.BytesIO(content), allow_pickle=False)
    except (OSError, ValueError, EOFError):
        return None
    is_layout = isinstance(layout, np.ndarray) and layout.dtype == np.float32 and layout.ndim == 2
    return layout if is_layout else None
