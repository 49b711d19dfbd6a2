"""Smooths a series, always all of its points and before anything is left out for want of pixels.

``ema``       TensorBoard's: an exponential moving average, made up for having started at nothing
``time_ema``  the same where the weight of a point halves every ``amount`` steps
``mean``      of a window of ``amount`` points around each point, fewer at the ends
``median``    of such a window
``gaussian``  weights around each point, with a deviation of ``amount`` points
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

#: From where on, and up to where, an amount makes sense.
_LIMITS: dict[SmoothingKind, tuple[float, float]] = {
    "ema": (0, 0.999999),
    "time_ema": (1e-9, 1e18),
    "mean": (1, 100_000),
    "median": (1, 10_000),
    "gaussian": (1e-3, 1_000),
}


class Smoothing(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A way to smooth, and how much."""

    kind: SmoothingKind
    amount: float

    def __post_init__(self) -> None:
        low, high = _LIMITS[self.kind]
        if not low <= self.amount <= high:
            raise ValueError(f'smoothing "{self.kind}" takes amounts from {low:g} to {high:g}')


def smooth(value: Float64, step: Int64, smoothing: Smoothing) -> Float64:
    """The values smoothed in their order; where they are not finite, as they are."""
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
    loops.median(value, *_reach(window), out)
    return out


def _mean(value: Float64, step: Int64, window: float) -> Float64:
    out = np.empty_like(value)
    loops.mean(value, *_reach(window), out)
    return out


def _gaussian(value: Float64, step: Int64, deviation: float) -> Float64:
    reach = math.ceil(4 * deviation)
    weights = np.exp(-0.5 * (np.arange(-reach, reach + 1) / deviation) ** 2)
    finite = np.isfinite(value)
    totals = _convolve(np.where(finite, value, 0.0), weights)
    shares = _weigh(finite, weights)
    out: Float64 = value.copy()
    np.divide(totals, shares, out=out, where=finite)
    return out


def _weigh(there: Bool, weights: Float64) -> Float64:
    """The weights of all values that are there, around each of them."""
    if not there.all():
        return _convolve(there.astype(np.float64), weights)
    up_to = np.concatenate([[0.0], np.cumsum(weights)])
    reach, row = len(weights) // 2, np.arange(len(there))
    first = np.maximum(reach - row, 0)
    sums: Float64 = up_to[np.minimum(reach + len(there) - row, len(weights))] - up_to[first]
    return sums


def _reach(window: float) -> tuple[int, int]:
    """How many points before and after its middle a window covers."""
    size = round(window)
    return size // 2, (size - 1) // 2


def _convolve(value: Float64, weights: Float64) -> Float64:
    """Each value with its neighbours; beyond the ends there is nothing."""
    if not len(value):
        return value
    reach = len(weights) // 2
    whole: Float64 = np.convolve(value, weights)
    return whole[reach : reach + len(value)]


_SMOOTHERS: dict[SmoothingKind, Callable[[Float64, Int64, float], Float64]] = {
    "ema": _ema,
    "time_ema": _time_ema,
    "mean": _mean,
    "median": _median,
    "gaussian": _gaussian,
}
