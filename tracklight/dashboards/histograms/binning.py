"""Select histograms of a series, rebin them to a common grid and compute percentiles."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from tracklight.formats.values import HistogramBatch
from tracklight.types import Bool, Float64, Int64, ValueLocations

#: Limit on the bytes read of one series; of large histograms fewer are selected.
MAX_SELECTED_BYTES = 64 << 20

#: Edges beyond this are infinite: old writers end the last bucket at the largest double.
_UNBOUNDED = 1e300
#: How many pieces of buckets are computed at once.
MAX_PIECES = 1 << 21

#: The percentiles of the Distributions tab, in hundredths of a percent: those of a normal
#: distribution at whole and half standard deviations around its mean, as in TensorBoard.
BASIS_POINTS = np.array([0, 668, 1587, 3085, 5000, 6915, 8413, 9332, 10000], np.float64)
_ALL_BASIS_POINTS = 10000.0
#: How many table cells are computed at once.
MAX_CELLS = 1 << 20

#: The core range leaves out this share of the values of a step at either end.
_TAIL_BASIS_POINTS = np.array([40.0, 9960.0])
#: A step whose width is this many times the 75th percentile of all widths is an outlier.
_OUTLIER_WIDTH_FACTOR = 2.5
_WIDTH_PERCENTILE = 75
#: The full range is used unless it is this many times as wide as the core.
_MIN_CROP_FACTOR = 1.6
#: Margin around the core, as a share of its width.
_MARGIN = 0.04

HistogramAxis = Literal["step", "relative", "wall"]
#: Lowest and highest value.
ValueRange = tuple[float, float]


@dataclass(frozen=True)
class HistogramSelection:
    """Selected histograms of a series, in the order of the axis."""

    index: Int64
    x: Float64
    total: int
    """Number of histograms in the range, including those that were not selected."""


def select_range(
    locations: ValueLocations,
    x: HistogramAxis,
    start: float | None = None,
    stop: float | None = None,
) -> HistogramSelection:
    """Select the histograms in a range of the axis, both ends included; not overwritten ones."""
    index = np.flatnonzero(~locations.overwritten)
    values = compute_axis_values(locations, index, x)
    mask = np.isfinite(values)
    mask &= values >= (-np.inf if start is None else start)
    mask &= values <= (np.inf if stop is None else stop)
    index, values = index[mask], values[mask]
    order = np.argsort(values, kind="stable")
    return HistogramSelection(index[order], values[order], len(index))


def limit_selection(
    locations: ValueLocations, selection: HistogramSelection, max_count: int
) -> HistogramSelection:
    """Thin a selection to at most ``max_count`` histograms, or fewer if they are large."""
    if not selection.total:
        return selection
    size_bytes = max(1, int(locations.size[selection.index].mean()))
    rows = pick_evenly(selection.x, max(1, min(max_count, MAX_SELECTED_BYTES // size_bytes)))
    return HistogramSelection(selection.index[rows], selection.x[rows], selection.total)


def compute_axis_values(locations: ValueLocations, index: Int64, x: HistogramAxis) -> Float64:
    """Return steps, wall times or seconds since the first histogram."""
    if x == "step":
        return locations.step[index].astype(np.float64)
    wall_time = locations.wall_time[index]
    if x == "wall":
        return wall_time
    finite = wall_time[np.isfinite(wall_time)]
    return wall_time - (finite[0] if len(finite) else np.nan)


def pick_evenly(values: Float64, max_count: int) -> Int64:
    """Return rows of an ascending column, evenly spaced by value; first and last are included.

    If gaps in the values leave some of ``max_count`` unused, further rows are picked evenly.
    """
    count = len(values)
    if count <= max_count:
        return np.arange(count)
    if max_count == 1:
        return np.array([count - 1])
    targets = np.linspace(values[0], values[-1], max_count)
    after = np.clip(np.searchsorted(values, targets), 1, count - 1)
    before = after - 1
    nearest = np.where(targets - values[before] <= values[after] - targets, before, after)
    # Of several rows with the last value, use the last one.
    nearest[-1] = count - 1
    picked = np.unique(nearest)
    rest = np.setdiff1d(np.arange(count), picked)
    more = np.linspace(0, len(rest) - 1, max_count - len(picked)).round().astype(np.int64)
    return np.union1d(picked, rest[more])


def is_bounded(histograms: HistogramBatch) -> Bool:
    """Return which buckets have finite edges and a finite count."""
    with np.errstate(invalid="ignore"):
        edges = (np.abs(histograms.left) < _UNBOUNDED) & (np.abs(histograms.right) < _UNBOUNDED)
    bounded: Bool = edges & np.isfinite(histograms.counts)
    return bounded


def find_value_range(histograms: HistogramBatch) -> ValueRange | None:
    """Return the range of all buckets with a count; None if there are none."""
    mask = is_bounded(histograms) & (histograms.counts != 0)
    if not mask.any():
        return None
    left, right = histograms.left[mask], histograms.right[mask]
    return float(min(left.min(), right.min())), float(max(left.max(), right.max()))


def find_joint_range(ranges: Iterable[ValueRange | None]) -> ValueRange | None:
    """Return the smallest range that contains all given ones; None if there are none."""
    known = [item for item in ranges if item is not None]
    if not known:
        return None
    return min(low for low, _ in known), max(high for _, high in known)


def make_grid(low: float, high: float, bins: int) -> Float64:
    """Return the edges of bins of equal width; an empty range is widened."""
    if not high > low or not math.isfinite(high - low):
        margin = max(abs(low) / 10, 0.5)
        low, high = low - margin, low + margin
    return np.linspace(low, high, bins + 1)


def rebin(histograms: HistogramBatch, grid: Float64) -> Float64:
    """Return the counts of each histogram (row) in each bin of a grid (column).

    The count of a bucket is distributed over the bins by overlap, as if its values were uniformly
    distributed. Counts are conserved, but need not be integers. A bucket without width is in one
    bin.
    """
    table = np.zeros((len(histograms), len(grid) - 1))
    left = np.minimum(histograms.left, histograms.right)
    right = np.maximum(histograms.left, histograms.right)
    counts = histograms.counts
    in_grid = (right >= grid[0]) & (left <= grid[-1])
    buckets = np.flatnonzero(is_bounded(histograms) & (counts != 0) & in_grid)
    rows = histograms.histogram_ids()
    batch_size = max(1, MAX_PIECES // len(grid))
    for start in range(0, len(buckets), batch_size):
        batch = buckets[start : start + batch_size]
        _add_buckets(table, grid, rows[batch], left[batch], right[batch], counts[batch])
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


def compute_percentiles(histograms: HistogramBatch, points: Float64 = BASIS_POINTS) -> Float64:
    """Return a row of percentiles for each histogram; NaN if it has no counts.

    Values in a bucket are taken to be uniformly distributed. At the edges the rule is that of
    TensorBoard, so that both show the same numbers.

    Args:
        histograms: The histograms.
        points: The percentiles in hundredths of a percent.
    """
    result = np.full((len(histograms), len(points)), np.nan)
    sizes = np.diff(histograms.starts)
    # Histograms of similar size share a table, so that one with many buckets does not widen all.
    for rows in _group_by_size(sizes):
        result[rows] = _compute_in_table(histograms, rows, int(sizes[rows].max()), points)
    return result


def _group_by_size(sizes: Int64) -> list[Int64]:
    order = np.argsort(sizes, kind="stable")
    order = order[sizes[order] > 0]
    groups: list[Int64] = []
    start = 0
    while start < len(order):
        stop = start + 1
        smallest = int(sizes[order[start]])
        while (
            stop < len(order)
            and sizes[order[stop]] <= 2 * smallest
            and (stop - start) * int(sizes[order[stop]]) < MAX_CELLS
        ):
            stop += 1
        groups.append(order[start:stop])
        start = stop
    return groups


@np.errstate(all="ignore")
def _compute_in_table(
    histograms: HistogramBatch, rows: Int64, width: int, points: Float64
) -> Float64:
    """Compute percentiles of some histograms, padded to ``width`` with empty buckets."""
    begin, last = histograms.starts[rows], histograms.starts[rows + 1] - 1
    columns = begin[:, None] + np.arange(width)
    buckets = np.minimum(columns, last[:, None])
    counts = np.where(columns <= last[:, None], histograms.counts[buckets], 0.0)
    right = histograms.right[buckets]
    low, high = histograms.left[begin], histograms.right[last]
    total = counts.sum(axis=1)
    weights = np.cumsum(counts * _ALL_BASIS_POINTS / total[:, None], axis=1)
    numbers = np.arange(len(rows))
    result = np.empty((len(rows), len(points)))
    for column, point in enumerate(points):
        above = weights > point
        bucket = np.argmax(above, axis=1)
        before = np.where(bucket > 0, weights[numbers, bucket - 1], 0.0)
        is_inner = (bucket > 0) & (before != 0)
        start = np.where(is_inner, np.maximum(right[numbers, bucket - 1], low), low)
        stop = np.minimum(right[numbers, bucket], high)
        weight = weights[numbers, bucket] - before
        interpolated = start + (point - before) * (stop - start) / weight
        result[:, column] = np.where(above.any(axis=1), interpolated, high)
    result[~(total > 0)] = np.nan
    return result


def compute_core_range(histograms: Sequence[HistogramBatch], value_range: ValueRange) -> ValueRange:
    """Return the range that contains nearly all values of nearly all steps.

    Without it, a few outliers, or one diverged step, would put all other values into one bin.
    """
    low, high = np.concatenate(
        [compute_percentiles(histogram, _TAIL_BASIS_POINTS) for histogram in histograms]
    ).T
    is_finite = np.isfinite(low) & np.isfinite(high)
    low, high = low[is_finite], high[is_finite]
    width = high - low
    if not len(width):
        return value_range
    is_usual = width <= _OUTLIER_WIDTH_FACTOR * np.percentile(width, _WIDTH_PERCENTILE)
    if not is_usual.any() or width.max() == 0:
        return value_range
    start, stop = float(low[is_usual].min()), float(high[is_usual].max())
    full_width = value_range[1] - value_range[0]
    if not stop > start or full_width <= _MIN_CROP_FACTOR * (stop - start):
        return value_range
    margin = _MARGIN * (stop - start)
    return max(value_range[0], start - margin), min(value_range[1], stop + margin)
