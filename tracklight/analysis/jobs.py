"""The progress of a long computation, and whether it has been cancelled."""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, Protocol, TypeVar

import numpy as np

from tracklight.errors import TracklightError
from tracklight.util.hashing import hash_key


class JobCancelledError(TracklightError):
    """The computation was cancelled."""


@dataclass(slots=True)
class JobProgress:
    """Given to a computation to report its progress. The default does nothing."""

    report: Callable[[str, int, int], None] = lambda what, done, total: None
    """Called with what is being done, how many steps are done, and out of how many."""
    show: Callable[[Any], None] = lambda result: None
    """Called with an intermediate result."""
    is_cancelled: Callable[[], bool] = lambda: False

    def step(self, stage: str, done: int, total: int) -> None:
        """Report progress; raise `Cancelled` if the computation has been cancelled."""
        if self.is_cancelled():
            raise JobCancelledError(f"stopped while {stage}")
        self.report(stage, done, total)


# Background jobs: started once per key, observed while they run, kept when they are done.

logger = logging.getLogger(__name__)

JobState = Literal["waiting", "running", "done", "failed", "cancelled"]

_MAX_JOBS = 50

ResultT = TypeVar("ResultT")


class JobStore(Protocol[ResultT]):
    """Keeps results between starts of the server."""

    def find(self, key: str) -> ResultT | None: ...

    def put(self, key: str, result: ResultT) -> None: ...


@dataclass(eq=False)
class Job(Generic[ResultT]):
    """One computation. Its fields may be read from any thread at any time."""

    key: str
    state: JobState = "waiting"
    stage: str = ""
    done: int = 0
    total: int = 0
    problem: str = ""
    """Why it failed."""
    result: ResultT | None = None
    """The last intermediate result; when the job is done, the final one."""
    revision: int = 0
    """The number of results so far."""
    _cancel_requested: threading.Event = field(default_factory=threading.Event)
    _ended: threading.Event = field(default_factory=threading.Event)

    def cancel(self) -> None:
        """Ask the job to stop; an intermediate result stays."""
        self._cancel_requested.set()

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait until the job has ended in any way; return False on timeout."""
        return self._ended.wait(timeout_s)

    def run(self, compute: Callable[[JobProgress], ResultT]) -> None:
        self.state = "running"
        end: JobState = "failed"
        work = JobProgress(self._report, self.show, self._cancel_requested.is_set)
        try:
            work.step("starting", 0, 0)
            self.show(compute(work))
            end = "done"
        except JobCancelledError:
            end = "cancelled"
        except (TracklightError, MemoryError, np.linalg.LinAlgError) as error:
            self.problem = str(error) or "there is not enough memory"
        except Exception as error:
            logger.exception("the job %s failed", self.key)
            self.problem = f"unexpected error ({type(error).__name__}); see the server's terminal"
        finally:
            self.state = end
            self._ended.set()

    def show(self, result: ResultT) -> None:
        self.result = result
        self.revision += 1

    def finish(self, result: ResultT) -> None:
        """End the job with a result that was computed earlier."""
        self.show(result)
        self.state = "done"
        self._ended.set()

    def _report(self, stage: str, done: int, total: int) -> None:
        self.stage, self.done, self.total = stage, done, total


class Jobs(Generic[ResultT]):
    """Run one job at a time, as each may use all cores, and keep the results of the last ones.

    Args:
        store: Keeps results between starts of the server; None keeps them in memory only.
    """

    def __init__(self, store: JobStore[ResultT] | None = None) -> None:
        self._store = store
        self._jobs: OrderedDict[str, Job[ResultT]] = OrderedDict()
        self._lock = threading.Lock()
        self._pool = ThreadPoolExecutor(1, "tracklight-jobs")

    def start(
        self, key: str, compute: Callable[[JobProgress], ResultT], is_cached: bool = True
    ) -> Job[ResultT]:
        """Return the job with this key, and start it unless it is known.

        With ``is_kept=False`` the result is not put into the store, for what is computed faster
        than read.
        """
        with self._lock:
            job = self._jobs.get(key)
            if job is not None and job.state not in ("failed", "cancelled"):
                self._jobs.move_to_end(key)
                return job
            job = self._jobs[key] = Job(key)
            self._jobs.move_to_end(key)
            self._evict()
        stored = self._store.find(key) if self._store and is_cached else None
        if stored is not None:
            job.finish(stored)
        else:
            self._pool.submit(self._run, job, compute, is_cached)
        return job

    def find(self, key: str) -> Job[ResultT] | None:
        return self._jobs.get(key)

    def close(self) -> None:
        """Cancel all jobs and wait for the running one."""
        for job in list(self._jobs.values()):
            job.cancel()
        self._pool.shutdown()

    def _run(
        self, job: Job[ResultT], compute: Callable[[JobProgress], ResultT], is_cached: bool
    ) -> None:
        job.run(compute)
        if is_cached and self._store and job.state == "done" and job.result is not None:
            self._store.put(job.key, job.result)

    def _evict(self) -> None:
        ended = [job for job in self._jobs.values() if job.state not in ("waiting", "running")]
        for job in ended[: max(len(self._jobs) - _MAX_JOBS, 0)]:
            del self._jobs[job.key]


def make_job_key(*parts: object) -> str:
    """Return a key that tells a computation from all others, by its data and its settings."""
    return hash_key(repr(parts), size_bytes=16)
