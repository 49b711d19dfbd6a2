"""The steps of UMAP without a compiler: all pairs of an epoch at once, in NumPy."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tracklight.types import Float64, Int32

_FARTHEST_STEP = 4.0


def settle(
    layout: Float64,
    heads: Int32,
    tails: Int32,
    periods: Float64,
    due: Float64,
    epoch: float,
    rate: float,
    a: float,
    b: float,
    strangers: int,
    random: NDArray[np.uint64],
) -> None:
    """Draw the pairs together that are due, and drive each away from some random points."""
    is_due = due <= epoch
    due[is_due] += periods[is_due]
    mine, others = heads[is_due], tails[is_due]
    apart, squares = _measure(layout, mine, others)
    pull = -2 * a * b * squares ** (b - 1) / (1 + a * squares**b)
    steps = _limit(pull[:, None] * apart)
    rng = np.random.default_rng([int(random[0]), int(epoch)])
    mine_again = np.repeat(mine, strangers)
    apart, squares = _measure(layout, mine_again, rng.integers(len(layout), size=len(mine_again)))
    push = 2 * b / ((0.001 + squares) * (1 + a * squares**b))
    drives = _limit(push[:, None] * apart)
    for axis in range(layout.shape[1]):
        moved = np.bincount(mine, steps[:, axis], len(layout))
        moved -= np.bincount(others, steps[:, axis], len(layout))
        moved += np.bincount(mine_again, drives[:, axis], len(layout))
        layout[:, axis] += rate * moved


def _measure(
    layout: Float64, mine: NDArray[np.integer], others: NDArray[np.integer]
) -> tuple[Float64, Float64]:
    apart = layout[mine] - layout[others]
    # Points at one place are neither drawn nor driven, so any distance will do.
    squares = np.einsum("ij,ij->i", apart, apart)
    return apart, np.where(squares > 0, squares, 1)


def _limit(steps: Float64) -> Float64:
    return np.clip(steps, -_FARTHEST_STEP, _FARTHEST_STEP)
