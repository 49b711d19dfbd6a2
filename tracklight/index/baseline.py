"""Compares series with one of them: the difference or the ratio, at the same place on the axis."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from tracklight.index.curve import Curve
from tracklight.types import Float64

Mode = Literal["difference", "ratio"]


@dataclass(frozen=True, slots=True)
class Baseline:
    """Columns of the series that others are compared with; ``x`` rises and all are finite."""

    x: Float64
    value: Float64
    smooth: Float64


def make_baseline(curve: Curve) -> Baseline:
    """Of several points at one place on the axis the last counts."""
    if curve.rises and not curve.survey.odd_count and (curve.x[1:] != curve.x[:-1]).all():
        return Baseline(curve.x, curve.value, curve.smooth)
    order = np.argsort(curve.x, kind="stable")
    order = order[np.isfinite(curve.value[order])]
    x = curve.x[order]
    kept = curve.take(order[np.append(x[1:] != x[:-1], True)[: len(x)]])
    return Baseline(kept.x, kept.value, kept.smooth)


def compare(curve: Curve, base: Baseline | None, mode: Mode) -> Curve:
    """A curve less, or divided by, the baseline; only where that has values to compare with.

    Smoothed values are compared with smoothed ones.
    """
    if base is None or not len(base.x):
        return curve.take(slice(0, 0))
    within = curve.take(curve.find_rows(base.x[0], base.x[-1]))
    value = _set_against(within.value, np.interp(within.x, base.x, base.value), mode)
    smooth = value
    if within.smooth is not within.value or base.smooth is not base.value:
        smooth = _set_against(within.smooth, np.interp(within.x, base.x, base.smooth), mode)
    return replace(within, value=value, smooth=smooth)


def _set_against(value: Float64, base: Float64, mode: Mode) -> Float64:
    return value - base if mode == "difference" else value / base
