"""Below which values so many percent of the counted numbers lie.

Within a bucket numbers are taken to be spread evenly. The nine shares are those of a normal
distribution at whole and half standard deviations around its middle, and the rule at the edges is
the one that TensorBoard publishes its values by, so that both show the same numbers.
"""

from __future__ import annotations

import numpy as np

from tracklight.formats.histograms import Histograms
from tracklight.types import Float64, Int64

#: In hundredths of a percent.
BASIS_POINTS = np.array([0, 668, 1587, 3085, 5000, 6915, 8413, 9332, 10000], np.float64)

_ALL = 10000.0
#: Cells of a table that is made at once.
_MOST_CELLS = 1 << 20


def find_percentiles(histograms: Histograms, points: Float64 = BASIS_POINTS) -> Float64:
    """A row of values for each histogram, by default nine; NaN where nothing was counted."""
    found = np.full((len(histograms), len(points)), np.nan)
    sizes = np.diff(histograms.begin)
    # Those of about one size share a table, so that a giant does not widen everybody's.
    for chosen in _iter_alike(sizes):
        found[chosen] = _find_in_table(histograms, chosen, int(sizes[chosen].max()), points)
    return found


def _iter_alike(sizes: Int64) -> list[Int64]:
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
            and (stop - start) * int(sizes[order[stop]]) < _MOST_CELLS
        ):
            stop += 1
        parts.append(order[start:stop])
        start = stop
    return parts


@np.errstate(all="ignore")
def _find_in_table(histograms: Histograms, chosen: Int64, width: int, points: Float64) -> Float64:
    """Rows that are shorter than the table end with empty buckets, which change nothing."""
    begin, last = histograms.begin[chosen], histograms.begin[chosen + 1] - 1
    places = np.minimum(begin[:, None] + np.arange(width), last[:, None])
    is_there = begin[:, None] + np.arange(width) <= last[:, None]
    counts = np.where(is_there, histograms.counts[places], 0.0)
    right = histograms.right[places]
    least, most = histograms.left[begin], histograms.right[last]
    total = counts.sum(axis=1)
    weights = np.cumsum(counts * _ALL / total[:, None], axis=1)
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
