"""Histograms count every number once, in the buckets of TensorFlow and PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracklight.writer import values
from tracklight.writer.values import (
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
    histogram = compute_uniform_histogram(as_array([0, 1, 1, 2, 3]), 3)
    assert histogram.edges.tolist() == [0, 1, 2, 3]
    assert histogram.counts.tolist() == [1, 2, 2]
    assert (histogram.num, histogram.sum, histogram.sum_squares) == (5, 7, 15)


def test_identical_numbers_are_in_the_last_bucket() -> None:
    histogram = compute_uniform_histogram(as_array([2, 2]), 3)
    assert histogram.edges.tolist() == [2, 2, 2, 2]
    assert histogram.counts.tolist() == [0, 0, 2]


def test_empty_input_and_zero_buckets() -> None:
    assert compute_uniform_histogram(as_array([]), 2).counts.tolist() == [0, 0]
    assert compute_uniform_histogram(as_array([1, 2]), 0).counts.tolist() == []
    assert compute_exponential_histogram(as_array([])).num == 0


@pytest.mark.parametrize(
    "compute", [lambda a: compute_uniform_histogram(a, 4), compute_exponential_histogram]
)
def test_nan_and_infinities_are_counted_separately(compute: Any) -> None:
    clean = compute(as_array([1, 2, 5]))
    mixed = compute(as_array([np.nan, 1, np.inf, 2, -np.inf, 5, np.nan, np.inf]))
    assert (mixed.nan, mixed.positive_infinity, mixed.negative_infinity) == (2, 2, 1)
    assert mixed.counts.tolist() == clean.counts.tolist()
    assert mixed.edges.tolist() == clean.edges.tolist()
    assert (mixed.min, mixed.max, mixed.num, mixed.sum) == (1, 5, 3, 8)


@given(st.lists(st.one_of(FINITE, NEAR), max_size=30), st.integers(1, 40))
def test_uniform_histogram_counts_every_number(numbers: list[float], buckets: int) -> None:
    histogram = compute_uniform_histogram(as_array(numbers), buckets)
    assert histogram.counts.sum() == len(numbers)
    assert (histogram.edges[1:] >= histogram.edges[:-1]).all()
    assert np.isfinite(histogram.edges).all()


@given(st.lists(st.one_of(FINITE, NEAR), max_size=30))
def test_totals_of_the_kernel_agree_with_numpy(numbers: list[float]) -> None:
    compiled = values.compute_totals(as_array(numbers))
    plain = values.compute_totals_numpy(as_array(numbers))
    assert compiled[:2] == plain[:2]
    scale = max(map(abs, numbers), default=0.0)
    np.testing.assert_allclose(compiled[2], plain[2], rtol=1e-9, atol=1e-9 * scale)
    np.testing.assert_allclose(compiled[3], plain[3], rtol=1e-9)


@given(st.lists(st.floats(0, 100), max_size=30), st.floats(0, 10), st.integers(1, 40))
def test_uniform_kernel_agrees_with_numpy(numbers: list[float], width: float, buckets: int) -> None:
    compiled = values.count_uniform(as_array(numbers), 0.0, width, buckets)
    plain = values.count_uniform_numpy(as_array(numbers), 0.0, width, buckets)
    assert compiled.tolist() == plain.tolist()


@given(st.lists(st.one_of(FINITE, NEAR), max_size=30))
def test_exponential_kernel_agrees_with_numpy(numbers: list[float]) -> None:
    compiled, plain = np.zeros((2, len(EDGES) + 1), np.int64)
    values.count_exponential(as_array(numbers), compiled)
    values.count_exponential_numpy(as_array(numbers), plain)
    assert compiled.tolist() == plain.tolist()
    assert compiled.sum() == len(numbers)


def test_exponential_histogram_agrees_with_numpy_histogram() -> None:
    numbers = np.random.default_rng(0).normal(size=5000)
    counts, _ = np.histogram(numbers, EDGES)
    used = np.flatnonzero(counts)
    histogram = compute_exponential_histogram(numbers)
    assert histogram.counts.tolist() == counts[used[0] - 1 : used[-1] + 1].tolist()
    assert histogram.edges.tolist() == EDGES[used[0] - 1 : used[-1] + 2].tolist()


def test_counts_numbers_beyond_the_last_limit() -> None:
    histogram = compute_exponential_histogram(as_array([1e30, 5.0, -1e25]))
    assert histogram.counts.sum() == 3
    assert (histogram.edges[0], histogram.edges[-1]) == (-1e25, 1e30)
    assert len(compute_exponential_limits()) == 774
