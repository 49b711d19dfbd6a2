"""Histograms on one grid, so that those of many steps and runs can be drawn over each other.

A bucket's count is spread over the bins of the grid by how much of the bucket lies in each: what
one would count if the numbers in a bucket lay evenly. Counts are conserved; they need not stay
whole numbers. A bucket without width lies in one bin. The buckets as logged are the dashboard's
route ``exact``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from tracklight.formats.histograms import Histograms
from tracklight.types import Bool, Float64, Int64

#: An edge beyond it stands for no edge: old writers end their last buckets at the largest double.
_ENDLESS = 1e300
#: Pieces of buckets that are made at once.
_MOST_PIECES = 1 << 21

#: From the least value to the greatest.
Reach = tuple[float, float]


def find_placed(histograms: Histograms) -> Bool:
    """The buckets that have a place on an axis: both ends are numbers, and so is the count."""
    with np.errstate(invalid="ignore"):
        ends = (np.abs(histograms.left) < _ENDLESS) & (np.abs(histograms.right) < _ENDLESS)
    placed: Bool = ends & np.isfinite(histograms.counts)
    return placed


def find_reach(histograms: Histograms) -> Reach | None:
    """From the least edge to the greatest of the buckets that count anything."""
    counting = find_placed(histograms) & (histograms.counts != 0)
    if not counting.any():
        return None
    left, right = histograms.left[counting], histograms.right[counting]
    return float(min(left.min(), right.min())), float(max(left.max(), right.max()))


def join_reaches(reaches: Iterable[Reach | None]) -> Reach | None:
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


def rebin(histograms: Histograms, grid: Float64) -> Float64:
    """How much of each histogram lies in each bin, as a row of the table."""
    table = np.zeros((len(histograms), len(grid) - 1))
    left = np.minimum(histograms.left, histograms.right)
    right = np.maximum(histograms.left, histograms.right)
    counts = histograms.counts
    useful = find_placed(histograms) & (counts != 0) & (right >= grid[0]) & (left <= grid[-1])
    rows, useful = histograms.rows(), np.flatnonzero(useful)
    at_once = max(1, _MOST_PIECES // len(grid))
    for start in range(0, len(useful), at_once):
        some = useful[start : start + at_once]
        _add(table, grid, rows[some], left[some], right[some], counts[some])
    return table


def _add(
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
