"""Reduces series to what pixels can show: of each column the first, last, lowest and highest."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tracklight.types import Float64, Grid, Int64, Series

_TABLES = ("first", "last", "low", "high")


def reduce(series: Sequence[Series], start: float | None, stop: float | None, width: int) -> Grid:
    """Put the points that were not overwritten on one grid of ``width`` columns over their steps.

    Without ``start`` or ``stop`` the grid spans all points. A value that is not finite counts as a
    point, but never as lowest or highest beside one that is.
    """
    current = [one.current() for one in series]
    edges = _edges(current, start, stop, width)
    tables = {name: np.full((len(series), width), np.nan) for name in _TABLES}
    count = np.zeros((len(series), width), np.int32)
    for row, one in enumerate(current):
        _reduce_one(one, edges, {name: table[row] for name, table in tables.items()}, count[row])
    return Grid(edges, count=count, **tables)


def _edges(
    series: Sequence[Series], start: float | None, stop: float | None, width: int
) -> Float64:
    filled = [one for one in series if len(one)]
    if start is None:
        start = float(min((one.step.min() for one in filled), default=0))
    if stop is None:
        stop = float(max((one.step.max() for one in filled), default=1))
    return np.linspace(start, max(stop, np.nextafter(start, np.inf)), width + 1)


def _reduce_one(one: Series, edges: Float64, tables: dict[str, Float64], count: np.ndarray) -> None:
    step, value = one.step, one.value.astype(np.float64, copy=False)
    if len(step) > 1 and not np.all(step[1:] >= step[:-1]):  # workers that wrote side by side
        order = np.argsort(step, kind="stable")
        step, value = step[order], value[order]
    bounds = _bounds(step, edges)
    count[:] = np.diff(bounds)
    filled = np.flatnonzero(count)
    if not len(filled):
        return
    first, value = bounds[filled], value[: bounds[-1]]
    tables["first"][filled] = value[first]
    tables["last"][filled] = value[bounds[filled + 1] - 1]
    finite = np.where(np.isfinite(value), value, np.nan)
    tables["low"][filled] = np.fmin.reduceat(finite, first)
    tables["high"][filled] = np.fmax.reduceat(finite, first)


def _bounds(step: Int64, edges: Float64) -> Int64:
    """First row of each column; the last column includes its right edge."""
    bounds = np.searchsorted(step, edges, side="left")
    bounds[-1] = np.searchsorted(step, edges[-1], side="right")
    return bounds
