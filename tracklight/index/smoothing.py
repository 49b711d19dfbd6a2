"""Smooth a series. All points are smoothed, before the series is downsampled.

``ema``       exponential moving average with bias correction, as in TensorBoard
``time_ema``  exponential moving average in which a point's weight halves every ``amount`` steps
``mean``      mean of a centered window of ``amount`` points, fewer at the ends
``median``    median of such a window
``gaussian``  Gaussian kernel with a standard deviation of ``amount`` points
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal

import msgspec
import numpy as np

from tracklight.index.loops import loops
from tracklight.types import Bool, Float64, Int64

SmoothingKind = Literal["ema", "time_ema", "mean", "median", "gaussian"]

#: Minimum and maximum of the amount.
_LIMITS: dict[SmoothingKind, tuple[float, float]] = {
    "ema": (0, 0.999999),
    "time_ema": (1e-9, 1e18),
    "mean": (1, 100_000),
    "median": (1, 10_000),
    "gaussian": (1e-3, 1_000),
}


class Smoothing(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A smoothing method and its amount.

    Raises:
        ValueError: The amount is out of range.
    """

    kind: SmoothingKind
    amount: float

    def __post_init__(self) -> None:
        low, high = _LIMITS[self.kind]
        if not low <= self.amount <= high:
            raise ValueError(f'smoothing "{self.kind}" takes amounts from {low:g} to {high:g}')


def smooth(value: Float64, step: Int64, smoothing: Smoothing) -> Float64:
    """Smooth a column; non-finite values stay as they are and do not affect others."""
    return _SMOOTHERS[smoothing.kind](value, step, smoothing.amount)


def _ema(value: Float64, step: Int64, weight: float) -> Float64:
    out = np.empty_like(value)
    loops.ema(value, weight, out)
    return out


def _time_ema(value: Float64, step: Int64, half_life: float) -> Float64:
    out = np.empty_like(value)
    loops.time_ema(value, step, half_life, out)
    return out


def _median(value: Float64, step: Int64, window: float) -> Float64:
    out = np.empty_like(value)
    loops.median(value, *_split_window(window), out)
    return out


def _mean(value: Float64, step: Int64, window: float) -> Float64:
    out = np.empty_like(value)
    loops.mean(value, *_split_window(window), out)
    return out


def _gaussian(value: Float64, step: Int64, deviation: float) -> Float64:
    radius = math.ceil(4 * deviation)
    weights = np.exp(-0.5 * (np.arange(-radius, radius + 1) / deviation) ** 2)
    is_finite = np.isfinite(value)
    totals = _convolve(np.where(is_finite, value, 0.0), weights)
    norms = _sum_weights(is_finite, weights)
    out: Float64 = value.copy()
    np.divide(totals, norms, out=out, where=is_finite)
    return out


def _sum_weights(is_finite: Bool, weights: Float64) -> Float64:
    """Return the sum of the weights of all finite values around each value."""
    if not is_finite.all():
        return _convolve(is_finite.astype(np.float64), weights)
    cumulative = np.concatenate([[0.0], np.cumsum(weights)])
    radius, row = len(weights) // 2, np.arange(len(is_finite))
    first = np.maximum(radius - row, 0)
    last = np.minimum(radius + len(is_finite) - row, len(weights))
    sums: Float64 = cumulative[last] - cumulative[first]
    return sums


def _split_window(window: float) -> tuple[int, int]:
    """Return how many points of a window are before and after its center."""
    size = round(window)
    return size // 2, (size - 1) // 2


def _convolve(value: Float64, weights: Float64) -> Float64:
    """Convolve with a centered kernel; values beyond the ends are zero."""
    if not len(value):
        return value
    radius = len(weights) // 2
    full: Float64 = np.convolve(value, weights)
    return full[radius : radius + len(value)]


_SMOOTHERS: dict[SmoothingKind, Callable[[Float64, Int64, float], Float64]] = {
    "ema": _ema,
    "time_ema": _time_ema,
    "mean": _mean,
    "median": _median,
    "gaussian": _gaussian,
}
