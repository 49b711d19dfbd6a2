"""Projections of vectors to two or three dimensions, nearest neighbors and clustering.

Everything here works on arrays and knows nothing about logs, labels as text or HTTP; a long
computation reports its progress through `tracklight.analysis.jobs.JobProgress`.

This module finds exact nearest neighbors, and computes the trustworthiness of a layout, which they
define. Matrix products in single precision find candidates fast; the distances of these are then
computed in double precision. If rounding could have hidden a nearer vector, all distances are
computed in double precision, so that results are exact. The names of the stages of layouts and
clusterings, as they are reported while a job runs, are here as well. The layers above are:

- `forces`: weights of the edges between neighbors, and the gradient of t-SNE.
- `pca`, `manifold` (t-SNE and UMAP, and the graph of neighbors that they start from): the
  projections; `clustering`: k-means and HDBSCAN.
- `gpu`: neighbors and forces with PyTorch.

``_neighbors`` and ``_forces`` are compiled; ``kernels_python`` has the same functions in NumPy,
for installations without a compiler. Start with `pca.compute_pca` and `manifold.compute_tsne`.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from os import cpu_count
from types import ModuleType
from typing import Literal

import numpy as np

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
