"""A series as it is looked at: the columns that a chart is drawn from."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from tracklight.index.axes import Axis
from tracklight.index.loops import loops
from tracklight.types import Float64, Int64, Series

#: How many places of values that are not finite are told.
MOST_ODD = 50

#: Some rows of a curve.
Rows = slice | Int64


@dataclass(frozen=True)
class Survey:
    """Rows of a curve: the lowest and the highest, and the first of those that are not finite."""

    lowest: int | None
    highest: int | None
    odd: Int64
    odd_count: int


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
    smooth: Float64
    """``value`` itself where nothing is smoothed."""
    rises: bool
    """Whether ``x`` never falls."""
    since: float
    """When the first point of the series was written."""
    axis: Axis = field(repr=False)

    def __len__(self) -> int:
        return len(self.x)

    @cached_property
    def survey(self) -> Survey:
        return survey(self.value)

    def find_rows(self, start: float | None, stop: float | None) -> Rows:
        """Which rows lie in a range, its ends included."""
        if self.rises:
            first = 0 if start is None else int(self.x.searchsorted(start, side="left"))
            end = len(self) if stop is None else int(self.x.searchsorted(stop, side="right"))
            return slice(first, max(first, end))
        low = -np.inf if start is None else start
        high = np.inf if stop is None else stop
        return np.flatnonzero((self.x >= low) & (self.x <= high))

    def take(self, rows: Rows) -> Curve:
        """Some rows, in the order told."""
        x, value = self.x[rows], self.value[rows]
        smooth = value if self.smooth is self.value else self.smooth[rows]
        return replace(
            self,
            step=self.step[rows],
            wall_time=self.wall_time[rows],
            x=x,
            value=value,
            smooth=smooth,
            rises=self.rises if isinstance(rows, slice) else loops.rises(x),
        )


def survey(value: Float64) -> Survey:
    odd = np.empty(MOST_ODD, np.int64)
    lowest, highest, count = loops.survey(value, odd)
    low, high = (lowest, highest) if lowest >= 0 else (None, None)
    return Survey(low, high, odd[: min(count, MOST_ODD)], count)
