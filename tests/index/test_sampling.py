from __future__ import annotations

import math

import numpy as np

from tests.index.series_builder import series
from tracklight.index.downsampling import (
    ResampledView,
    SampleGridView,
    merge_sample_grids,
    pick_evenly,
)
from tracklight.index.series_query import SeriesQuery, compute_curve


def test_returns_all_of_few_grid_points() -> None:
    curve = compute_curve(series([0, 3, 7, 9], [0.0, 0.0, 0.0, 0.0]), SeriesQuery())
    assert SampleGridView(1, 8, 10)(curve).tolist() == [3, 7]


def test_picks_existing_values_of_many() -> None:
    x = np.arange(0, 1000, 7.0)
    chosen = pick_evenly(x, 0, 1000, 20)
    assert len(chosen) <= 20 and set(chosen) <= set(x)
    assert (chosen[0], chosen[-1]) == (x[0], x[-1])


def test_merges_grids_of_several_curves() -> None:
    grids = [np.array([0.0, 2.0]), np.array([0.0, 2.0]), np.array([1.0])]
    assert merge_sample_grids(grids, 0, 2, 10).tolist() == [0, 1, 2]
    assert len(merge_sample_grids([np.arange(100.0), np.arange(100) + 0.5], 0, 100, 10)) <= 10
    assert merge_sample_grids([], 0, 1, 10).tolist() == []


def test_interpolates_between_points_and_not_beyond_ends() -> None:
    curve = compute_curve(series([2, 4, 8], [0.0, 2.0, 0.0]), SeriesQuery())
    value = ResampledView(np.array([1.0, 2.0, 3.0, 6.0, 9.0]))(curve).value
    np.testing.assert_array_equal(value, [math.nan, 0, 1, 1, math.nan])


def test_keeps_extremes_between_grid_points() -> None:
    curve = compute_curve(series(range(11), [0, 0, 9, 0, 0, 0, 0, 0, -9, 0, 0]), SeriesQuery())
    samples = ResampledView(np.array([0.0, 5.0, 10.0]), with_extremes=True)(curve)
    assert (samples.low.tolist(), samples.high.tolist()) == ([0, 0, -9], [9, 0, 0])


def test_curve_without_finite_values_is_nan() -> None:
    samples = ResampledView(np.array([0.0]))(compute_curve(series([0], [math.nan]), SeriesQuery()))
    assert math.isnan(samples.value[0])


def test_resamples_on_single_grid_point() -> None:
    samples = ResampledView(np.array([3.0]), with_extremes=True)(
        compute_curve(series([3, 4], [5.0, 6.0]), SeriesQuery())
    )
    assert (samples.value[0], samples.low[0], samples.high[0]) == (5.0, 5.0, 5.0)
