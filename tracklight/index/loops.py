"""The inner loops over all points of a series: compiled if available, else in NumPy.

`loops` is the compiled module `_loops`, or `NumpyLoops` where that could not be built; tests
compare the two. Non-finite values are never averaged, ranked or drawn: smoothing leaves them in
place and otherwise ignores them.
"""

from __future__ import annotations

import math
from typing import Protocol

import numpy as np

from tracklight.types import Float64, Int64

#: Windows are processed in chunks of this many values.
_CHUNK_VALUES = 1 << 20


class Loops(Protocol):
    """The interface of both. Columns have the same length; ``out`` is filled."""

    def locate_extremes(self, value: Float64, nonfinite: Int64) -> tuple[int, int, int]:
        """Find the lowest, highest and non-finite values.

        Args:
            value: The column.
            nonfinite: Filled with the rows of the first non-finite values.

        Returns:
            The rows of the lowest and highest finite value (-1 if there are none), and the number
            of non-finite values.
        """

    def summarize_rows(self, value: Float64, starts: Int64, out: Float64) -> None:
        """Compute last, lowest finite and highest finite value of consecutive ranges of rows.

        Args:
            value: The column.
            starts: The first row of each range, none of them empty, and the end of the last one.
            out: Three rows, one per result; NaN for ranges without a finite value.
        """

    def is_sorted(self, column: Float64 | Int64) -> bool:
        """Return whether a column never decreases and, if longer than one, has no NaN."""

    def ema(self, value: Float64, weight: float, out: Float64) -> None:
        """Compute the exponential moving average with bias correction, as TensorBoard does."""

    def time_ema(self, value: Float64, step: Int64, half_life: float, out: Float64) -> None:
        """Compute an average in which the weight of a point halves every ``half_life`` steps."""

    def mean(self, value: Float64, before: int, after: int, out: Float64) -> None:
        """Compute the mean over a window of ``before`` and ``after`` points around each point."""

    def median(self, value: Float64, before: int, after: int, out: Float64) -> None:
        """Compute the median over the same window as `mean`."""

    def reduce(
        self, x: Float64, value: Float64, smooth: Float64, edges: Float64, out: Float64
    ) -> None:
        """Compute last smoothed, last, lowest and highest value between consecutive edges.

        Args:
            x: Sorted, and between the first and the last edge.
            value: The column.
            smooth: The smoothed column.
            edges: The edges of the bins.
            out: Four rows, one per result; NaN for bins without a finite value.
        """


class NumpyLoops:
    """The loops in NumPy."""

    def locate_extremes(self, value: Float64, nonfinite: Int64) -> tuple[int, int, int]:
        is_finite = np.isfinite(value)
        rows = np.flatnonzero(~is_finite)
        nonfinite[: len(rows)] = rows[: len(nonfinite)]
        if len(rows) == len(value):
            return -1, -1, len(rows)
        lowest = np.argmin(np.where(is_finite, value, np.inf))
        highest = np.argmax(np.where(is_finite, value, -np.inf))
        return int(lowest), int(highest), len(rows)

    def summarize_rows(self, value: Float64, starts: Int64, out: Float64) -> None:
        finite = np.where(np.isfinite(value), value, np.nan)
        out[0] = value[starts[1:] - 1]
        out[1] = np.fmin.reduceat(finite, starts[:-1])
        out[2] = np.fmax.reduceat(finite, starts[:-1])

    def is_sorted(self, column: Float64 | Int64) -> bool:
        return bool(np.all(column[1:] >= column[:-1]))

    def ema(self, value: Float64, weight: float, out: Float64) -> None:
        average, bias = 0.0, 1.0
        for row, v in enumerate(value.tolist()):
            if math.isfinite(v):
                average = weight * average + (1 - weight) * v
                bias = bias * weight if bias > 1e-17 else 0.0
                v = average / (1 - bias) if bias else average
            out[row] = v

    def time_ema(self, value: Float64, step: Int64, half_life: float, out: Float64) -> None:
        total, weight, last_step = 0.0, 0.0, 0
        for row, (v, now) in enumerate(zip(value.tolist(), step.tolist(), strict=True)):
            if math.isfinite(v):
                decay = 2.0 ** ((float(last_step) - float(now)) / half_life) if weight else 0.0
                total, weight, last_step = total * decay + v, weight * decay + 1, now
                v = total / weight
            out[row] = v

    def mean(self, value: Float64, before: int, after: int, out: Float64) -> None:
        finite = np.isfinite(value)
        totals = _window_sums(np.where(finite, value, 0.0), before, after)
        counts = _window_sums(finite.astype(np.float64), before, after)
        out[:] = value
        np.divide(totals, counts, out=out, where=finite)

    def median(self, value: Float64, before: int, after: int, out: Float64) -> None:
        if not len(value):
            return
        finite = np.isfinite(value)
        padded = np.concatenate(
            [np.full(before, np.nan), np.where(finite, value, np.nan), np.full(after, np.nan)]
        )
        windows = np.lib.stride_tricks.sliding_window_view(padded, before + after + 1)
        out[:] = value
        rows = np.flatnonzero(finite)
        for chunk in np.array_split(rows, len(rows) * windows.shape[1] // _CHUNK_VALUES + 1):
            if len(chunk):
                out[chunk] = np.nanmedian(windows[chunk], axis=1)

    def reduce(
        self, x: Float64, value: Float64, smooth: Float64, edges: Float64, out: Float64
    ) -> None:
        out[:] = np.nan
        finite = np.isfinite(value)
        x, value, smooth = x[finite], value[finite], smooth[finite]
        if not len(x):
            return
        bounds = np.append(np.searchsorted(x, edges[:-1], side="left"), len(x))
        bounds[0] = 0
        filled = np.flatnonzero(np.diff(bounds))
        first, last = bounds[filled], bounds[filled + 1] - 1
        out[0, filled], out[1, filled] = smooth[last], value[last]
        out[2, filled] = np.minimum.reduceat(value, first)
        out[3, filled] = np.maximum.reduceat(value, first)


def _window_sums(value: Float64, before: int, after: int) -> Float64:
    """Return the sum of each window, from the suffix of one block and the prefix of the next.

    Nothing is subtracted from a running sum, so that a large value leaves no rounding error behind
    once it has left the window.
    """
    size = before + after + 1
    blocks = -(-(len(value) + size - 1) // size)
    table = np.zeros(blocks * size)
    table[before : before + len(value)] = value
    rows = table.reshape(blocks, size)
    from_left = np.cumsum(rows, axis=1).ravel()
    to_right = np.cumsum(rows[:, ::-1], axis=1)[:, ::-1].ravel()
    first = np.arange(len(value))
    sums: Float64 = to_right[first]
    spans_two = first % size != 0  # a window that is exactly one block is complete already
    sums[spans_two] += from_left[first[spans_two] + size - 1]
    return sums


def _load() -> Loops:
    try:
        from tracklight.index import _loops
    except ImportError:
        return NumpyLoops()
    return _loops


loops = _load()
