"""Histograms count every number once, as the writers do that they stand in for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracklight.writer import histograms
from tracklight.writer.histograms import (
    compute_exponential_edges,
    compute_exponential_histogram,
    compute_exponential_limits,
    compute_uniform_histogram,
)

EDGES = compute_exponential_edges()
FINITE = st.floats(allow_nan=False, allow_infinity=False)
NEAR = st.sampled_from([*EDGES[::97], 0.0, -0.0, 1e-300, -5e-324]).flatmap(
    lambda edge: st.sampled_from([edge, np.nextafter(edge, -np.inf), np.nextafter(edge, np.inf)])
)


def as_array(numbers: list[float]) -> Any:
    return np.array(numbers, np.float64)


def test_uniform_buckets_are_half_open_and_the_last_is_closed() -> None:
    spread = compute_uniform_histogram(as_array([0, 1, 1, 2, 3]), 3)
    assert spread.edges.tolist() == [0, 1, 2, 3]
    assert spread.counts.tolist() == [1, 2, 2]
    assert (spread.num, spread.sum, spread.sum_squares) == (5, 7, 15)


def test_numbers_that_are_all_the_same_are_in_the_last_bucket() -> None:
    spread = compute_uniform_histogram(as_array([2, 2]), 3)
    assert spread.edges.tolist() == [2, 2, 2, 2]
    assert spread.counts.tolist() == [0, 0, 2]


def test_nothing_at_all_and_no_buckets() -> None:
    assert compute_uniform_histogram(as_array([]), 2).counts.tolist() == [0, 0]
    assert compute_uniform_histogram(as_array([1, 2]), 0).counts.tolist() == []
    assert compute_exponential_histogram(as_array([])).num == 0


@pytest.mark.parametrize(
    "spread", [lambda a: compute_uniform_histogram(a, 4), compute_exponential_histogram]
)
def test_nan_and_infinities_are_counted_apart(spread: Any) -> None:
    clean = spread(as_array([1, 2, 5]))
    spoilt = spread(as_array([np.nan, 1, np.inf, 2, -np.inf, 5, np.nan, np.inf]))
    assert (spoilt.nan, spoilt.positive_infinity, spoilt.negative_infinity) == (2, 2, 1)
    assert spoilt.counts.tolist() == clean.counts.tolist()
    assert spoilt.edges.tolist() == clean.edges.tolist()
    assert (spoilt.min, spoilt.max, spoilt.num, spoilt.sum) == (1, 5, 3, 8)


@given(st.lists(st.one_of(FINITE, NEAR), max_size=30), st.integers(1, 40))
def test_uniform_counts_everything(numbers: list[float], buckets: int) -> None:
    spread = compute_uniform_histogram(as_array(numbers), buckets)
    assert spread.counts.sum() == len(numbers)
    assert (np.diff(spread.edges) >= 0).all()
    assert np.isfinite(spread.edges).all()


@given(st.lists(st.floats(0, 100), max_size=30), st.floats(0, 10), st.integers(1, 40))
def test_uniform_counts_alike_in_both_ways(
    numbers: list[float], width: float, buckets: int
) -> None:
    one = histograms.count_uniform(as_array(numbers), 0.0, width, buckets)
    other = histograms.count_uniform_numpy(as_array(numbers), 0.0, width, buckets)
    assert one.tolist() == other.tolist()


@given(st.lists(st.one_of(FINITE, NEAR), max_size=30))
def test_exponential_counts_everything_in_both_ways(numbers: list[float]) -> None:
    one, other = np.zeros((2, len(EDGES) + 1), np.int64)
    histograms.count_exponential(as_array(numbers), one)
    histograms.count_exponential_numpy(as_array(numbers), other)
    assert one.tolist() == other.tolist()
    assert one.sum() == len(numbers)


def test_exponential_buckets_are_numpys_own_over_the_same_edges() -> None:
    numbers = np.random.default_rng(0).normal(size=5000)
    counts, _ = np.histogram(numbers, EDGES)
    used = np.flatnonzero(counts)
    spread = compute_exponential_histogram(numbers)
    assert spread.counts.tolist() == counts[used[0] - 1 : used[-1] + 1].tolist()
    assert spread.edges.tolist() == EDGES[used[0] - 1 : used[-1] + 2].tolist()


def test_what_is_beyond_the_last_limit_is_counted_too() -> None:
    spread = compute_exponential_histogram(as_array([1e30, 5.0, -1e25]))
    assert spread.counts.sum() == 3
    assert (spread.edges[0], spread.edges[-1]) == (-1e25, 1e30)
    assert len(compute_exponential_limits()) == 774
