"""Which vectors are nearest to each other, exactly, by any of three measures.

Products of matrices find candidates, which is fast and a little imprecise; the distances of
those are then computed one by one in double precision. Where the imprecision could have hidden
a nearer one, all distances are computed like that, so that what is given is right.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from os import cpu_count
from typing import Literal

import numpy as np

from tracklight.errors import UsageError
from tracklight.projections.work import Work
from tracklight.types import Float32, Float64, Int32, Int64

#: cosine is 1 - cos, euclidean a length, dot the negative product: less is always nearer.
Metric = Literal["cosine", "euclidean", "dot"]

_BLOCK_NUMBERS = 1 << 23
_EXTRA = 8


@dataclass(frozen=True, slots=True, eq=False)
class Neighbours:
    """For every row that was asked of, places of others and how far they are, nearest first."""

    places: Int32
    distances: Float32


class NeighbourSearch:
    """Vectors that are asked for the neighbours of some."""

    def __init__(self, vectors: Float32, metric: Metric) -> None:
        self._metric = metric
        self._exact = normalise(vectors) if metric == "cosine" else vectors
        # Distances are the same around the middle, and there products are more precise.
        middle: Float64 = np.mean(vectors, axis=0, dtype=np.float64)
        self._middle = middle.astype(np.float32) if metric == "euclidean" else np.float32(0)
        self._vectors = self._exact - self._middle if metric == "euclidean" else self._exact
        squares = np.einsum("ij,ij->i", self._vectors, self._vectors, dtype=np.float64)
        #: The order of distances is that of |b|²/2 - a·b.
        self._halves = (squares / 2).astype(np.float32) if metric == "euclidean" else None
        self._longest = float(np.sqrt(squares.max(initial=0)))

    def find_of_rows(self, rows: Int64, count: int) -> Neighbours:
        """The neighbours of some of the vectors themselves, which are not their own."""
        return self._find(self._exact[rows], rows, count)

    def find_of_vectors(self, queries: Float32, count: int) -> Neighbours:
        """The neighbours of any vectors."""
        if queries.shape[1] != self._vectors.shape[1]:
            raise UsageError(
                f"a vector of {queries.shape[1]} numbers has no neighbours among those of "
                f"{self._vectors.shape[1]}"
            )
        queries = normalise(queries) if self._metric == "cosine" else queries
        return self._find(queries, None, count)

    def find_all(self, count: int, work: Work | None = None) -> Neighbours:
        """The neighbours of every vector."""
        work = work or Work()
        total = len(self._vectors)
        count = min(count, total - 1)
        found = Neighbours(np.empty((total, count), np.int32), np.empty((total, count), np.float32))
        size = max(_BLOCK_NUMBERS // total, 1)
        starts = range(0, total, size)

        def fill(start: int) -> None:
            rows = np.arange(start, min(start + size, total))
            some = self.find_of_rows(rows, count)
            found.places[rows], found.distances[rows] = some.places, some.distances

        pool = ThreadPoolExecutor(cpu_count() or 1)
        try:
            for done, _ in enumerate(pool.map(fill, starts)):
                work.step("looking for neighbours", min((done + 1) * size, total), total)
        finally:
            pool.shutdown(cancel_futures=True)
        return found

    def rank(self, row: int, places: Int32) -> Int64:
        """How many other vectors are nearer to one than some are, and these themselves."""
        distances = self._measure(self._exact[row].astype(np.float64), self._exact)
        distances[row] = -np.inf
        order = np.arange(len(distances))
        chosen = distances[places]
        return np.array(
            [
                np.count_nonzero((distances < far) | ((distances == far) & (order <= place))) - 1
                for place, far in zip(places, chosen, strict=True)
            ]
        )

    def _find(self, queries: Float32, rows: Int64 | None, count: int) -> Neighbours:
        order = (queries - self._middle) @ self._vectors.T
        np.negative(order, out=order)
        if self._halves is not None:
            order += self._halves
        if rows is not None:
            order[np.arange(len(rows)), rows] = np.inf
        most = len(self._vectors) - (rows is not None)
        count = min(count, most)
        found = Neighbours(
            np.empty((len(queries), count), np.int32), np.empty((len(queries), count), np.float32)
        )
        least = _find_least(order, min(count + _EXTRA, most))
        for row, candidates in enumerate(least):
            query = queries[row].astype(np.float64)
            nearest, distances = self._sort(query, candidates, count)
            if len(candidates) < most and self._may_miss(query, order[row, candidates], distances):
                others = np.arange(len(self._vectors))
                others = others if rows is None else np.delete(others, rows[row])
                nearest, distances = self._sort(query, others, count)
            found.places[row], found.distances[row] = nearest, distances
        return found

    def _sort(self, query: Float64, places: Int64, count: int) -> tuple[Int64, Float64]:
        """The nearest of some; of equally near ones the first, as in a list."""
        distances = self._measure(query, self._exact[places])
        order = np.lexsort((places, distances))[:count]
        return places[order], distances[order]

    def _measure(self, query: Float64, others: Float32) -> Float64:
        if self._metric == "euclidean":
            apart = others - query
            distances: Float64 = np.sqrt(np.einsum("ij,ij->i", apart, apart))
            return distances
        products: Float64 = others @ query
        return np.maximum(1 - products, 0) if self._metric == "cosine" else -products

    def _may_miss(self, query: Float64, order: Float32, distances: Float64) -> bool:
        """Whether one that is no candidate could be nearer than the last that was chosen."""
        apart = query - self._middle
        length = float(np.sqrt(apart @ apart))
        last = float(distances[-1])
        if self._metric == "euclidean":
            last = (last**2 - length**2) / 2
        elif self._metric == "cosine":
            last -= 1
        error = float(np.finfo(np.float32).eps) * len(query) * (length + self._longest) ** 2
        return last > float(order.max()) - error


def _find_least(order: Float32, count: int) -> Int64:
    if count >= order.shape[1]:
        return np.tile(np.arange(order.shape[1]), (len(order), 1))
    return np.argpartition(order, count - 1, axis=1)[:, :count]


def normalise(vectors: Float32) -> Float32:
    """Vectors of length 1; one of length 0 stays, and is as far from all others as can be told."""
    lengths = np.sqrt(np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64))
    scaled = vectors / np.where(lengths, lengths, 1)[:, None]
    return scaled.astype(np.float32)
