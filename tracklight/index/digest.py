"""A series in a few numbers: what a table of runs and an alert need to know of it."""

from __future__ import annotations

import numpy as np

from tracklight.types import Digest, Point, Series


def digest(series: Series) -> Digest:
    """Last, lowest and highest of the points that were not overwritten."""
    one = series.current()
    if not len(one):
        return Digest(0, None, None, None)
    finite = np.flatnonzero(np.isfinite(one.value))
    if not len(finite):
        return Digest(len(one), _point(one, _find_last(one)), None, None)
    values = one.value[finite]
    low, high = int(finite[np.argmin(values)]), int(finite[np.argmax(values)])
    return Digest(len(one), _point(one, _find_last(one)), _point(one, low), _point(one, high))


def _find_last(one: Series) -> int:
    """The row of the highest step; workers that write side by side may end with a lower one."""
    end = len(one) - 1
    return end - int(np.argmax(one.step[::-1])) if one.step[end] < one.step.max() else end


def _point(one: Series, at: int) -> Point:
    return Point(int(one.step[at]), float(one.wall_time[at]), float(one.value[at]))
