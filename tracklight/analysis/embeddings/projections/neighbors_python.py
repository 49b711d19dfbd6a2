"""The functions of the compiled ``_neighbors`` in NumPy, for installations without a compiler."""

from __future__ import annotations

import numpy as np

from tracklight.types import Float32, Float64, Int32, Int64


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
        metric: See `neighbors.DistanceMetric`; vectors have length 1 for cosine.
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
        metric: See `neighbors.DistanceMetric`.
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
