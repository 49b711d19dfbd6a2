"""The functions of the compiled kernels in NumPy, for installations without a compiler.

`spread_points` and `interpolate_forces` move values between points and the nodes of a grid by
cubic B-splines, which reach four nodes along each axis. `run_umap_epoch` moves the points of a UMAP
layout. The others find nearest neighbors.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np
from numpy.typing import NDArray

from tracklight.types import Float32, Float64, Int32, Int64

# ---- _forces

#: Number of nodes that a spline reaches along each axis.
SPLINE_NODES = 4

#: Limits how far a point moves along an axis in one step of UMAP.
_MAX_STEP = 4.0


def spread_points(
    layout: Float64, nodes: int, spacing: float, origin: Float64, field: Float64
) -> None:
    """Add the weights of all points to the nodes around them."""
    cells, offsets = _locate(layout, nodes, spacing, origin)
    weights = _spline_weights(offsets)
    for node, corner in _iter_nodes(cells, nodes):
        field += np.bincount(node, _multiply_axes(weights, corner), len(field))


def interpolate_forces(
    layout: Float64,
    nodes: int,
    spacing: float,
    origin: Float64,
    potential: Float64,
    forces: Float64,
) -> float:
    """Fill the forces on all points, and return the sum of the potential at the points."""
    cells, offsets = _locate(layout, nodes, spacing, origin)
    weights, slopes = _spline_weights(offsets), _spline_slopes(offsets)
    forces[:] = 0
    total = 0.0
    for node, corner in _iter_nodes(cells, nodes):
        values = potential[node]
        total += float(values @ _multiply_axes(weights, corner))
        for axis in range(layout.shape[1]):
            factors = [*weights[:axis], slopes[axis], *weights[axis + 1 :]]
            forces[:, axis] += values * _multiply_axes(factors, corner)
    # The force is half of the negative gradient of 1 / (1 + d²).
    forces /= -2 * spacing
    return total


def _locate(layout: Float64, nodes: int, spacing: float, origin: Float64) -> tuple[Int64, Float64]:
    """Return the first of the nodes around each point, and its offset from the second."""
    positions = (layout - origin) / spacing
    cells = np.clip(positions.astype(np.int64), 0, nodes - SPLINE_NODES)
    return cells, positions - cells


def _iter_nodes(cells: Int64, nodes: int) -> Iterator[tuple[Int64, tuple[int, ...]]]:
    """Yield, for every corner of the spline's support, the node of each point and the corner."""
    for corner in product(range(SPLINE_NODES), repeat=cells.shape[1]):
        node = np.zeros(len(cells), np.int64)
        for axis, shift in enumerate(corner):
            node = node * nodes + cells[:, axis] + shift
        yield node, corner


def _spline_weights(offsets: Float64) -> list[Float64]:
    """Return, by axis, the weights of the four nodes."""
    u, v = offsets.T, 1 - offsets.T
    weights = [v**3, 3 * u**3 - 6 * u**2 + 4, 3 * v**3 - 6 * v**2 + 4, u**3]
    return list(np.stack(weights, axis=1) / 6)


def _spline_slopes(offsets: Float64) -> list[Float64]:
    """Return, by axis, the derivatives of the weights."""
    u, v = offsets.T, 1 - offsets.T
    slopes = [-(v**2), 3 * u**2 - 4 * u, 4 * v - 3 * v**2, u**2]
    return list(np.stack(slopes, axis=1) / 2)


def _multiply_axes(factors: list[Float64], corner: tuple[int, ...]) -> Float64:
    """Return the product over all axes of the factors at one corner."""
    result: Float64 = factors[0][corner[0]]
    for factor, shift in zip(factors[1:], corner[1:], strict=True):
        result = result * factor[shift]
    return result


def run_umap_epoch(
    layout: Float64,
    heads: Int32,
    tails: Int32,
    periods: Float64,
    next_epochs: Float64,
    epoch: float,
    rate: float,
    a: float,
    b: float,
    negative_samples: int,
    random_state: NDArray[np.uint64],
) -> None:
    """Run one epoch: attract the edges that are due, and repel random negative samples.

    Args:
        layout: The positions, which are changed.
        heads: One end of each edge.
        tails: The other end of each edge.
        periods: After how many epochs each edge is due again.
        next_epochs: When each edge is due next, which is changed.
        epoch: The number of this epoch.
        rate: The learning rate.
        a: Parameter of the low-dimensional curve.
        b: Parameter of the low-dimensional curve.
        negative_samples: Number of random points that repel the head of an edge.
        random_state: One number other than 0.
    """
    is_due = next_epochs <= epoch
    next_epochs[is_due] += periods[is_due]
    heads, tails = heads[is_due], tails[is_due]
    differences, squares = _compute_differences(layout, heads, tails)
    attraction = -2 * a * b * squares ** (b - 1) / (1 + a * squares**b)
    attractive_steps = _clip_steps(attraction[:, None] * differences)
    rng = np.random.default_rng([int(random_state[0]), int(epoch)])
    repelled = np.repeat(heads, negative_samples)
    samples = rng.integers(len(layout), size=len(repelled))
    differences, squares = _compute_differences(layout, repelled, samples)
    repulsion = 2 * b / ((0.001 + squares) * (1 + a * squares**b))
    repulsive_steps = _clip_steps(repulsion[:, None] * differences)
    for axis in range(layout.shape[1]):
        moved = np.bincount(heads, attractive_steps[:, axis], len(layout))
        moved -= np.bincount(tails, attractive_steps[:, axis], len(layout))
        moved += np.bincount(repelled, repulsive_steps[:, axis], len(layout))
        layout[:, axis] += rate * moved


