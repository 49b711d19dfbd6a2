"""Whether more or less of a hyperparameter goes along with more of a metric."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tracklight.sessions.features import Feature
from tracklight.types import Float64

#: A slope of ranks is told if it is so steep, and so many times what chance would make of it.
_LEAST_SLOPE = 0.1
_LEAST_ERRORS = 2.0


def find_directions(features: Sequence[Feature], target: Float64) -> list[int]:
    """For each feature 1, -1, or 0 where it is not clear.

    It is the sign of its slope where the ranks of the target are explained by those of all features
    at once: alone, a strong one would hide how a weak one goes.
    """
    clear = [n for n, one in enumerate(features) if one.is_ordered]
    directions = [0] * len(features)
    if not clear or len(target) < len(clear) + 4:
        return directions
    ranks = np.stack([_standardize(_rank(features[n].numbers)) for n in clear], axis=1)
    goals = _standardize(_rank(target))
    inverse = np.linalg.pinv(ranks.T @ ranks)
    slopes = inverse @ (ranks.T @ goals)
    left = np.sum((goals - ranks @ slopes) ** 2) / (len(target) - len(clear) - 1)
    errors = np.sqrt(np.maximum(left * np.diag(inverse), 1e-12))
    for n, slope, error in zip(clear, slopes.tolist(), errors.tolist(), strict=True):
        if abs(slope) >= _LEAST_SLOPE and abs(slope) >= _LEAST_ERRORS * error:
            directions[n] = 1 if slope > 0 else -1
    return directions


def _rank(values: Float64) -> Float64:
    """Ranks, the same for the same values; what is missing is in the middle."""
    there = ~np.isnan(values)
    _, inverse, counts = np.unique(values[there], return_inverse=True, return_counts=True)
    ranks = np.full(len(values), (there.sum() + 1) / 2)
    ranks[there] = (np.cumsum(counts) - (counts - 1) / 2)[inverse]
    return ranks


def _standardize(ranks: Float64) -> Float64:
    deviation = ranks.std()
    return np.asarray((ranks - ranks.mean()) / (deviation or 1.0))
