"""Turning one layout onto another, so that what moved between the two is seen."""

from __future__ import annotations

import numpy as np

from tracklight.types import Float32, Float64, Int32


def turn_onto(places: Float32, mine: Int32, others: Float32) -> Float32:
    """A layout turned, mirrored, moved and scaled so that its rows ``mine`` come near ``others``.

    Distances keep their proportions (Schönemann, 1966).
    """
    if not len(mine):
        return places
    chosen = places[mine].astype(np.float64)
    target = _fit(others.astype(np.float64), places.shape[1])
    middle, towards = chosen.mean(axis=0), target.mean(axis=0)
    left, strengths, right = np.linalg.svd((chosen - middle).T @ (target - towards))
    spread = float(np.square(chosen - middle).sum())
    scale = float(strengths.sum()) / spread if spread else 1.0
    turned: Float64 = (places - middle) @ (left @ right) * scale + towards
    return turned.astype(np.float32)


def _fit(places: Float64, dimensions: int) -> Float64:
    """As many axes as are wanted; those that are missing are flat."""
    missing = max(dimensions - places.shape[1], 0)
    return np.pad(places[:, :dimensions], ((0, 0), (0, missing)))
