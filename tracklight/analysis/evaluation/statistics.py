"""Student's t, binomial intervals and corrections for multiple comparisons, without SciPy."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from tracklight.errors import UsageError
from tracklight.types import Float64

Correction = Literal["none", "bonferroni", "holm", "benjamini-hochberg"]

CORRECTIONS: tuple[Correction, ...] = get_args(Correction)

_TINY = 1e-300
_EPSILON = 3e-15
_MAX_ITERATIONS = 500
_BISECTIONS = 64

_log_gamma = np.vectorize(math.lgamma, otypes=[np.float64])


def incomplete_beta(a: ArrayLike, b: ArrayLike, x: ArrayLike) -> Float64:
    """Return the regularized incomplete beta function I_x(a, b), element by element."""
    a, b, x = np.broadcast_arrays(*(np.asarray(v, np.float64) for v in (a, b, x)))
    swap = x > (a + 1) / (a + b + 2)
    p, q, z = np.where(swap, b, a), np.where(swap, a, b), np.where(swap, 1 - x, x)
    inside = (z > 0) & (z < 1)
    z = np.where(inside, z, 0.5)
    log_front = _log_gamma(p + q) - _log_gamma(p) - _log_gamma(q)
    front = np.exp(log_front + p * np.log(z) + q * np.log1p(-z)) / p
    value = np.where(inside, front * _beta_fraction(p, q, z), 0.0)
    result: Float64 = np.where(swap, 1 - value, value)
    return np.clip(result, 0.0, 1.0)


def _beta_fraction(a: Float64, b: Float64, x: Float64) -> Float64:
    """Evaluate the continued fraction of the incomplete beta function (Lentz's method)."""

    def guard(value: Float64) -> Float64:
        return np.where(np.abs(value) < _TINY, _TINY, value)

    c = np.ones_like(x)
    d = 1 / guard(1 - (a + b) * x / (a + 1))
    result = d
    for m in range(1, _MAX_ITERATIONS):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        d = 1 / guard(1 + even * d)
        c = guard(1 + even / c)
        result = result * d * c
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        d = 1 / guard(1 + odd * d)
        c = guard(1 + odd / c)
        step = d * c
        result = result * step
        if np.all(np.abs(step - 1) < _EPSILON):
            break
    return result


def beta_quantile(probability: ArrayLike, a: ArrayLike, b: ArrayLike) -> Float64:
    """Return the quantile of the beta distribution, by bisection."""
    probability, a, b = np.broadcast_arrays(
        *(np.asarray(v, np.float64) for v in (probability, a, b))
    )
    low, high = np.zeros(a.shape), np.ones(a.shape)
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        below = incomplete_beta(a, b, middle) < probability
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    result: Float64 = (low + high) / 2
    return result


def student_t_p_value(t: ArrayLike, degrees: float) -> Float64:
    """Return the two-sided p-value of a t statistic; NaN stays NaN."""
    t = np.asarray(t, np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        x = degrees / (degrees + t * t)
    known = np.isfinite(x)
    p = incomplete_beta(degrees / 2, 0.5, np.where(known, x, 0.5))
    result: Float64 = np.where(known, p, np.nan)
    return result


@lru_cache(maxsize=64)
def student_t_quantile(confidence: float, degrees: int) -> float:
    """Return the half-width of a two-sided interval in standard errors.

    Example:
        >>> round(student_t_quantile(0.95, 19), 4)
        2.093
    """
    x = float(beta_quantile(1 - confidence, degrees / 2, 0.5))
    return math.sqrt(degrees * (1 - x) / x)


def binomial_interval(
    successes: ArrayLike, trials: ArrayLike, confidence: float = 0.95
) -> tuple[Float64, Float64]:
    """Return exact (Clopper-Pearson) bounds of a proportion; NaN without trials."""
    k, n = np.broadcast_arrays(np.asarray(successes, np.float64), np.asarray(trials, np.float64))
    alpha = 1 - confidence
    valid = n > 0
    low_inside, high_inside = valid & (k > 0), valid & (k < n)
    lower = beta_quantile(
        alpha / 2, np.where(low_inside, k, 1.0), np.where(low_inside, n - k + 1, 1.0)
    )
    upper = beta_quantile(
        1 - alpha / 2, np.where(high_inside, k + 1, 1.0), np.where(high_inside, n - k, 1.0)
    )
    lower = np.where(valid, np.where(low_inside, lower, 0.0), np.nan)
    upper = np.where(valid, np.where(high_inside, upper, 1.0), np.nan)
    return lower, upper


def adjust_p_values(p_values: ArrayLike, correction: Correction) -> Float64:
    """Adjust p-values for the number of comparisons; NaN is not a comparison.

    ``bonferroni`` and ``holm`` bound the probability of any false finding, ``benjamini-hochberg``
    the expected share of false findings.
    """
    if correction not in CORRECTIONS:
        raise UsageError(f'unknown correction "{correction}"; use one of {", ".join(CORRECTIONS)}')
    p = np.asarray(p_values, np.float64)
    known = np.flatnonzero(~np.isnan(p.ravel()))
    values = p.ravel()[known]
    count = len(values)
    if correction == "none" or not count:
        return np.array(p)
    if correction == "bonferroni":
        adjusted = values * count
    else:
        order = np.argsort(values, kind="stable")
        ranked = values[order]
        if correction == "holm":
            stepped = np.maximum.accumulate(ranked * (count - np.arange(count)))
        else:
            scaled = ranked * count / np.arange(1, count + 1)
            stepped = np.minimum.accumulate(scaled[::-1])[::-1]
        adjusted = np.empty(count)
        adjusted[order] = stepped
    result: Float64 = np.full(p.size, np.nan)
    result[known] = np.minimum(adjusted, 1.0)
    return result.reshape(p.shape)
