"""Affinities: weighted edges between neighbors, the input of t-SNE and UMAP layouts."""

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
#: Values per block, so that a block stays in the processor's cache.
_BLOCK_VALUES = 1 << 16


@dataclass(frozen=True, slots=True, eq=False)
class Affinities:
    """A symmetric sparse matrix in CSR form, whose weights add up to 1."""

    indptr: Int64
    indices: Int32
    weights: Float32


class SymmetricEdges(NamedTuple):
    """Edges sorted by row, each in both directions."""

    rows: Int32
    columns: Int32
    sums: Float64
    """The sum of the weights of both directions."""
    products: Float64
    """The product of the weights of both directions; 0 if only one is a neighbor of the other."""


def compute_affinities(
    neighbors: Neighbors,
    perplexity: float,
    labels: NDArray[Any] | None = None,
    target_weight: float = 0.0,
) -> Affinities:
    """Return the affinities of t-SNE.

    Args:
        neighbors: The neighbors of all points.
        perplexity: The effective number of neighbors of each point.
        labels: Integers by which a layout is supervised, negative for unknown.
        target_weight: How much less neighbors with other labels weigh, from 0 to 1.
    """
    weights = _compute_conditional_weights(neighbors.distances, perplexity)
    weights = downweight_other_labels(weights, neighbors.indices, labels, target_weight)
    return _to_csr(neighbors.indices, weights)


def _compute_conditional_weights(distances: Float32, perplexity: float) -> Float64:
    blocks = np.array_split(distances, max(distances.size // _BLOCK_VALUES, 1))
    with ThreadPoolExecutor(cpu_count() or 1) as pool:
        weights = pool.map(
            lambda block: _fit_bandwidths(block.astype(np.float64) ** 2, perplexity), blocks
        )
        return np.concatenate(list(weights))


def _fit_bandwidths(squares: Float64, perplexity: float) -> Float64:
    """Return Gaussian weights of squared distances, with the perplexity in every row."""
    squares = squares - squares[:, :1]  # a constant factor, which keeps exponents small
    target = np.log(min(perplexity, squares.shape[1] * 0.99))
    low = np.zeros(len(squares))
    high = np.full(len(squares), np.inf)
    scale = squares.mean(axis=1)
    beta = 1 / np.where(scale > 0, scale, 1)
    for _ in range(_MAX_BISECTIONS):
        weights = np.exp(-squares * beta[:, None])
        sums = weights.sum(axis=1)
        entropy = np.log(sums) + beta * np.einsum("ij,ij->i", squares, weights) / sums
        excess = entropy - target
        if np.abs(excess).max() < _ENTROPY_TOLERANCE:
            break
        low = np.where(excess > 0, beta, low)
        high = np.where(excess > 0, high, beta)
        beta = np.where(np.isinf(high), beta * 2, (low + high) / 2)
    normalized: Float64 = weights / sums[:, None]
    return normalized


def _to_csr(indices: Int32, weights: Float64) -> Affinities:
    edges = symmetrize(indices, weights)
    indptr = np.searchsorted(edges.rows, np.arange(len(indices) + 1))
    shares = (edges.sums / edges.sums.sum()).astype(np.float32)
    return Affinities(indptr, edges.columns, shares)


def symmetrize(indices: Int32, weights: Float64) -> SymmetricEdges:
    """Combine the weight of each edge with that of the opposite direction."""
    count, width = indices.shape
    rows = np.repeat(np.arange(count), width)
    columns = indices.ravel().astype(np.int64)
    keys = np.concatenate([rows * count + columns, columns * count + rows])
    order = np.argsort(keys)
    keys, directed = keys[order], np.tile(weights.ravel(), 2)[order]
    firsts = np.flatnonzero(np.diff(keys, prepend=-1))
    is_mutual = np.diff(firsts, append=len(keys)) == 2
    products = np.where(is_mutual, np.multiply.reduceat(directed, firsts), 0)
    rows, columns = np.divmod(keys[firsts], count)
    sums = np.add.reduceat(directed, firsts)
    return SymmetricEdges(rows.astype(np.int32), columns.astype(np.int32), sums, products)


def downweight_other_labels(
    weights: Float64, indices: Int32, labels: NDArray[Any] | None, target_weight: float
) -> Float64:
    """Reduce the weights of neighbors with another label by the share ``target_weight``.

    Labels are integers, negative for unknown.
    """
    if labels is None or not target_weight:
        return weights
    own, others = labels[:, None], labels[indices]
    is_other = (own != others) & (own >= 0) & (others >= 0)
    reduced = weights * np.where(is_other, 1 - target_weight, 1)
    # A point without any neighbor of its label keeps its weights; otherwise it would have none.
    return np.where(reduced.max(axis=1, keepdims=True) > 0, reduced, weights)
