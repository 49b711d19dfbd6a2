"""Counts are spread over a grid by overlap, and none is lost or made."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from tests.dashboards.histograms.requests import make_columns
from tracklight.dashboards.histograms import binning
from tracklight.dashboards.histograms.binning import find_value_range, is_bounded, make_grid, rebin

EDGES = st.floats(-1e6, 1e6) | st.sampled_from([0.0, 1.0, -1.0, 0.5])
BUCKETS = st.lists(st.tuples(EDGES, EDGES, st.floats(0, 1e9)), max_size=12)


@settings(max_examples=200, deadline=None)
@given(st.lists(BUCKETS, min_size=1, max_size=5), st.integers(1, 90))
def test_counts_are_conserved(tables: list[list[tuple[float, float, float]]], count: int) -> None:
    histograms = make_columns(*tables)
    reach = find_value_range(histograms)
    if reach is None:
        assert not histograms.counts.any()
        return
    table = rebin(histograms, make_grid(*reach, count))
    assert table.shape == (len(tables), count)
    assert (table >= 0).all()
    sums = [sum(bucket[2] for bucket in own) for own in tables]
    assert_allclose(table.sum(axis=1), sums, rtol=1e-9, atol=1e-9)


@settings(max_examples=100, deadline=None)
@given(BUCKETS, st.floats(-1e6, 1e6), st.floats(1e-3, 1e6), st.integers(1, 40))
def test_each_bin_gets_what_overlaps_it(
    table: list[tuple[float, float, float]], low: float, width: float, count: int
) -> None:
    grid = make_grid(low, low + width, count)
    (found,) = rebin(make_columns(table), grid)
    wanted = [
        math.fsum(
            share(left, right, grid, place) * number for left, right, number in table if number
        )
        for place in range(count)
    ]
    assert_allclose(found, wanted, rtol=1e-6, atol=1e-6)


def share(left: float, right: float, grid: np.ndarray, place: int) -> float:
    """The part of a bucket in a bin, slowly."""
    left, right = min(left, right), max(left, right)
    begin, end = grid[place], grid[place + 1]
    if left == right:
        is_last = place == len(grid) - 2
        return float(begin <= left < end or (is_last and left == end))
    return max(0.0, min(right, end) - max(left, begin)) / (right - left)


def test_a_bucket_without_width_lies_in_one_bin() -> None:
    grid = make_grid(0, 4, 4)
    (row,) = rebin(make_columns([(0, 0, 1), (1, 1, 2), (4, 4, 8), (4.5, 4.5, 99)]), grid)
    assert row.tolist() == [1, 2, 0, 8]


def test_negative_counts_stay_what_they_are() -> None:
    (row,) = rebin(make_columns([(0, 2, -4), (1, 2, 6)]), make_grid(0, 2, 2))
    assert row.tolist() == [-2, 4]


@pytest.mark.parametrize("edge", [np.inf, 1.7976931348623157e308, np.nan])
def test_buckets_without_an_end_have_no_place(edge: float) -> None:
    histograms = make_columns([(-edge, 0, 3), (0, 1, 5), (1, edge, 7)])
    assert is_bounded(histograms).tolist() == [False, True, False]
    assert find_value_range(histograms) == (0.0, 1.0)
    assert rebin(histograms, make_grid(0, 1, 2)).tolist() == [[2.5, 2.5]]


def test_numbers_that_are_all_the_same_get_room() -> None:
    for number in (0.0, 3.0, -1e-9, 1e300):
        grid = make_grid(number, number, 30)
        assert grid[0] < number < grid[-1]
        (row,) = rebin(make_columns([(number, number, 5)]), grid)
        assert row.sum() == (5 if abs(number) < 1e300 else 0)


def test_a_giant_is_spread_piece_by_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    edges = np.linspace(-3, 3, 200)
    table = np.stack([edges[:-1], edges[1:], np.arange(199)], axis=1).tolist()
    grid = make_grid(-3, 3, 31)
    whole = rebin(make_columns(table, table), grid)
    monkeypatch.setattr(binning, "MAX_PIECES", 64)
    assert_allclose(rebin(make_columns(table, table), grid), whole, rtol=1e-12)
