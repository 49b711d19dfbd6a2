"""Background jobs: start a computation once per key, observe its progress, cache its result.

`Jobs` runs computations in a worker thread. A computation receives a `JobProgress`, through which
it reports how far it is, publishes intermediate results and learns that it has been cancelled.
The projector uses jobs for layouts and clusters; plugins get the same classes from
`tracklight.plugin`. With ``--cluster``, `ClusterTasks` runs parts of jobs on Ray: t-SNE, UMAP,
clusterings, and profiles of several hosts. A training program may use this module without the
index, so that what concerns the cluster is imported on use.
"""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, Literal, Protocol, TypeVar

import numpy as np

from tracklight.errors import LogError, Message, TracklightError, get_message
from tracklight.util.files import hash_key

if TYPE_CHECKING:
    from tracklight.index.cluster import Outcome
    from tracklight.index.cluster.connection import Cluster

logger = logging.getLogger(__name__)

JobState = Literal["waiting", "running", "done", "failed", "cancelled"]

_MAX_JOBS = 50
_NO_MESSAGE = Message("", "")

ResultT = TypeVar("ResultT")
T = TypeVar("T")


class JobCancelledError(TracklightError):
    """The computation was cancelled."""


@dataclass(slots=True)
class JobProgress:
    """Passed to a computation to report its progress. The default does nothing."""

    report: Callable[[str | Message, int, int], None] = lambda stage, done, total: None
    """Called with the current stage, the number of finished steps, and the number of all steps."""
    show: Callable[[Any], None] = lambda result: None
    """Called with an intermediate result."""
    is_cancelled: Callable[[], bool] = lambda: False

    def step(self, stage: str | Message, done: int, total: int) -> None:
        """Report progress.

        Args:
            stage: What is being done; a stage with a message code can be translated.
            done: How much of it is done, in any unit.
            total: How much there is to do, in the same unit.

        Raises:
            JobCancelledError: The job has been cancelled.
        """
        if self.is_cancelled():
            raise JobCancelledError(f"cancelled while {stage}")
        self.report(stage, done, total)


class Tasks(Protocol):
    """Where jobs run functions that take long: in this process, or on a cluster."""

    is_local: bool

    @property
    def parallelism(self) -> int:
        """How many functions may run at the same time."""

    def run(
        self, function: Callable[..., T], *args: Any, progress: JobProgress, **options: Any
    ) -> T:
        """Return ``function(*args, progress=progress, **options)``.

        Function, arguments and result must be picklable. The function may report progress and
        intermediate results; on a cluster it is ended when the job is cancelled.

        Raises:
            JobCancelledError: The job has been cancelled.
        """


class LocalTasks:
    """Run functions in the calling thread."""

    is_local = True
    parallelism = 1

    def run(
        self, function: Callable[..., T], *args: Any, progress: JobProgress, **options: Any
    ) -> T:
        return function(*args, progress=progress, **options)


LOCAL_TASKS = LocalTasks()


class JobStore(Protocol[ResultT]):
    """Stores results across restarts of the server."""

    def find(self, key: str) -> ResultT | None:
        """Return the stored result of a key; None if there is none."""

    def put(self, key: str, result: ResultT) -> None:
        """Store the result of a key."""


