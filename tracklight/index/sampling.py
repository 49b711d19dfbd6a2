"""Points of a curve that a table tells of: the nearest to a place, the ends of a range."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tracklight.index.loops import loops
from tracklight.index.series_query import Curve, compute_stats, make_baseline
from tracklight.types import Float64


class CurvePoint(NamedTuple):
    """One point of a curve."""

    step: int
    wall_time: float
    relative_s: float
    """Since the first point of the series."""
    x: float
    value: float
    smoothed: float


class RangeStats(NamedTuple):
    """The points of a curve in a range; extremes and mean are those of its finite values."""

    points: int
    first: CurvePoint
    last: CurvePoint
    lowest: CurvePoint | None
    highest: CurvePoint | None
    mean: float | None


def find_point(curve: Curve, row: int | None) -> CurvePoint | None:
    return None if row is None else get_point(curve, row)


def get_point(curve: Curve, row: int) -> CurvePoint:
    wall = float(curve.wall_time[row])
    return CurvePoint(
        int(curve.step[row]),
        wall,
        wall - curve.start_wall,
        float(curve.x[row]),
        float(curve.value[row]),
        float(curve.smoothed[row]),
    )


@dataclass(frozen=True, slots=True)
class NearestPointView:
    """Sees the point that is nearest to a place on the axis; of two, the earlier one."""

    x: float

    def __call__(self, curve: Curve) -> CurvePoint | None:
        return get_point(curve, self._find(curve)) if len(curve) else None

    def _find(self, curve: Curve) -> int:
        if not curve.is_sorted:
            return int(np.argmin(np.abs(curve.x - self.x)))
        after = int(np.searchsorted(curve.x, self.x))
        near = range(max(0, after - 1), min(len(curve), after + 1))
        return min(near, key=lambda row: abs(float(curve.x[row]) - self.x))


@dataclass(frozen=True, slots=True)
class RangeStatsView:
    """Sees a range of a curve, its ends included, in a few numbers."""

    start: float | None = None
    stop: float | None = None

    def __call__(self, curve: Curve) -> RangeStats | None:
        inside = curve.take(curve.select_rows(self.start, self.stop))
        if not len(inside):
            return None
        seen = compute_stats(inside.value)
        return RangeStats(
            len(inside),
            get_point(inside, 0),
            get_point(inside, len(inside) - 1),
            find_point(inside, seen.lowest),
            find_point(inside, seen.highest),
            _mean(inside, seen.nonfinite_count),
        )


def _mean(curve: Curve, odd: int) -> float | None:
    if odd == len(curve):
        return None
    value = curve.value[np.isfinite(curve.value)] if odd else curve.value
    return float(value.mean())


# How long curves are, and how far they reach: what is known before columns are laid out.


class Extent(NamedTuple):
    """How many points of a curve lie in a range, and from where to where on the axis."""

    points: int
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class ExtentView:
    """Sees the part of a curve that lies in a range."""

    start: float | None = None
    stop: float | None = None

    def __call__(self, curve: Curve) -> Extent:
        x = curve.x[curve.select_rows(self.start, self.stop)]
        if not len(x):
            return Extent(0, np.inf, -np.inf)
        low, high = (x[0], x[-1]) if curve.is_sorted else (x.min(), x.max())
        return Extent(len(x), float(low), float(high))


def merge_extents(extents: Iterable[Extent]) -> tuple[float, float] | None:
    """From where to where several curves reach together."""
    filled = [extent for extent in extents if extent.points]
    if not filled:
        return None
    return min(extent.low for extent in filled), max(extent.high for extent in filled)


# Curves at the same places of the axis, so that several runs can be put together as one band.


class ResampledCurve(NamedTuple):
    """A row each, NaN where a curve does not reach."""

    value: Float64
    low: Float64
    high: Float64
    """Extremes of the curve around each place, so that none is lost between two of them; the value
    itself where they were not asked for."""


@dataclass(frozen=True, slots=True)
class SampleGridView:
    """Sees where a curve has points, by ``most`` of them, spread over a range."""

    start: float
    stop: float
    max_points: int

    def __call__(self, curve: Curve) -> Float64:
        x = curve.x[curve.select_rows(self.start, self.stop)]
        x = x if curve.is_sorted else np.sort(x)
        return _drop_repeats(pick_evenly(x, self.start, self.stop, self.max_points))


def merge_sample_grids(
    grids: Iterable[Float64], start: float, stop: float, max_points: int
) -> Float64:
    """The places of all curves if these are few, else ``most`` of them, spread over the range."""
    different = {one.tobytes(): one for one in grids}  # runs mostly log at the same steps
    together = np.concatenate([np.empty(0), *different.values()])
    return pick_evenly(_drop_repeats(np.sort(together)), start, stop, max_points)


def pick_evenly(x: Float64, start: float, stop: float, max_points: int) -> Float64:
    """At most ``most`` values of a column that rises: those that first reach even places.

    Values that are there, rather than even ones between them: halfway between two noisy points
    the noise is less, and a band over such places would be too narrow.
    """
    if len(x) <= max_points:
        return x
    rows = np.searchsorted(x, np.linspace(start, stop, max_points))
    chosen: Float64 = x[np.minimum(rows, len(x) - 1)]
    return _drop_repeats(chosen)


def _drop_repeats(x: Float64) -> Float64:
    """Each value of a column that rises once; `np.unique` would sort it first."""
    chosen: Float64 = x[np.append(True, x[1:] != x[:-1])[: len(x)]]
    return chosen


@dataclass(frozen=True, slots=True)
class ResampledView:
    """Sees a curve at some places, at least one and in order: between two points on a line."""

    grid: Float64
    with_extremes: bool = False
    """Whether those of the curve around each place are wanted as well."""

    def __call__(self, curve: Curve) -> ResampledCurve:
        base = make_baseline(curve)
        if not len(base.x):
            nothing = np.full(len(self.grid), np.nan)
            return ResampledCurve(nothing, nothing, nothing)
        value = np.interp(self.grid, base.x, base.smoothed, left=np.nan, right=np.nan)
        if not self.with_extremes:
            return ResampledCurve(value, value, value)
        low, high = self._find_extremes(base.x, base.smoothed)
        return ResampledCurve(value, np.fmin(value, low), np.fmax(value, high))

    def _find_extremes(self, x: Float64, value: Float64) -> tuple[Float64, Float64]:
        """Each place stands for what is nearer to it than to any other."""
        between = 0.5 * (self.grid[1:] + self.grid[:-1])
        edges = np.concatenate([self.grid[:1], between, self.grid[-1:]])
        inside = slice(*np.searchsorted(x, [edges[0], np.nextafter(edges[-1], np.inf)]))
        out = np.empty((4, len(self.grid)))
        loops.reduce(x[inside], value[inside], value[inside], edges, out)
        return out[2], out[3]
