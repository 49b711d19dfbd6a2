from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.index.series_builder import series
from tracklight.index.downsampling import (
    PixelColumns,
    downsample_minmax,
    get_centers,
    make_edges,
    make_growing_edges,
    to_float32_if_exact,
    to_float32_if_visible,
)
from tracklight.index.downsampling import reduce_to_columns as reduce_curve
from tracklight.index.series_query import SeriesQuery, compute_curve
from tracklight.types import Series


def reduce(data: Series, start: float, stop: float, width: int) -> PixelColumns:
    curve = compute_curve(data, SeriesQuery())
    return reduce_curve(curve.take(curve.select_rows(start, stop)), make_edges(start, stop, width))


def test_columns_have_last_lowest_and_highest_value() -> None:
    cells = reduce(series([0, 1, 2, 3], [5.0, 1.0, 9.0, 2.0]), 0, 4, 2)
    assert cells.value.tolist() == cells.smoothed.tolist() == [1.0, 2.0]
    assert cells.low.tolist() == [1.0, 2.0]
    assert cells.high.tolist() == [5.0, 9.0]


def test_column_without_points_is_nan() -> None:
    cells = reduce(series([0, 9], [1.0, 2.0]), 0, 10, 5)
    assert [math.isnan(v) for v in cells.high] == [False, True, True, True, False]


def test_right_edge_belongs_to_last_column() -> None:
    assert reduce(series([0, 10], [1.0, 2.0]), 0, 10, 10).value[9] == 2.0


def test_ignores_points_outside_edges() -> None:
    cells = reduce(series([0, 1, 2, 3], [5.0, 1.0, 9.0, 2.0]), 1, 2, 1)
    assert (cells.low.tolist(), cells.high.tolist()) == ([1.0], [9.0])


def test_non_finite_values_do_not_hide_finite_ones() -> None:
    cells = reduce(series([0, 1, 2], [math.nan, 3.0, math.inf]), 0, 3, 1)
    assert (cells.value[0], cells.low[0], cells.high[0]) == (3.0, 3.0, 3.0)


def test_reduces_empty_curve() -> None:
    assert np.isnan(reduce(series([], []), 0, 1, 3).value).all()


def test_reduces_single_point() -> None:
    assert np.nanmax(reduce(series([7], [1.0]), 7, 7, 4).value) == 1.0


def test_edges_span_any_two_numbers() -> None:
    assert make_edges(-1.5e308, 1.5e308, 2).tolist() == [-1.5e308, 0.0, 1.5e308]
    assert (np.diff(make_edges(5.0, 5.0, 1)) > 0).all()


@given(st.floats(-1e12, 1e12), st.floats(1e-6, 1e12), st.floats(1, 3), st.integers(2, 900))
def test_growing_edges_stay_in_place(start: float, length: float, by: float, width: int) -> None:
    edges = make_growing_edges(start, start + length, width)
    longer = make_growing_edges(start, start + length * by, width)
    if edges is None or longer is None:
        assert length < 1e-9 * (abs(start) + 1) * width or start + length == start
        return
    assert edges[0] == start and edges[-2] <= start + length < edges[-1]
    assert 0.9 * (width - 1) < len(edges) <= width + 1
    if edges[1] == longer[1]:
        assert longer[: len(edges)].tolist() == edges.tolist()


def test_growing_columns_are_wider_after_a_tenth_at_the_earliest() -> None:
    widths = {np.diff(make_growing_edges(0, stop, 400)[:2])[0] for stop in range(1000, 4000)}
    assert len(widths) <= 17


def test_no_growing_edges_of_ranges_without_room() -> None:
    for start, stop in ((5.0, 5.0), (1e15, 1e15 + 2), (-1.5e308, 1.5e308)):
        assert make_growing_edges(start, stop, 100) is None


def test_centers_are_between_edges() -> None:
    assert get_centers(make_edges(0, 4, 2)).tolist() == [1.0, 3.0]


@given(
    st.dictionaries(st.integers(0, 1000), st.floats(-1e9, 1e9), min_size=1, max_size=60),
    st.integers(1, 40),
)
def test_keeps_all_extremes(points: dict[int, float], width: int) -> None:
    steps = sorted(points)
    values = np.array([points[step] for step in steps])
    cells = reduce(series(steps, values.tolist()), steps[0], steps[-1], width)
    edges = make_edges(steps[0], steps[-1], width)
    column = np.clip(np.searchsorted(edges, steps, side="right") - 1, 0, width - 1)
    assert (cells.low[column] <= values).all() and (cells.high[column] >= values).all()
    assert np.nanmin(cells.low) == values.min() and np.nanmax(cells.high) == values.max()
    filled = np.zeros(width, bool)
    filled[column] = True
    assert (np.isfinite(cells.value) == filled).all()


@given(st.lists(st.floats(allow_nan=True, allow_infinity=True), max_size=200), st.integers(2, 50))
def test_minmax_downsampling_keeps_extremes_and_order(values: list[float], most: int) -> None:
    column = np.array(values)
    rows = downsample_minmax(column, most)
    assert len(rows) <= most or len(rows) == len(column) <= most
    assert (np.diff(rows) > 0).all()
    finite = column[np.isfinite(column)]
    if len(finite):
        kept = column[rows]
        kept = kept[np.isfinite(kept)]
        assert (kept.min(), kept.max()) == (finite.min(), finite.max())


@pytest.mark.parametrize(
    ("low", "high", "kind"),
    [
        (0.0, 1.0, np.float32),
        (1e9, 1e9 + 100, np.float64),  # a small change of a large number
        (-1e300, 1e300, np.float64),
        (5.0, 5.0, np.float32),
        (math.nan, math.nan, np.float32),
    ],
)
def test_converts_to_float32_if_loss_is_invisible(low: float, high: float, kind: type) -> None:
    assert to_float32_if_visible(np.array([low, high]), low, high).dtype == kind


@np.errstate(over="ignore")
def test_converts_to_float32_only_if_exact() -> None:
    assert to_float32_if_exact(np.array([0.5, math.nan, math.inf])).dtype == np.float32
    assert to_float32_if_exact(np.array([0.1])).dtype == np.float64
    assert to_float32_if_exact(np.array([1e300])).dtype == np.float64
