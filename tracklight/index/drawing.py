"""A curve as a line of a chart: whole where it is short, else reduced to the pixels there are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tracklight.index.curve import Curve, Rows
from tracklight.index.faded import Piece, find_faded
from tracklight.index.points import Spot, find_spot
from tracklight.index.reduction import narrow, narrow_exactly, reduce, thin
from tracklight.types import Float32, Float64, Int64

Column = Float32 | Float64


class Odd(NamedTuple):
    """How many values are not finite, and where the first of them are."""

    total: int
    x: Float64
    step: Int64
    value: Float64


class Columns(NamedTuple):
    """What is drawn; ``x`` is None where the line stands on the columns of the chart."""

    x: Float64 | None
    smooth: Column
    value: Column | None = None
    low: Column | None = None
    high: Column | None = None


@dataclass(frozen=True, slots=True)
class Line:
    """A curve as it is drawn, and what is told of all of it."""

    points: int
    overwritten: int
    first: Spot | None
    last: Spot | None
    lowest: Spot | None
    highest: Spot | None
    odd: Odd
    columns: Columns
    faded: tuple[Piece, ...]


@dataclass(frozen=True, slots=True)
class Draw:
    """Sees a curve as a line."""

    edges: Float64
    """Of the columns of the chart."""
    most_whole: int
    """With more points than this between the edges a line is reduced."""
    smoothed: bool = False
    """Whether there are values before smoothing to be told beside those after it."""
    plain: bool = False
    """Nothing but the line itself, as in a chart of hundreds."""
    overwritten: bool = False

    def __call__(self, curve: Curve) -> Line:
        seen = curve.survey
        first, last = (0, len(curve) - 1) if len(curve) else (None, None)
        odd = curve.take(seen.odd)
        return Line(
            len(curve),
            int(np.count_nonzero(curve.series.overwritten)),
            find_spot(curve, first),
            find_spot(curve, last),
            find_spot(curve, seen.lowest),
            find_spot(curve, seen.highest),
            Odd(seen.odd_count, odd.x, odd.step, odd.value),
            self._columns(curve),
            find_faded(curve, 2 * len(self.edges)) if self.overwritten else (),
        )

    def _columns(self, curve: Curve) -> Columns:
        rows = curve.find_rows(self.edges[0], self.edges[-1])
        if _count(rows) <= self.most_whole:
            return self._whole(curve.take(_with_neighbours(rows, len(curve))))
        inside = curve.take(rows)
        if curve.rises:
            return self._reduced(inside)
        return self._whole(inside.take(thin(inside.smooth, 2 * len(self.edges))))

    def _whole(self, curve: Curve) -> Columns:
        value = narrow_exactly(curve.value)
        if not self.smoothed:
            return Columns(curve.x, value)
        return Columns(curve.x, narrow_exactly(curve.smooth), None if self.plain else value)

    def _reduced(self, curve: Curve) -> Columns:
        cells = reduce(curve, self.edges)
        ends = float(np.fmin.reduce(cells.low)), float(np.fmax.reduce(cells.high))
        smooth = narrow(cells.smooth, *ends)
        if self.plain and self.smoothed:
            return Columns(None, smooth)
        value = narrow(cells.value, *ends) if self.smoothed else None
        return Columns(None, smooth, value, narrow(cells.low, *ends), narrow(cells.high, *ends))


def _count(rows: Rows) -> int:
    return rows.stop - rows.start if isinstance(rows, slice) else len(rows)


def _with_neighbours(rows: Rows, length: int) -> Rows:
    """One point more at each end, so that a line goes on beyond the edges of its chart."""
    if not isinstance(rows, slice):
        return rows
    return slice(max(0, rows.start - 1), min(length, rows.stop + 1))
