"""Reduces series to what pixels can show: of each column the first, last, lowest and highest."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from tracklight.types import Float64, Grid, Int64, Series

_TABLES = ("first", "last", "low", "high")


def span(series: Iterable[Series]) -> tuple[float, float] | None:
    """The lowest and the highest step of the points that were not overwritten."""
    filled = [one.step for one in map(Series.current, series) if len(one)]
    if not filled:
        return None
    return float(min(s.min() for s in filled)), float(max(s.max() for s in filled))


def make_edges(start: float, stop: float, width: int) -> Float64:
    """The edges of ``width`` columns of pixels."""
    return np.linspace(start, max(stop, np.nextafter(start, np.inf)), width + 1)


def reduce(series: Sequence[Series], edges: Float64) -> Grid:
    """Put the points that were not overwritten on one grid over their steps.

    A value that is not finite counts as a point, but never as lowest or highest beside one that is.
    """
    width = len(edges) - 1
    tables = {name: np.full((len(series), width), np.nan) for name in _TABLES}
    count = np.zeros((len(series), width), np.int32)
    for row, one in enumerate(series):
        own = {name: table[row] for name, table in tables.items()}
        _reduce_one(one.current(), edges, own, count[row])
    return Grid(edges, count=count, **tables)


def join(grids: Sequence[tuple[Sequence[int], Grid]], edges: Float64, rows: int) -> Grid:
    """One grid of ``rows`` series from several over the same columns, told where rows belong."""
    tables = {name: np.full((rows, len(edges) - 1), np.nan) for name in _TABLES}
    count = np.zeros((rows, len(edges) - 1), np.int32)
    for places, grid in grids:
        count[places] = grid.count
        for name, table in tables.items():
            table[places] = getattr(grid, name)
    return Grid(edges, count=count, **tables)


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