@dataclass(eq=False)
class Job(Generic[ResultT]):
    """One computation. Its fields may be read from any thread at any time."""

    key: str
    state: JobState = "waiting"
    stage_message: Message = _NO_MESSAGE
    done: int = 0
    total: int = 0
    problem_message: Message = _NO_MESSAGE
    """Why the job failed; empty if it did not."""
    result: ResultT | None = None
    """The last intermediate result; when the job is done, the final one."""
    revision: int = 0
    """The number of results so far."""
    _cancel_requested: threading.Event = field(default_factory=threading.Event)
    _ended: threading.Event = field(default_factory=threading.Event)

    @property
    def stage(self) -> str:
        """What the job is doing, in English."""
        return self.stage_message.text

    @property
    def problem(self) -> str:
        """Why the job failed, in English; empty if it did not."""
        return self.problem_message.text

    def cancel(self) -> None:
        """Ask the job to stop. It keeps its last intermediate result."""
        self._cancel_requested.set()

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait until the job has ended in any way; return False on timeout."""
        return self._ended.wait(timeout_s)

    def run(self, compute: Callable[[JobProgress], ResultT]) -> None:
        """Run the computation in this thread. Errors end up in `problem_message`."""
        self.state = "running"
        end_state: JobState = "failed"
        progress = JobProgress(self._report, self.show, self._cancel_requested.is_set)
        try:
            progress.step(Message("jobs.starting", "starting"), 0, 0)
            self.show(compute(progress))
            end_state = "done"
        except JobCancelledError:
            end_state = "cancelled"
        except (TracklightError, MemoryError, np.linalg.LinAlgError) as error:
            self.problem_message = _describe_failure(error)
        except Exception as error:
            logger.exception("job %s failed", self.key)
            self.problem_message = Message.format(
                "jobs.unexpected_error",
                "unexpected error ({type}); see the server's terminal",
                type=type(error).__name__,
            )
        finally:
            self.state = end_state
            self._ended.set()

    def show(self, result: ResultT) -> None:
        """Publish a result, intermediate or final."""
        self.result = result
        self.revision += 1

    def finish(self, result: ResultT) -> None:
        """End the job with a result that was computed earlier."""
        self.show(result)
        self.state = "done"
        self._ended.set()

    def _report(self, stage: str | Message, done: int, total: int) -> None:
        self.stage_message = stage if isinstance(stage, Message) else Message("", stage)
        self.done, self.total = done, total


def _describe_failure(error: Exception) -> Message:
    return get_message(error) if str(error) else Message("jobs.out_of_memory", "out of memory")


class Jobs(Generic[ResultT]):
    """Run jobs one at a time, as each may use all cores, and remember the most recent ones.

    Args:
        store: Stores results across restarts of the server; None keeps them in memory only.
        workers: How many jobs may run at the same time.

    Example:
        >>> jobs = Jobs[int]()
        >>> job = jobs.start(make_job_key("sum", 3), lambda progress: sum(range(3)))
        >>> job.wait(), job.result
        (True, 3)
    """

    def __init__(self, store: JobStore[ResultT] | None = None, *, workers: int = 1) -> None:
        self._store = store
        self._jobs: OrderedDict[str, Job[ResultT]] = OrderedDict()
        self._lock = threading.Lock()
        self._pool = ThreadPoolExecutor(workers, "tracklight-jobs")

    def start(
        self, key: str, compute: Callable[[JobProgress], ResultT], is_cached: bool = True
    ) -> Job[ResultT]:
        """Return the job with this key. Start it if it is new, has failed or was cancelled.

        Args:
            key: Identifies the computation; see `make_job_key`.
            compute: Called in a worker thread; returns the result.
            is_cached: Whether to use the store. Pass False for results that are computed faster
                than they are read.
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
        """Return the job with this key; None if it was not started, or was released."""
        return self._jobs.get(key)

    def forget(self, key: str) -> None:
        """Release the result of a job that has ended."""
        with self._lock:
            job = self._jobs.get(key)
            if job is not None and job.state not in ("waiting", "running"):
                del self._jobs[key]

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
    """Return a key that identifies a computation by its data and its settings.

    The key is a hash of the ``repr`` of all parts.

    Args:
        *parts: Everything that the result depends on.

    Example:
        >>> key = make_job_key("tsne", "train", 1000, {"perplexity": 30})
    """
    return hash_key(repr(parts), size_bytes=16)


# ---- tasks on a cluster
#
# Each task is an actor of its own, because only actors can be asked for their progress through Ray
# Client. It is killed when the task has ended or is cancelled.

_POLL_S = 0.25

