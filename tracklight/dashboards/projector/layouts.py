"""What a layout starts from: vectors, and another layout onto which it is turned."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import msgspec
import numpy as np

from tracklight.analysis.embeddings.loading import (
    LoadedEmbedding,
    choose_match_column,
    decode_row_bits,
    match_rows,
)
from tracklight.analysis.embeddings.projections import tsne, umap
from tracklight.analysis.embeddings.projections.gpu import Gpu, find_gpu, list_devices
from tracklight.analysis.embeddings.projections.knn_graph import MAX_EXACT_POINTS
from tracklight.analysis.embeddings.projections.neighbors import (
    TRUST_SAMPLE_SIZE,
    compute_trustworthiness,
)
from tracklight.analysis.embeddings.projections.pca import align_procrustes, compute_pca
from tracklight.analysis.embeddings.search import LabelSearcher
from tracklight.analysis.jobs import JobProgress, make_job_key
from tracklight.dashboards.projector.jobs import (
    JobContext,
    LayoutComputation,
    ProjectorJobs,
    make_job_status,
)
from tracklight.dashboards.projector.library import EmbeddingLibrary
from tracklight.dashboards.projector.schemas import (
    AxisEnd,
    CustomAxesMethod,
    CustomAxis,
    JobStatus,
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
from tracklight.errors import UsageError
from tracklight.types import Bool, Float32, Float64, Int32


@dataclass(frozen=True, eq=False)
class AlignmentTarget:
    """The points that a layout has in common with another, and where they are in that one."""

    rows: Int32
    """Their places among the rows of mine."""
    layout: Float32
    vectors: Float32 | None
    """What the other layout was made of, if that is another step of the same: the numbers of two
    models mean different things, however many there are."""


@dataclass(frozen=True, eq=False)
class LayoutInput:
    """The rows of an opened embedding that a layout is made of."""

    embedding: LoadedEmbedding
    context: JobContext
    target: AlignmentTarget | None

    @property
    def count(self) -> int:
        return self.embedding.row_count if self.context.rows is None else len(self.context.rows)

    def get_vectors(self) -> Float32:
        return self.embedding.get_vectors(self.context.rows, self.context.spherize)

    def find_label_codes(self, column: str | None) -> Int32 | None:
        """What rows are told apart by, -1 where that is missing."""
        if column is None:
            return None
        labels = self.embedding.get_column(column)
        codes = labels.get_codes()
        is_empty = np.array([not value for value in labels.values])
        codes = np.where(is_empty[codes], -1, codes).astype(np.int32)
        chosen: Int32 = codes if self.context.rows is None else codes[self.context.rows]
        return chosen

    def find_initial_layout(self, dimensions: int) -> Float32 | None:
        """The other layout for all of my rows; those that it does not have are in its middle."""
        if self.target is None or not len(self.target.rows):
            return None
        there = self.target.layout[:, :dimensions]
        near = np.tile(there.mean(axis=0), (self.count, 1)).astype(np.float32)
        near[self.target.rows] = there
        return near if near.shape[1] == dimensions else None

    def align(self, layout: Float32) -> Float32:
        if self.target is None:
            return layout
        return align_procrustes(layout, self.target.rows, self.target.layout)

    def align_progress(self, progress: JobProgress) -> JobProgress:
        """Work of which layouts are seen turned while they still move."""
        return replace(progress, show=lambda layout: progress.show(self.align(layout)))


def get_alignment_target(
    library: EmbeddingLibrary,
    desk: ProjectorJobs,
    opened: LoadedEmbedding,
    plan: JobContext,
    align: tuple[str, str | None],
) -> AlignmentTarget:
    """Where the points of a layout are in that of another job, and by which column they are."""
    key, column = align
    layout, other = desk.get_layout(key)
    others = library.load(other.embedding)
    matches = match_rows(opened, others, choose_match_column(opened, others, column))
    if plan.rows is not None:
        matches = matches[plan.rows]
    places_of = np.full(others.row_count, -1, np.int32)
    shown = np.arange(others.row_count) if other.rows is None else other.rows
    places_of[shown] = np.arange(len(shown))
    theirs = np.where(matches >= 0, places_of[matches], -1)
    mine = np.flatnonzero(theirs >= 0).astype(np.int32)
    is_step = other.embedding.id == plan.embedding.id
    vectors = others.get_vectors(other.rows, other.spherize) if is_step else None
    return AlignmentTarget(mine, layout[theirs[mine]], vectors)


# How each method makes a layout of what it is given.

_APPROXIMATE_PCA_NOTE = (
    "components of so many long vectors are found by iteration, and not quite exact"
)

_APPROXIMATE_KNN_NOTE = "of so many points nearly all neighbours are found, and not every one"


def make_computation(
    layout_input: LayoutInput, method: ProjectionMethod, seed: int, searcher: LabelSearcher
) -> LayoutComputation:
    """What a job is to do; raises UsageError where nothing can come of it."""
    if isinstance(method, PcaMethod):
        return _make_pca_computation(layout_input, method, seed)
    if isinstance(method, CustomAxesMethod):
        return _make_custom_computation(layout_input, method, searcher)
    return _make_iterative_computation(layout_input, method, seed)


def _make_pca_computation(ground: LayoutInput, method: PcaMethod, seed: int) -> LayoutComputation:
    if ground.count < 2:
        raise UsageError(f"{ground.count} points have no components; choose more of them")

    def compute(work: JobProgress) -> Float32:
        vectors = ground.get_vectors()
        work.step("finding components", 0, 2)
        # Along the directions of the other step it is seen what moved; along its own, little is.
        basis = ground.target.vectors if ground.target else None
        if basis is not None and basis.shape[1] != vectors.shape[1]:
            basis = None
        found = compute_pca(vectors if basis is None else basis, method.components, seed)
        ground.context.explained_ratio = found.explained_ratio.tolist()
        ground.context.is_exact = found.is_exact
        ground.context.notes = [] if found.is_exact else [_APPROXIMATE_PCA_NOTE]
        work.step("projecting", 1, 2)
        places = found.project(vectors)
        return ground.align(places) if basis is None else places

    return compute


def _make_iterative_computation(
    ground: LayoutInput, method: TsneMethod | UmapMethod, seed: int
) -> LayoutComputation:
    settings, make_layout = _make_settings(method, seed)
    settings.validate(ground.count)
    labels = ground.find_label_codes(method.supervise)

    def compute(work: JobProgress) -> Float32:
        near, card = ground.find_initial_layout(method.dimensions), _find_gpu(ground)
        shown = ground.align_progress(work)
        layout = make_layout(ground.get_vectors(), settings, labels, shown, near=near, card=card)
        return ground.align(layout)

    return compute


def _make_settings(
    method: TsneMethod | UmapMethod, seed: int
) -> tuple[tsne.TsneSettings | umap.UmapSettings, Callable[..., Float32]]:
    """The settings of a method go by the names that they are asked by."""
    fields = msgspec.structs.asdict(method)
    if fields.pop("supervise") is None:
        fields["pull"] = 0.0
    if isinstance(method, TsneMethod):
        return tsne.TsneSettings(**fields, seed=seed), tsne.compute_tsne
    return umap.UmapSettings(**fields, seed=seed), umap.compute_umap


def _find_gpu(ground: LayoutInput) -> Gpu | None:
    """The card that a layout is to be made on; it is told where there is none after all."""
    card = find_gpu(ground.context.device)
    if card is None:
        ground.context.device = "cpu"
        if ground.count > MAX_EXACT_POINTS:
            ground.context.is_exact = False
            ground.context.notes = [_APPROXIMATE_KNN_NOTE]
    return card


def _make_custom_computation(
    ground: LayoutInput, method: CustomAxesMethod, searcher: LabelSearcher
) -> LayoutComputation:
    opened = ground.embedding
    directions = [_compute_direction(ground, axis, searcher) for axis in method.axes]

    def compute(work: JobProgress) -> Float32:
        work.step("projecting", 0, 1)
        vectors = opened.get_vectors(ground.context.rows, ground.context.spherize)
        return (vectors @ np.stack(directions, axis=1)).astype(np.float32)

    return compute


def _compute_direction(ground: LayoutInput, axis: CustomAxis, searcher: LabelSearcher) -> Float64:
    """From the middle of some points to that of others, of length 1."""
    start, end = (_compute_mean(ground.embedding, end, searcher) for end in (axis.start, axis.end))
    apart = end - start
    length = float(np.linalg.norm(apart))
    if not length:
        raise UsageError("an axis begins where it ends; choose other points for one of the two")
    return apart / length


def _compute_mean(opened: LoadedEmbedding, end: AxisEnd, searcher: LabelSearcher) -> Float64:
    usable = opened.vectors.usable
    if end.rows is not None:
        chosen: Bool = decode_row_bits(end.rows, opened.row_count) & usable
    else:
        chosen = searcher.search(opened, end.query, end.regex, end.column) & usable
    if not chosen.any():
        raise UsageError(f'"{end.query}" finds no point; an axis has to begin and end at some')
    mean: Float64 = opened.vectors.values[chosen].mean(axis=0, dtype=np.float64)
    return mean


# Layouts of embeddings as jobs: started, told of while they run, and judged.

_TRUST_NEIGHBORS = 5

_HIGH_TRUST, _MEDIUM_TRUST = 0.95, 0.85


class LayoutJobs:
    """Starts layouts and tells of them."""

    def __init__(
        self, library: EmbeddingLibrary, jobs: ProjectorJobs, searcher: LabelSearcher
    ) -> None:
        self._library = library
        self._jobs = jobs
        self._searcher = searcher

    def start(self, ask: ProjectionRequest) -> JobStatus:
        found = self._library.resolve(ask)
        opened = self._library.load(found)
        method = ask.method
        # The others are sooner made again than kept.
        takes_long = isinstance(method, TsneMethod | UmapMethod)
        metric = method.metric if isinstance(method, TsneMethod | UmapMethod) else "euclidean"
        plan = JobContext(
            found,
            opened.select_rows(ask.rows),
            ask.spherize,
            metric,
            keeps_only_neighbors=takes_long,
        )
        if takes_long and ask.device == "auto":
            plan.device = list_devices()[-1]
        target = None
        if ask.align is not None:
            align = ask.align, ask.align_by
            target = get_alignment_target(self._library, self._jobs, opened, plan, align)
        ground = LayoutInput(opened, plan, target)
        compute = make_computation(ground, method, ask.seed, self._searcher)
        made_of = found.mark, method, ask.rows, ask.spherize, ask.seed, plan.device
        aligned = ask.align, ask.align and ask.align_by
        key = make_job_key(*made_of, *aligned, opened.revision if _reads_labels(method) else 0)
        return self._jobs.start(key, plan, compute, is_cached=takes_long)

    def get_response(self, ask: LayoutRequest) -> LayoutResponse:
        job, plan = self._jobs.get(ask.job)
        row = make_job_status(job, plan)
        layout = job.result
        places: list[Float32] = []
        if layout is not None and row.frame != ask.seen:
            places = [layout[:, axis] for axis in ask.axes if axis < layout.shape[1]]
        return LayoutResponse(
            row, plan.rows, places, plan.explained_ratio, plan.is_exact, plan.notes
        )

    def get_quality(self, ask: QualityRequest) -> QualityResponse:
        layout, plan = self._jobs.get_layout(ask.job)
        vectors = self._library.load(plan.embedding).get_vectors(plan.rows, plan.spherize)
        count = len(vectors)
        neighbours = min(_TRUST_NEIGHBORS, (count - 1) // 2)
        if neighbours < 1:
            raise UsageError(f"{count} points have too few neighbours to be compared")
        axes = [axis for axis in ask.axes if axis < layout.shape[1]] or [0]
        shown = np.ascontiguousarray(layout[:, axes])
        trust = compute_trustworthiness(vectors, shown, neighbours, plan.metric)
        sentence = _describe_trust(trust, plan.keeps_only_neighbors)
        return QualityResponse(trust, count, min(count, TRUST_SAMPLE_SIZE), neighbours, sentence)


def _reads_labels(method: ProjectionMethod) -> bool:
    return isinstance(method, CustomAxesMethod) or bool(
        isinstance(method, TsneMethod | UmapMethod) and method.supervise
    )


def _describe_trust(trust: float, is_loose: bool) -> str:
    if trust >= _HIGH_TRUST:
        sentence = "Points that are close here are close in the data."
    elif trust >= _MEDIUM_TRUST:
        sentence = "Most points that are close here are close in the data, some are not."
    else:
        sentence = "Many points that are close here are far apart in the data."
    if is_loose:
        sentence += " How large groups are, and how far apart, says little."
    return sentence
