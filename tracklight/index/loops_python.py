"""What `tracklight.index._loops` does, where it could not be compiled."""

from __future__ import annotations

import math

import numpy as np

from tracklight.types import Float64, Int64

#: How many cells of windows are looked at together.
_CELLS = 1 << 20


def survey(value: Float64, odd: Int64) -> tuple[int, int, int]:
    finite = np.isfinite(value)
    others = np.flatnonzero(~finite)
    odd[: len(others)] = others[: len(odd)]
    if len(others) == len(value):
        return -1, -1, len(others)
    lowest = np.argmin(np.where(finite, value, np.inf))
    highest = np.argmax(np.where(finite, value, -np.inf))
    return int(lowest), int(highest), len(others)


def rises(column: Float64 | Int64) -> bool:
    return bool(np.all(column[1:] >= column[:-1]))


def ema(value: Float64, weight: float, out: Float64) -> None:
    last, left = 0.0, 1.0
    for at, v in enumerate(value.tolist()):
        if math.isfinite(v):
            last = weight * last + (1 - weight) * v
            left = left * weight if left > 1e-17 else 0.0
            v = last / (1 - left) if left else last
        out[at] = v


def time_ema(value: Float64, step: Int64, half_life: float, out: Float64) -> None:
    total, weight, before = 0.0, 0.0, 0
    for at, (v, now) in enumerate(zip(value.tolist(), step.tolist(), strict=True)):
        if math.isfinite(v):
            decay = 2.0 ** ((float(before) - float(now)) / half_life) if weight else 0.0
            total, weight, before = total * decay + v, weight * decay + 1, now
            v = total / weight
        out[at] = v


def mean(value: Float64, before: int, after: int, out: Float64) -> None:
    finite = np.isfinite(value)
    totals = _window_sums(np.where(finite, value, 0.0), before, after)
    counts = _window_sums(finite.astype(np.float64), before, after)
    out[:] = value
    np.divide(totals, counts, out=out, where=finite)


def _window_sums(value: Float64, before: int, after: int) -> Float64:
    """The sum of each window, put together from the end of one block and the start of the next.

    Nothing is ever taken away from a sum, so that a spike leaves no trace once it is past.
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
    whole = first % size != 0  # a window that is a block of its own is one sum already
    sums[whole] += from_left[first[whole] + size - 1]
    return sums


def median(value: Float64, before: int, after: int, out: Float64) -> None:
    if not len(value):
        return
    finite = np.isfinite(value)
    padded = np.concatenate(
        [np.full(before, np.nan), np.where(finite, value, np.nan), np.full(after, np.nan)]
    )
    windows = np.lib.stride_tricks.sliding_window_view(padded, before + after + 1)
    out[:] = value
    places = np.flatnonzero(finite)
    for some in np.array_split(places, len(places) * windows.shape[1] // _CELLS + 1):
        if len(some):
            out[some] = np.nanmedian(windows[some], axis=1)


def reduce(x: Float64, value: Float64, smooth: Float64, edges: Float64, out: Float64) -> None:
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
