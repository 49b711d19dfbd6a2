"""t-SNE and UMAP: layouts in which neighbors stay neighbors.

Both start with the graph of the k nearest neighbors of all vectors: exact, on a GPU, or approximate
for very many. The approximate search is an inverted file: vectors are assigned to cells by k-means,
and those of a cell are compared with the vectors of nearby cells by matrix products (Jégou, Douze
and Schmid, 2011). Most of what it misses is then found among the neighbors of neighbors (Dong et
al., 2011).

t-SNE is described by van der Maaten and Hinton (2008), and UMAP, a layout of the fuzzy graph of
neighbors, by McInnes, Healy and Melville (2018).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from os import cpu_count
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tracklight.analysis.embeddings.projections import (
    COMPUTING_NEIGHBORS,
    OPTIMIZING_LAYOUT,
    REFINING_NEIGHBORS,
    DistanceMetric,
    Neighbors,
    NeighborSearch,
    compute_initial_layout,
    kernels_python,
    normalize,
)
from tracklight.analysis.embeddings.projections import (
    KERNEL as NEIGHBORS_KERNEL,
)
from tracklight.analysis.embeddings.projections.clustering import assign_to_nearest, compute_means
from tracklight.analysis.embeddings.projections.forces import (
    KERNEL as FORCES_KERNEL,
)
from tracklight.analysis.embeddings.projections.forces import (
    SymmetricEdges,
    TsneForces,
    compute_affinities,
    downweight_other_labels,
    symmetrize,
)
from tracklight.analysis.embeddings.projections.gpu import Gpu, GpuForces, GpuUmapEpochs, UmapEdges
from tracklight.analysis.jobs import JobProgress
from tracklight.errors import Message, UsageError
from tracklight.types import Float32, Float64, Int32, Int64

# ---- graph of nearest neighbors

#: Up to here, comparing all pairs is fast enough.
MAX_EXACT_POINTS = 30_000
#: Edges that fit into a few gigabytes.
_MAX_EDGES = 30_000_000

#: Each cell is compared with at least this many others ...
_PROBED_CELLS = 30
#: ... and with more until there are this many candidates per neighbor.
_MIN_CANDIDATES_FACTOR = 8
_SAMPLE_PER_CELL = 40
_KMEANS_ITERATIONS = 4

_MAX_REFINEMENTS = 2
#: Refinement stops when it changes a smaller share of the neighbors.
_MIN_CHANGED_SHARE = 0.01
#: Refinement looks at this many neighbors of this many neighbors.
_REFINE_NEIGHBORS = 20
_BLOCK_VALUES = 1 << 22


def check_edge_count(count: int, n_neighbors: int) -> None:
    """Check that the graph fits into memory.

    Raises:
        UsageError: It does not.
    """
    if count * n_neighbors > _MAX_EDGES:
        raise UsageError(
            "projector.neighbors_memory",
            "{n_neighbors} neighbors of {count} points do not fit into memory; "
            "choose at most {max_points} points, or settings with fewer "
            "neighbors",
            n_neighbors=n_neighbors,
            count=count,
            max_points=_MAX_EDGES // n_neighbors,
        )


def compute_knn_graph(
    vectors: Float32,
    metric: DistanceMetric,
    count: int,
    progress: JobProgress,
    gpu: Gpu | None = None,
) -> Neighbors:
    """Return the neighbors of every vector.

    They are exact on a GPU, for at most `MAX_EXACT_POINTS` vectors, and for dot products.
    """
    if gpu is not None:
        return gpu.compute_neighbors(vectors, metric, count, progress)
    # The nearest by dot product may be anywhere in space, so that cells do not help.
    if len(vectors) > MAX_EXACT_POINTS and metric != "dot":
        return compute_approximate_knn(vectors, metric, count, progress)
    return NeighborSearch(vectors, metric).query_all(count, progress)


def compute_approximate_knn(
    vectors: Float32,
    metric: DistanceMetric,
    count: int,
    progress: JobProgress,
    seed: int = 0,
    kernel: ModuleType = NEIGHBORS_KERNEL,
) -> Neighbors:
    """Return nearly all neighbors of every vector, in time that grows less than quadratically."""
    total = len(vectors)
    count = min(count, total - 1)
    points = normalize(vectors) if metric == "cosine" else np.ascontiguousarray(vectors)
    cells = _assign_cells(points, max(int(np.sqrt(total)), 2), seed)
    order = np.argsort(cells, kind="stable").astype(np.int32)
    cell_count = int(cells.max()) + 1
    edges = np.searchsorted(cells[order], np.arange(cell_count + 1))
    starts, ends = edges[:-1].tolist(), edges[1:].tolist()
    centers = np.stack([points[order[a:b]].mean(axis=0) for a, b in zip(starts, ends, strict=True)])
    nearby_cells = NeighborSearch(centers, "euclidean").query_all(cell_count - 1).indices
    result = Neighbors(np.empty((total, count), np.int32), np.empty((total, count), np.float32))

    def fill_cell(cell: int) -> int:
        rows = order[edges[cell] : edges[cell + 1]]
        candidates = _list_candidates(order, edges, cell, nearby_cells[cell], count)
        search = NeighborSearch(points[candidates], metric, kernel)
        own = search.query_rows(np.arange(len(rows)), count)
        result.indices[rows], result.distances[rows] = candidates[own.indices], own.distances
        return len(rows)

    _run_parallel(COMPUTING_NEIGHBORS, fill_cell, range(cell_count), total, progress)
    for _ in range(_MAX_REFINEMENTS):
        before, result = result, _refine(points, metric, result, progress, kernel)
        if np.mean(before.indices != result.indices) < _MIN_CHANGED_SHARE:
            break
    return result


def _run_parallel(
    stage: Message,
    function: Callable[[int], int],
    items: Sequence[int],
    total: int,
    progress: JobProgress,
) -> None:
    """Call a function, which returns how many rows it has done, in several threads."""
    done = 0
    pool = ThreadPoolExecutor(cpu_count() or 1)
    try:
        for rows in pool.map(function, items):
            done += rows
            progress.step(stage, done, total)
    finally:
        pool.shutdown(cancel_futures=True)


def _refine(
    points: Float32,
    metric: DistanceMetric,
    known: Neighbors,
    progress: JobProgress,
    kernel: ModuleType,
) -> Neighbors:
    """Return the nearest among the known neighbors and their neighbors."""
    total, count = len(known.indices), known.indices.shape[1]
    fanout = min(count, _REFINE_NEIGHBORS)
    refined = Neighbors(np.empty_like(known.indices), np.empty_like(known.distances))
    size = max(_BLOCK_VALUES // (points.shape[1] * (count + fanout * fanout)), 1)
    refine = partial(
        kernel.refine_neighbors, points, metric, known.indices, known.distances, fanout
    )

    def fill_block(start: int) -> int:
        rows = range(start, min(start + size, total))
        refine(rows.start, rows.stop, refined.indices, refined.distances)
        return len(rows)

    _run_parallel(REFINING_NEIGHBORS, fill_block, range(0, total, size), total, progress)
    return refined


def _assign_cells(points: Float32, count: int, seed: int) -> Int64:
    """Assign points to about ``count`` cells by k-means on a sample; no cell is empty."""
    rng = np.random.default_rng(seed)
    sample = points[np.sort(rng.permutation(len(points))[: count * _SAMPLE_PER_CELL])]
    centers = sample[np.sort(rng.permutation(len(sample))[:count])]
    for _ in range(_KMEANS_ITERATIONS):
        centers = compute_means(sample, assign_to_nearest(sample, centers), centers)
    return np.unique(assign_to_nearest(points, centers), return_inverse=True)[1].reshape(-1)


def _list_candidates(
    order: Int32, edges: Int64, cell: int, nearby_cells: Int32, count: int
) -> Int32:
    """Return the rows of a cell, followed by those of nearby cells."""
    parts = [order[edges[cell] : edges[cell + 1]]]
    size = len(parts[0])
    for rank, other in enumerate(nearby_cells):
        if rank >= _PROBED_CELLS and size > _MIN_CANDIDATES_FACTOR * count:
            break
        parts.append(order[edges[other] : edges[other + 1]])
        size += len(parts[-1])
    return np.concatenate(parts)


# ---- t-SNE

#: Number of iterations with early exaggeration, in which clusters form.
_EARLY_ITERATIONS = 250
_INITIAL_RADIUS = 3e-4
_MIN_GAIN = 0.01
_PUBLISH_EVERY = 10


def _check_layout(dimensions: int, target_weight: float) -> None:
    """Check the settings that t-SNE and UMAP have in common."""
    if dimensions not in (2, 3):
        raise UsageError(
            "projector.invalid_dimensions",
            "a layout must have 2 or 3 dimensions, not {dimensions}",
            dimensions=dimensions,
        )
    if not 0 <= target_weight <= 1:
        raise UsageError(
            "projector.invalid_label_weight",
            "the label weight must be from 0 to 1, not {target_weight}",
            target_weight=target_weight,
        )


@dataclass(frozen=True, slots=True)
class TsneSettings:
    """Settings of a layout. Equal settings and vectors give equal layouts."""

    dimensions: int = 2
    perplexity: float = 30.0
    """The effective number of neighbors of a point."""
    iterations: int = 750
    early_exaggeration: float = 12.0
    learning_rate: float | None = None
    """Chosen by the number of points if None."""
    metric: DistanceMetric = "euclidean"
    target_weight: float = 0.0
    """How much less neighbors with other labels weigh, from 0 to 1."""
    seed: int = 0

    def validate(self, count: int) -> None:
        """Check the settings for a number of points.

        Raises:
            UsageError: A setting is out of range, or there are too few or too many points.
        """
        _check_layout(self.dimensions, self.target_weight)
        if not 1 < self.perplexity <= 500:
            raise UsageError(
                "projector.invalid_perplexity",
                "perplexity must be more than 1 and at most 500, not {perplexity}",
                perplexity=self.perplexity,
            )
        if not 1 <= self.iterations <= 100_000:
            raise UsageError(
                "projector.invalid_iterations",
                "iterations must be from 1 to 100000, not {iterations}",
                iterations=self.iterations,
            )
        if self.early_exaggeration < 1 or (self.learning_rate or 1) <= 0:
            raise UsageError(
                "projector.invalid_optimizer",
                "early exaggeration must be at least 1, the learning rate positive",
            )
        if count < 3:
            raise UsageError(
                "projector.tsne_too_few", "t-SNE needs at least 3 points, not {count}", count=count
            )
        check_edge_count(count, int(3 * min(self.perplexity, count / 3)))


def compute_tsne(
    vectors: Float32,
    settings: TsneSettings | None = None,
    labels: NDArray[Any] | None = None,
    progress: JobProgress | None = None,
    initial: Float32 | None = None,
    gpu: Gpu | None = None,
) -> Float32:
    """Return a layout of the vectors, [n, dimensions].

    Args:
        vectors: The vectors, [n, original dimensions].
        settings: The settings; the defaults if None.
        labels: Integers by which the layout is supervised, negative for unknown.
        progress: Receives the progress and intermediate layouts.
        initial: A layout to start from; the principal components if None.
        gpu: Where to compute; the CPU if None.

    Raises:
        UsageError: The settings are invalid for these vectors.
        JobCancelledError: The job was cancelled.
    """
    settings = settings or TsneSettings()
    progress = progress or JobProgress()
    settings.validate(len(vectors))
    # Three times the perplexity are the neighbors that have a noticeable weight.
    perplexity = min(settings.perplexity, (len(vectors) - 1) / 3)
    count = max(int(3 * perplexity), 2)
    neighbors = compute_knn_graph(vectors, settings.metric, count, progress, gpu)
    affinities = compute_affinities(
        neighbors, max(perplexity, 1.01), labels, settings.target_weight
    )
    layout = compute_initial_layout(
        vectors, settings.dimensions, _INITIAL_RADIUS, settings.seed, initial
    )
    forces = TsneForces(affinities) if gpu is None else gpu.make_forces(affinities)
    with closing(forces):
        return _descend(layout, forces, settings, progress)


def _descend(
    initial: Float64, forces: TsneForces | GpuForces, settings: TsneSettings, progress: JobProgress
) -> Float32:
    """Minimize the loss by gradient descent with momentum and adaptive gains.

    Arrays are of NumPy or, on a GPU, of PyTorch, whose functions have the same names.
    """
    xp = forces.namespace
    layout = forces.to_array(initial)
    velocity, gains = xp.zeros_like(layout), xp.ones_like(layout)
    early_iterations = min(_EARLY_ITERATIONS, settings.iterations // 2)
    for iteration in range(settings.iterations):
        is_early = iteration < early_iterations
        exaggeration = settings.early_exaggeration if is_early else 1.0
        # The usual n / exaggeration, for a gradient that includes the factor 4.
        rate = settings.learning_rate or max(len(layout) / exaggeration / 4, 50.0)
        gradient = forces.compute_gradient(layout, exaggeration)
        has_same_sign = (gradient > 0) == (velocity > 0)
        gains = xp.where(has_same_sign, gains * 0.8, gains + 0.2).clip(_MIN_GAIN)
        velocity = (0.5 if is_early else 0.8) * velocity - rate * gains * gradient
        layout += velocity
        layout -= layout.mean(axis=0)
        progress.step(OPTIMIZING_LAYOUT, iteration + 1, settings.iterations)
        if iteration % _PUBLISH_EVERY == 0:
            progress.show(forces.to_numpy(layout))
    return forces.to_numpy(layout)


_SPREAD = 1.0
_FIT_ITERATIONS = 100
_BANDWIDTH_BISECTIONS = 64
_UMAP_RADIUS = 10.0
_NEGATIVE_SAMPLES = 5
_UMAP_PUBLISH_EVERY = 5
#: Larger layouts get 200 epochs by default.
_MAX_POINTS_FOR_500_EPOCHS = 10_000


@dataclass(frozen=True, slots=True)
class UmapSettings:
    """Settings of a layout. Equal settings and vectors give equal layouts."""

    dimensions: int = 2
    n_neighbors: int = 15
    """Small values show local structure, large ones global structure."""
    min_dist: float = 0.1
    """The smallest distance between points."""
    metric: DistanceMetric = "euclidean"
    epochs: int | None = None
    """Chosen by the number of points if None."""
    target_weight: float = 0.0
    """How much less neighbors with other labels weigh, from 0 to 1."""
    seed: int = 0

    def validate(self, count: int) -> None:
        """Check the settings for a number of points.

        Raises:
            UsageError: A setting is out of range, or there are too few or too many points.
        """
        _check_layout(self.dimensions, self.target_weight)
        if not 2 <= self.n_neighbors <= 500:
            raise UsageError(
                "projector.invalid_neighbors",
                "the number of neighbors must be from 2 to 500, not {n_neighbors}",
                n_neighbors=self.n_neighbors,
            )
        if not 0 <= self.min_dist < 1:
            raise UsageError(
                "projector.invalid_min_dist",
                "the minimum distance must be at least 0 and less than 1, not {min_dist}",
                min_dist=self.min_dist,
            )
        if self.epochs is not None and not 1 <= self.epochs <= 100_000:
            raise UsageError(
                "projector.invalid_epochs",
                "epochs must be from 1 to 100000, not {epochs}",
                epochs=self.epochs,
            )
        if count < 3:
            raise UsageError(
                "projector.umap_too_few", "UMAP needs at least 3 points, not {count}", count=count
            )
        check_edge_count(count, self.n_neighbors)


class _FuzzyGraph(NamedTuple):
    """Edges with the probability that they exist."""

    edges: SymmetricEdges
    strengths: Float64


def compute_umap(
    vectors: Float32,
    settings: UmapSettings | None = None,
    labels: NDArray[Any] | None = None,
    progress: JobProgress | None = None,
    kernel: ModuleType | None = FORCES_KERNEL,
    initial: Float32 | None = None,
    gpu: Gpu | None = None,
) -> Float32:
    """Return a layout of the vectors, [n, dimensions].

    Args:
        vectors: The vectors, [n, original dimensions].
        settings: The settings; the defaults if None.
        labels: Integers by which the layout is supervised, negative for unknown.
        progress: Receives the progress and intermediate layouts.
        kernel: The compiled functions; NumPy is used if None.
        initial: A layout to start from; the principal components if None.
        gpu: Where to compute; the CPU if None.

    Raises:
        UsageError: The settings are invalid for these vectors.
        JobCancelledError: The job was cancelled.
    """
    settings = settings or UmapSettings()
    progress = progress or JobProgress()
    settings.validate(len(vectors))
    count = min(settings.n_neighbors, len(vectors)) - 1
    neighbors = compute_knn_graph(vectors, settings.metric, count, progress, gpu)
    graph = _build_fuzzy_graph(neighbors, labels, settings.target_weight)
    layout = compute_initial_layout(
        vectors, settings.dimensions, _UMAP_RADIUS, settings.seed, initial
    )
    return _optimize(layout, graph, settings, progress, kernel, gpu)


def _build_fuzzy_graph(
    neighbors: Neighbors, labels: NDArray[Any] | None, target_weight: float
) -> _FuzzyGraph:
    memberships = _compute_memberships(neighbors.distances)
    memberships = downweight_other_labels(memberships, neighbors.indices, labels, target_weight)
    edges = symmetrize(neighbors.indices, memberships)
    # The probability that at least one direction exists: a + b - ab.
    return _FuzzyGraph(edges, edges.sums - edges.products)


def _compute_memberships(distances: Float32) -> Float64:
    """Return exponential weights, 1 for the nearest, whose sum is about the same in every row."""
    target = np.log2(distances.shape[1] + 1)
    excess = np.maximum(distances.astype(np.float64) - distances[:, :1], 0)
    low, high = np.zeros(len(excess)), np.full(len(excess), np.inf)
    scale = np.ones(len(excess))
    for _ in range(_BANDWIDTH_BISECTIONS):
        is_too_large = np.exp(-excess / scale[:, None]).sum(axis=1) > target
        low, high = np.where(is_too_large, low, scale), np.where(is_too_large, scale, high)
        scale = np.where(np.isinf(high), scale * 2, (low + high) / 2)
    # If all distances are equal, no scale reaches the target; avoid a division by zero.
    scale = np.maximum(scale, 1e-3 * max(float(distances.mean()), 1e-12))
    memberships: Float64 = np.exp(-excess / scale[:, None])
    return memberships


def _optimize(
    layout: Float64,
    graph: _FuzzyGraph,
    settings: UmapSettings,
    progress: JobProgress,
    kernel: ModuleType | None,
    gpu: Gpu | None,
) -> Float32:
    """Minimize the cross entropy by stochastic gradient descent with negative sampling."""
    epochs = settings.epochs or (500 if len(layout) <= _MAX_POINTS_FOR_500_EPOCHS else 200)
    a, b = fit_ab_params(settings.min_dist)
    # Weak edges are sampled in few epochs; those that would never be are dropped.
    periods = graph.strengths.max() / np.maximum(graph.strengths, 1e-12)
    is_sampled = periods <= epochs
    edges = UmapEdges(
        graph.edges.rows[is_sampled], graph.edges.columns[is_sampled], periods[is_sampled]
    )
    steps: UmapEpochs | GpuUmapEpochs
    if gpu is None:
        steps = UmapEpochs(kernel or kernels_python, layout, edges, (a, b), settings.seed)
    else:
        steps = gpu.make_umap_epochs(layout, edges, (a, b), settings.seed)
    for epoch in range(1, epochs + 1):
        steps.run(epoch, 1 - (epoch - 1) / epochs, _NEGATIVE_SAMPLES)
        progress.step(OPTIMIZING_LAYOUT, epoch, epochs)
        if epoch % _UMAP_PUBLISH_EVERY == 0:
            progress.show(steps.get_layout())
    return steps.get_layout()


class UmapEpochs:
    """The epochs of UMAP's stochastic gradient descent, in one thread.

    One edge after the other is processed, so that a seed gives the same layout everywhere.
    """

    def __init__(
        self,
        kernel: ModuleType,
        layout: Float64,
        edges: UmapEdges,
        curve: tuple[float, float],
        seed: int,
    ) -> None:
        self._kernel = kernel
        self._layout = layout
        self._edges = edges
        self._next_epochs = edges.periods.copy()
        self._curve = curve
        self._random_state = np.array([seed * 2 + 1], np.uint64)

    def run(self, epoch: int, rate: float, negative_samples: int) -> None:
        """Run one epoch: attract the edges that are due, and repel random negative samples."""
        self._kernel.run_umap_epoch(
            self._layout,
            *self._edges,
            self._next_epochs,
            float(epoch),
            rate,
            *self._curve,
            negative_samples,
            self._random_state,
        )

    def get_layout(self) -> Float32:
        return self._layout.astype(np.float32)


def fit_ab_params(min_dist: float) -> tuple[float, float]:
    """Fit the low-dimensional curve 1 / (1 + a·x²ᵇ) to one that falls off after ``min_dist``.

    Uses the Levenberg-Marquardt method on the logarithms of ``a`` and ``b``.
    """
    x = np.linspace(0, 3 * _SPREAD, 300)[1:]
    target = np.where(x < min_dist, 1, np.exp(-(x - min_dist) / _SPREAD))
    params = best = np.array([0.0, 0.0])
    damping, best_error = 1e-3, np.inf
    for _ in range(_FIT_ITERATIONS):
        a, b = np.exp(params)
        power = a * x ** (2 * b)
        curve = 1 / (1 + power)
        residuals = curve - target
        error = residuals @ residuals
        if error < best_error:
            best, best_error, damping = params, error, damping / 3
            by_log_a = -(curve**2) * power
            jacobian = np.stack([by_log_a, by_log_a * 2 * b * np.log(x)], 1)
            normal, gradient = jacobian.T @ jacobian, jacobian.T @ residuals
        else:
            damping *= 4
        params = best - np.linalg.solve(normal + damping * np.diag(np.diag(normal)), gradient)
    a, b = np.exp(best)
    return float(a), float(b)
