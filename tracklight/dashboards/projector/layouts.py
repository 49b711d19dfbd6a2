"""Layouts and clusterings of embeddings as background jobs.

`ProjectorJobs` adds to `tracklight.analysis.jobs.Jobs` a `JobContext` for each job, which remembers
what the result belongs to; the result is an array of float32. `ClusterJobs` starts clusterings and
`LayoutJobs` starts layouts: it prepares a `LayoutInput` (rows, vectors, and optionally a layout to
align with), and `make_computation` turns it into the function that the job runs.
"""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from tracklight.analysis.embeddings import (
    LoadedEmbedding,
    choose_match_column,
    decode_row_bits,
    match_rows,
)
from tracklight.analysis.embeddings.metadata import LabelSearcher, find_label_column, name_clusters
from tracklight.analysis.embeddings.projections import (
    COMPUTING_COMPONENTS,
    PROJECTING,
    TRUST_SAMPLE_SIZE,
    DistanceMetric,
    align_procrustes,
    compute_pca,
    compute_trustworthiness,
)
from tracklight.analysis.embeddings.projections.clustering import cluster_hdbscan, cluster_kmeans
from tracklight.analysis.embeddings.projections.gpu import Device, Gpu, find_gpu, list_devices
from tracklight.analysis.embeddings.projections.manifold import (
    MAX_EXACT_POINTS,
    TsneSettings,
    UmapSettings,
    compute_tsne,
    compute_umap,
)
from tracklight.analysis.jobs import LOCAL_TASKS, Job, JobProgress, Jobs, Tasks, make_job_key
from tracklight.analysis.source import Sentence
from tracklight.dashboards.projector.library import EmbeddingLibrary, EmbeddingRef
from tracklight.dashboards.projector.schemas import (
    AxisEnd,
    ClusterInfo,
    ClusterRequest,
    ClustersResponse,
    CustomAxesMethod,
    CustomAxis,
    JobStatus,
    KmeansMethod,
    LayoutRequest,
    LayoutResponse,
    PcaMethod,
    ProjectionMethod,
    ProjectionRequest,
    QualityRequest,
    QualityResponse,
    TsneMethod,
    UmapMethod,
)
from tracklight.errors import LogError, Message, UsageError
from tracklight.plugin import Context
from tracklight.types import Bool, Float32, Float64, Int32
from tracklight.util.files import FileCache
from tracklight.util.memory import LruCache

# ---- jobs and their results

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


# ---- clustering


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


_APPROXIMATE_PCA_NOTE = Message(
    "projector.approximate_components", "the components of so many long vectors are approximate"
)
_APPROXIMATE_KNN_NOTE = Message(
    "projector.approximate_neighbors", "the neighbors of so many points are approximate"
)

_TRUST_NEIGHBORS = 5
_HIGH_TRUST, _MEDIUM_TRUST = 0.95, 0.85


# ---- input and alignment


@dataclass(frozen=True, eq=False)
class AlignmentTarget:
    """The points that a layout has in common with another one."""

    rows: Int32
    """Indices of these points in the new layout."""
    layout: Float32
    """Their positions in the other layout."""
    vectors: Float32 | None
    """The vectors of the other layout if it is another step of the same embedding; the dimensions
    of different models cannot be compared."""


