"""Which vectors are nearest to each other, exactly, by any of three measures.

Products of matrices find candidates, which is fast and a little imprecise; the distances of
those are then computed one by one in double precision. Where the imprecision could have hidden
a nearer one, all distances are computed like that, so that what is given is right.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from os import cpu_count
from types import ModuleType
from typing import Literal

import numpy as np

from tracklight.analysis.embeddings.projections import neighbors_python
from tracklight.analysis.embeddings.projections.neighbors_python import compute_distances
from tracklight.analysis.jobs import JobProgress
from tracklight.errors import UsageError
from tracklight.types import Bool, Float32, Float64, Int32, Int64

#: cosine is 1 - cos, euclidean a length, dot the negative product: less is always nearer.
DistanceMetric = Literal["cosine", "euclidean", "dot"]

_BLOCK_VALUES = 1 << 23

_EXTRA_CANDIDATES = 8


def _load_kernel() -> ModuleType:
    """What chooses the nearest: compiled, or where there is no compiler in NumPy."""
    try:
        from tracklight.analysis.embeddings.projections import _near
    except ImportError:
        return neighbors_python
    return _near


KERNEL = _load_kernel()


@dataclass(frozen=True, slots=True, eq=False)
class Neighbors:
    """For every row that was asked of, places of others and how far they are, nearest first."""

    indices: Int32
    distances: Float32


class NeighborSearch:
    """Vectors that are asked for the neighbours of some."""

    def __init__(
        self, vectors: Float32, metric: DistanceMetric, kernel: ModuleType = KERNEL
    ) -> None:
        self._metric = metric
        self._kernel = kernel
        exact = normalize(vectors) if metric == "cosine" else vectors
        self._exact = np.ascontiguousarray(exact, np.float32)
        # Distances are the same around the middle, and there products are more precise.
        middle: Float64 = np.mean(vectors, axis=0, dtype=np.float64)
        self._center = middle.astype(np.float32) if metric == "euclidean" else np.float32(0)
        self._vectors = self._exact - self._center if metric == "euclidean" else self._exact
        squares = np.einsum("ij,ij->i", self._vectors, self._vectors, dtype=np.float64)
        #: The order of distances is that of |b|²/2 - a·b.
        self._half_squares = (squares / 2).astype(np.float32) if metric == "euclidean" else None
        self._max_norm = float(np.sqrt(squares.max(initial=0)))

    def query_rows(self, rows: Int64, count: int) -> Neighbors:
        """The neighbours of some of the vectors themselves, which are not their own."""
        return self._query(self._exact[rows], rows, count)

    def query_vectors(self, queries: Float32, count: int) -> Neighbors:
        """The neighbours of any vectors."""
        if queries.shape[1] != self._vectors.shape[1]:
            raise UsageError(
                f"a vector of {queries.shape[1]} numbers has no neighbours among those of "
                f"{self._vectors.shape[1]}"
            )
        queries = normalize(queries) if self._metric == "cosine" else queries
        return self._query(queries, None, count)

    def query_all(self, count: int, progress: JobProgress | None = None) -> Neighbors:
        """The neighbours of every vector."""
        progress = progress or JobProgress()
        total = len(self._vectors)
        count = min(count, total - 1)
        found = Neighbors(np.empty((total, count), np.int32), np.empty((total, count), np.float32))
        size = max(_BLOCK_VALUES // total, 1)
        starts = range(0, total, size)

        def fill(start: int) -> None:
            rows = np.arange(start, min(start + size, total))
            some = self.query_rows(rows, count)
            found.indices[rows], found.distances[rows] = some.indices, some.distances

        pool = ThreadPoolExecutor(cpu_count() or 1)
        try:
            for done, _ in enumerate(pool.map(fill, starts)):
                progress.step("looking for neighbours", min((done + 1) * size, total), total)
        finally:
            pool.shutdown(cancel_futures=True)
        return found

    def compute_ranks(self, row: int, indices: Int32) -> Int64:
        """How many other vectors are nearer to one than some are, and these themselves."""
        distances = compute_distances(
            self._exact, self._exact[row].astype(np.float64), self._metric
        )
        distances[row] = -np.inf
        order = np.arange(len(distances))
        chosen = distances[indices]
        return np.array(
            [
                np.count_nonzero((distances < far) | ((distances == far) & (order <= place))) - 1
                for place, far in zip(indices, chosen, strict=True)
            ]
        )

    def _query(self, queries: Float32, rows: Int64 | None, count: int) -> Neighbors:
        order = (queries - self._center) @ self._vectors.T
        np.negative(order, out=order)
        if self._half_squares is not None:
            order += self._half_squares
        own = np.full(len(queries), -1) if rows is None else rows
        count = min(count, len(self._vectors) - (rows is not None))
        places = np.empty((len(queries), count), np.int32)
        distances = np.empty((len(queries), count))
        if count:
            self._select(order, own, queries, _EXTRA_CANDIDATES, places, distances)
        return Neighbors(places, distances.astype(np.float32))

    def _select(
        self,
        order: Float32,
        own: Int64,
        queries: Float32,
        extra: int,
        places: Int32,
        distances: Float64,
    ) -> None:
        """Fill the nearest, from more candidates where these few could have been the wrong ones."""
        farthest = np.empty(len(order), np.float32)
        self._kernel.pick(
            order, own, self._exact, queries, self._metric, extra, places, distances, farthest
        )
        most = len(self._vectors) - (own >= 0)
        is_open = (places.shape[1] + extra < most) & self._is_uncertain(
            queries, farthest, distances
        )
        for row in np.flatnonzero(is_open):
            one = slice(row, row + 1)
            self._select(
                order[one], own[one], queries[one], int(most[row]), places[one], distances[one]
            )

    def _is_uncertain(self, queries: Float32, farthest: Float32, distances: Float64) -> Bool:
        """Whether one that is no candidate could be nearer than the last that was chosen."""
        apart = queries.astype(np.float64) - self._center
        lengths = np.sqrt(np.einsum("ij,ij->i", apart, apart))
        last = distances[:, -1]
        if self._metric == "euclidean":
            last = (last**2 - lengths**2) / 2
        elif self._metric == "cosine":
            last = last - 1
        eps = float(np.finfo(np.float32).eps)
        errors = eps * queries.shape[1] * (lengths + self._max_norm) ** 2
        missed: Bool = last > farthest - errors
        return missed


def normalize(vectors: Float32) -> Float32:
    """Vectors of length 1; one of length 0 stays, and is as far from all others as can be told."""
    lengths = np.sqrt(np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64))
    scaled = vectors / np.where(lengths, lengths, 1)[:, None]
    return scaled.astype(np.float32)


# The nearest vectors to one, exactly, with no index and no copy of the vectors.
#
# One look through a million vectors takes about as long as their bytes take to the processor, some
# tenths of a second at most. An index would take longer to build than anybody asks of it.

_SCAN_BLOCK_VALUES = 1 << 21

#: So many more candidates are measured precisely than are wanted.
_EXTRA_SCAN_CANDIDATES = 50


def query_nearest(
    vectors: Float32,
    query: Float64,
    count: int,
    metric: DistanceMetric,
    rows: Int32,
    kernel: ModuleType = KERNEL,
) -> tuple[Int32, Float32]:
    """Which of some rows are nearest to a vector, and how far they are."""
    if len(query) != vectors.shape[1]:
        raise UsageError(f"vectors have {vectors.shape[1]} numbers, and not {len(query)}")
    scale = float(np.sqrt(query @ query)) if metric == "cosine" else 0.0
    wanted = query / scale if scale else query
    rough = _estimate_distances(vectors, wanted.astype(np.float32), metric, kernel)[rows]
    candidates = rows[_argmin_k(rough, min(count + _EXTRA_SCAN_CANDIDATES, len(rows)))]
    chosen = normalize(vectors[candidates]) if metric == "cosine" else vectors[candidates]
    distances = compute_distances(chosen, wanted, metric)
    order = np.lexsort((candidates, distances))[:count]
    return candidates[order], distances[order].astype(np.float32)


def _argmin_k(numbers: Float32, count: int) -> Int64:
    if count >= len(numbers):
        return np.arange(len(numbers))
    return np.argpartition(numbers, count - 1)[:count]


def _estimate_distances(
    vectors: Float32, query: Float32, metric: DistanceMetric, picker: ModuleType
) -> Float32:
    """In single precision, some rows at a time in each thread."""
    out = np.empty(len(vectors), np.float32)
    size = max(_SCAN_BLOCK_VALUES // vectors.shape[1], 1)

    def fill(start: int) -> None:
        part = slice(start, start + size)
        picker.estimate(np.require(vectors[part], np.float32, "C"), query, metric, out[part])

    with ThreadPoolExecutor(cpu_count() or 1) as pool:
        list(pool.map(fill, range(0, len(vectors), size)))
    return out


# How far the neighbours that a layout shows can be trusted, from 0 to 1.

#: Of how many points the neighbours are compared, and among how many at most.
TRUST_SAMPLE_SIZE = 1000

_MAX_TRUST_POINTS = 20_000


def compute_trustworthiness(
    vectors: Float32,
    layout: Float32,
    n_neighbors: int = 5,
    metric: DistanceMetric = "euclidean",
    sample_size: int = TRUST_SAMPLE_SIZE,
    seed: int = 0,
) -> float:
    """1 where all neighbours in the layout are neighbours among the vectors as well.

    Each that is not costs by how many others are nearer (Venna and Kaski, 2001). Of large sets
    only a sample is looked at.
    """
    count = len(vectors)
    if len(layout) != count or not 1 <= n_neighbors < count / 2:
        raise UsageError(f"{n_neighbors} neighbours cannot be compared among {count} points")
    order = np.random.default_rng(seed).permutation(count)
    if count > _MAX_TRUST_POINTS:
        vectors, layout, count = (
            vectors[order[:_MAX_TRUST_POINTS]],
            layout[order[:_MAX_TRUST_POINTS]],
            _MAX_TRUST_POINTS,
        )
        order = np.arange(count)
    rows = np.sort(order[:sample_size])
    shown = NeighborSearch(layout, "euclidean").query_rows(rows, n_neighbors).indices
    original = NeighborSearch(vectors, metric)
    ranks = [original.compute_ranks(row, places) for row, places in zip(rows, shown, strict=True)]
    cost = int(np.maximum(np.array(ranks) - n_neighbors, 0).sum())
    most = len(rows) * n_neighbors * (2 * count - 3 * n_neighbors - 1) / 2
    return 1 - cost / most
