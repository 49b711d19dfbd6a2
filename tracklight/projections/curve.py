"""The curve that says how close points of a UMAP layout like to be: 1 / (1 + a·x²ᵇ)."""

from __future__ import annotations

import numpy as np

_SPREAD = 1.0
_ROUNDS = 100


def fit_curve(min_dist: float) -> tuple[float, float]:
    """The ``a`` and ``b`` for which the curve is nearest to 1 up to there, and then falls off."""
    x = np.linspace(0, 3 * _SPREAD, 300)[1:]
    wanted = np.where(x < min_dist, 1, np.exp(-(x - min_dist) / _SPREAD))
    guess = np.array([0.0, 0.0])  # the logarithms of both, which may take any value
    damping, error = 1e-3, np.inf
    best = guess
    for _ in range(_ROUNDS):
        a, b = np.exp(guess)
        power = a * x ** (2 * b)
        curve = 1 / (1 + power)
        apart = curve - wanted
        if apart @ apart < error:
            best, error, damping = guess, apart @ apart, damping / 3
            steepness = -(curve**2) * power
            slopes = np.stack([steepness, steepness * 2 * b * np.log(x)], 1)
            normal, towards = slopes.T @ slopes, slopes.T @ apart
        else:
            damping *= 4
        guess = best - np.linalg.solve(normal + damping * np.diag(np.diag(normal)), towards)
    a, b = np.exp(best)
    return float(a), float(b)
