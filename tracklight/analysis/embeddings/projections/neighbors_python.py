"""Which vectors are nearest, chosen from rough orders or from neighbours' neighbours, in NumPy.

It does what the compiled `_near` does, for where there is no compiler.
"""

from __future__ import annotations

import numpy as np

from tracklight.types import Float32, Float64, Int32, Int64


def pick(
    order: Float32,
    own: Int64,
    vectors: Float32,
    queries: Float32,
    metric: str,
    extra: int,
    places: Int32,
    distances: Float64,
    farthest: Float32,
) -> None:
    """Fill the nearest of each row, and how far the farthest candidate is by the rough order.

    Some more candidates than are wanted are measured precisely. ``own`` is the place of each row
    itself among the others, or -1.
    """
    count, others = places.shape[1], order.shape[1]
    has_own = own >= 0
    order[np.flatnonzero(has_own), own[has_own]] = np.inf
    size = min(count + extra, others - int(has_own.any()))
    chosen = np.argpartition(order, size - 1, axis=1)[:, :size]
    farthest[:] = np.take_along_axis(order, chosen, axis=1).max(axis=1)
    for row, candidates in enumerate(chosen):
        far = compute_distances(vectors[candidates], queries[row].astype(np.float64), metric)
        # Of equally near ones the first, as in a list.
        ranks = np.lexsort((candidates, far))[:count]
        places[row], distances[row] = candidates[ranks], far[ranks]


def compute_distances(others: Float32, query: Float64, metric: str) -> Float64:
    """How far a vector is from others, precisely; of cosines all have a length of 1."""
    if metric == "euclidean":
        apart = others - query
        distances: Float64 = np.sqrt(np.einsum("ij,ij->i", apart, apart))
        return distances
    products: Float64 = others @ query
    return np.maximum(1 - products, 0) if metric == "cosine" else -products


def estimate(vectors: Float32, query: Float32, metric: str, distances: Float32) -> None:
    """Fill how far all vectors are from one, in single precision; cosines are of any length."""
    if metric == "euclidean":
        apart = vectors - query
        distances[:] = np.sqrt(np.einsum("ij,ij->i", apart, apart))
        return
    products = vectors @ query
    if metric == "dot":
        distances[:] = -products
        return
    lengths = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))
    distances[:] = np.maximum(1 - products / np.where(lengths, lengths, 1), 0)


def refine(
    vectors: Float32,
    metric: str,
    known: Int32,
    known_distances: Float32,
    company: int,
    begin: int,
    end: int,
    places: Int32,
    distances: Float32,
) -> None:
    """Fill the nearest of some rows among those known and the first neighbours of their first."""
    rows = np.arange(begin, end)
    friends = known[known[rows, :company], :company].reshape(len(rows), -1)
    candidates = np.sort(np.hstack([known[rows], friends]), axis=1)
    far = _compute_row_distances(vectors, rows, candidates, metric)
    is_again = np.diff(candidates, axis=1, prepend=-1) == 0
    far[is_again | (candidates == rows[:, None])] = np.inf
    count = known.shape[1]
    nearest = np.argpartition(far, count - 1, axis=1)[:, :count]
    ranks = np.argsort(np.take_along_axis(far, nearest, 1), axis=1, kind="stable")
    nearest = np.take_along_axis(nearest, ranks, 1)
    places[rows] = np.take_along_axis(candidates, nearest, 1)
    distances[rows] = np.take_along_axis(far, nearest, 1)


def _compute_row_distances(
    vectors: Float32, rows: Int64, candidates: Int32, metric: str
) -> Float32:
    mine = vectors[rows, None]
    if metric == "euclidean":
        apart = vectors[candidates] - mine
        far: Float32 = np.sqrt(np.einsum("ijk,ijk->ij", apart, apart))
        return far
    products: Float32 = np.einsum("ijk,ilk->ij", vectors[candidates], mine)
    return np.maximum(1 - products, 0) if metric == "cosine" else -products
