"""Run parts of jobs on a Ray cluster with ``--cluster``: t-SNE, UMAP, clusterings, and profiles of
several hosts.

Each task is an actor of its own, because only actors can be asked for their progress through Ray
Client. It is killed when the task has ended or is cancelled.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from tracklight.analysis.jobs import JobCancelledError, JobProgress
from tracklight.errors import LogError, Message
from tracklight.index.cluster.actor import Outcome
from tracklight.index.cluster.connection import Cluster

T = TypeVar("T")

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
        ray = self._cluster.ray
        actor = (
            ray.remote(TaskActor)
            # Local shards share the machine's CPUs with everything else.
            .options(num_cpus=0 if self._cluster.is_local else 1, max_concurrency=2)
            .remote()
        )
        try:
            reference = actor.run.remote(function, args, options)
            self._follow(actor, reference, progress)
            result: T = ray.get(reference).get()
        except ray.exceptions.RayError as error:
            raise LogError(
                "jobs.process_lost",
                "the process of the cluster that computed this was lost; start it again",
            ) from error
        finally:
            ray.kill(actor)
        return result

    def _follow(self, actor: Any, reference: Any, progress: JobProgress) -> None:
        """Pass on the progress of a task until it has ended.

        Raises:
            JobCancelledError: The job has been cancelled.
        """
        ray = self._cluster.ray
        revision, poll = 0, None
        has_started = False
        while not ray.wait([reference], timeout=_POLL_S)[0]:
            if progress.is_cancelled():
                raise JobCancelledError("cancelled on the cluster")
            if poll is None:
                poll = actor.poll.remote(revision)
            if not ray.wait([poll], timeout=0)[0]:
                # The actor may have to wait until a CPU is free.
                if not has_started:
                    progress.report(_WAITING, 0, 0)
                continue
            state: TaskState = ray.get(poll)
            poll, has_started = None, True
            if state.stage:
                progress.report(state.stage, state.done, state.total)
            if state.revision != revision:
                revision = state.revision
                progress.show(state.result)
