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

from tracklight.analysis.embeddings.projections.clustering import assign_to_nearest, compute_means
from tracklight.analysis.embeddings.projections.gpu import Gpu
from tracklight.analysis.embeddings.projections.neighbors import (
    KERNEL,
    DistanceMetric,
    Neighbors,
    NeighborSearch,
    normalize,
)
from tracklight.analysis.jobs import JobProgress
from tracklight.errors import UsageError
from tracklight.types import Float32, Int32, Int64

#: Each cell is compared with so many others and at least so many times the wanted neighbours.
_PROBED_CELLS = 30

_MIN_CANDIDATES_FACTOR = 8

_SAMPLE_PER_CELL = 40

_KMEANS_ITERATIONS = 4

_MAX_REFINEMENTS = 2

#: Where fewer were found than this share, looking again is of no use.
_MIN_CHANGED_SHARE = 0.01

#: Of so many neighbours the neighbours are looked at.
_REFINE_NEIGHBORS = 20

_BLOCK_VALUES = 1 << 22


def compute_approximate_knn(
    vectors: Float32,
    metric: DistanceMetric,
    count: int,
    progress: JobProgress,
    seed: int = 0,
    kernel: ModuleType = KERNEL,
) -> Neighbors:
    """The neighbours of every vector among those of its cell and the cells around it."""
    total = len(vectors)
    count = min(count, total - 1)
    points = normalize(vectors) if metric == "cosine" else np.ascontiguousarray(vectors)
    cells = _assign_cells(points, max(int(np.sqrt(total)), 2), seed)
    order = np.argsort(cells, kind="stable").astype(np.int32)
    number = int(cells.max()) + 1
    edges = np.searchsorted(cells[order], np.arange(number + 1))
    starts, ends = edges[:-1].tolist(), edges[1:].tolist()
    middles = np.stack([points[order[a:b]].mean(axis=0) for a, b in zip(starts, ends, strict=True)])
    near = NeighborSearch(middles, "euclidean").query_all(number - 1).indices
    found = Neighbors(np.empty((total, count), np.int32), np.empty((total, count), np.float32))

    def fill(cell: int) -> int:
        rows = order[edges[cell] : edges[cell + 1]]
        others = _list_candidates(order, edges, cell, near[cell], count)
        search = NeighborSearch(points[others], metric, kernel)
        some = search.query_rows(np.arange(len(rows)), count)
        found.indices[rows], found.distances[rows] = others[some.indices], some.distances
        return len(rows)

    _run_parallel("looking for neighbours", fill, range(number), total, progress)
    for _ in range(_MAX_REFINEMENTS):
        known, found = found, _refine(points, metric, found, progress, kernel)
        if np.mean(known.indices != found.indices) < _MIN_CHANGED_SHARE:
            break
    return found


def _run_parallel(
    what: str, fill: Callable[[int], int], parts: Sequence[int], total: int, work: JobProgress
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
    points: Float32, metric: DistanceMetric, found: Neighbors, work: JobProgress, picker: ModuleType
) -> Neighbors:
    """The nearest among the neighbours that are known and the neighbours of these."""
    total, count = found.indices.shape
    some = min(count, _REFINE_NEIGHBORS)
    better = Neighbors(np.empty_like(found.indices), np.empty_like(found.distances))
    size = max(_BLOCK_VALUES // (points.shape[1] * (count + some * some)), 1)
    refine = partial(picker.refine, points, metric, found.indices, found.distances, some)

    def fill(start: int) -> int:
        rows = range(start, min(start + size, total))
        refine(rows.start, rows.stop, better.indices, better.distances)
        return len(rows)

    _run_parallel("looking for more of them", fill, range(0, total, size), total, work)
    return better


def _assign_cells(points: Float32, count: int, seed: int) -> Int64:
    rng = np.random.default_rng(seed)
    sample = points[np.sort(rng.permutation(len(points))[: count * _SAMPLE_PER_CELL])]
    middles = sample[np.sort(rng.permutation(len(sample))[:count])]
    for _ in range(_KMEANS_ITERATIONS):
        middles = compute_means(sample, assign_to_nearest(sample, middles), middles)
    # Some may have got nothing.
    return np.unique(assign_to_nearest(points, middles), return_inverse=True)[1].reshape(-1)


def _list_candidates(order: Int32, edges: Int64, cell: int, near: Int32, count: int) -> Int32:
    """The rows of a cell and of those around it, the nearest first."""
    parts = [order[edges[cell] : edges[cell + 1]]]
    size = len(parts[0])
    for place, other in enumerate(near):
        if place >= _PROBED_CELLS and size > _MIN_CANDIDATES_FACTOR * count:
            break
        parts.append(order[edges[other] : edges[other + 1]])
        size += len(parts[-1])
    return np.concatenate(parts)


# Who is near whom among all vectors: exactly, on a card, or where there are too many by cells.

#: Of more vectors it takes many times as long to compare all pairs.
MAX_EXACT_POINTS = 30_000

#: Pairs of neighbours that fit into some gigabytes.
_MAX_EDGES = 30_000_000


def check_edge_count(count: int, n_neighbors: int) -> None:
    """Raise UsageError where so many neighbours of so many points would fill the memory."""
    if count * n_neighbors > _MAX_EDGES:
        raise UsageError(
            f"{n_neighbors} neighbours of {count} points are too many to be held; choose at most "
            f"{_MAX_EDGES // n_neighbors} points, or settings with fewer neighbours"
        )


def compute_knn_graph(
    vectors: Float32,
    metric: DistanceMetric,
    count: int,
    progress: JobProgress,
    gpu: Gpu | None = None,
) -> Neighbors:
    """The neighbours of every vector, which are exact up to `MOST_EXACT` of them or on a card."""
    if gpu is not None:
        return gpu.compute_neighbors(vectors, metric, count, progress)
    # What is near by products need not be in one place, so that cells are of no help.
    if len(vectors) > MAX_EXACT_POINTS and metric != "dot":
        return compute_approximate_knn(vectors, metric, count, progress)
    return NeighborSearch(vectors, metric).query_all(count, progress)
