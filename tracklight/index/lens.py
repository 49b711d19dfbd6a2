"""A lens: how series are looked at. Everything a chart shows of a series is seen through one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Protocol, TypeVar

import numpy as np

from tracklight.errors import UsageError
from tracklight.index.axes import first_time, follows_steps, is_axis, make_axis, metric_of, nowhere
from tracklight.index.baseline import Baseline, Mode, compare
from tracklight.index.curve import Curve, survey
from tracklight.index.loops import loops
from tracklight.index.smoothing import Smoothing, smooth
from tracklight.types import Float64, Int64, Series

SeenT = TypeVar("SeenT")
SeenT_co = TypeVar("SeenT_co", covariant=True)


@dataclass(frozen=True, slots=True)
class Lens:
    """The horizontal axis, smoothing, and what series are compared with."""

    axis: str = "step"
    smoothing: Smoothing | None = None
    baselines: Mapping[str, Baseline] | None = None
    """By tag; what has none to be compared with has no points."""
    mode: Mode = "difference"

    def __post_init__(self) -> None:
        if not is_axis(self.axis):
            raise UsageError(
                f'"{self.axis}" is no axis: step, relative_step, relative, wall, index, metric:TAG'
            )

    @property
    def metric(self) -> str | None:
        """The tag that stands on the axis, if one does."""
        return metric_of(self.axis)


class View(Protocol[SeenT_co]):
    """What is wanted of a curve; plain frozen values, so that a shard may be in another process."""

    def __call__(self, curve: Curve, /) -> SeenT_co: ...


def see(series: Series, lens: Lens, view: View[SeenT], metric: Series | None = None) -> SeenT:
    """What a view shows of a series through a lens; see `look` for the metric.

    Logs hold numbers of any size. What is too large to compute with becomes infinite or NaN,
    which all of this knows how to handle.
    """
    with np.errstate(all="ignore"):
        return view(look(series, lens, metric))


def look(series: Series, lens: Lens, metric: Series | None = None) -> Curve:
    """A series through a lens; ``metric`` is the tag of its run that stands on the axis."""
    current = _in_order(series.current())
    metric = None if metric is None else _in_order(metric.current())
    value = np.ascontiguousarray(current.value, np.float64)
    smoothed = _smooth(value, current.step, lens.smoothing)
    axis = make_axis(lens.axis, current, metric) if len(current) else nowhere
    x = axis(current.step, current.wall_time)
    in_order = follows_steps(lens.axis) or loops.rises(x)
    columns = current.step, current.wall_time, x, value, smoothed
    curve = Curve(series, *columns, in_order, first_time(current), axis)
    if not (curve.rises and _ends_are_finite(x)):
        curve = _arrange(curve, scatter=metric is not None)
    if lens.baselines is not None:
        curve = compare(curve, lens.baselines.get(series.tag), lens.mode)
    return curve


def _in_order(current: Series) -> Series:
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
    seen = survey(value)
    return seen.lowest is None or bool(value[seen.lowest] == value[seen.highest])


def _ends_are_finite(x: Float64) -> bool:
    """All of a column that never falls is finite if its ends are."""
    return not len(x) or bool(np.isfinite(x[0]) and np.isfinite(x[-1]))


def _arrange(curve: Curve, *, scatter: bool) -> Curve:
    """Leave out points that have no place on the axis; on an axis of time, follow it."""
    rows = np.flatnonzero(np.isfinite(curve.x))
    if not scatter:
        rows = rows[np.argsort(curve.x[rows], kind="stable")]
    return curve.take(rows)
