"""Views that read points and statistics from curves: nearest point, ranges, extents, resampling."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tracklight.index.loops import loops
from tracklight.index.series_query import Curve, compute_stats, make_baseline
from tracklight.types import Float64

# ---- single points and statistics of a range


class CurvePoint(NamedTuple):
    """One point of a curve."""

    step: int
    wall_time: float
    relative_s: float
    """Seconds since the first point of the series."""
    x: float
    value: float
    smoothed: float


class RangeStats(NamedTuple):
    """Statistics of a range of a curve; extremes and mean ignore non-finite values."""

    points: int
    first: CurvePoint
    last: CurvePoint
    lowest: CurvePoint | None
    highest: CurvePoint | None
    mean: float | None


def find_point(curve: Curve, row: int | None) -> CurvePoint | None:
    """Return the point at a row; None if ``row`` is None."""
    return None if row is None else get_point(curve, row)


def get_point(curve: Curve, row: int) -> CurvePoint:
    """Return the point at a row."""
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
    """Return the point nearest to ``x``; of two equally near ones, the first."""

    x: float

    def __call__(self, curve: Curve) -> CurvePoint | None:
        return get_point(curve, self._get_row(curve)) if len(curve) else None

    def _get_row(self, curve: Curve) -> int:
        if not curve.is_sorted:
            return int(np.argmin(np.abs(curve.x - self.x)))
        after = int(np.searchsorted(curve.x, self.x))
        candidates = range(max(0, after - 1), min(len(curve), after + 1))
        return min(candidates, key=lambda row: abs(float(curve.x[row]) - self.x))


@dataclass(frozen=True, slots=True)
class RangeStatsView:
    """Return statistics of the points with ``start <= x <= stop``; None if there are none."""

    start: float | None = None
    stop: float | None = None

    def __call__(self, curve: Curve) -> RangeStats | None:
        inside = curve.take(curve.select_rows(self.start, self.stop))
        if not len(inside):
            return None
        stats = compute_stats(inside.value)
        return RangeStats(
            points=len(inside),
            first=get_point(inside, 0),
            last=get_point(inside, len(inside) - 1),
            lowest=find_point(inside, stats.lowest),
            highest=find_point(inside, stats.highest),
            mean=_compute_mean(inside, stats.nonfinite_count),
        )


def _compute_mean(curve: Curve, nonfinite_count: int) -> float | None:
    if nonfinite_count == len(curve):
        return None
    value = curve.value[np.isfinite(curve.value)] if nonfinite_count else curve.value
    return float(value.mean())


# ---- extents, to choose the pixel columns of a chart


class Extent(NamedTuple):
    """The number of points of a curve in a range, and their lowest and highest x."""

    points: int
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class ExtentView:
    """Return the extent of the points with ``start <= x <= stop``."""

    start: float | None = None
    stop: float | None = None

    def __call__(self, curve: Curve) -> Extent:
        x = curve.x[curve.select_rows(self.start, self.stop)]
        if not len(x):
            return Extent(0, np.inf, -np.inf)
        low, high = (x[0], x[-1]) if curve.is_sorted else (x.min(), x.max())
        return Extent(len(x), float(low), float(high))

    def get_lookup_keys(self) -> tuple[str]:
        return (repr(self),)

    def get_store_key(self, extent: Extent, /) -> str:
        return repr(self)

    def accepts(self, key: str, extent: Extent, /) -> bool:
        return True

    def count_bytes(self, extent: Extent, /) -> int:
        return sys.getsizeof(extent)


def merge_extents(extents: Iterable[Extent]) -> tuple[float, float] | None:
    """Return the lowest and highest x of several curves; None if all are empty."""
    nonempty = [extent for extent in extents if extent.points]
    if not nonempty:
        return None
    return min(extent.low for extent in nonempty), max(extent.high for extent in nonempty)


# ---- resampling on a common grid, to combine several runs into a band


class ResampledCurve(NamedTuple):
    """A curve on a grid; NaN outside the range of the curve."""

    value: Float64
    low: Float64
    high: Float64
    """Extremes of the curve around each grid point, so that none between two grid points is lost;
    equal to ``value`` if they were not requested."""


@dataclass(frozen=True, slots=True)
class SampleGridView:
    """Return at most ``max_points`` values of x of a curve, evenly distributed over a range."""

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
    """Merge the grids of several curves into one of at most ``max_points``."""
    distinct = {grid.tobytes(): grid for grid in grids}  # most runs log at the same steps
    merged = np.concatenate([np.empty(0), *distinct.values()])
    return pick_evenly(_drop_repeats(np.sort(merged)), start, stop, max_points)


def pick_evenly(x: Float64, start: float, stop: float, max_points: int) -> Float64:
    """Return at most ``max_points`` values of a sorted column, evenly distributed over a range.

    They are existing values instead of an exactly even grid, because interpolating between two
    noisy points reduces the noise and would make bands too narrow.
    """
    if len(x) <= max_points:
        return x
    rows = np.searchsorted(x, np.linspace(start, stop, max_points))
    picked: Float64 = x[np.minimum(rows, len(x) - 1)]
    return _drop_repeats(picked)


def _drop_repeats(x: Float64) -> Float64:
    """Return the distinct values of a sorted column, without sorting it again like `np.unique`."""
    distinct: Float64 = x[np.append(True, x[1:] != x[:-1])[: len(x)]]
    return distinct


@dataclass(frozen=True, slots=True)
class ResampledView:
    """Interpolate the smoothed values of a curve linearly on a sorted, non-empty grid."""

    grid: Float64
    with_extremes: bool = False
    """Also return the extremes of the curve around each grid point."""

    def __call__(self, curve: Curve) -> ResampledCurve:
        base = make_baseline(curve)
        if not len(base.x):
            empty = np.full(len(self.grid), np.nan)
            return ResampledCurve(empty, empty, empty)
        value = np.interp(self.grid, base.x, base.smoothed, left=np.nan, right=np.nan)
        if not self.with_extremes:
            return ResampledCurve(value, value, value)
        low, high = self._compute_extremes(base.x, base.smoothed)
        return ResampledCurve(value, np.fmin(value, low), np.fmax(value, high))

    def _compute_extremes(self, x: Float64, value: Float64) -> tuple[Float64, Float64]:
        """Return the extremes of the points that are nearest to each grid point."""
        midpoints = 0.5 * (self.grid[1:] + self.grid[:-1])
        edges = np.concatenate([self.grid[:1], midpoints, self.grid[-1:]])
        inside = slice(*np.searchsorted(x, [edges[0], np.nextafter(edges[-1], np.inf)]))
        out = np.empty((4, len(self.grid)))
        loops.reduce(x[inside], value[inside], value[inside], edges, out)
        return out[2], out[3]
