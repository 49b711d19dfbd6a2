"""Background jobs of the projector: running them, storing layouts, and clustering.

`ProjectorJobs` adds to `tracklight.analysis.jobs.Jobs` a `JobContext` for each job, which remembers
what the result belongs to. `layouts` starts layouts with it, `ClusterJobs` starts clusterings; the
result of both is an array of float32.
"""

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
from tracklight.analysis.source import Sentence
from tracklight.dashboards.projector.library import EmbeddingLibrary, EmbeddingRef
from tracklight.dashboards.projector.schemas import (
    ClusterInfo,
    ClusterRequest,
    ClustersResponse,
    JobStatus,
    KmeansMethod,
)
from tracklight.errors import LogError, Message, UsageError
from tracklight.plugin import Context
from tracklight.types import Float32, Int32
from tracklight.util.files import FileCache
from tracklight.util.memory import LruCache

_MAX_CONTEXTS = 100
_MAX_LAYOUT_BYTES = 512 << 20

#: Clusters of a layout use at most the axes that can be seen.
_MAX_AXES = 3
_CENTRAL_LABELS = 3

#: Computes a layout [points, dimensions], or clusters [points, 1].
LayoutComputation = Callable[[JobProgress], Float32]


@dataclass(eq=False)
class JobContext:
    """What a job is computed from, and facts about its result that the computation adds."""

    embedding: EmbeddingRef
    rows: Int32 | None
    """The rows of the result; None for all."""
    spherize: bool
    metric: DistanceMetric = "euclidean"
    keeps_only_neighbors: bool = False
    """Whether the layout preserves neighborhoods but not larger distances."""
    name_column: str | None = None
    """The column whose words name clusters; None for all."""
    explained_ratio: list[float] = field(default_factory=list)
    is_exact: bool = True
    notes: list[Message] = field(default_factory=list)
    device: Device = "cpu"


class ProjectorJobs:
    """The jobs of a server. Thread-safe."""

    def __init__(self, context: Context) -> None:
        #: Runs the parts of jobs that take long.
        self.tasks = context.access.tasks
        folder = context.log.cache_folder
        cache = FileCache(folder / "projections", max_bytes=_MAX_LAYOUT_BYTES) if folder else None
        self._jobs: Jobs[Float32] = Jobs(LayoutStore(cache) if cache else None)
        self._contexts: LruCache[str, JobContext] = LruCache(max_items=_MAX_CONTEXTS)

    def start(
        self, key: str, context: JobContext, compute: LayoutComputation, is_cached: bool = True
    ) -> JobStatus:
        """Return the job with this key. Start it if it is new, has failed or was cancelled."""
        job, known_context = self._jobs.find(key), self._contexts.find(key)
        if known_context is None or job is None or job.state in ("failed", "cancelled"):
            self._contexts.put(key, context)
            known_context = context
        return make_job_status(self._jobs.start(key, compute, is_cached), known_context)

    def get_context(self, key: str) -> JobContext:
        """Return the context of a job.

        Raises:
            LogError: The job is unknown, for instance after a restart of the server.
        """
        context = self._contexts.find(key)
        if context is None:
            raise LogError(
                "jobs.unknown", "the server does not have this job any more; start it again"
            )
        return context

    def get(self, key: str) -> tuple[Job[Float32], JobContext]:
        """Return a job and its context.

        Raises:
            LogError: The job is unknown.
        """
        job, context = self._jobs.find(key), self.get_context(key)
        if job is None:
            raise LogError(
                "jobs.unknown", "the server does not have this job any more; start it again"
            )
        return job, context

    def get_layout(self, key: str) -> tuple[Float32, JobContext]:
        """Return the current result of a job.

        Raises:
            LogError: The job is unknown.
            UsageError: The job has no result yet.
        """
        job, context = self.get(key)
        if job.result is None:
            raise UsageError("jobs.no_result", "this job has no result yet; try again later")
        return job.result, context

    def cancel(self, key: str) -> JobStatus:
        job, context = self.get(key)
        job.cancel()
        return make_job_status(job, context)

    def close(self) -> None:
        """Cancel all jobs and wait for the running one."""
        self._jobs.close()


def make_job_status(job: Job[Float32], context: JobContext) -> JobStatus:
    """Return the state of a job as it is sent to the page."""
    return JobStatus(
        job=job.key,
        state=job.state,
        stage=Sentence.make(job.stage_message),
        done=job.done,
        total=job.total,
        problem=Sentence.make(job.problem_message) if job.problem else None,
        frame=job.revision,
        device=context.device,
    )


class LayoutStore:
    """Stores results as NumPy files in a cache; damaged ones count as missing."""

    def __init__(self, cache: FileCache) -> None:
        self._cache = cache

    def find(self, key: str) -> Float32 | None:
        content = self._cache.find(key)
        return _decode_layout(content) if content else None

    def put(self, key: str, result: Float32) -> None:
        file = io.BytesIO()
        np.save(file, result, allow_pickle=False)
        self._cache.put(key, file.getvalue())


