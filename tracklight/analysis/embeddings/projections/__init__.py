"""Projections of vectors to two or three dimensions, nearest neighbors and clustering.

Everything here works on arrays and knows nothing about logs, labels as text or HTTP; a long
computation reports its progress through `tracklight.analysis.jobs.JobProgress`.

This module has what the layouts start from:

- Exact nearest neighbors, and the trustworthiness of a layout, which they define. Matrix products
  in single precision find candidates fast; the distances of these are then computed in double
  precision. If rounding could have hidden a nearer vector, all distances are computed in double
  precision, so that results are exact.
- Principal component analysis, initial layouts and the alignment of layouts. PCA centers the data
  and uses all rows. It is exact unless both sides of the matrix are very long; then the components
  are found by subspace iteration.
- The names of the stages of layouts and clusterings, as they are reported while a job runs.

Above it are `forces` (weights of the edges between neighbors, and the gradient of t-SNE),
`manifold` (t-SNE and UMAP, and the graph of neighbors that they start from), `clustering` (k-means
and HDBSCAN) and `gpu` (neighbors and forces with PyTorch).

``_neighbors`` and ``_forces`` are compiled; ``kernels_python`` has the same functions in NumPy,
for installations without a compiler. Start with `compute_pca` and `manifold.compute_tsne`.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from os import cpu_count
from types import ModuleType
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tracklight.analysis.embeddings.projections import kernels_python
from tracklight.analysis.embeddings.projections.kernels_python import compute_distances
from tracklight.analysis.jobs import JobProgress
from tracklight.errors import Message, UsageError
from tracklight.types import Bool, Float32, Float64, Int32, Int64

COMPUTING_NEIGHBORS = Message("projector.computing_neighbors", "computing neighbors")
REFINING_NEIGHBORS = Message("projector.refining_neighbors", "refining neighbors")
OPTIMIZING_LAYOUT = Message("projector.optimizing_layout", "optimizing layout")
COMPUTING_COMPONENTS = Message("projector.computing_components", "computing components")
PROJECTING = Message("projector.projecting", "projecting")
CLUSTERING = Message("projector.clustering", "clustering")
ASSIGNING_POINTS = Message("projector.assigning_points", "assigning points")
SELECTING_CLUSTERS = Message("projector.selecting_clusters", "selecting clusters")


#: cosine is 1 - cos, euclidean the length of the difference, dot the negative product. Smaller is
#: always nearer.
DistanceMetric = Literal["cosine", "euclidean", "dot"]

_BLOCK_VALUES = 1 << 23
#: Candidates beyond those that are returned.
_EXTRA_CANDIDATES = 8

_SCAN_BLOCK_VALUES = 1 << 21
_EXTRA_SCAN_CANDIDATES = 50

#: Number of points whose neighbors are compared to measure trustworthiness.
TRUST_SAMPLE_SIZE = 1000
#: Larger sets are sampled before their neighbors are compared.
_MAX_TRUST_POINTS = 20_000


def _load_kernel() -> ModuleType:
    try:
        from tracklight.analysis.embeddings.projections import _neighbors
    except ImportError:
        return kernels_python
    return _neighbors


KERNEL = _load_kernel()


@dataclass(frozen=True, slots=True, eq=False)
class Neighbors:
    """For each query, the indices of its neighbors and their distances, nearest first."""

    indices: Int32
    distances: Float32


class NeighborSearch:
    """Finds the exact neighbors of many queries among the same vectors.

    Args:
        vectors: The vectors to search, [n, dimensions].
        metric: The distance.
        kernel: The compiled functions or their NumPy equivalents.
    """

    def __init__(
        self, vectors: Float32, metric: DistanceMetric, kernel: ModuleType = KERNEL
    ) -> None:
        self._metric = metric
        self._kernel = kernel
        exact = normalize(vectors) if metric == "cosine" else vectors
        self._exact = np.ascontiguousarray(exact, np.float32)
        # Centering does not change Euclidean distances, but makes products more precise.
        center: Float64 = np.mean(vectors, axis=0, dtype=np.float64)
        self._center = center.astype(np.float32) if metric == "euclidean" else np.float32(0)
        self._vectors = self._exact - self._center if metric == "euclidean" else self._exact
        squares = np.einsum("ij,ij->i", self._vectors, self._vectors, dtype=np.float64)
        #: |b|²/2 - a·b has the order of |a - b|.
        self._half_squares = (squares / 2).astype(np.float32) if metric == "euclidean" else None
        self._max_norm = float(np.sqrt(squares.max(initial=0)))

    def query_rows(self, rows: Int64, count: int) -> Neighbors:
        """Return the neighbors of some of the vectors, each without itself."""
        return self._query(self._exact[rows], rows, count)

    def query_vectors(self, queries: Float32, count: int) -> Neighbors:
        """Return the neighbors of other vectors.

        Raises:
            UsageError: The queries have another number of dimensions.
        """
        if queries.shape[1] != self._vectors.shape[1]:
            raise UsageError(
                "projector.query_dimensions",
                "the query has {query_dimensions} dimensions, the vectors have {dimensions}",
                query_dimensions=queries.shape[1],
                dimensions=self._vectors.shape[1],
            )
        queries = normalize(queries) if self._metric == "cosine" else queries
        return self._query(queries, None, count)

    def query_all(self, count: int, progress: JobProgress | None = None) -> Neighbors:
        """Return the neighbors of every vector, each without itself."""
        progress = progress or JobProgress()
        total = len(self._vectors)
        count = min(count, total - 1)
        result = Neighbors(np.empty((total, count), np.int32), np.empty((total, count), np.float32))
        size = max(_BLOCK_VALUES // total, 1)
        starts = range(0, total, size)

        def fill_block(start: int) -> None:
            rows = np.arange(start, min(start + size, total))
            block = self.query_rows(rows, count)
            result.indices[rows], result.distances[rows] = block.indices, block.distances

        pool = ThreadPoolExecutor(cpu_count() or 1)
        try:
            for done, _ in enumerate(pool.map(fill_block, starts)):
                progress.step(COMPUTING_NEIGHBORS, min((done + 1) * size, total), total)
        finally:
            pool.shutdown(cancel_futures=True)
        return result

    def compute_ranks(self, row: int, indices: Int32) -> Int64:
        """Return the ranks of some vectors among the neighbors of a row, 1 for the nearest."""
        distances = compute_distances(
            self._exact, self._exact[row].astype(np.float64), self._metric
        )
        distances[row] = -np.inf
        order = np.arange(len(distances))
        return np.array(
            [
                np.count_nonzero(
                    (distances < distance) | ((distances == distance) & (order <= index))
                )
                - 1
                for index, distance in zip(indices, distances[indices], strict=True)
            ]
        )

    def _query(self, queries: Float32, rows: Int64 | None, count: int) -> Neighbors:
        scores = (queries - self._center) @ self._vectors.T
        np.negative(scores, out=scores)
        if self._half_squares is not None:
            scores += self._half_squares
        excluded = np.full(len(queries), -1) if rows is None else rows
        count = min(count, len(self._vectors) - (rows is not None))
        indices = np.empty((len(queries), count), np.int32)
        distances = np.empty((len(queries), count))
        if count:
            self._select(scores, excluded, queries, _EXTRA_CANDIDATES, indices, distances)
        return Neighbors(indices, distances.astype(np.float32))

    def _select(
        self,
        scores: Float32,
        excluded: Int64,
        queries: Float32,
        extra: int,
        indices: Int32,
        distances: Float64,
    ) -> None:
        """Fill the nearest; queries with an uncertain result are repeated with all candidates."""
        farthest = np.empty(len(scores), np.float32)
        self._kernel.select_nearest(
            scores,
            excluded,
            self._exact,
            queries,
            self._metric,
            extra,
            indices,
            distances,
            farthest,
        )
        available = len(self._vectors) - (excluded >= 0)
        has_more = indices.shape[1] + extra < available
        for row in np.flatnonzero(has_more & self._is_uncertain(queries, farthest, distances)):
            one = slice(row, row + 1)
            self._select(
                scores[one],
                excluded[one],
                queries[one],
                int(available[row]),
                indices[one],
                distances[one],
            )

    def _is_uncertain(self, queries: Float32, farthest: Float32, distances: Float64) -> Bool:
        """Return whether a vector that was no candidate could be nearer than the last result."""
        differences = queries.astype(np.float64) - self._center
        norms = np.sqrt(np.einsum("ij,ij->i", differences, differences))
        last = distances[:, -1]
        if self._metric == "euclidean":
            last = (last**2 - norms**2) / 2
        elif self._metric == "cosine":
            last = last - 1
        eps = float(np.finfo(np.float32).eps)
        max_errors = eps * queries.shape[1] * (norms + self._max_norm) ** 2
        is_uncertain: Bool = last > farthest - max_errors
        return is_uncertain


def normalize(vectors: Float32) -> Float32:
    """Scale vectors to length 1; vectors of length 0 stay 0, at distance 1 from all others."""
    norms = np.sqrt(np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64))
    scaled = vectors / np.where(norms, norms, 1)[:, None]
    return scaled.astype(np.float32)


def query_nearest(
    vectors: Float32,
    query: Float64,
    count: int,
    metric: DistanceMetric,
    rows: Int32,
    kernel: ModuleType = KERNEL,
) -> tuple[Int32, Float32]:
    """Return the rows nearest to one vector and their distances, nearest first.

    A single query scans all vectors: a million of them take some tenths of a second, less than
    building an index or copying the vectors would.

    Args:
        vectors: All vectors, of any length.
        query: The vector to compare with.
        count: How many rows to return.
        metric: The distance.
        rows: The rows to choose from.
        kernel: The compiled functions or their NumPy equivalents.

    Raises:
        UsageError: The query has another number of dimensions.
    """
    if len(query) != vectors.shape[1]:
        raise UsageError(
            "projector.query_dimensions",
            "the query has {query_dimensions} dimensions, the vectors have {dimensions}",
            query_dimensions=len(query),
            dimensions=vectors.shape[1],
        )
    norm = float(np.sqrt(query @ query)) if metric == "cosine" else 0.0
    query = query / norm if norm else query
    estimates = _estimate_distances(vectors, query.astype(np.float32), metric, kernel)[rows]
    candidates = rows[_argmin_k(estimates, min(count + _EXTRA_SCAN_CANDIDATES, len(rows)))]
    chosen = normalize(vectors[candidates]) if metric == "cosine" else vectors[candidates]
    distances = compute_distances(chosen, query, metric)
    order = np.lexsort((candidates, distances))[:count]
    return candidates[order], distances[order].astype(np.float32)


def _argmin_k(values: Float32, count: int) -> Int64:
    if count >= len(values):
        return np.arange(len(values))
    return np.argpartition(values, count - 1)[:count]


def _estimate_distances(
    vectors: Float32, query: Float32, metric: DistanceMetric, kernel: ModuleType
) -> Float32:
    """Return distances in single precision, computed in blocks by several threads."""
    distances = np.empty(len(vectors), np.float32)
    size = max(_SCAN_BLOCK_VALUES // vectors.shape[1], 1)

    def fill_block(start: int) -> None:
        block = slice(start, start + size)
        contiguous = np.require(vectors[block], np.float32, "C")
        kernel.estimate_distances(contiguous, query, metric, distances[block])

    with ThreadPoolExecutor(cpu_count() or 1) as pool:
        list(pool.map(fill_block, range(0, len(vectors), size)))
    return distances


def compute_trustworthiness(
    vectors: Float32,
    layout: Float32,
    n_neighbors: int = 5,
    metric: DistanceMetric = "euclidean",
    sample_size: int = TRUST_SAMPLE_SIZE,
    seed: int = 0,
) -> float:
    """Return how far neighbors in a layout are neighbors among the vectors, from 0 to 1.

    Each neighbor in the layout that is not one of the vectors costs by its rank (Venna and Kaski,
    2001). Large sets are sampled.

    Raises:
        UsageError: There are too few points for so many neighbors.
    """
    count = len(vectors)
    if len(layout) != count or not 1 <= n_neighbors < count / 2:
        raise UsageError(
            "projector.too_many_neighbors",
            "{n_neighbors} neighbors cannot be compared among {count} points",
            n_neighbors=n_neighbors,
            count=count,
        )
    order = np.random.default_rng(seed).permutation(count)
    if count > _MAX_TRUST_POINTS:
        subset = order[:_MAX_TRUST_POINTS]
        vectors, layout, count = vectors[subset], layout[subset], _MAX_TRUST_POINTS
        order = np.arange(count)
    rows = np.sort(order[:sample_size])
    shown = NeighborSearch(layout, "euclidean").query_rows(rows, n_neighbors).indices
    original = NeighborSearch(vectors, metric)
    ranks = [original.compute_ranks(row, own) for row, own in zip(rows, shown, strict=True)]
    cost = int(np.maximum(np.array(ranks) - n_neighbors, 0).sum())
    max_cost = len(rows) * n_neighbors * (2 * count - 3 * n_neighbors - 1) / 2
    return 1 - cost / max_cost


# ---- principal components and initial layouts

Floats = NDArray[np.floating[Any]]

#: Values per block: a few megabytes.
_PCA_BLOCK_VALUES = 1 << 20
#: For more values, single precision is enough within a block, as the errors of the many blocks
#: average out, and twice as fast.
_MAX_DOUBLE_PRECISION_VALUES = 1 << 26
#: A square matrix of this side is decomposed within seconds.
_MAX_EXACT_SIDE = 3000
#: Extra directions of the subspace iteration, which speed up its convergence.
_OVERSAMPLING = 20
_POWER_ITERATIONS = 12

#: Relative noise that separates equal points and fills axes beyond the components.
_INITIAL_NOISE = 1e-3


@dataclass(frozen=True, slots=True, eq=False)
class PrincipalComponents:
    """Directions in the order of their variance."""

    mean: Float64
    directions: Float64
    """One unit vector per row, whose largest coordinate is positive."""
    explained_ratio: Float64
    """The share of the total variance that each direction explains."""
    is_exact: bool

    def project(self, vectors: Float32) -> Float32:
        """Return the coordinates of vectors along all directions."""
        coordinates = np.empty((len(vectors), len(self.directions)), np.float32)
        for start, block in _iter_centered_blocks(vectors, self.mean):
            projected = block @ self.directions.T.astype(block.dtype)
            coordinates[start : start + len(block)] = projected
        return coordinates


def compute_pca(vectors: Float32, count: int, seed: int = 0) -> PrincipalComponents:
    """Return the first ``count`` principal components, or as many as there are.

    Args:
        vectors: The vectors, [n, dimensions].
        count: The number of components.
        seed: Seed of the subspace iteration.

    Raises:
        UsageError: There are fewer than two vectors, or no component is requested.

    Example:
        >>> components = compute_pca(vectors, 2)
        >>> layout = components.project(vectors)
    """
    rows, columns = vectors.shape
    if rows < 2 or count < 1:
        raise UsageError(
            "projector.too_many_components",
            "cannot compute {count} components of {rows} vectors",
            count=count,
            rows=rows,
        )
    count = min(count, rows - 1, columns)
    mean = _compute_mean(vectors)
    if columns <= _MAX_EXACT_SIDE:
        scatter = _compute_scatter(vectors, mean)
        total = float(scatter.trace())
        squares, directions = _decompose(scatter, count)
    else:
        blocks = _iter_centered_blocks(vectors, mean)
        total = sum(float(np.vdot(block, block)) for _, block in blocks)
        if rows <= _MAX_EXACT_SIDE:
            squares, directions = _decompose_by_rows(vectors - mean, count)
        else:
            squares, directions = _iterate_subspace(vectors, mean, count, seed)
    explained_ratio = np.maximum(squares, 0) / total if total else np.zeros(count)
    is_exact = min(rows, columns) <= _MAX_EXACT_SIDE
    return PrincipalComponents(mean, _fix_signs(directions), explained_ratio, is_exact)


def _compute_mean(vectors: Float32) -> Float64:
    sums = np.zeros(vectors.shape[1])
    dtype = None if vectors.size > _MAX_DOUBLE_PRECISION_VALUES else np.float64
    for block in _iter_blocks(vectors):
        sums += block.sum(axis=0, dtype=dtype)
    mean: Float64 = sums / len(vectors)
    return mean


def _iter_blocks(vectors: Float32) -> Iterator[Float32]:
    size = max(_PCA_BLOCK_VALUES // vectors.shape[1], 1)
    return (vectors[start : start + size] for start in range(0, len(vectors), size))


def _iter_centered_blocks(vectors: Float32, mean: Float64) -> Iterator[tuple[int, Floats]]:
    """Yield blocks of centered rows, each with its first row."""
    is_large = vectors.size > _MAX_DOUBLE_PRECISION_VALUES
    center: Floats = mean.astype(np.float32) if is_large else mean
    start = 0
    for block in _iter_blocks(vectors):
        yield start, block - center
        start += len(block)


def _compute_scatter(vectors: Float32, mean: Float64) -> Float64:
    """Return the scatter matrix, the covariance times the number of rows."""
    scatter = np.zeros((vectors.shape[1],) * 2)
    for _, block in _iter_centered_blocks(vectors, mean):
        scatter += block.T @ block
    return scatter


def _decompose(scatter: Float64, count: int) -> tuple[Float64, Float64]:
    """Return the largest eigenvalues and their eigenvectors, one per row."""
    values, vectors = np.linalg.eigh(scatter)
    return values[: -count - 1 : -1], vectors[:, : -count - 1 : -1].T


def _decompose_by_rows(centered: Float64, count: int) -> tuple[Float64, Float64]:
    """Do the same for few rows with many columns, by the products of rows."""
    values, weights = _decompose(centered @ centered.T, count)
    norms = np.sqrt(np.maximum(values, np.finfo(np.float64).tiny))
    return values, weights @ centered / norms[:, None]


def _iterate_subspace(
    vectors: Float32, mean: Float64, count: int, seed: int
) -> tuple[Float64, Float64]:
    """Do the same by subspace iteration."""
    rng = np.random.default_rng(seed)
    products = rng.normal(size=(vectors.shape[1], count + _OVERSAMPLING))
    for _ in range(_POWER_ITERATIONS):
        basis, _ = np.linalg.qr(products)
        products = np.zeros_like(products)
        for _, block in _iter_centered_blocks(vectors, mean):
            products += block.T @ (block @ basis.astype(block.dtype))
    values, rotation = _decompose(basis.T @ products, count)
    return values, rotation @ basis.T


def _fix_signs(directions: Float64) -> Float64:
    """Make the largest coordinate of each direction positive, so that results are reproducible."""
    largest = np.abs(directions).argmax(axis=1)
    signs = np.sign(directions[np.arange(len(directions)), largest])
    return directions * np.where(signs, signs, 1)[:, None]


def compute_initial_layout(
    vectors: Float32, dimensions: int, radius: float, seed: int, initial: Float32 | None = None
) -> Float64:
    """Return the layout from which an iterative projection starts.

    Args:
        vectors: The vectors; their principal components are the default layout.
        dimensions: Number of dimensions of the layout.
        radius: The largest coordinate of the result.
        seed: Seed of the noise.
        initial: A layout to start from instead; it may have fewer dimensions.
    """
    rng = np.random.default_rng(seed)
    layout = rng.normal(0, radius * _INITIAL_NOISE, (len(vectors), dimensions))
    if initial is None:
        initial = compute_pca(vectors, dimensions, seed).project(vectors)
    centered = (initial - initial.mean(axis=0)).astype(np.float64)
    largest = np.abs(centered).max()
    if largest > 0:
        layout[:, : centered.shape[1]] += centered * (radius / largest)
    return layout


def align_procrustes(layout: Float32, rows: Int32, target: Float32) -> Float32:
    """Rotate, mirror, move and scale a layout so that some rows come close to a target.

    The proportions of distances do not change (Schönemann, 1966).

    Args:
        layout: The layout to align.
        rows: The rows that have a target.
        target: The target of each of these rows, of any number of dimensions.
    """
    if not len(rows):
        return layout
    source = layout[rows].astype(np.float64)
    goal = _match_dimensions(target.astype(np.float64), layout.shape[1])
    source_mean, goal_mean = source.mean(axis=0), goal.mean(axis=0)
    left, singular_values, right = np.linalg.svd((source - source_mean).T @ (goal - goal_mean))
    variance = float(np.square(source - source_mean).sum())
    scale = float(singular_values.sum()) / variance if variance else 1.0
    aligned: Float64 = (layout - source_mean) @ (left @ right) * scale + goal_mean
    return aligned.astype(np.float32)


def _match_dimensions(layout: Float64, dimensions: int) -> Float64:
    """Drop surplus axes, and fill missing ones with zeros."""
    missing = max(dimensions - layout.shape[1], 0)
    return np.pad(layout[:, :dimensions], ((0, 0), (0, missing)))
