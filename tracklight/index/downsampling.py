"""Views of curves: pixels of a chart, the nearest point, ranges, extents and resampled values.

All curves of a chart share the same pixel columns. A short line is sent with all its points; of a
longer one, the last value and the extremes of each column are sent, which draws the same pixels.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable
from typing import NamedTuple

import msgspec
import numpy as np

from tracklight.index import loops
from tracklight.index.series_query import Curve, Rows, compute_stats, make_baseline
from tracklight.types import Float32, Float64, Int64, Series

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


class NearestPointView(msgspec.Struct, frozen=True):
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


class RangeStatsView(msgspec.Struct, frozen=True):
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


class ExtentView(msgspec.Struct, frozen=True):
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


class SampleGridView(msgspec.Struct, frozen=True):
    """Return at most ``max_points`` values of x of a curve, evenly distributed over a range."""

    start: float
    stop: float
    max_points: int

    def __call__(self, curve: Curve) -> Float64:
        return self.pick(curve.x if curve.is_sorted else np.sort(curve.x))

    def pick(self, x: Float64) -> Float64:
        """Do the same with a sorted column."""
        x = x[slice(*x.searchsorted([self.start, np.nextafter(self.stop, np.inf)]))]
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


class ResampledView(msgspec.Struct, frozen=True):
    """Interpolate the smoothed values of a curve linearly on a sorted, non-empty grid."""

    grid: Float64
    with_extremes: bool = False
    """Also return the extremes of the curve around each grid point."""

    def __call__(self, curve: Curve) -> ResampledCurve:
        base = make_baseline(curve)
        return self.resample(base.x, base.smoothed)

    def resample(self, x: Float64, value: Float64) -> ResampledCurve:
        """Do the same with sorted columns without repeated x."""
        if not len(x):
            empty = np.full(len(self.grid), np.nan)
            return ResampledCurve(empty, empty, empty)
        sampled = np.interp(self.grid, x, value, left=np.nan, right=np.nan)
        if not self.with_extremes:
            return ResampledCurve(sampled, sampled, sampled)
        low, high = self._compute_extremes(x, value)
        return ResampledCurve(sampled, np.fmin(sampled, low), np.fmax(sampled, high))

    def _compute_extremes(self, x: Float64, value: Float64) -> tuple[Float64, Float64]:
        """Return the extremes of the points that are nearest to each grid point."""
        midpoints = 0.5 * (self.grid[1:] + self.grid[:-1])
        edges = np.concatenate([self.grid[:1], midpoints, self.grid[-1:]])
        inside = slice(*np.searchsorted(x, [edges[0], np.nextafter(edges[-1], np.inf)]))
        out = np.empty((4, len(self.grid)))
        loops.reduce(x[inside], value[inside], value[inside], edges, out)
        return out[2], out[3]


# ---- pixels of a chart

#: Overwritten parts of a series that are shown; of more, the last ones.
MAX_OVERWRITTEN_PARTS = 100

#: A float32 column must be able to represent this many levels between its extremes.
_MIN_LEVELS = 4096
_MAX_FLOAT32 = float(np.finfo(np.float32).max)

#: Memory of a `Line` besides its columns.
_LINE_BYTES = 1500

Column = Float32 | Float64


# ---- lines of a chart


class NonFinitePoints(NamedTuple):
    """The number of non-finite values, and the first of these points."""

    total: int
    x: Float64
    step: Int64
    value: Float64


class LineColumns(NamedTuple):
    """The columns to draw; ``x`` is None if there is one value per pixel column of the chart."""

    x: Float64 | None
    smoothed: Column
    value: Column | None = None
    low: Column | None = None
    high: Column | None = None


class OverwrittenPart(NamedTuple):
    """Consecutive overwritten points, such as those after the checkpoint of a restart."""

    x: Float64
    y: Float64


class Line(msgspec.Struct, frozen=True):
    """The line of a curve in a chart; all fields but ``columns`` describe the whole curve."""

    points: int
    overwritten: int
    first: CurvePoint | None
    last: CurvePoint | None
    lowest: CurvePoint | None
    highest: CurvePoint | None
    nonfinite: NonFinitePoints
    columns: LineColumns
    overwritten_parts: tuple[OverwrittenPart, ...]


class LineView(msgspec.Struct, frozen=True):
    """Reduce a curve to the line of a chart."""

    edges: Float64
    """The edges of the pixel columns."""
    max_points: int
    """Lines with more points between the edges are reduced."""
    is_smoothed: bool = False
    """Whether the values before smoothing are returned as well."""
    line_only: bool = False
    """Return no values before smoothing and no extremes, for charts with hundreds of lines."""
    max_overwritten: int = 0
    """Overwritten points are returned as well, reduced to about this many in total."""
    is_growing: bool = False
    """Whether the edges are those of `make_growing_edges`, beyond which no line has points. Columns
    behind the last point of a line are left out, so that they do not depend on other lines."""

    def __call__(self, curve: Curve) -> Line:
        stats = curve.stats
        first, last = (0, len(curve) - 1) if len(curve) else (None, None)
        return Line(
            points=len(curve),
            overwritten=int(np.count_nonzero(curve.series.overwritten)),
            first=find_point(curve, first),
            last=find_point(curve, last),
            lowest=find_point(curve, stats.lowest),
            highest=find_point(curve, stats.highest),
            nonfinite=NonFinitePoints(
                stats.nonfinite_count,
                curve.x[stats.nonfinite],
                curve.step[stats.nonfinite],
                curve.value[stats.nonfinite],
            ),
            columns=self._make_columns(curve),
            overwritten_parts=get_overwritten_parts(curve, self.max_overwritten)
            if self.max_overwritten
            else (),
        )

    # ---- results that are kept, see `CacheableView`

    def get_lookup_keys(self) -> tuple[str, str]:
        return f"{self.settings} {self.columns}", self.settings

    def get_store_key(self, line: Line, /) -> str:
        return self.settings if self._shows_all(line) else f"{self.settings} {self.columns}"

    def accepts(self, key: str, line: Line, /) -> bool:
        """Lines with all points are valid in any range that contains them."""
        if key == self.settings:
            return self._shows_all(line)
        return not self.is_growing or line.last is None or line.last.x < self.edges[-1]

    def count_bytes(self, line: Line, /) -> int:
        columns = (column.nbytes for column in line.columns if column is not None)
        parts = (part.x.nbytes + part.y.nbytes for part in line.overwritten_parts)
        return _LINE_BYTES + sum(columns) + sum(parts)

    @property
    def settings(self) -> str:
        """A text that is the same for views that differ only in their edges."""
        return f"{self.max_points} {self.is_smoothed} {self.line_only} {self.max_overwritten}"

    @property
    def columns(self) -> str:
        """A text that is the same for views with the same columns, of which more may follow."""
        if self.is_growing:
            return f"{self.edges[0]!r} {self.edges[1]!r} growing"
        return f"{self.edges[0]!r} {self.edges[-1]!r} {len(self.edges)}"

    def _shows_all(self, line: Line) -> bool:
        if line.first is None or line.last is None:
            return True
        has_all = line.columns.x is not None and len(line.columns.x) == line.points
        is_inside = self.edges[0] <= line.first.x and line.last.x <= self.edges[-1]
        return has_all and is_inside and not line.overwritten_parts

    # ---- columns

    def _make_columns(self, curve: Curve) -> LineColumns:
        rows = curve.select_rows(self.edges[0], self.edges[-1])
        if _count_rows(rows) <= self.max_points:
            return self._make_whole_columns(curve.take(_add_neighbors(rows, len(curve))))
        inside = curve.take(rows)
        if curve.is_sorted:
            return self._make_reduced_columns(inside)
        kept = downsample_minmax(inside.smoothed, 2 * len(self.edges))
        return self._make_whole_columns(inside.take(kept))

    def _make_whole_columns(self, curve: Curve) -> LineColumns:
        value = to_float32_if_exact(curve.value)
        if not self.is_smoothed:
            return LineColumns(curve.x, value)
        smoothed = to_float32_if_exact(curve.smoothed)
        return LineColumns(curve.x, smoothed, None if self.line_only else value)

    def _make_reduced_columns(self, curve: Curve) -> LineColumns:
        edges = self.edges
        if self.is_growing:
            edges = edges[: int(edges.searchsorted(curve.x[-1], side="right")) + 1]
        columns = reduce_to_columns(curve, edges)
        ends = float(np.fmin.reduce(columns.low)), float(np.fmax.reduce(columns.high))
        smoothed = to_float32_if_visible(columns.smoothed, *ends)
        if self.line_only and self.is_smoothed:
            return LineColumns(None, smoothed)
        value = to_float32_if_visible(columns.value, *ends) if self.is_smoothed else None
        low = to_float32_if_visible(columns.low, *ends)
        high = to_float32_if_visible(columns.high, *ends)
        return LineColumns(None, smoothed, value, low, high)


def _count_rows(rows: Rows) -> int:
    return rows.stop - rows.start if isinstance(rows, slice) else len(rows)


def _add_neighbors(rows: Rows, length: int) -> Rows:
    """Add one point at each end, so that the line continues to the edges of the chart."""
    if not isinstance(rows, slice):
        return rows
    return slice(max(0, rows.start - 1), min(length, rows.stop + 1))


# ---- pixel columns


class PixelColumns(msgspec.Struct, frozen=True):
    """A curve in pixel columns; NaN for columns without a finite value."""

    smoothed: Float64
    """The last smoothed value of each column."""
    value: Float64
    """The last value of each column."""
    low: Float64
    """The lowest value of each column, before smoothing."""
    high: Float64
    """The highest value of each column, before smoothing."""


def make_edges(start: float, stop: float, width: int) -> Float64:
    """Return the edges of pixel columns between two values of x.

    Args:
        start: The lowest x.
        stop: The highest x.
        width: The number of columns.

    Example:
        >>> make_pixel_edges(0.0, 100.0, 4)
        array([  0.,  25.,  50.,  75., 100.])
    """
    stop = max(stop, float(np.nextafter(start, np.inf)))
    if stop - start == np.inf:  # avoid the overflow with half the range
        return 2 * np.linspace(0.5 * start, 0.5 * stop, width + 1)
    return np.linspace(start, stop, width + 1)


#: The width of growing columns is a power of the root of this order of two.
_GROWTH_STEPS = 8


def make_growing_edges(start: float, stop: float, width: int) -> Float64 | None:
    """Return the edges of at most ``width`` pixel columns that stay in place as ``stop`` grows.

    The width of a column depends only on the magnitude of the range, so that a larger ``stop``
    mostly adds columns and changes no others. There are up to 9 % fewer columns than ``width``.
    ``stop`` is below the last edge.

    Returns:
        The edges; None if the range is too small or too large for such columns.
    """
    per_column = (stop - start) / max(1, width - 1)
    if width < 2 or not 0 < per_column < math.inf:
        return None
    column = 2.0 ** (math.ceil(_GROWTH_STEPS * math.log2(per_column)) / _GROWTH_STEPS)
    edges = start + column * np.arange(math.floor((stop - start) / column) + 2)
    if edges[-1] <= stop:
        edges = np.append(edges, start + column * len(edges))
    # Columns may be narrower than the distance between two floating-point numbers.
    is_valid = (
        np.isfinite(edges[-1]) and len(edges) <= width + 1 and bool((np.diff(edges) > 0).all())
    )
    return edges if is_valid else None


def get_centers(edges: Float64) -> Float64:
    """Return the centers of pixel columns."""
    return edges[:-1] + 0.5 * np.diff(edges)


def reduce_to_columns(curve: Curve, edges: Float64) -> PixelColumns:
    """Reduce a sorted curve, all of it between the edges, to pixel columns."""
    out = np.empty((4, len(edges) - 1))
    loops.reduce(curve.x, curve.value, curve.smoothed, edges, out)
    return PixelColumns(*out)


def downsample_minmax(value: Float64, max_rows: int) -> Int64:
    """Return at most ``max_rows`` rows of a column: the extremes of buckets of equal size."""
    if len(value) <= max_rows:
        return np.arange(len(value))
    buckets = max(1, max_rows // 2)
    size = -(-len(value) // buckets)
    padded = np.full(buckets * size, np.nan)
    padded[: len(value)] = value
    table = padded.reshape(buckets, size)
    first = np.arange(buckets) * size
    lowest = first + np.argmin(np.where(np.isfinite(table), table, np.inf), axis=1)
    highest = first + np.argmax(np.where(np.isfinite(table), table, -np.inf), axis=1)
    rows = np.unique(np.concatenate([lowest, highest]))
    return rows[rows < len(value)]


def to_float32_if_visible(column: Float64, low: float, high: float) -> Column:
    """Convert to float32 if the loss of precision is invisible between two extremes."""
    magnitude = max(abs(low), abs(high))
    if magnitude > _MAX_FLOAT32 or magnitude * 2.0**-24 * _MIN_LEVELS > high - low > 0:
        return column
    return column.astype(np.float32)


def to_float32_if_exact(column: Float64) -> Column:
    """Convert to float32 if nothing is lost, as for most values that frameworks log.

    Args:
        column: Numbers, which may be NaN or infinite.

    Returns:
        The converted numbers, or the same array if a number would change.

    Example:
        >>> to_float32_if_exact(np.array([0.5, 0.1])).dtype
        dtype('float64')
    """
    converted = column.astype(np.float32)
    is_same = converted == column
    if is_same.all() or np.isnan(column[~is_same]).all():
        return converted
    return column


# ---- overwritten points


def get_overwritten_parts(curve: Curve, max_points: int) -> tuple[OverwrittenPart, ...]:
    """Return the overwritten points of a series on the axis of its curve.

    They are split into parts with increasing steps and reduced to about ``max_points`` in total.
    """
    parts = _split_overwritten(curve.series)[-MAX_OVERWRITTEN_PARTS:]
    points_per_part = max(2, max_points // max(1, len(parts)))
    return tuple(_make_overwritten_part(curve, rows, points_per_part) for rows in parts)


def _split_overwritten(series: Series) -> list[Int64]:
    """Return the overwritten rows, split at gaps and where steps do not increase."""
    rows = np.flatnonzero(series.overwritten)
    if not len(rows):
        return []
    is_split = (np.diff(rows) > 1) | (np.diff(series.step[rows]) <= 0)
    return np.split(rows, np.flatnonzero(is_split) + 1)


def _make_overwritten_part(curve: Curve, rows: Int64, max_points: int) -> OverwrittenPart:
    series = curve.series
    value = series.value[rows].astype(np.float64)
    x = curve.axis(series.step[rows], series.wall_time[rows])
    kept = downsample_minmax(value, max_points)
    return OverwrittenPart(x[kept], value[kept])
