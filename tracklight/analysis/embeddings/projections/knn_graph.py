"""The k-nearest-neighbor graph of all vectors: exact, on a GPU, or approximate for very many.

The approximate search is an inverted file: vectors are assigned to cells by k-means, and those of a
cell are compared with the vectors of nearby cells by matrix products (Jégou, Douze and Schmid,
2011). Most of what it misses is then found among the neighbors of neighbors (Dong et al., 2011).
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
    COMPUTING_NEIGHBORS,
    KERNEL,
    REFINING_NEIGHBORS,
    DistanceMetric,
    Neighbors,
    NeighborSearch,
    normalize,
)
from tracklight.analysis.jobs import JobProgress
from tracklight.errors import Message, UsageError
from tracklight.types import Float32, Int32, Int64

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
    kernel: ModuleType = KERNEL,
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
