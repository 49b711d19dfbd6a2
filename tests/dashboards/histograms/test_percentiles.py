"""Percentiles match TensorBoard, and the raw data within the width of a bucket."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from tests.dashboards.histograms.requests import Rows, make_columns
from tracklight.dashboards.histograms import binning
from tracklight.dashboards.histograms.binning import BASIS_POINTS, compute_percentiles
from tracklight.writer.values import compute_exponential_histogram, compute_uniform_histogram


def test_published_example() -> None:
    table = [(-1, -0.9, 2), (-0.9, 0, 0), (0, 1, 3), (1, 2.5, 1)]
    (result,) = compute_percentiles(make_columns(table))
    expected = [-1, -0.97996, -0.95239, -0.90745, 1 / 3, 0.716333, 1.0717, 1.8988, 2.5]
    assert_allclose(result, expected, atol=1e-4)


def test_empty_histograms_have_nan() -> None:
    result = compute_percentiles(make_columns([], [(0, 1, 0), (1, 2, 0)], [(0, 1, 1)]))
    assert np.isnan(result[:2]).all()
    assert result[2].tolist() == pytest.approx((BASIS_POINTS / 10000).tolist())


@st.composite
def tables(draw: st.DrawFn) -> Rows:
    edges = sorted(draw(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=40)))
    counts = [draw(st.integers(0, 1000)) for _ in edges[1:]]
    return [list(row) for row in zip(edges, edges[1:], counts, strict=False)]


@settings(max_examples=150, deadline=None)
@given(st.lists(tables(), min_size=1, max_size=4))
def test_percentiles_match_tensorboard(histograms: list[Rows]) -> None:
    compressor = pytest.importorskip("tensorboard.plugins.distribution.compressor")
    result = compute_percentiles(make_columns(*histograms))
    for table, row in zip(histograms, result, strict=True):
        if sum(row[2] for row in table):
            expected = [value for _, value in compressor.compress_histogram(table)]
            assert_allclose(row, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    "compute_histogram", [lambda x: compute_uniform_histogram(x, 30), compute_exponential_histogram]
)
@pytest.mark.parametrize("seed", range(5))
def test_percentiles_are_within_a_bucket_of_the_raw_data(compute_histogram, seed: int) -> None:  # type: ignore[no-untyped-def]
    rng = np.random.default_rng(seed)
    numbers = rng.normal(rng.normal(), 10.0 ** rng.integers(-3, 3), 5000)
    buckets = compute_histogram(numbers)
    edges = buckets.edges.copy()
    edges[-1] = buckets.max
    table = np.stack([edges[:-1], edges[1:], buckets.counts], axis=1)
    first = np.flatnonzero(buckets.counts)[0]
    table = table[first:]
    table[0, 0] = buckets.min
    (result,) = compute_percentiles(make_columns(table.tolist()))
    exact = np.percentile(numbers, BASIS_POINTS / 100)
    for value, target in zip(result, exact, strict=True):
        bucket = min(np.searchsorted(edges, target, side="right") - 1, len(edges) - 2)
        assert abs(value - target) <= edges[bucket + 1] - edges[bucket]


def test_result_does_not_depend_on_table_size(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    histograms = [
        [(edge, edge + 1, int(rng.integers(0, 9))) for edge in range(size)]
        for size in rng.integers(1, 90, 60)
    ]
    whole = compute_percentiles(make_columns(*histograms))
    monkeypatch.setattr(binning, "MAX_CELLS", 100)
    assert_allclose(compute_percentiles(make_columns(*histograms)), whole)
