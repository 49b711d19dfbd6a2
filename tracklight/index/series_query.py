"""What stands on the horizontal axis.

``step``           as it was logged
``relative_step``  less the series' first step
``relative``       seconds since the series' first point
``wall``           seconds since 1970
``index``          how many points came before
``metric:<tag>``   the value of another tag of the run at the step, or last before it

The first point is the first that was not overwritten, and for time the first of these that has one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal, Protocol, TypeVar

import numpy as np

from tracklight.errors import UsageError
from tracklight.index.loops import loops
from tracklight.index.smoothing import Smoothing, smooth
from tracklight.types import Float64, Int64, Series

METRIC_PREFIX = "metric:"

_STEP_AXES = frozenset({"step", "relative_step", "index"})

_TIME_AXES = frozenset({"relative", "wall"})

#: Gives points, told by their steps and times, their place on the axis.
Axis = Callable[[Int64, Float64], Float64]


def is_axis(name: str) -> bool:
    return name in _STEP_AXES | _TIME_AXES or (
        name.startswith(METRIC_PREFIX) and len(name) > len(METRIC_PREFIX)
    )


def is_step_axis(name: str) -> bool:
    """Whether places on the axis never fall where steps do not."""
    return name in _STEP_AXES


def find_axis_metric(name: str) -> str | None:
    """The tag whose values stand on the axis, if it is one of these."""
    return name[len(METRIC_PREFIX) :] if name.startswith(METRIC_PREFIX) else None


def map_to_nan(step: Int64, wall: Float64) -> Float64:
    """The axis of a series without points, which has nothing to begin at."""
    return np.full(len(step), np.nan)


def make_axis(name: str, series: Series, metric: Series | None) -> Axis:
    """The axis of a series that has points; ``metric`` is what stands on it if not the series."""
    if metric is not None:
        return lambda step, wall: _interpolate_previous(metric, step)
    if name == "step":
        return lambda step, wall: step.astype(np.float64)
    if name == "relative_step":
        return lambda step, wall: step.astype(np.float64) - float(series.step[0])
    if name == "relative":
        return lambda step, wall: wall - get_first_wall_time(series)
    if name == "wall":
        return lambda step, wall: wall
    return lambda step, wall: _count_before(series, step)


def get_first_wall_time(series: Series) -> float:
    """When the first point was written that has a time; NaN if none has."""
    wall = series.wall_time
    if len(wall) and np.isfinite(wall[0]):
        return float(wall[0])
    return next(iter(wall[np.isfinite(wall)].tolist()), np.nan)


def _count_before(series: Series, step: Int64) -> Float64:
    """Points of other steps, overwritten ones, stand where they would stand in the series."""
    if step is series.step:
        return np.arange(len(step), dtype=np.float64)
    return np.searchsorted(series.step, step).astype(np.float64)


def _interpolate_previous(metric: Series, step: Int64) -> Float64:
    """NaN before the metric's first point."""
    at = np.searchsorted(metric.step, step, side="right") - 1
    if not len(metric):
        return np.full(len(step), np.nan)
    return np.where(at < 0, np.nan, metric.value.astype(np.float64)[at])


# A series as it is looked at: the columns that a chart is drawn from.

#: How many places of values that are not finite are told.
MAX_NONFINITE = 50

#: Some rows of a curve.
Rows = slice | Int64


@dataclass(frozen=True)
class CurveStats:
    """Rows of a curve: the lowest and the highest, and the first of those that are not finite."""

    lowest: int | None
    highest: int | None
    nonfinite: Int64
    nonfinite_count: int


@dataclass(frozen=True)
class Curve:
    """One series through a lens: columns of the points that were not overwritten.

    They stand in the order of ``x``, or of their steps where ``x`` is another metric.
    """

    series: Series
    """All that was logged."""
    step: Int64
    wall_time: Float64
    x: Float64
    value: Float64
    smoothed: Float64
    """``value`` itself where nothing is smoothed."""
    is_sorted: bool
    """Whether ``x`` never falls."""
    start_wall: float
    """When the first point of the series was written."""
    axis: Axis = field(repr=False)

    def __len__(self) -> int:
        return len(self.x)

    @cached_property
    def stats(self) -> CurveStats:
        return compute_stats(self.value)

    def select_rows(self, start: float | None, stop: float | None) -> Rows:
        """Which rows lie in a range, its ends included."""
        if self.is_sorted:
            first = 0 if start is None else int(self.x.searchsorted(start, side="left"))
            end = len(self) if stop is None else int(self.x.searchsorted(stop, side="right"))
            return slice(first, max(first, end))
        low = -np.inf if start is None else start
        high = np.inf if stop is None else stop
        return np.flatnonzero((self.x >= low) & (self.x <= high))

    def take(self, rows: Rows) -> Curve:
        """Some rows, in the order told."""
        x, value = self.x[rows], self.value[rows]
        smooth = value if self.smoothed is self.value else self.smoothed[rows]
        return replace(
            self,
            step=self.step[rows],
            wall_time=self.wall_time[rows],
            x=x,
            value=value,
            smoothed=smooth,
            is_sorted=self.is_sorted if isinstance(rows, slice) else loops.rises(x),
        )


def compute_stats(value: Float64) -> CurveStats:
    odd = np.empty(MAX_NONFINITE, np.int64)
    lowest, highest, count = loops.survey(value, odd)
    low, high = (lowest, highest) if lowest >= 0 else (None, None)
    return CurveStats(low, high, odd[: min(count, MAX_NONFINITE)], count)


# Compares series with one of them: the difference or the ratio, at the same place on the axis.