def _decode_layout(content: bytes) -> Float32 | None:
    """Return a layout, or None if the content is damaged."""
    try:
        layout = np.load(io.BytesIO(content), allow_pickle=False)
    except (OSError, ValueError, EOFError):
        return None
    is_layout = isinstance(layout, np.ndarray) and layout.dtype == np.float32 and layout.ndim == 2
    return layout if is_layout else None


# ---- Clustering


class ClusterJobs:
    """Starts clusterings as jobs and describes their results."""

    def __init__(self, library: EmbeddingLibrary, jobs: ProjectorJobs) -> None:
        self._library = library
        self._jobs = jobs

    def start(self, request: ClusterRequest) -> JobStatus:
        """Start a clustering of vectors, or of the points of a layout."""
        ref = self._library.resolve(request)
        embedding = self._library.load(ref)
        rows = embedding.select_rows(request.rows)
        context = JobContext(ref, rows, request.spherize, name_column=request.name_column)
        if request.name_column is not None:
            embedding.get_column(request.name_column)  # fail early if it does not exist
        layout = (
            None if request.layout_job is None else self._get_layout(context, request.layout_job)
        )
        method, seed = request.method, request.seed
        run = self._jobs.tasks.run

        def compute(progress: JobProgress) -> Float32:
            points = layout
            if points is None:
                points = embedding.get_vectors(context.rows, context.spherize)
            if isinstance(method, KmeansMethod):
                clusters = run(cluster_kmeans, points, method.count, seed, progress=progress)
            else:
                clusters = run(cluster_hdbscan, points, method.min_size, seed, progress=progress)
            return clusters.astype(np.float32)[:, None]

        key = make_job_key(
            ref.mark,
            method,
            request.rows,
            request.layout_job,
            request.spherize,
            seed,
            request.name_column,
        )
        return self._jobs.start(key, context, compute)

    def get_response(self, key: str) -> ClustersResponse:
        """Return the cluster of each row, and the names of the clusters."""
        job, context = self._jobs.get(key)
        embedding = self._library.load(context.embedding)
        clusters = np.full(embedding.row_count, -1, np.int32)
        status = make_job_status(job, context)
        if job.result is None:
            return ClustersResponse(status, clusters, [])
        rows = np.arange(embedding.row_count) if context.rows is None else context.rows
        clusters[rows] = job.result[:, 0].astype(np.int32)
        described = _describe_clusters(embedding, clusters, context.name_column)
        return ClustersResponse(status, clusters, described)

    def _get_layout(self, context: JobContext, key: str) -> Float32:
        """Return the layout of a job; rows of the context are limited to those of the layout."""
        layout, layout_context = self._jobs.get_layout(key)
        layout = layout[:, :_MAX_AXES]
        if layout_context.rows is None:
            return np.ascontiguousarray(layout if context.rows is None else layout[context.rows])
        if context.rows is None:
            context.rows = layout_context.rows
            return np.ascontiguousarray(layout)
        context.rows, _, indices = np.intersect1d(
            context.rows, layout_context.rows, return_indices=True
        )
        return np.ascontiguousarray(layout[indices])


def _describe_clusters(
    embedding: LoadedEmbedding, clusters: Int32, name_column: str | None
) -> list[ClusterInfo]:
    """Return the name and size of each cluster; names are unique."""
    count = int(clusters.max(initial=-1)) + 1
    columns = embedding.columns if name_column is None else [embedding.get_column(name_column)]
    central_labels = _list_central_labels(embedding, clusters, count)
    words = name_clusters(clusters, columns, central_labels)
    sizes = np.bincount(clusters[clusters >= 0], minlength=count)
    seen: Counter[str] = Counter()
    infos = []
    for index, own_words in enumerate(words):
        name = ", ".join(own_words) or f"cluster {index + 1}"
        seen[name] += 1
        unique_name = name if seen[name] == 1 else f"{name} ({seen[name]})"
        infos.append(ClusterInfo(unique_name, int(sizes[index]), own_words))
    return infos


def _list_central_labels(
    embedding: LoadedEmbedding, clusters: Int32, count: int
) -> list[list[str]]:
    """Return, for each cluster, the labels of the points that are nearest to its mean."""
    label_column = find_label_column(embedding.columns)
    if label_column is None:
        return [[] for _ in range(count)]
    column = embedding.get_column(label_column)
    central_labels = []
    for cluster in range(count):
        rows = np.flatnonzero(clusters == cluster)
        vectors = embedding.vectors.values[rows]
        differences = vectors - vectors.mean(axis=0)
        nearest = np.argsort(np.einsum("ij,ij->i", differences, differences))
        texts = (column.get_text(int(rows[index])) for index in nearest[: 10 * _CENTRAL_LABELS])
        distinct = dict.fromkeys(text for text in texts if text)
        central_labels.append(list(distinct)[:_CENTRAL_LABELS])
    return central_labels
