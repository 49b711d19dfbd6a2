"""Assign rows to jackknife groups or bootstrap samples, and compute standard errors.

Counts are stored per replicate. The jackknife stores the counts of each group, and replicate ``i``
is everything except group ``i``; the bootstrap stores each sample. `Resampling.estimates` turns
stored counts into replicates, with the full data at index 0.

Draws depend on the seed and the row number only, so the result does not depend on how the rows were
divided into chunks.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from tracklight.analysis.evaluation.statistics import student_t_quantile
from tracklight.errors import UsageError
from tracklight.types import Float64

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
    """

    method: IntervalMethod = "jackknife"
    samples: int = 20
    confidence: float = 0.95
    seed: int = 0

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
        undefined makes the standard error NaN.
        """
        replicates = estimates[1:]
        if not self.has_replicates:
            return np.full(estimates.shape[1:], np.nan)
        with np.errstate(invalid="ignore"):
            spread = replicates.std(axis=0, ddof=1)
        if self.method == "jackknife":
            spread = spread * (self.samples - 1) / math.sqrt(self.samples)
        return np.asarray(spread, np.float64)


def _poisson_table() -> NDArray[np.uint8]:
    """Return 65,536 values distributed like Poisson(1), for lookup by a uniform integer."""
    probabilities = [math.exp(-1) / math.factorial(k) for k in range(9)]
    bounds = np.round(np.cumsum(probabilities) * (1 << 16)).astype(np.int64)
    return np.searchsorted(bounds, np.arange(1 << 16), side="right").astype(np.uint8)
