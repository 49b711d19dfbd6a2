"""Reduces curves to what pixels can show, on columns shared by all curves of a chart."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tracklight.index.curve import Curve
from tracklight.index.loops import loops
from tracklight.types import Float32, Float64, Int64

#: A column of float32 must tell apart this many values between its lowest and its highest.
_LEVELS = 4096
_MOST_FLOAT32 = float(np.finfo(np.float32).max)


@dataclass(frozen=True, slots=True)
class Cells:
    """One row of pixel columns; NaN where a column has no finite value."""

    smooth: Float64
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


def centres(edges: Float64) -> Float64:
    return edges[:-1] + 0.5 * np.diff(edges)


def reduce(curve: Curve, edges: Float64) -> Cells:
    """A curve that rises and lies between the edges, in the columns between them."""
    out = np.empty((4, len(edges) - 1))
    loops.reduce(curve.x, curve.value, curve.smooth, edges, out)
    return Cells(*out)


def thin(value: Float64, most: int) -> Int64:
    """At most ``most`` rows of a column, in order: the extremes of stretches of one length."""
    if len(value) <= most:
        return np.arange(len(value))
    stretches = max(1, most // 2)
    size = -(-len(value) // stretches)
    padded = np.full(stretches * size, np.nan)
    padded[: len(value)] = value
    table = padded.reshape(stretches, size)
    first = np.arange(stretches) * size
    lowest = first + np.argmin(np.where(np.isfinite(table), table, np.inf), axis=1)
    highest = first + np.argmax(np.where(np.isfinite(table), table, -np.inf), axis=1)
    rows = np.unique(np.concatenate([lowest, highest]))
    return rows[rows < len(value)]


def narrow(column: Float64, low: float, high: float) -> Float32 | Float64:
    """In half the bytes, where that still shows what lies between two ends."""
    size = max(abs(low), abs(high))
    if size > _MOST_FLOAT32 or size * 2.0**-24 * _LEVELS > high - low > 0:
        return column
    return column.astype(np.float32)


def narrow_exactly(column: Float64) -> Float32 | Float64:
    """In half the bytes where nothing is lost, as for most of what frameworks log."""
    small = column.astype(np.float32)
    return small if np.array_equal(small, column, equal_nan=True) else column
