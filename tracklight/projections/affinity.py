"""How much each point cares for its neighbours, which is all that t-SNE knows of the vectors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracklight.projections.neighbours import Neighbours
from tracklight.types import Float32, Float64, Int32, Int64

_BISECTIONS = 60
_CLOSE_ENOUGH = 1e-5


@dataclass(frozen=True, slots=True, eq=False)
class Affinities:
    """Pairs of points in both directions, by rows; all weights together are 1."""

    starts: Int64
    """Where the pairs of each row begin, and where the last end."""
    others: Int32
    weights: Float32


def find_affinities(
    neighbours: Neighbours, perplexity: float, labels: NDArray[Any] | None = None, pull: float = 0.0
) -> Affinities:
    """Weights of about ``perplexity`` neighbours each, the same seen from both sides.

    ``labels`` are whole numbers, negative for unknown; pairs of unlike ones count less by
    ``pull``, from 0 to 1.
    """
    weights = _weigh(neighbours.distances.astype(np.float64) ** 2, perplexity)
    if labels is not None and pull:
        mine, others = labels[:, None], labels[neighbours.places]
        unlike = (mine != others) & (mine >= 0) & (others >= 0)
        weights *= np.where(unlike, 1 - pull, 1)
    return _make_symmetric(neighbours.places, weights)


def _weigh(squares: Float64, perplexity: float) -> Float64:
    """For every row a bell curve over its distances, as wide as the perplexity asks for."""
    squares = squares - squares[:, :1]  # nothing changes but that the exponents stay small
    target = np.log(min(perplexity, squares.shape[1] * 0.99))
    low = np.zeros(len(squares))
    high = np.full(len(squares), np.inf)
    scale = squares.mean(axis=1)
    beta = 1 / np.where(scale > 0, scale, 1)
    for _ in range(_BISECTIONS):
        weights = np.exp(-squares * beta[:, None])
        sums = weights.sum(axis=1)
        entropy = np.log(sums) + beta * np.einsum("ij,ij->i", squares, weights) / sums
        apart = entropy - target
        if np.abs(apart).max() < _CLOSE_ENOUGH:
            break
        low = np.where(apart > 0, beta, low)
        high = np.where(apart > 0, high, beta)
        beta = np.where(np.isinf(high), beta * 2, (low + high) / 2)
    shares: Float64 = weights / sums[:, None]
    return shares


def _make_symmetric(places: Int32, weights: Float64) -> Affinities:
    count, width = places.shape
    mine = np.repeat(np.arange(count), width)
    other = places.ravel().astype(np.int64)
    keys = np.concatenate([mine * count + other, other * count + mine])
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    firsts = np.flatnonzero(np.diff(keys, prepend=-1))
    sums = np.add.reduceat(np.tile(weights.ravel(), 2)[order], firsts)
    rows, others = np.divmod(keys[firsts], count)
    starts = np.searchsorted(rows, np.arange(count + 1))
    return Affinities(starts, others.astype(np.int32), (sums / sums.sum()).astype(np.float32))
