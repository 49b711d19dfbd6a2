"""Jackknife and bootstrap, Student's t, binomial intervals and corrections for many comparisons.

Rows are assigned to jackknife groups or bootstrap samples, and counts are stored per replicate. The
jackknife stores the counts of each group, and replicate ``i`` is everything except group ``i``; the
bootstrap stores each sample. `Resampling.estimates` turns stored counts into replicates, with the
full data at index 0.

Draws depend on the seed and the row number only, so the result does not depend on how the rows were
divided into chunks. SciPy is not needed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tracklight.errors import UsageError
from tracklight.types import Float64

# ---- distributions and intervals

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


# ---- jackknife and bootstrap

IntervalMethod = Literal["none", "jackknife", "bootstrap", "exact"]

INTERVAL_METHODS: tuple[IntervalMethod, ...] = get_args(IntervalMethod)

_BLOCK_ROWS = 1 << 16
_MAX_SAMPLES = 200


@dataclass(frozen=True)
class Resampling:
    """How confidence intervals are computed.

    Args:
        method: ``jackknife`` (delete-a-group), ``bootstrap`` (Poisson), ``exact`` (binomial, for
            metrics that are proportions of unweighted rows) or ``none``.
        samples: Number of groups or bootstrap samples.
        confidence: Coverage of the intervals.
        seed: Seed of the random groups or samples.
        min_defined: Share of the bootstrap samples in which a value must be defined. Below 1,
            samples without a value are left out, as those of small slices without positives.
    """

    method: IntervalMethod = "jackknife"
    samples: int = 20
    confidence: float = 0.95
    seed: int = 0
    min_defined: float = 1.0

    def __post_init__(self) -> None:
        if self.method not in INTERVAL_METHODS:
            raise UsageError(
                f'unknown interval method "{self.method}"; use one of {", ".join(INTERVAL_METHODS)}'
            )
        if not 2 <= self.samples <= _MAX_SAMPLES:
            raise UsageError(f"samples must be 2 to {_MAX_SAMPLES}, not {self.samples}")
        if not 0 < self.confidence < 1:
            raise UsageError(f"confidence must be between 0 and 1, not {self.confidence}")

    @property
    def has_replicates(self) -> bool:
        return self.method in ("jackknife", "bootstrap")

    @property
    def stored(self) -> int:
        """Number of replicates for which counts are stored."""
        if self.method == "jackknife":
            return self.samples
        return self.samples + 1 if self.method == "bootstrap" else 1

    @property
    def half_width(self) -> float:
        """Half-width of an interval in standard errors."""
        return student_t_quantile(self.confidence, self.samples - 1)

    def draw_groups(self, start: int, rows: int) -> NDArray[np.uint8]:
        """Return the jackknife group of each row; 0 for methods other than the jackknife."""
        if self.method != "jackknife":
            return np.zeros(rows, np.uint8)
        return self._draw(start, rows, lambda rng: rng.integers(0, self.samples, _BLOCK_ROWS, "u1"))

    def draw_repeats(self, start: int, rows: int) -> NDArray[np.uint8]:
        """Return how often each bootstrap sample (row of the result) repeats each row of data."""
        table = _poisson_table()

        def draw(rng: np.random.Generator) -> NDArray[np.uint8]:
            return np.take(table, rng.integers(0, 1 << 16, (self.samples, _BLOCK_ROWS), "u2"))

        return self._draw(start, rows, draw)

    def draw_replicates(self, start: int, rows: int) -> NDArray[np.uint8]:
        """Return how often each replicate (row of the result) has each row of data."""
        if self.method == "bootstrap":
            return self.draw_repeats(start, rows)
        if self.method == "jackknife":
            groups = self.draw_groups(start, rows)
            is_kept: NDArray[np.bool_] = groups != np.arange(self.samples)[:, None]
            return is_kept.astype(np.uint8)
        return np.empty((0, rows), np.uint8)

    def _draw(self, start: int, rows: int, draw: Any) -> NDArray[np.uint8]:
        first, last = start // _BLOCK_ROWS, (start + max(rows, 1) - 1) // _BLOCK_ROWS
        blocks = [draw(np.random.default_rng((self.seed, n))) for n in range(first, last + 1)]
        offset = start - first * _BLOCK_ROWS
        return np.concatenate(blocks, axis=-1)[..., offset : offset + rows]

    def estimates(self, stored: NDArray[Any], axis: int = 1) -> NDArray[Any]:
        """Return the counts of the full data, followed by those of each replicate."""
        if self.method != "jackknife":
            return stored
        total = stored.sum(axis=axis, keepdims=True)
        rest = total - stored
        # Differences of equal sums of weights must be 0, not a rounding error.
        rest[np.abs(rest) < 1e-12 * np.abs(total)] = 0
        return np.concatenate([total, rest], axis=axis)

    def standard_error(self, estimates: Float64) -> Float64:
        """Return the standard error from estimates of shape (full data and replicates, ...).

        The jackknife uses pseudo-values ``n * full - (n - 1) * replicate``. A replicate that is
        undefined makes the standard error NaN, unless ``min_defined`` says otherwise.
        """
        replicates = estimates[1:]
        if not self.has_replicates:
            return np.full(estimates.shape[1:], np.nan)
        with np.errstate(invalid="ignore"):
            spread = replicates.std(axis=0, ddof=1)
        if self.method == "bootstrap" and self.min_defined < 1:
            spread = np.where(np.isnan(spread), self._compute_defined_spread(replicates), spread)
        if self.method == "jackknife":
            spread = spread * (self.samples - 1) / math.sqrt(self.samples)
        return np.asarray(spread, np.float64)

    def _compute_defined_spread(self, replicates: Float64) -> Float64:
        """Return the standard deviation of the values that are defined; NaN if these are few."""
        defined = np.isfinite(replicates)
        count = defined.sum(axis=0)
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = np.where(defined, replicates, 0).sum(axis=0) / count
            squares = np.where(defined, replicates - mean, 0) ** 2
            spread = np.sqrt(squares.sum(axis=0) / (count - 1))
        is_known = count >= max(2, self.min_defined * self.samples)
        return np.where(is_known, spread, np.nan)


def _poisson_table() -> NDArray[np.uint8]:
    """Return 65,536 values distributed like Poisson(1), for lookup by a uniform integer."""
    probabilities = [math.exp(-1) / math.factorial(k) for k in range(9)]
    bounds = np.round(np.cumsum(probabilities) * (1 << 16)).astype(np.int64)
    return np.searchsorted(bounds, np.arange(1 << 16), side="right").astype(np.uint8)
