"""Which histograms of a series are shown: all of a range, or some of them, evenly chosen."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from tracklight.dashboards.histograms.schemas import HistogramAxis
from tracklight.formats.values import HistogramBatch
from tracklight.types import Bool, Float64, Int64, ValueLocations

#: What is read of one series at once; of larger histograms fewer are chosen.
_MAX_SELECTED_BYTES = 64 << 20


@dataclass(frozen=True)
class HistogramSelection:
    """Places in a series, in the order of the axis, and how many there are in the range."""

    index: Int64
    x: Float64
    total: int


def select_range(
    located: ValueLocations, x: HistogramAxis, start: float | None = None, stop: float | None = None
) -> HistogramSelection:
    """Those that were not overwritten, in a range; its ends are included."""
    index = np.flatnonzero(~located.overwritten)
    place = compute_axis_values(located, index, x)
    within = np.isfinite(place)
    within &= place >= (-np.inf if start is None else start)
    within &= place <= (np.inf if stop is None else stop)
    index, place = index[within], place[within]
    order = np.argsort(place, kind="stable")
    return HistogramSelection(index[order], place[order], len(index))


def limit_selection(
    located: ValueLocations, among: HistogramSelection, most: int
) -> HistogramSelection:
    """At most so many, and of large histograms fewer."""
    if not among.total:
        return among
    size_bytes = max(1, int(located.size[among.index].mean()))
    kept = pick_evenly(among.x, max(1, min(most, _MAX_SELECTED_BYTES // size_bytes)))
    return HistogramSelection(among.index[kept], among.x[kept], among.total)


def compute_axis_values(located: ValueLocations, index: Int64, x: HistogramAxis) -> Float64:
    """Where histograms stand on the axis."""
    if x == "step":
        return located.step[index].astype(np.float64)
    wall = located.wall_time[index]
    if x == "wall":
        return wall
    known = wall[np.isfinite(wall)]
    return wall - (known[0] if len(known) else np.nan)


def pick_evenly(place: Float64, most: int) -> Int64:
    """Rows of a rising column, evenly spread along it: its ends are among them.

    Where long gaps would leave room for more, the rest is filled evenly by number.
    """
    count = len(place)
    if count <= most:
        return np.arange(count)
    if most == 1:
        return np.array([count - 1])
    wanted = np.linspace(place[0], place[-1], most)
    after = np.clip(np.searchsorted(place, wanted), 1, count - 1)
    before = after - 1
    nearest = np.where(wanted - place[before] <= place[after] - wanted, before, after)
    # Of several at one place the last one counts.
    nearest[-1] = count - 1
    kept = np.unique(nearest)
    rest = np.setdiff1d(np.arange(count), kept)
    more = np.linspace(0, len(rest) - 1, most - len(kept)).round().astype(np.int64)
    return np.union1d(kept, rest[more])


# Histograms on one grid, so that those of many steps and runs can be drawn over each other.
#
# A bucket's count is spread over the bins of the grid by how much of the bucket lies in each: what
# one would count if the numbers in a bucket lay evenly. Counts are conserved; they need not stay
# whole numbers. A bucket without width lies in one bin. The buckets as logged are the dashboard's
# route ``exact``.

#: An edge beyond it stands for no edge: old writers end their last buckets at the largest double.
_UNBOUNDED = 1e300

#: Pieces of buckets that are made at once.
MAX_PIECES = 1 << 21

#: From the least value to the greatest.
ValueRange = tuple[float, float]


def is_bounded(histograms: HistogramBatch) -> Bool:
    """The buckets that have a place on an axis: both ends are numbers, and so is the count."""
    with np.errstate(invalid="ignore"):
        ends = (np.abs(histograms.left) < _UNBOUNDED) & (np.abs(histograms.right) < _UNBOUNDED)
    placed: Bool = ends & np.isfinite(histograms.counts)
    return placed


def find_value_range(histograms: HistogramBatch) -> ValueRange | None:
    """From the least edge to the greatest of the buckets that count anything."""
    counting = is_bounded(histograms) & (histograms.counts != 0)
    if not counting.any():
        return None
    left, right = histograms.left[counting], histograms.right[counting]
    return float(min(left.min(), right.min())), float(max(left.max(), right.max()))


def find_joint_range(reaches: Iterable[ValueRange | None]) -> ValueRange | None:
    """All of them together; None where there is none."""
    known = [reach for reach in reaches if reach is not None]
    if not known:
        return None
    return min(low for low, _ in known), max(high for _, high in known)


def make_grid(low: float, high: float, bins: int) -> Float64:
    """The edges of bins of one width; numbers that are all the same get some room around them."""
    if not high > low or not math.isfinite(high - low):
        room = max(abs(low) / 10, 0.5)
        low, high = low - room, low + room
    return np.linspace(low, high, bins + 1)


def rebin(histograms: HistogramBatch, grid: Float64) -> Float64:
    """How much of each histogram lies in each bin, as a row of the table."""
    table = np.zeros((len(histograms), len(grid) - 1))
    left = np.minimum(histograms.left, histograms.right)
    right = np.maximum(histograms.left, histograms.right)
    counts = histograms.counts
    useful = is_bounded(histograms) & (counts != 0) & (right >= grid[0]) & (left <= grid[-1])
    rows, useful = histograms.histogram_ids(), np.flatnonzero(useful)
    at_once = max(1, MAX_PIECES // len(grid))
    for start in range(0, len(useful), at_once):
        some = useful[start : start + at_once]
        _add_buckets(table, grid, rows[some], left[some], right[some], counts[some])
    return table


def _add_buckets(
    table: Float64, grid: Float64, rows: Int64, left: Float64, right: Float64, counts: Float64
) -> None:
    bins = len(grid) - 1
    first = np.clip(np.searchsorted(grid, left, side="right") - 1, 0, bins - 1)
    last = np.clip(np.searchsorted(grid, right, side="left") - 1, first, bins - 1)
    pieces = last - first + 1
    bucket = np.repeat(np.arange(len(left)), pieces)
    within = np.arange(len(bucket)) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    column = first[bucket] + within
    width = (right - left)[bucket]
    overlap = np.minimum(right[bucket], grid[column + 1]) - np.maximum(left[bucket], grid[column])
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(width > 0, np.maximum(overlap, 0) / width, 1.0)
    cells = np.bincount(rows[bucket] * bins + column, counts[bucket] * share, table.size)
    table += cells.reshape(table.shape)


# Below which values so many percent of the counted numbers lie.
#
# Within a bucket numbers are taken to be spread evenly. The nine shares are those of a normal
# distribution at whole and half standard deviations around its middle, and the rule at the edges is
# the one that TensorBoard publishes its values by, so that both show the same numbers.

#: In hundredths of a percent.
BASIS_POINTS = np.array([0, 668, 1587, 3085, 5000, 6915, 8413, 9332, 10000], np.float64)

_ALL_BASIS_POINTS = 10000.0

#: Cells of a table that is made at once.
MAX_CELLS = 1 << 20


def compute_percentiles(histograms: HistogramBatch, points: Float64 = BASIS_POINTS) -> Float64:
    """A row of values for each histogram, by default nine; NaN where nothing was counted."""
    found = np.full((len(histograms), len(points)), np.nan)
    sizes = np.diff(histograms.starts)
    # Those of about one size share a table, so that a giant does not widen everybody's.
    for chosen in _group_by_size(sizes):
        found[chosen] = _compute_in_table(histograms, chosen, int(sizes[chosen].max()), points)
    return found


def _group_by_size(sizes: Int64) -> list[Int64]:
    order = np.argsort(sizes, kind="stable")
    order = order[sizes[order] > 0]
    parts: list[Int64] = []
    start = 0
    while start < len(order):
        stop = start + 1
        first = int(sizes[order[start]])
        while (
            stop < len(order)
            and sizes[order[stop]] <= 2 * first
            and (stop - start) * int(sizes[order[stop]]) < MAX_CELLS
        ):
            stop += 1
        parts.append(order[start:stop])
        start = stop
    return parts


@np.errstate(all="ignore")
def _compute_in_table(
    histograms: HistogramBatch, chosen: Int64, width: int, points: Float64
) -> Float64:
    """Rows that are shorter than the table end with empty buckets, which change nothing."""
    begin, last = histograms.starts[chosen], histograms.starts[chosen + 1] - 1
    places = np.minimum(begin[:, None] + np.arange(width), last[:, None])
    is_there = begin[:, None] + np.arange(width) <= last[:, None]
    counts = np.where(is_there, histograms.counts[places], 0.0)
    right = histograms.right[places]
    least, most = histograms.left[begin], histograms.right[last]
    total = counts.sum(axis=1)
    weights = np.cumsum(counts * _ALL_BASIS_POINTS / total[:, None], axis=1)
    rows = np.arange(len(chosen))
    found = np.empty((len(chosen), len(points)))
    for column, share in enumerate(points):
        above = weights > share
        at = np.argmax(above, axis=1)
        before = np.where(at > 0, weights[rows, at - 1], 0.0)
        inner = (at > 0) & (before != 0)
        start = np.where(inner, np.maximum(right[rows, at - 1], least), least)
        stop = np.minimum(right[rows, at], most)
        between = start + (share - before) * (stop - start) / (weights[rows, at] - before)
        found[:, column] = np.where(above.any(axis=1), between, most)
    found[~(total > 0)] = np.nan
    return found


# Where most of the numbers of a chart are, so that a few far ones do not hide their shape.
#
# One weight in ten thousand that is a hundred times as large, or a last step before everything became
# infinite, would leave all others in one bin.

#: In hundredths of a percent: so many numbers of a step may lie beyond either end.
_TAIL_BASIS_POINTS = np.array([40.0, 9960.0])

#: A step that spreads so many times as wide as three in four of them is an outlier itself.
_OUTLIER_WIDTH_FACTOR = 2.5

_WIDTH_PERCENTILE = 75

#: Where all of it is at most so many times as wide as its core, all of it is shown.
_MIN_CROP_FACTOR = 1.6

_MARGIN = 0.04


def compute_core_range(parts: Sequence[HistogramBatch], reach: ValueRange) -> ValueRange:
    """The part of a reach that holds nearly all numbers of nearly all steps."""
    low, high = np.concatenate([compute_percentiles(part, _TAIL_BASIS_POINTS) for part in parts]).T
    finite = np.isfinite(low) & np.isfinite(high)
    low, high = low[finite], high[finite]
    width = high - low
    if not len(width):
        return reach
    usual = width <= _OUTLIER_WIDTH_FACTOR * np.percentile(width, _WIDTH_PERCENTILE)
    if not usual.any() or width.max() == 0:
        return reach
    start, stop = float(low[usual].min()), float(high[usual].max())
    if not stop > start or reach[1] - reach[0] <= _MIN_CROP_FACTOR * (stop - start):
        return reach
    room = _MARGIN * (stop - start)
    return max(reach[0], start - room), min(reach[1], stop + room)
