"""Reduces curves to what pixels can show, on columns shared by all curves of a chart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tracklight.index.loops import loops
from tracklight.index.sampling import CurvePoint, find_point
from tracklight.index.series_query import Curve, Rows
from tracklight.types import Float32, Float64, Int64, Series

#: A column of float32 must tell apart this many values between its lowest and its highest.
_LEVELS = 4096

_MAX_FLOAT32 = float(np.finfo(np.float32).max)


@dataclass(frozen=True, slots=True)
class PixelColumns:
    """One row of pixel columns; NaN where a column has no finite value."""

    smoothed: Float64
    value: Float64
    """The last values of each column."""
    low: Float64
    high: Float64
    """The extremes, before smoothing."""


def make_edges(start: float, stop: float, width: int) -> Float64:
    """The edges of ``width`` columns of pixels."""
    stop = max(stop, float(np.nextafter(start, np.inf)))
    if stop - start == np.inf:  # halves of any two numbers lie near enough
        return 2 * np.linspace(0.5 * start, 0.5 * stop, width + 1)
    return np.linspace(start, stop, width + 1)


def get_centers(edges: Float64) -> Float64:
    return edges[:-1] + 0.5 * np.diff(edges)


def reduce_to_columns(curve: Curve, edges: Float64) -> PixelColumns:
    """A curve that rises and lies between the edges, in the columns between them."""
    out = np.empty((4, len(edges) - 1))
    loops.reduce(curve.x, curve.value, curve.smoothed, edges, out)
    return PixelColumns(*out)


def downsample_minmax(value: Float64, max_rows: int) -> Int64:
    """At most ``most`` rows of a column, in order: the extremes of stretches of one length."""
    if len(value) <= max_rows:
        return np.arange(len(value))
    stretches = max(1, max_rows // 2)
    size = -(-len(value) // stretches)
    padded = np.full(stretches * size, np.nan)
    padded[: len(value)] = value
    table = padded.reshape(stretches, size)
    first = np.arange(stretches) * size
    lowest = first + np.argmin(np.where(np.isfinite(table), table, np.inf), axis=1)
    highest = first + np.argmax(np.where(np.isfinite(table), table, -np.inf), axis=1)
    rows = np.unique(np.concatenate([lowest, highest]))
    return rows[rows < len(value)]


def to_float32_if_visible(column: Float64, low: float, high: float) -> Float32 | Float64:
    """In half the bytes, where that still shows what lies between two ends."""
    size = max(abs(low), abs(high))
    if size > _MAX_FLOAT32 or size * 2.0**-24 * _LEVELS > high - low > 0:
        return column
    return column.astype(np.float32)


def to_float32_if_exact(column: Float64) -> Float32 | Float64:
    """In half the bytes where nothing is lost, as for most of what frameworks log."""
    small = column.astype(np.float32)
    return small if np.array_equal(small, column, equal_nan=True) else column


# Points that later ones took the place of, piece by piece.

#: A program that was restarted more often than this is told of by its last restarts.
MAX_OVERWRITTEN_PARTS = 100


class OverwrittenPart(NamedTuple):
    """What one stretch of a training logged before it was taken back."""

    x: Float64
    y: Float64


def get_overwritten_parts(curve: Curve, max_points: int) -> tuple[OverwrittenPart, ...]:
    """Pieces whose steps rise, on the curve's axis, with at most ``most`` points in all."""
    series = curve.series
    pieces = _split_overwritten(series)[-MAX_OVERWRITTEN_PARTS:]
    share = max(2, max_points // max(1, len(pieces)))
    return tuple(_make_overwritten_part(curve, rows, share) for rows in pieces)


def _split_overwritten(series: Series) -> list[Int64]:
    """Rows that were overwritten, split where they do not follow each other or steps fall."""
    rows = np.flatnonzero(series.overwritten)
    if not len(rows):
        return []
    apart = (np.diff(rows) > 1) | (np.diff(series.step[rows]) <= 0)
    return np.split(rows, np.flatnonzero(apart) + 1)


def _make_overwritten_part(curve: Curve, rows: Int64, most: int) -> OverwrittenPart:
    series = curve.series
    value = series.value[rows].astype(np.float64)
    x = curve.axis(series.step[rows], series.wall_time[rows])
    kept = downsample_minmax(value, most)
    return OverwrittenPart(x[kept], value[kept])


# A curve as a line of a chart: whole where it is short, else reduced to the pixels there are.

Column = Float32 | Float64


class NonFinitePoints(NamedTuple):
    """How many values are not finite, and where the first of them are."""

    total: int
    x: Float64
    step: Int64
    value: Float64


class LineColumns(NamedTuple):
    """What is drawn; ``x`` is None where the line stands on the columns of the chart."""

    x: Float64 | None
    smoothed: Column
    value: Column | None = None
    low: Column | None = None
    high: Column | None = None


@dataclass(frozen=True, slots=True)
class Line:
    """A curve as it is drawn, and what is told of all of it."""

    points: int
    overwritten: int
    first: CurvePoint | None
    last: CurvePoint | None
    lowest: CurvePoint | None
    highest: CurvePoint | None
    nonfinite: NonFinitePoints
    columns: LineColumns
    overwritten_parts: tuple[OverwrittenPart, ...]


@dataclass(frozen=True, slots=True)
class LineView:
    """Sees a curve as a line."""

    edges: Float64
    """Of the columns of the chart."""
    max_points: int
    """With more points than this between the edges a line is reduced."""
    is_smoothed: bool = False
    """Whether there are values before smoothing to be told beside those after it."""
    line_only: bool = False
    """Nothing but the line itself, as in a chart of hundreds."""
    with_overwritten: bool = False

    def __call__(self, curve: Curve) -> Line:
        seen = curve.stats
        first, last = (0, len(curve) - 1) if len(curve) else (None, None)
        odd = curve.take(seen.nonfinite)
        return Line(
            len(curve),
            int(np.count_nonzero(curve.series.overwritten)),
            find_point(curve, first),
            find_point(curve, last),
            find_point(curve, seen.lowest),
            find_point(curve, seen.highest),
            NonFinitePoints(seen.nonfinite_count, odd.x, odd.step, odd.value),
            self._columns(curve),
            get_overwritten_parts(curve, 2 * len(self.edges)) if self.with_overwritten else (),
        )

    def _columns(self, curve: Curve) -> LineColumns:
        rows = curve.select_rows(self.edges[0], self.edges[-1])
        if _count_rows(rows) <= self.max_points:
            return self._whole(curve.take(_add_neighbors(rows, len(curve))))
        inside = curve.take(rows)
        if curve.is_sorted:
            return self._reduced(inside)
        return self._whole(inside.take(downsample_minmax(inside.smoothed, 2 * len(self.edges))))

    def _whole(self, curve: Curve) -> LineColumns:
        value = to_float32_if_exact(curve.value)
        if not self.is_smoothed:
            return LineColumns(curve.x, value)
        return LineColumns(
            curve.x, to_float32_if_exact(curve.smoothed), None if self.line_only else value
        )

    def _reduced(self, curve: Curve) -> LineColumns:
        cells = reduce_to_columns(curve, self.edges)
        ends = float(np.fmin.reduce(cells.low)), float(np.fmax.reduce(cells.high))
        smooth = to_float32_if_visible(cells.smoothed, *ends)
        if self.line_only and self.is_smoothed:
            return LineColumns(None, smooth)
        value = to_float32_if_visible(cells.value, *ends) if self.is_smoothed else None
        return LineColumns(
            None,
            smooth,
            value,
            to_float32_if_visible(cells.low, *ends),
            to_float32_if_visible(cells.high, *ends),
        )


def _count_rows(rows: Rows) -> int:
    return rows.stop - rows.start if isinstance(rows, slice) else len(rows)


def _add_neighbors(rows: Rows, length: int) -> Rows:
    """One point more at each end, so that a line goes on beyond the edges of its chart."""
    if not isinstance(rows, slice):
        return rows
    return slice(max(0, rows.start - 1), min(length, rows.stop + 1))
