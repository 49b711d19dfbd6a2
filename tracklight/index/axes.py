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

from collections.abc import Callable

import numpy as np

from tracklight.types import Float64, Int64, Series

METRIC = "metric:"

_OF_STEPS = frozenset({"step", "relative_step", "index"})
_OF_TIME = frozenset({"relative", "wall"})

#: Gives points, told by their steps and times, their place on the axis.
Axis = Callable[[Int64, Float64], Float64]


def is_axis(name: str) -> bool:
    return name in _OF_STEPS | _OF_TIME or (name.startswith(METRIC) and len(name) > len(METRIC))


def follows_steps(name: str) -> bool:
    """Whether places on the axis never fall where steps do not."""
    return name in _OF_STEPS


def metric_of(name: str) -> str | None:
    """The tag whose values stand on the axis, if it is one of these."""
    return name[len(METRIC) :] if name.startswith(METRIC) else None


def nowhere(step: Int64, wall: Float64) -> Float64:
    """The axis of a series without points, which has nothing to begin at."""
    return np.full(len(step), np.nan)


def make_axis(name: str, series: Series, metric: Series | None) -> Axis:
    """The axis of a series that has points; ``metric`` is what stands on it if not the series."""
    if metric is not None:
        return lambda step, wall: _look_up(metric, step)
    if name == "step":
        return lambda step, wall: step.astype(np.float64)
    if name == "relative_step":
        return lambda step, wall: step.astype(np.float64) - float(series.step[0])
    if name == "relative":
        return lambda step, wall: wall - first_time(series)
    if name == "wall":
        return lambda step, wall: wall
    return lambda step, wall: _count_before(series, step)


def first_time(series: Series) -> float:
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


def _look_up(metric: Series, step: Int64) -> Float64:
    """NaN before the metric's first point."""
    at = np.searchsorted(metric.step, step, side="right") - 1
    if not len(metric):
        return np.full(len(step), np.nan)
    return np.where(at < 0, np.nan, metric.value.astype(np.float64)[at])
