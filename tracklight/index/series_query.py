"""Queries on scalar series: x axis, smoothing and comparison with a baseline.

Applying a `SeriesQuery` to a series gives a `Curve`, the columns from which everything in a chart
is computed. A `View` then computes a result from the curve: see `tracklight.index.downsampling`.

Names of x axes:

``step``           the logged step
``relative_step``  steps since the first step of the series
``relative``       seconds since the first point of the series
``wall``           seconds since 1970
``index``          the number of points before
``metric:<tag>``   the value of another tag of the run at the same step, or the last one before

The first point is the first one that was not overwritten; for time, the first with a finite time.

Kinds of smoothing, which apply to all points, before the series is downsampled:

``ema``       exponential moving average with bias correction, as in TensorBoard
``time_ema``  exponential moving average in which a point's weight halves every ``amount`` steps
``mean``      mean of a centered window of ``amount`` points, fewer at the ends
``median``    median of such a window
``gaussian``  Gaussian kernel with a standard deviation of ``amount`` points
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, Protocol, TypeVar, runtime_checkable

import msgspec
import numpy as np

from tracklight.errors import UsageError
from tracklight.index import loops
from tracklight.types import Bool, Float64, Int64, Series

# ---- smoothing

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


# ---- queries

METRIC_PREFIX = "metric:"

#: How many non-finite values are reported one by one.
MAX_NONFINITE = 50

_STEP_AXES = frozenset({"step", "relative_step", "index"})
_TIME_AXES = frozenset({"relative", "wall"})

#: Maps steps and wall times of points to x.
Axis = Callable[[Int64, Float64], Float64]

BaselineMode = Literal["difference", "ratio"]

#: A selection of rows of a curve.
Rows = slice | Int64

ResultT = TypeVar("ResultT")
ResultT_co = TypeVar("ResultT_co", covariant=True)


@dataclass(frozen=True, slots=True)
class SeriesQuery:
    """The x axis, smoothing, and the baselines that series are compared with.

    Raises:
        UsageError: There is no such axis.

    Example:
        >>> query = SeriesQuery("relative", Smoothing("ema", 0.9))
        >>> catalog.query([("train", "loss")], query, RangeStatsView())
    """

    axis: str = "step"
    smoothing: Smoothing | None = None
    baselines: Mapping[str, Baseline] | None = None
    """Baselines by tag; curves of other tags are then empty."""
    baseline_mode: BaselineMode = "difference"

    def __post_init__(self) -> None:
        if not is_axis(self.axis):
            raise UsageError(
                "scalars.unknown_axis",
                'unknown axis "{axis}"; use step, relative_step, relative, wall, '
                "index or metric:TAG",
                axis=self.axis,
            )

    @property
    def metric(self) -> str | None:
        """The tag on the x axis, if the axis is a metric."""
        return find_axis_metric(self.axis)


class View(Protocol[ResultT_co]):
    """A computation on a curve.

    Views and their results are frozen values, so that they could be sent to another process.
    """

    def __call__(self, curve: Curve, /) -> ResultT_co: ...


@runtime_checkable
class CacheableView(Protocol):
    """A view whose results are kept until the run changes, for the next request of a live chart."""

    def get_lookup_keys(self) -> Sequence[str]:
        """Return the keys under which a result may have been stored."""

    def get_store_key(self, result: Any, /) -> str:
        """Return the key under which to store a result."""

    def accepts(self, key: str, result: Any, /) -> bool:
        """Return whether this view would compute the result that is stored under a key."""

    def count_bytes(self, result: Any, /) -> int:
        """Return the memory of a result."""


def apply(
    series: Series, query: SeriesQuery, view: View[ResultT], metric: Series | None = None
) -> ResultT:
    """Compute the curve of a series and apply a view to it.

    Logs contain numbers of any size. Results that are too large become infinite or NaN, which all
    views handle, so NumPy's warnings are disabled.

    Args:
        series: The series.
        query: The query.
        view: Computes the result.
        metric: The series on the x axis, if ``query.metric`` is not None.
    """
    with np.errstate(all="ignore"):
        return view(compute_curve(series, query, metric))


def compute_curve(series: Series, query: SeriesQuery, metric: Series | None = None) -> Curve:
    """Compute the curve of a series; see `apply` for the arguments."""
    current = _sort_by_step(series.without_overwritten())
    metric = None if metric is None else _sort_by_step(metric.without_overwritten())
    value = np.ascontiguousarray(current.value, np.float64)
    smoothed = _smooth(value, current.step, query.smoothing)
    axis = make_axis(query.axis, current, metric) if len(current) else map_to_nan
    x = axis(current.step, current.wall_time)
    curve = Curve(
        series=series,
        step=current.step,
        wall_time=current.wall_time,
        x=x,
        value=value,
        smoothed=smoothed,
        is_sorted=is_step_axis(query.axis) or loops.is_sorted(x),
        start_wall=get_first_wall_time(current),
        axis=axis,
    )
    if not (curve.is_sorted and _has_finite_ends(x)):
        curve = _drop_and_sort(curve, is_metric=metric is not None)
    if query.baselines is not None:
        curve = apply_baseline(curve, query.baselines.get(series.tag), query.baseline_mode)
    return curve


def _sort_by_step(series: Series) -> Series:
    """Sort points that workers wrote at the same time."""
    if loops.is_sorted(series.step):
        return series
    order = np.argsort(series.step, kind="stable")
    return replace(
        series,
        step=series.step[order],
        wall_time=series.wall_time[order],
        value=series.value[order],
        overwritten=series.overwritten[order],
    )


def _smooth(value: Float64, step: Int64, smoothing: Smoothing | None) -> Float64:
    if smoothing is None or not len(value) or _is_constant(value):
        return value
    return smooth(value, step, smoothing)


def _is_constant(value: Float64) -> bool:
    """Constant series are not smoothed, because rounding would change their last digits."""
    first, last = value[0], value[-1]
    if first != last and np.isfinite(first) and np.isfinite(last):
        return False
    stats = compute_stats(value)
    return stats.lowest is None or bool(value[stats.lowest] == value[stats.highest])


def _has_finite_ends(x: Float64) -> bool:
    """If the ends of a sorted column are finite, all of it is."""
    return not len(x) or bool(np.isfinite(x[0]) and np.isfinite(x[-1]))


def _drop_and_sort(curve: Curve, *, is_metric: bool) -> Curve:
    """Drop points without a finite x; sort by x, unless x is a metric."""
    rows = np.flatnonzero(np.isfinite(curve.x))
    if not is_metric:
        rows = rows[np.argsort(curve.x[rows], kind="stable")]
    return curve.take(rows)


# ---- curves


class CurveStats(msgspec.Struct, frozen=True):
    """Rows with the lowest and highest value, and the first rows with a non-finite value."""

    lowest: int | None
    highest: int | None
    nonfinite: Int64
    nonfinite_count: int


@dataclass(frozen=True)
class Curve:
    """The columns of a series after a query, without overwritten points.

    Points are sorted by ``x``, or by step if ``x`` is a metric.
    """

    series: Series
    """The series as logged, including overwritten points."""
    step: Int64
    wall_time: Float64
    x: Float64
    value: Float64
    smoothed: Float64
    """The same array as ``value`` if there is no smoothing."""
    is_sorted: bool
    """Whether ``x`` never decreases."""
    start_wall: float
    """The wall time of the first point of the series."""
    axis: Axis = field(repr=False)

    def __len__(self) -> int:
        return len(self.x)

    @cached_property
    def stats(self) -> CurveStats:
        return compute_stats(self.value)

    def select_rows(self, start: float | None, stop: float | None) -> Rows:
        """Return the rows with ``start <= x <= stop``; None leaves an end open."""
        if self.is_sorted:
            first = 0 if start is None else int(self.x.searchsorted(start, side="left"))
            end = len(self) if stop is None else int(self.x.searchsorted(stop, side="right"))
            return slice(first, max(first, end))
        low = -np.inf if start is None else start
        high = np.inf if stop is None else stop
        return np.flatnonzero((self.x >= low) & (self.x <= high))

    def take(self, rows: Rows) -> Curve:
        """Return a curve of some rows, in the given order."""
        if isinstance(rows, slice) and rows == slice(0, len(self)):
            return self
        x, value = self.x[rows], self.value[rows]
        smoothed = value if self.smoothed is self.value else self.smoothed[rows]
        # `replace` would take several times as long.
        return Curve(
            series=self.series,
            step=self.step[rows],
            wall_time=self.wall_time[rows],
            x=x,
            value=value,
            smoothed=smoothed,
            is_sorted=self.is_sorted if isinstance(rows, slice) else loops.is_sorted(x),
            start_wall=self.start_wall,
            axis=self.axis,
        )


def compute_stats(value: Float64) -> CurveStats:
    """Find the extremes and the non-finite values of a column."""
    nonfinite = np.empty(MAX_NONFINITE, np.int64)
    lowest, highest, count = loops.locate_extremes(value, nonfinite)
    has_finite = lowest >= 0
    return CurveStats(
        lowest=lowest if has_finite else None,
        highest=highest if has_finite else None,
        nonfinite=nonfinite[: min(count, MAX_NONFINITE)],
        nonfinite_count=count,
    )


# ---- axes


def is_axis(name: str) -> bool:
    """Return whether there is an axis of this name."""
    return name in _STEP_AXES | _TIME_AXES or (
        name.startswith(METRIC_PREFIX) and len(name) > len(METRIC_PREFIX)
    )


def is_step_axis(name: str) -> bool:
    """Return whether x never decreases if the steps do not."""
    return name in _STEP_AXES


def find_axis_metric(name: str) -> str | None:
    """Return the tag of a ``metric:<tag>`` axis."""
    return name[len(METRIC_PREFIX) :] if name.startswith(METRIC_PREFIX) else None


def make_axis(name: str, series: Series, metric: Series | None) -> Axis:
    """Return the axis of a series with at least one point.

    Args:
        name: The name of the axis.
        series: The series, sorted by step.
        metric: The series on the axis, if it is a metric.
    """
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


def map_to_nan(step: Int64, wall: Float64) -> Float64:
    """Map to NaN: the axis of a series without points, which has no origin."""
    return np.full(len(step), np.nan)


def get_first_wall_time(series: Series) -> float:
    """Return the first finite wall time of a series; NaN if there is none."""
    wall = series.wall_time
    if len(wall) and np.isfinite(wall[0]):
        return float(wall[0])
    return next(iter(wall[np.isfinite(wall)].tolist()), np.nan)


def _count_before(series: Series, step: Int64) -> Float64:
    """Return how many points of the series are before each step."""
    if step is series.step:
        return np.arange(len(step), dtype=np.float64)
    return np.searchsorted(series.step, step).astype(np.float64)


def _interpolate_previous(metric: Series, step: Int64) -> Float64:
    """Return the last value of a metric up to each step; NaN before its first point."""
    rows = np.searchsorted(metric.step, step, side="right") - 1
    if not len(metric):
        return np.full(len(step), np.nan)
    return np.where(rows < 0, np.nan, metric.value.astype(np.float64)[rows])


# ---- baselines


class Baseline(msgspec.Struct, frozen=True):
    """The curve that others are compared with; ``x`` increases and all values are finite."""

    x: Float64
    value: Float64
    smoothed: Float64


def make_baseline(curve: Curve) -> Baseline:
    """Sort a curve by x and drop non-finite values; of several points at one x, keep the last."""
    is_finite = not curve.stats.nonfinite_count
    if curve.is_sorted and is_finite and (curve.x[1:] != curve.x[:-1]).all():
        return Baseline(curve.x, curve.value, curve.smoothed)
    order = np.argsort(curve.x, kind="stable")
    order = order[np.isfinite(curve.value[order])]
    x = curve.x[order]
    kept = curve.take(order[np.append(x[1:] != x[:-1], True)[: len(x)]])
    return Baseline(kept.x, kept.value, kept.smoothed)


def apply_baseline(curve: Curve, baseline: Baseline | None, mode: BaselineMode) -> Curve:
    """Return the difference or ratio of a curve to a baseline, within the range of the baseline.

    Smoothed values are compared with smoothed values. Without a baseline the result is empty.
    """
    if baseline is None or not len(baseline.x):
        return curve.take(slice(0, 0))
    inside = curve.take(curve.select_rows(baseline.x[0], baseline.x[-1]))
    base = np.interp(inside.x, baseline.x, baseline.value)
    value = smoothed = _compare_values(inside.value, base, mode)
    if inside.smoothed is not inside.value or baseline.smoothed is not baseline.value:
        base = np.interp(inside.x, baseline.x, baseline.smoothed)
        smoothed = _compare_values(inside.smoothed, base, mode)
    return replace(inside, value=value, smoothed=smoothed)


def _compare_values(value: Float64, base: Float64, mode: BaselineMode) -> Float64:
    return value - base if mode == "difference" else value / base