#: Tasks at the same time, each with a thread of the server that follows it.
_MAX_PARALLELISM = 64

_WAITING = Message("jobs.waiting_for_cluster", "waiting for a free CPU of the cluster")


@dataclass(frozen=True)
class TaskState:
    """How far a task is; ``result`` is the newest intermediate result if the caller lacks it."""

    stage: str | Message
    done: int
    total: int
    revision: int
    result: Any


class TaskActor:
    """Runs one function in a process of the cluster; created with ``ray.remote``."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._state = TaskState("", 0, 0, 0, None)

    def run(
        self, function: Callable[..., Any], args: Sequence[Any], options: Mapping[str, Any]
    ) -> Outcome:
        from tracklight.index.cluster import Outcome

        try:
            progress = JobProgress(self._report, self._show)
            return Outcome(function(*args, progress=progress, **options))
        except Exception as error:
            return Outcome(error=error)

    def poll(self, known_revision: int) -> TaskState:
        with self._lock:
            state = self._state
        if state.revision == known_revision:
            return TaskState(state.stage, state.done, state.total, state.revision, None)
        return state

    def _report(self, stage: str | Message, done: int, total: int) -> None:
        with self._lock:
            state = self._state
            self._state = TaskState(stage, done, total, state.revision, state.result)

    def _show(self, result: Any) -> None:
        with self._lock:
            state = self._state
            self._state = TaskState(
                state.stage, state.done, state.total, state.revision + 1, result
            )


class ClusterTasks:
    """Implements `tracklight.analysis.jobs.Tasks` on a cluster.

    Args:
        cluster: The connection to Ray.

    Example:
        >>> tasks = ClusterTasks(Cluster(parse_cluster("local:2")))
        >>> tasks.run(compute_tsne, vectors, progress=JobProgress())
    """

    is_local = False

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    @property
    def parallelism(self) -> int:
        if self._cluster.is_local:
            return self._cluster.shards
        return min(
            _MAX_PARALLELISM, max(1, int(self._cluster.ray.cluster_resources().get("CPU", 1)))
        )

    def run(
        self, function: Callable[..., T], *args: Any, progress: JobProgress, **options: Any
    ) -> T:
        connection = self._cluster.connection
        actor = None
        try:
            actor = connection.call(self._create_actor)
            reference = connection.call(actor.run.remote, function, args, options)
            self._follow(actor, reference, progress)
            outcome: Outcome = connection.get(reference)
        except connection.exceptions.RayError as error:
            raise LogError(
                "jobs.process_lost",
                "the process of the cluster that computed this was lost; start it again",
            ) from error
        finally:
            if actor is not None:
                with suppress(connection.exceptions.RayError):
                    connection.kill(actor)
        result: T = outcome.get()
        return result

    def _create_actor(self) -> Any:
        # Local shards share the machine's CPUs with everything else.
        num_cpus = 0 if self._cluster.is_local else 1
        remote = self._cluster.ray.remote(TaskActor)
        return remote.options(num_cpus=num_cpus, max_concurrency=2).remote()

    def _follow(self, actor: Any, reference: Any, progress: JobProgress) -> None:
        """Pass on the progress of a task until it has ended.

        Raises:
            JobCancelledError: The job has been cancelled.
        """
        connection = self._cluster.connection
        revision, poll = 0, None
        has_started = False
        while not connection.has_ended(reference, _POLL_S):
            if progress.is_cancelled():
                raise JobCancelledError("cancelled on the cluster")
            if poll is None:
                poll = connection.call(actor.poll.remote, revision)
            if not connection.has_ended(poll, 0):
                # The actor may have to wait until a CPU is free.
                if not has_started:
                    progress.report(_WAITING, 0, 0)
                continue
            state: TaskState = connection.get(poll)
            poll, has_started = None, True
            if state.stage:
                progress.report(state.stage, state.done, state.total)
            if state.revision != revision:
                revision = state.revision
                progress.show(state.result)
