"""Counts are distributed over a grid by overlap, and conserved."""

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
    value_range = find_value_range(histograms)
    if value_range is None:
        assert not histograms.counts.any()
        return
    table = rebin(histograms, make_grid(*value_range, count))
    assert table.shape == (len(tables), count)
    assert (table >= 0).all()
    sums = [sum(bucket[2] for bucket in table) for table in tables]
    assert_allclose(table.sum(axis=1), sums, rtol=1e-9, atol=1e-9)


@settings(max_examples=100, deadline=None)
@given(BUCKETS, st.floats(-1e6, 1e6), st.floats(1e-3, 1e6), st.integers(1, 40))
def test_counts_are_distributed_by_overlap(
    table: list[tuple[float, float, float]], low: float, width: float, count: int
) -> None:
    grid = make_grid(low, low + width, count)
    (row,) = rebin(make_columns(table), grid)
    expected = [
        math.fsum(
            get_share(left, right, grid, index) * number for left, right, number in table if number
        )
        for index in range(count)
    ]
    assert_allclose(row, expected, rtol=1e-6, atol=1e-6)


def get_share(left: float, right: float, grid: np.ndarray, index: int) -> float:
    """Return the share of a bucket in a bin, by a simple computation."""
    left, right = min(left, right), max(left, right)
    begin, end = grid[index], grid[index + 1]
    if left == right:
        is_last = index == len(grid) - 2
        return float(begin <= left < end or (is_last and left == end))
    return max(0.0, min(right, end) - max(left, begin)) / (right - left)


def test_bucket_without_width_is_in_one_bin() -> None:
    grid = make_grid(0, 4, 4)
    (row,) = rebin(make_columns([(0, 0, 1), (1, 1, 2), (4, 4, 8), (4.5, 4.5, 99)]), grid)
    assert row.tolist() == [1, 2, 0, 8]


def test_negative_counts() -> None:
    (row,) = rebin(make_columns([(0, 2, -4), (1, 2, 6)]), make_grid(0, 2, 2))
    assert row.tolist() == [-2, 4]


@pytest.mark.parametrize("edge", [np.inf, 1.7976931348623157e308, np.nan])
def test_unbounded_buckets_are_ignored(edge: float) -> None:
    histograms = make_columns([(-edge, 0, 3), (0, 1, 5), (1, edge, 7)])
    assert is_bounded(histograms).tolist() == [False, True, False]
    assert find_value_range(histograms) == (0.0, 1.0)
    assert rebin(histograms, make_grid(0, 1, 2)).tolist() == [[2.5, 2.5]]


def test_grid_of_equal_values_has_a_width() -> None:
    for number in (0.0, 3.0, -1e-9, 1e300):
        grid = make_grid(number, number, 30)
        assert grid[0] < number < grid[-1]
        (row,) = rebin(make_columns([(number, number, 5)]), grid)
        assert row.sum() == (5 if abs(number) < 1e300 else 0)


def test_large_histograms_are_rebinned_in_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    edges = np.linspace(-3, 3, 200)
    table = np.stack([edges[:-1], edges[1:], np.arange(199)], axis=1).tolist()
    grid = make_grid(-3, 3, 31)
    whole = rebin(make_columns(table, table), grid)
    monkeypatch.setattr(binning, "MAX_PIECES", 64)
    assert_allclose(rebin(make_columns(table, table), grid), whole, rtol=1e-12)
