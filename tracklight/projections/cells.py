"""Neighbours of very many vectors, nearly all of them right, in time that grows less than squared.

Vectors are sorted into cells around middles. Those of a cell are compared only with those of the
cells next to it, by products of matrices (an inverted file, as in Jégou, Douze and Schmid, 2011).
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from os import cpu_count

import numpy as np

from tracklight.projections.kmeans import assign, find_means
from tracklight.projections.neighbours import Metric, Neighbours, NeighbourSearch, normalise
from tracklight.projections.work import Work
from tracklight.types import Float32, Int32, Int64

#: Each cell is compared with so many others and at least so many times the wanted neighbours.
_NEAR_CELLS = 12
_LEAST_CANDIDATES = 8
_SAMPLE_PER_CELL = 40
_ROUNDS = 4


def find_roughly(
    vectors: Float32, metric: Metric, count: int, work: Work, seed: int = 0
) -> Neighbours:
    """The neighbours of every vector among those of its cell and the cells around it."""
    total = len(vectors)
    count = min(count, total - 1)
    points = normalise(vectors) if metric == "cosine" else vectors
    cells = _make_cells(points, max(int(np.sqrt(total)), 2), seed)
    order = np.argsort(cells, kind="stable").astype(np.int32)
    number = int(cells.max()) + 1
    edges = np.searchsorted(cells[order], np.arange(number + 1))
    starts, ends = edges[:-1].tolist(), edges[1:].tolist()
    middles = np.stack([points[order[a:b]].mean(axis=0) for a, b in zip(starts, ends, strict=True)])
    near = NeighbourSearch(middles, "euclidean").find_all(number - 1).places
    found = Neighbours(np.empty((total, count), np.int32), np.empty((total, count), np.float32))

    def fill(cell: int) -> int:
        rows = order[edges[cell] : edges[cell + 1]]
        others = _gather(order, edges, cell, near[cell], count)
        search = NeighbourSearch(points[others], metric)
        some = search.find_of_rows(np.searchsorted(others, rows), count)
        found.places[rows], found.distances[rows] = others[some.places], some.distances
        return len(rows)

    done = 0
    pool = ThreadPoolExecutor(cpu_count() or 1)
    try:
        for rows in pool.map(fill, range(number)):
            done += rows
            work.step("looking for neighbours", done, total)
    finally:
        pool.shutdown(cancel_futures=True)
    return found


def _make_cells(points: Float32, count: int, seed: int) -> Int64:
    rng = np.random.default_rng(seed)
    sample = points[np.sort(rng.permutation(len(points))[: count * _SAMPLE_PER_CELL])]
    middles = sample[np.sort(rng.permutation(len(sample))[:count])]
    for _ in range(_ROUNDS):
        middles = find_means(sample, assign(sample, middles), middles)
    # Some may have got nothing.
    return np.unique(assign(points, middles), return_inverse=True)[1].reshape(-1)


def _gather(order: Int32, edges: Int64, cell: int, near: Int32, count: int) -> Int32:
    """The rows of a cell and of those around it, sorted."""
    parts = [order[edges[cell] : edges[cell + 1]]]
    size = len(parts[0])
    for place, other in enumerate(near):
        if place >= _NEAR_CELLS and size > _LEAST_CANDIDATES * count:
            break
        parts.append(order[edges[other] : edges[other + 1]])
        size += len(parts[-1])
    return np.sort(np.concatenate(parts))