@dataclass(frozen=True, eq=False)
class LayoutInput:
    """The rows of an embedding that a layout is computed from."""

    embedding: LoadedEmbedding
    context: JobContext
    target: AlignmentTarget | None

    @property
    def count(self) -> int:
        return self.embedding.row_count if self.context.rows is None else len(self.context.rows)

    def get_vectors(self) -> Float32:
        return self.embedding.get_vectors(self.context.rows, self.context.spherize)

    def find_label_codes(self, column: str | None) -> Int32 | None:
        """Return the label of each row as an integer, -1 if it is empty; None without a column."""
        if column is None:
            return None
        labels = self.embedding.get_column(column)
        codes = labels.get_codes()
        is_empty = np.array([not value for value in labels.values])
        codes = np.where(is_empty[codes], -1, codes).astype(np.int32)
        own_codes: Int32 = codes if self.context.rows is None else codes[self.context.rows]
        return own_codes

    def find_initial_layout(self, dimensions: int) -> Float32 | None:
        """Return the other layout for all rows; rows that it does not have are at its mean."""
        if self.target is None or not len(self.target.rows):
            return None
        positions = self.target.layout[:, :dimensions]
        initial = np.tile(positions.mean(axis=0), (self.count, 1)).astype(np.float32)
        initial[self.target.rows] = positions
        return initial if initial.shape[1] == dimensions else None

    def align(self, layout: Float32) -> Float32:
        """Rotate and scale a layout onto the other one."""
        if self.target is None:
            return layout
        return align_procrustes(layout, self.target.rows, self.target.layout)

    def align_progress(self, progress: JobProgress) -> JobProgress:
        """Return a progress that aligns intermediate layouts before it shows them."""
        return replace(progress, show=lambda layout: progress.show(self.align(layout)))


def get_alignment_target(
    library: EmbeddingLibrary,
    jobs: ProjectorJobs,
    embedding: LoadedEmbedding,
    context: JobContext,
    align_to: str,
    align_by: str | None,
) -> AlignmentTarget:
    """Return the points that a new layout has in common with the layout of another job.

    Args:
        library: Loads the embedding of the other job.
        jobs: Has the other job.
        embedding: The embedding of the new layout.
        context: The context of the new layout.
        align_to: The key of the other job.
        align_by: The column by which points are matched; see `choose_match_column`.
    """
    layout, other_context = jobs.get_layout(align_to)
    other = library.load(other_context.embedding)
    matches = match_rows(embedding, other, choose_match_column(embedding, other, align_by))
    if context.rows is not None:
        matches = matches[context.rows]
    index_of = np.full(other.row_count, -1, np.int32)
    other_rows = np.arange(other.row_count) if other_context.rows is None else other_context.rows
    index_of[other_rows] = np.arange(len(other_rows))
    indices = np.where(matches >= 0, index_of[matches], -1)
    rows = np.flatnonzero(indices >= 0).astype(np.int32)
    is_same_embedding = other_context.embedding.id == context.embedding.id
    vectors = None
    if is_same_embedding:
        vectors = other.get_vectors(other_context.rows, other_context.spherize)
    return AlignmentTarget(rows, layout[indices[rows]], vectors)


# ---- methods


def make_computation(
    layout_input: LayoutInput,
    method: ProjectionMethod,
    seed: int,
    searcher: LabelSearcher,
    tasks: Tasks,
) -> LayoutComputation:
    """Return the function that computes a layout.

    t-SNE and UMAP run as tasks, the other methods are fast.

    Raises:
        UsageError: The method cannot be applied to this input.
    """
    if isinstance(method, PcaMethod):
        return _make_pca_computation(layout_input, method, seed)
    if isinstance(method, CustomAxesMethod):
        return _make_custom_computation(layout_input, method, searcher)
    return _make_iterative_computation(layout_input, method, seed, tasks)


def _make_pca_computation(
    layout_input: LayoutInput, method: PcaMethod, seed: int
) -> LayoutComputation:
    if layout_input.count < 2:
        raise UsageError(
            "projector.pca_too_few",
            "PCA needs at least 2 points, not {count}; select more",
            count=layout_input.count,
        )

    def compute(progress: JobProgress) -> Float32:
        vectors = layout_input.get_vectors()
        context, target = layout_input.context, layout_input.target
        progress.step(COMPUTING_COMPONENTS, 0, 2)
        # The components of the other step show what has moved; those of this step would follow it.
        basis = target.vectors if target else None
        if basis is not None and basis.shape[1] != vectors.shape[1]:
            basis = None
        components = compute_pca(vectors if basis is None else basis, method.components, seed)
        context.explained_ratio = components.explained_ratio.tolist()
        context.is_exact = components.is_exact
        context.notes = [] if components.is_exact else [_APPROXIMATE_PCA_NOTE]
        progress.step(PROJECTING, 1, 2)
        layout = components.project(vectors)
        return layout_input.align(layout) if basis is None else layout

    return compute