BaselineMode = Literal["difference", "ratio"]


@dataclass(frozen=True, slots=True)
class Baseline:
    """Columns of the series that others are compared with; ``x`` rises and all are finite."""

    x: Float64
    value: Float64
    smoothed: Float64


def make_baseline(curve: Curve) -> Baseline:
    """Of several points at one place on the axis the last counts."""
    if curve.is_sorted and not curve.stats.nonfinite_count and (curve.x[1:] != curve.x[:-1]).all():
        return Baseline(curve.x, curve.value, curve.smoothed)
    order = np.argsort(curve.x, kind="stable")
    order = order[np.isfinite(curve.value[order])]
    x = curve.x[order]
    kept = curve.take(order[np.append(x[1:] != x[:-1], True)[: len(x)]])
    return Baseline(kept.x, kept.value, kept.smoothed)


def apply_baseline(curve: Curve, base: Baseline | None, mode: BaselineMode) -> Curve:
    """A curve less, or divided by, the baseline; only where that has values to compare with.

    Smoothed values are compared with smoothed ones.
    """
    if base is None or not len(base.x):
        return curve.take(slice(0, 0))
    within = curve.take(curve.select_rows(base.x[0], base.x[-1]))
    value = _compare_values(within.value, np.interp(within.x, base.x, base.value), mode)
    smooth = value
    if within.smoothed is not within.value or base.smoothed is not base.value:
        smooth = _compare_values(within.smoothed, np.interp(within.x, base.x, base.smoothed), mode)
    return replace(within, value=value, smoothed=smooth)


def _compare_values(value: Float64, base: Float64, mode: BaselineMode) -> Float64:
    return value - base if mode == "difference" else value / base


# A lens: how series are looked at. Everything a chart shows of a series is seen through one.

ResultT = TypeVar("ResultT")

ResultT_co = TypeVar("ResultT_co", covariant=True)


@dataclass(frozen=True, slots=True)
class SeriesQuery:
    """The horizontal axis, smoothing, and what series are compared with."""

    axis: str = "step"
    smoothing: Smoothing | None = None
    baselines: Mapping[str, Baseline] | None = None
    """By tag; what has none to be compared with has no points."""
    baseline_mode: BaselineMode = "difference"

    def __post_init__(self) -> None:
        if not is_axis(self.axis):
            raise UsageError(
                f'"{self.axis}" is no axis: step, relative_step, relative, wall, index, metric:TAG'
            )

    @property
    def metric(self) -> str | None:
        """The tag that stands on the axis, if one does."""
        return find_axis_metric(self.axis)


class View(Protocol[ResultT_co]):
    """What is wanted of a curve; plain frozen values, so that a shard may be in another process."""

    def __call__(self, curve: Curve, /) -> ResultT_co: ...


def apply(
    series: Series, query: SeriesQuery, view: View[ResultT], metric: Series | None = None
) -> ResultT:
    """What a view shows of a series through a lens; see `look` for the metric.

    Logs hold numbers of any size. What is too large to compute with becomes infinite or NaN,
    which all of this knows how to handle.
    """
    with np.errstate(all="ignore"):
        return view(compute_curve(series, query, metric))


def compute_curve(series: Series, query: SeriesQuery, metric: Series | None = None) -> Curve:
    """A series through a lens; ``metric`` is the tag of its run that stands on the axis."""
    current = _sort_by_step(series.without_overwritten())
    metric = None if metric is None else _sort_by_step(metric.without_overwritten())
    value = np.ascontiguousarray(current.value, np.float64)
    smoothed = _smooth(value, current.step, query.smoothing)
    axis = make_axis(query.axis, current, metric) if len(current) else map_to_nan
    x = axis(current.step, current.wall_time)
    in_order = is_step_axis(query.axis) or loops.rises(x)
    columns = current.step, current.wall_time, x, value, smoothed
    curve = Curve(series, *columns, in_order, get_first_wall_time(current), axis)
    if not (curve.is_sorted and _ends_are_finite(x)):
        curve = _drop_and_sort(curve, scatter=metric is not None)
    if query.baselines is not None:
        curve = apply_baseline(curve, query.baselines.get(series.tag), query.baseline_mode)
    return curve


def _sort_by_step(current: Series) -> Series:
    """By step: workers that wrote side by side did not take turns."""
    if loops.rises(current.step):
        return current
    order = np.argsort(current.step, kind="stable")
    return replace(
        current,
        step=current.step[order],
        wall_time=current.wall_time[order],
        value=current.value[order],
        overwritten=current.overwritten[order],
    )


def _smooth(value: Float64, step: Int64, how: Smoothing | None) -> Float64:
    if how is None or not len(value) or _is_constant(value):
        return value
    return smooth(value, step, how)


def _is_constant(value: Float64) -> bool:
    """What never changes is not smoothed, so that it stays as it is to the last digit."""
    first, last = value[0], value[-1]
    if first != last and np.isfinite(first) and np.isfinite(last):
        return False
    seen = compute_stats(value)
    return seen.lowest is None or bool(value[seen.lowest] == value[seen.highest])


def _ends_are_finite(x: Float64) -> bool:
    """All of a column that never falls is finite if its ends are."""
    return not len(x) or bool(np.isfinite(x[0]) and np.isfinite(x[-1]))


def _drop_and_sort(curve: Curve, *, scatter: bool) -> Curve:
    """Leave out points that have no place on the axis; on an axis of time, follow it."""
    rows = np.flatnonzero(np.isfinite(curve.x))
    if not scatter:
        rows = rows[np.argsort(curve.x[rows], kind="stable")]
    return curve.take(rows)
