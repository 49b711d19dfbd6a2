"""How much each point cares for its neighbours, which is all that a layout knows of vectors."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from os import cpu_count
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tracklight.analysis.embeddings.projections.neighbors import Neighbors
from tracklight.types import Float32, Float64, Int32, Int64

_MAX_BISECTIONS = 60
_ENTROPY_TOLERANCE = 1e-5
_BLOCK_VALUES = 1 << 16


@dataclass(frozen=True, slots=True, eq=False)
class Affinities:
    """Pairs of points in both directions, by rows; all weights together are 1."""

    indptr: Int64
    """Where the pairs of each row begin, and where the last end."""
    indices: Int32
    weights: Float32


class SymmetricEdges(NamedTuple):
    """Pairs in the order of their rows, each in both directions."""

    rows: Int32
    columns: Int32
    sums: Float64
    """What the two think of each other, added up."""
    products: Float64
    """And multiplied: 0 where only one of them cares."""


def compute_affinities(
    neighbors: Neighbors, perplexity: float, labels: NDArray[Any] | None = None, pull: float = 0.0
) -> Affinities:
    """Weights of about ``perplexity`` neighbours each, the same seen from both sides."""
    weights = _compute_conditional_weights(neighbors.distances, perplexity)
    weights = downweight_other_labels(weights, neighbors.indices, labels, pull)
    return _to_csr(neighbors.indices, weights)


def _compute_conditional_weights(distances: Float32, perplexity: float) -> Float64:
    """For some rows at a time, which stay close to the processor, in all threads."""
    parts = np.array_split(distances, max(distances.size // _BLOCK_VALUES, 1))
    with ThreadPoolExecutor(cpu_count() or 1) as pool:
        found = pool.map(
            lambda part: _fit_bandwidths(part.astype(np.float64) ** 2, perplexity), parts
        )
        return np.concatenate(list(found))


def _fit_bandwidths(squares: Float64, perplexity: float) -> Float64:
    """For every row a bell curve over its distances, as wide as the perplexity asks for."""
    squares = squares - squares[:, :1]  # nothing changes but that the exponents stay small
    target = np.log(min(perplexity, squares.shape[1] * 0.99))
    low = np.zeros(len(squares))
    high = np.full(len(squares), np.inf)
    scale = squares.mean(axis=1)
    beta = 1 / np.where(scale > 0, scale, 1)
    for _ in range(_MAX_BISECTIONS):
        weights = np.exp(-squares * beta[:, None])
        sums = weights.sum(axis=1)
        entropy = np.log(sums) + beta * np.einsum("ij,ij->i", squares, weights) / sums
        apart = entropy - target
        if np.abs(apart).max() < _ENTROPY_TOLERANCE:
            break
        low = np.where(apart > 0, beta, low)
        high = np.where(apart > 0, high, beta)
        beta = np.where(np.isinf(high), beta * 2, (low + high) / 2)
    shares: Float64 = weights / sums[:, None]
    return shares


def _to_csr(places: Int32, weights: Float64) -> Affinities:
    pairs = symmetrize(places, weights)
    starts = np.searchsorted(pairs.rows, np.arange(len(places) + 1))
    shares = (pairs.sums / pairs.sums.sum()).astype(np.float32)
    return Affinities(starts, pairs.columns, shares)


def symmetrize(indices: Int32, weights: Float64) -> SymmetricEdges:
    """What each point thinks of its neighbours, and what these think of it."""
    count, width = indices.shape
    mine = np.repeat(np.arange(count), width)
    other = indices.ravel().astype(np.int64)
    keys = np.concatenate([mine * count + other, other * count + mine])
    order = np.argsort(keys)
    keys, both = keys[order], np.tile(weights.ravel(), 2)[order]
    firsts = np.flatnonzero(np.diff(keys, prepend=-1))
    is_mutual = np.diff(firsts, append=len(keys)) == 2
    products = np.where(is_mutual, np.multiply.reduceat(both, firsts), 0)
    rows, others = np.divmod(keys[firsts], count)
    return SymmetricEdges(
        rows.astype(np.int32), others.astype(np.int32), np.add.reduceat(both, firsts), products
    )


def downweight_other_labels(
    weights: Float64, indices: Int32, labels: NDArray[Any] | None, pull: float
) -> Float64:
    """Weights of neighbours with another label made less by ``pull``, from 0 to 1.

    Labels are whole numbers, negative for unknown.
    """
    if labels is None or not pull:
        return weights
    mine, others = labels[:, None], labels[indices]
    unlike = (mine != others) & (mine >= 0) & (others >= 0)
    weakened = weights * np.where(unlike, 1 - pull, 1)
    # A point that is unlike all others would be nowhere at all.
    return np.where(weakened.max(axis=1, keepdims=True) > 0, weakened, weights)