def _make_iterative_computation(
    layout_input: LayoutInput, method: TsneMethod | UmapMethod, seed: int, tasks: Tasks
) -> LayoutComputation:
    target_weight = 0.0 if method.supervise_column is None else method.supervise_factor
    if isinstance(method, TsneMethod):
        tsne_settings = TsneSettings(
            dimensions=method.dimensions,
            perplexity=method.perplexity,
            iterations=method.iterations,
            early_exaggeration=method.early_exaggeration,
            learning_rate=method.learning_rate,
            metric=method.metric,
            target_weight=target_weight,
            seed=seed,
        )
        tsne_settings.validate(layout_input.count)
        compute_layout = partial(compute_tsne, settings=tsne_settings)
    else:
        umap_settings = UmapSettings(
            dimensions=method.dimensions,
            n_neighbors=method.n_neighbors,
            min_dist=method.min_dist,
            metric=method.metric,
            epochs=method.epochs,
            target_weight=target_weight,
            seed=seed,
        )
        umap_settings.validate(layout_input.count)
        compute_layout = partial(compute_umap, settings=umap_settings)
    labels = layout_input.find_label_codes(method.supervise_column)

    def compute(progress: JobProgress) -> Float32:
        gpu = _find_gpu(layout_input)
        # A GPU of this machine is faster than the CPUs of another one.
        run = LOCAL_TASKS.run if gpu else tasks.run
        layout = run(
            compute_layout,
            layout_input.get_vectors(),
            labels=labels,
            progress=layout_input.align_progress(progress),
            initial=layout_input.find_initial_layout(method.dimensions),
            gpu=gpu,
        )
        return layout_input.align(layout)

    return compute


def _find_gpu(layout_input: LayoutInput) -> Gpu | None:
    """Return the GPU of the context; if there is none after all, note that the CPU is used."""
    context = layout_input.context
    gpu = find_gpu(context.device)
    if gpu is None:
        context.device = "cpu"
        if layout_input.count > MAX_EXACT_POINTS:
            context.is_exact = False
            context.notes = [_APPROXIMATE_KNN_NOTE]
    return gpu


def _make_custom_computation(
    layout_input: LayoutInput, method: CustomAxesMethod, searcher: LabelSearcher
) -> LayoutComputation:
    directions = [_compute_direction(layout_input, axis, searcher) for axis in method.axes]

    def compute(progress: JobProgress) -> Float32:
        progress.step(PROJECTING, 0, 1)
        return (layout_input.get_vectors() @ np.stack(directions, axis=1)).astype(np.float32)

    return compute


def _compute_direction(
    layout_input: LayoutInput, axis: CustomAxis, searcher: LabelSearcher
) -> Float64:
    """Return the unit vector from the mean of some points to the mean of others."""
    embedding = layout_input.embedding
    start, end = (_compute_mean(embedding, end, searcher) for end in (axis.start, axis.end))
    difference = end - start
    length = float(np.linalg.norm(difference))
    if not length:
        raise UsageError(
            "projector.axis_ends_equal",
            "both ends of an axis are the same; choose other points for one of them",
        )
    return difference / length


def _compute_mean(embedding: LoadedEmbedding, end: AxisEnd, searcher: LabelSearcher) -> Float64:
    usable = embedding.vectors.usable
    if end.rows is not None:
        rows: Bool = decode_row_bits(end.rows, embedding.row_count) & usable
    else:
        rows = searcher.search(embedding, end.query, end.regex, end.column) & usable
    if not rows.any():
        raise UsageError(
            "projector.axis_no_match",
            'no point matches "{query}"; both ends of an axis need points',
            query=end.query,
        )
    mean: Float64 = embedding.vectors.values[rows].mean(axis=0, dtype=np.float64)
    return mean


# ---- jobs


