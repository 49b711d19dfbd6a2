"""Long computations on embeddings: started, followed and found again by their keys."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from tracklight.analysis.embeddings.loading import LoadedEmbedding
from tracklight.analysis.embeddings.metadata import find_label_column, name_clusters
from tracklight.analysis.embeddings.projections.clustering import cluster_hdbscan, cluster_kmeans
from tracklight.analysis.embeddings.projections.gpu import Device
from tracklight.analysis.embeddings.projections.neighbors import DistanceMetric
from tracklight.analysis.jobs import Job, JobProgress, Jobs, make_job_key
from tracklight.dashboards.projector.library import EmbeddingLibrary, EmbeddingRef
from tracklight.dashboards.projector.schemas import (
    ClusterInfo,
    ClusterRequest,
    ClustersResponse,
    JobStatus,
    KmeansMethod,
)
from tracklight.errors import LogError, UsageError
from tracklight.plugin import Context
from tracklight.types import Float32, Int32
from tracklight.util.file_cache import FileCache
from tracklight.util.lru_cache import LruCache

_MAX_CONTEXTS = 100

_MAX_LAYOUT_BYTES = 512 << 20


@dataclass(eq=False)
class JobContext:
    """What a job is made of, and what is said of its result beside the places."""

    embedding: EmbeddingRef
    rows: Int32 | None
    """Those that it is about; None for all."""
    spherize: bool
    metric: DistanceMetric = "euclidean"
    keeps_only_neighbors: bool = False
    """Whether only neighbours count, and not how far apart others are."""
    name_column: str | None = None
    explained_ratio: list[float] = field(default_factory=list)
    is_exact: bool = True
    notes: list[str] = field(default_factory=list)
    device: Device = "cpu"


class ProjectorJobs:
    """The jobs of a server; may be asked from any thread."""

    def __init__(self, context: Context) -> None:
        folder = context.log.cache_folder
        cache = FileCache(folder / "projections", max_bytes=_MAX_LAYOUT_BYTES) if folder else None
        self._jobs: Jobs[Float32] = Jobs(LayoutStore(cache) if cache else None)
        self._contexts: LruCache[str, JobContext] = LruCache(max_items=_MAX_CONTEXTS)

    def start(
        self, key: str, context: JobContext, compute: LayoutComputation, is_cached: bool = True
    ) -> JobStatus:
        known = self._jobs.find(key)
        found = self._contexts.find(key)
        if found is None or known is None or known.state in ("failed", "cancelled"):
            self._contexts.put(key, context)
            found = context
        return make_job_status(self._jobs.start(key, compute, is_cached), found)

    def get_context(self, key: str) -> JobContext:
        plan = self._contexts.find(key)
        if plan is None:
            raise LogError("the server no longer knows this projection; start it again")
        return plan

    def get(self, key: str) -> tuple[Job[Float32], JobContext]:
        job, plan = self._jobs.find(key), self.get_context(key)
        if job is None:
            raise LogError("the server no longer has this projection; start it again")
        return job, plan

    def get_layout(self, key: str) -> tuple[Float32, JobContext]:
        """The places that a job has come to so far."""
        job, plan = self.get(key)
        if job.result is None:
            raise UsageError("this projection has no places yet; wait until it has some")
        return job.result, plan

    def close(self) -> None:
        """Stop all jobs and wait for the one that runs."""
        self._jobs.close()

    def cancel(self, key: str) -> JobStatus:
        job, plan = self.get(key)
        job.cancel()
        return make_job_status(job, plan)


def make_job_status(job: Job[Float32], context: JobContext) -> JobStatus:
    return JobStatus(
        job.key,
        job.state,
        job.stage,
        job.done,
        job.total,
        job.problem,
        job.revision,
        context.device,
    )


# Groups of points as jobs, and what they are called.

#: What is seen of a layout.
_MAX_AXES = 3

_CENTRAL_LABELS = 3


class ClusterJobs:
    """Starts looking for groups, and tells of those that were found."""

    def __init__(self, library: EmbeddingLibrary, jobs: ProjectorJobs) -> None:
        self._library = library
        self._jobs = jobs

    def start(self, ask: ClusterRequest) -> JobStatus:
        found = self._library.resolve(ask)
        opened = self._library.load(found)
        plan = JobContext(found, opened.select_rows(ask.rows), ask.spherize, name_column=ask.words)
        if ask.words is not None:
            opened.get_column(ask.words)
        places = None if ask.on is None else self._get_layout(plan, ask.on)
        method, seed = ask.method, ask.seed

        def compute(work: JobProgress) -> Float32:
            points = opened.get_vectors(plan.rows, plan.spherize) if places is None else places
            if isinstance(method, KmeansMethod):
                groups = cluster_kmeans(points, method.count, seed, work)
            else:
                groups = cluster_hdbscan(points, method.min_size, seed, work)
            return groups.astype(np.float32)[:, None]

        key = make_job_key(found.mark, method, ask.rows, ask.on, ask.spherize, seed, ask.words)
        return self._jobs.start(key, plan, compute)

    def get_response(self, key: str) -> ClustersResponse:
        job, plan = self._jobs.get(key)
        opened = self._library.load(plan.embedding)
        groups = np.full(opened.row_count, -1, np.int32)
        if job.result is None:
            return ClustersResponse(make_job_status(job, plan), groups, [])
        rows = np.arange(opened.row_count) if plan.rows is None else plan.rows
        groups[rows] = job.result[:, 0].astype(np.int32)
        return ClustersResponse(
            make_job_status(job, plan), groups, _describe_clusters(opened, groups, plan.name_column)
        )

    def _get_layout(self, plan: JobContext, key: str) -> Float32:
        """Where the points are in a layout; only those that it has are looked at."""
        layout, shown = self._jobs.get_layout(key)
        layout = layout[:, :_MAX_AXES]
        if shown.rows is None:
            return np.ascontiguousarray(layout if plan.rows is None else layout[plan.rows])
        if plan.rows is None:
            plan.rows = shown.rows
            return np.ascontiguousarray(layout)
        plan.rows, _, places = np.intersect1d(plan.rows, shown.rows, return_indices=True)
        return np.ascontiguousarray(layout[places])


def _describe_clusters(
    opened: LoadedEmbedding, groups: Int32, words: str | None
) -> list[ClusterInfo]:
    count = int(groups.max(initial=-1)) + 1
    columns = opened.columns if words is None else [opened.get_column(words)]
    names = name_clusters(groups, columns, _list_central_labels(opened, groups, count))
    sizes = np.bincount(groups[groups >= 0], minlength=count)
    seen: Counter[str] = Counter()
    rows = []
    for place, some in enumerate(names):
        name = ", ".join(some) or f"group {place + 1}"
        seen[name] += 1
        title = name if seen[name] == 1 else f"{name} ({seen[name]})"
        rows.append(ClusterInfo(title, int(sizes[place]), some))
    return rows


def _list_central_labels(opened: LoadedEmbedding, groups: Int32, count: int) -> list[list[str]]:
    """Of each group the labels of the points that are nearest to its middle."""
    label = find_label_column(opened.columns)
    if label is None:
        return [[] for _ in range(count)]
    column = opened.get_column(label)
    central = []
    for group in range(count):
        rows = np.flatnonzero(groups == group)
        vectors = opened.vectors.values[rows]
        apart = vectors - vectors.mean(axis=0)
        nearest = np.argsort(np.einsum("ij,ij->i", apart, apart))
        texts = (column.get_text(int(rows[place])) for place in nearest[: 10 * _CENTRAL_LABELS])
        central.append(list(dict.fromkeys(text for text in texts if text))[:_CENTRAL_LABELS])
    return central


#: Computes the layout of a projection.
LayoutComputation = Callable[[JobProgress], Float32]


class LayoutStore:
    """Keep layouts as NumPy files in a cache; a damaged one counts as missing."""

    def __init__(self, cache: FileCache) -> None:
        self._cache = cache

    def find(self, key: str) -> Float32 | None:
        content = self._cache.find(key)
        return _decode_layout(content) if content else None

    def put(self, key: str, result: Float32) -> None:
        self._cache.put(key, _encode_layout(result))


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
