"""Neighbours of very many vectors, nearly all of them right, in time that grows less than squared.

Vectors are sorted into cells around middles. Those of a cell are compared only with those of the
cells next to it, by products of matrices (an inverted file, as in Jégou, Douze and Schmid, 2011).
What is missed there is mostly found among the neighbours of neighbours (Dong and others, 2011).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from os import cpu_count
from types import ModuleType

import numpy as np

from tracklight.projections.kmeans import assign, find_means
from tracklight.projections.neighbours import (
    PICKER,
    Metric,
    Neighbours,
    NeighbourSearch,
    normalise,
)
from tracklight.projections.work import Work
from tracklight.types import Float32, Int32, Int64

#: Each cell is compared with so many others and at least so many times the wanted neighbours.
_NEAR_CELLS = 30
_LEAST_CANDIDATES = 8
_SAMPLE_PER_CELL = 40
_ROUNDS = 4
_REFINEMENTS = 2
#: Where fewer were found than this share, looking again is of no use.
_FEW_NEWS = 0.01
#: Of so many neighbours the neighbours are looked at.
_COMPANY = 20
_BLOCK_NUMBERS = 1 << 22


def find_roughly(
    vectors: Float32,
    metric: Metric,
    count: int,
    work: Work,
    seed: int = 0,
    picker: ModuleType = PICKER,
) -> Neighbours:
    """The neighbours of every vector among those of its cell and the cells around it."""
    total = len(vectors)
    count = min(count, total - 1)
    points = normalise(vectors) if metric == "cosine" else np.ascontiguousarray(vectors)
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
        search = NeighbourSearch(points[others], metric, picker)
        some = search.find_of_rows(np.arange(len(rows)), count)
        found.places[rows], found.distances[rows] = others[some.places], some.distances
        return len(rows)

    _share("looking for neighbours", fill, range(number), total, work)
    for _ in range(_REFINEMENTS):
        known, found = found, _refine(points, metric, found, work, picker)
        if np.mean(known.places != found.places) < _FEW_NEWS:
            break
    return found


def _share(
    what: str, fill: Callable[[int], int], parts: Sequence[int], total: int, work: Work
) -> None:
    """Do some of the parts in each thread; each tells how many rows it has done."""
    done = 0
    pool = ThreadPoolExecutor(cpu_count() or 1)
    try:
        for rows in pool.map(fill, parts):
            done += rows
            work.step(what, done, total)
    finally:
        pool.shutdown(cancel_futures=True)


def _refine(
    points: Float32, metric: Metric, found: Neighbours, work: Work, picker: ModuleType
) -> Neighbours:
    """The nearest among the neighbours that are known and the neighbours of these."""
    total, count = found.places.shape
    some = min(count, _COMPANY)
    better = Neighbours(np.empty_like(found.places), np.empty_like(found.distances))
    size = max(_BLOCK_NUMBERS // (points.shape[1] * (count + some * some)), 1)
    refine = partial(picker.refine, points, metric, found.places, found.distances, some)

    def fill(start: int) -> int:
        rows = range(start, min(start + size, total))
        refine(rows.start, rows.stop, better.places, better.distances)
        return len(rows)

    _share("looking for more of them", fill, range(0, total, size), total, work)
    return better


def _make_cells(points: Float32, count: int, seed: int) -> Int64:
    rng = np.random.default_rng(seed)
    sample = points[np.sort(rng.permutation(len(points))[: count * _SAMPLE_PER_CELL])]
    middles = sample[np.sort(rng.permutation(len(sample))[:count])]
    for _ in range(_ROUNDS):
        middles = find_means(sample, assign(sample, middles), middles)
    # Some may have got nothing.
    return np.unique(assign(points, middles), return_inverse=True)[1].reshape(-1)


def _gather(order: Int32, edges: Int64, cell: int, near: Int32, count: int) -> Int32:
    """The rows of a cell and of those around it, the nearest first."""
    parts = [order[edges[cell] : edges[cell + 1]]]
    size = len(parts[0])
    for place, other in enumerate(near):
        if place >= _NEAR_CELLS and size > _LEAST_CANDIDATES * count:
            break
        parts.append(order[edges[other] : edges[other + 1]])
        size += len(parts[-1])
    return np.concatenate(parts)