class LayoutJobs:
    """Starts layouts as jobs, and returns their coordinates and trustworthiness."""

    def __init__(
        self, library: EmbeddingLibrary, jobs: ProjectorJobs, searcher: LabelSearcher
    ) -> None:
        self._library = library
        self._jobs = jobs
        self._searcher = searcher

    def start(self, request: ProjectionRequest) -> JobStatus:
        """Start a layout, or return the job of an equal request."""
        ref = self._library.resolve(request)
        embedding = self._library.load(ref)
        method = request.method
        # Other methods are computed faster than their layouts are read from the cache.
        is_iterative = isinstance(method, TsneMethod | UmapMethod)
        context = JobContext(
            ref,
            embedding.select_rows(request.rows),
            request.spherize,
            metric=method.metric if isinstance(method, TsneMethod | UmapMethod) else "euclidean",
            keeps_only_neighbors=is_iterative,
        )
        if is_iterative and request.device == "auto":
            context.device = list_devices()[-1]
        target = None
        if request.align_to is not None:
            target = get_alignment_target(
                self._library, self._jobs, embedding, context, request.align_to, request.align_by
            )
        layout_input = LayoutInput(embedding, context, target)
        compute = make_computation(
            layout_input, method, request.seed, self._searcher, self._jobs.tasks
        )
        key = make_job_key(
            ref.mark,
            method,
            request.rows,
            request.spherize,
            request.seed,
            context.device,
            request.align_to,
            request.align_to and request.align_by,
            embedding.revision if _uses_labels(method) else 0,
        )
        return self._jobs.start(key, context, compute, is_cached=is_iterative)

    def get_response(self, request: LayoutRequest) -> LayoutResponse:
        """Return the state of a layout and its current coordinates."""
        job, context = self._jobs.get(request.job)
        status = make_job_status(job, context)
        layout = job.result
        coordinates: list[Float32] = []
        if request.coordinates and layout is not None and status.frame != request.known_frame:
            coordinates = [layout[:, axis] for axis in request.axes if axis < layout.shape[1]]
        return LayoutResponse(
            status,
            context.rows,
            coordinates,
            context.explained_ratio,
            context.is_exact,
            [Sentence.make(note) for note in context.notes],
        )

    def get_quality(self, request: QualityRequest) -> QualityResponse:
        """Return the trustworthiness of a layout along some axes.

        Raises:
            UsageError: There are too few points.
        """
        layout, context = self._jobs.get_layout(request.job)
        embedding = self._library.load(context.embedding)
        vectors = embedding.get_vectors(context.rows, context.spherize)
        count = len(vectors)
        n_neighbors = min(_TRUST_NEIGHBORS, (count - 1) // 2)
        if n_neighbors < 1:
            raise UsageError(
                "projector.quality_too_few",
                "{count} points are too few to compare neighbors",
                count=count,
            )
        axes = [axis for axis in request.axes if axis < layout.shape[1]] or [0]
        shown = np.ascontiguousarray(layout[:, axes])
        trust = compute_trustworthiness(vectors, shown, n_neighbors, context.metric)
        messages = _describe_trust(trust, context.keeps_only_neighbors)
        return QualityResponse(
            trustworthiness=trust,
            point_count=count,
            sample_size=min(count, TRUST_SAMPLE_SIZE),
            n_neighbors=n_neighbors,
            explanation=[Sentence.make(message) for message in messages],
        )


def _uses_labels(method: ProjectionMethod) -> bool:
    if isinstance(method, TsneMethod | UmapMethod):
        return bool(method.supervise_column)
    return isinstance(method, CustomAxesMethod)


def _describe_trust(trust: float, keeps_only_neighbors: bool) -> list[Message]:
    if trust >= _HIGH_TRUST:
        messages = [
            Message("projector.trust_high", "Points that are close here are close in the data.")
        ]
    elif trust >= _MEDIUM_TRUST:
        messages = [
            Message(
                "projector.trust_medium",
                "Most points that are close here are close in the data, some are not.",
            )
        ]
    else:
        messages = [
            Message(
                "projector.trust_low",
                "Many points that are close here are far apart in the data.",
            )
        ]
    if keeps_only_neighbors:
        messages.append(
            Message(
                "projector.trust_neighbors_only",
                "Cluster sizes and the distances between clusters mean little.",
            )
        )
    return messages