def _compute_differences(
    layout: Float64, rows: NDArray[np.integer], others: NDArray[np.integer]
) -> tuple[Float64, Float64]:
    differences = layout[rows] - layout[others]
    # Points at the same position do not act on each other; 1 avoids a division by zero.
    squares = np.einsum("ij,ij->i", differences, differences)
    return differences, np.where(squares > 0, squares, 1)


def _clip_steps(steps: Float64) -> Float64:
    return np.clip(steps, -_MAX_STEP, _MAX_STEP)


# ---- _neighbors


def select_nearest(
    scores: Float32,
    excluded: Int64,
    vectors: Float32,
    queries: Float32,
    metric: str,
    extra: int,
    indices: Int32,
    distances: Float64,
    farthest: Float32,
) -> None:
    """Fill the nearest vectors of each query.

    Candidates are chosen by approximate scores; their distances are then computed in double
    precision.

    Args:
        scores: Approximate order of the vectors for each query, [queries, vectors]. Overwritten.
        excluded: Index of each query among the vectors, or -1.
        vectors: The vectors to select from.
        queries: The query vectors.
        metric: See `DistanceMetric`; vectors have length 1 for cosine.
        extra: Number of candidates beyond those that are returned.
        indices: Output, [queries, count], nearest first.
        distances: Output, the distances of these.
        farthest: Output, the score of the farthest candidate of each query.
    """
    count, vector_count = indices.shape[1], scores.shape[1]
    has_excluded = excluded >= 0
    scores[np.flatnonzero(has_excluded), excluded[has_excluded]] = np.inf
    size = min(count + extra, vector_count - int(has_excluded.any()))
    chosen = np.argpartition(scores, size - 1, axis=1)[:, :size]
    farthest[:] = np.take_along_axis(scores, chosen, axis=1).max(axis=1)
    for row, candidates in enumerate(chosen):
        exact = compute_distances(vectors[candidates], queries[row].astype(np.float64), metric)
        # Equal distances are ordered by index.
        order = np.lexsort((candidates, exact))[:count]
        indices[row], distances[row] = candidates[order], exact[order]


def compute_distances(others: Float32, query: Float64, metric: str) -> Float64:
    """Return distances from a vector in double precision; cosine expects unit vectors."""
    if metric == "euclidean":
        differences = others - query
        distances: Float64 = np.sqrt(np.einsum("ij,ij->i", differences, differences))
        return distances
    products: Float64 = others @ query
    return np.maximum(1 - products, 0) if metric == "cosine" else -products


def estimate_distances(vectors: Float32, query: Float32, metric: str, distances: Float32) -> None:
    """Fill the distances of all vectors from a query in single precision.

    For cosine, vectors may have any length.
    """
    if metric == "euclidean":
        differences = vectors - query
        distances[:] = np.sqrt(np.einsum("ij,ij->i", differences, differences))
        return
    products = vectors @ query
    if metric == "dot":
        distances[:] = -products
        return
    norms = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))
    distances[:] = np.maximum(1 - products / np.where(norms, norms, 1), 0)


def refine_neighbors(
    vectors: Float32,
    metric: str,
    known: Int32,
    known_distances: Float32,
    fanout: int,
    begin: int,
    end: int,
    indices: Int32,
    distances: Float32,
) -> None:
    """Fill the nearest of a range of rows among their neighbors and the neighbors of these.

    Args:
        vectors: All vectors; of length 1 for cosine.
        metric: See `DistanceMetric`.
        known: The neighbors known so far, [vectors, count].
        known_distances: The distances of these.
        fanout: How many neighbors of how many neighbors are candidates.
        begin: First row of the range.
        end: End of the range.
        indices: Output, like ``known``.
        distances: Output, like ``known_distances``.
    """
    rows = np.arange(begin, end)
    second_degree = known[known[rows, :fanout], :fanout].reshape(len(rows), -1)
    candidates = np.sort(np.hstack([known[rows], second_degree]), axis=1)
    candidate_distances = _compute_row_distances(vectors, rows, candidates, metric)
    is_duplicate = np.diff(candidates, axis=1, prepend=-1) == 0
    candidate_distances[is_duplicate | (candidates == rows[:, None])] = np.inf
    count = known.shape[1]
    nearest = np.argpartition(candidate_distances, count - 1, axis=1)[:, :count]
    order = np.take_along_axis(candidate_distances, nearest, 1).argsort(axis=1, kind="stable")
    nearest = np.take_along_axis(nearest, order, 1)
    indices[rows] = np.take_along_axis(candidates, nearest, 1)
    distances[rows] = np.take_along_axis(candidate_distances, nearest, 1)


def _compute_row_distances(
    vectors: Float32, rows: Int64, candidates: Int32, metric: str
) -> Float32:
    queries = vectors[rows, None]
    if metric == "euclidean":
        differences = vectors[candidates] - queries
        distances: Float32 = np.sqrt(np.einsum("ijk,ijk->ij", differences, differences))
        return distances
    products: Float32 = np.einsum("ijk,ilk->ij", vectors[candidates], queries)
    return np.maximum(1 - products, 0) if metric == "cosine" else -products
