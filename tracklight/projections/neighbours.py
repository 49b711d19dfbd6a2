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

from tracklight.errors import UsageError
from tracklight.projections import picking
from tracklight.projections.picking import measure
from tracklight.projections.work import Work
from tracklight.types import Bool, Float32, Float64, Int32, Int64

#: cosine is 1 - cos, euclidean a length, dot the negative product: less is always nearer.
Metric = Literal["cosine", "euclidean", "dot"]

_BLOCK_NUMBERS = 1 << 23
_EXTRA = 8


def _find_picker() -> ModuleType:
    """What chooses the nearest: compiled, or where there is no compiler in NumPy."""
    try:
        from tracklight.projections import _near
    except ImportError:
        return picking
    return _near


PICKER = _find_picker()


@dataclass(frozen=True, slots=True, eq=False)
class Neighbours:
    """For every row that was asked of, places of others and how far they are, nearest first."""

    places: Int32
    distances: Float32


class NeighbourSearch:
    """Vectors that are asked for the neighbours of some."""

    def __init__(self, vectors: Float32, metric: Metric, picker: ModuleType = PICKER) -> None:
        self._metric = metric
        self._picker = picker
        exact = normalise(vectors) if metric == "cosine" else vectors
        self._exact = np.ascontiguousarray(exact, np.float32)
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
        distances = measure(self._exact, self._exact[row].astype(np.float64), self._metric)
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
        own = np.full(len(queries), -1) if rows is None else rows
        count = min(count, len(self._vectors) - (rows is not None))
        places = np.empty((len(queries), count), np.int32)
        distances = np.empty((len(queries), count))
        if count:
            self._pick(order, own, queries, _EXTRA, places, distances)
        return Neighbours(places, distances.astype(np.float32))

    def _pick(
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
        self._picker.pick(
            order, own, self._exact, queries, self._metric, extra, places, distances, farthest
        )
        most = len(self._vectors) - (own >= 0)
        is_open = (places.shape[1] + extra < most) & self._may_miss(queries, farthest, distances)
        for row in np.flatnonzero(is_open):
            one = slice(row, row + 1)
            self._pick(
                order[one], own[one], queries[one], int(most[row]), places[one], distances[one]
            )

    def _may_miss(self, queries: Float32, farthest: Float32, distances: Float64) -> Bool:
        """Whether one that is no candidate could be nearer than the last that was chosen."""
        apart = queries.astype(np.float64) - self._middle
        lengths = np.sqrt(np.einsum("ij,ij->i", apart, apart))
        last = distances[:, -1]
        if self._metric == "euclidean":
            last = (last**2 - lengths**2) / 2
        elif self._metric == "cosine":
            last = last - 1
        eps = float(np.finfo(np.float32).eps)
        errors = eps * queries.shape[1] * (lengths + self._longest) ** 2
        missed: Bool = last > farthest - errors
        return missed


def normalise(vectors: Float32) -> Float32:
    """Vectors of length 1; one of length 0 stays, and is as far from all others as can be told."""
    lengths = np.sqrt(np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64))
    scaled = vectors / np.where(lengths, lengths, 1)[:, None]
    return scaled.astype(np.float32)
