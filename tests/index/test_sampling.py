from __future__ import annotations

import math

import numpy as np

from tests.index.series_builder import series
from tracklight.index.sampling import ResampledView, SampleGridView, merge_sample_grids, pick_evenly
from tracklight.index.series_query import SeriesQuery, compute_curve


def test_few_places_are_told_as_they_are() -> None:
    curve = compute_curve(series([0, 3, 7, 9], [0.0, 0.0, 0.0, 0.0]), SeriesQuery())
    assert SampleGridView(1, 8, 10)(curve).tolist() == [3, 7]


def test_of_many_places_some_are_chosen_that_exist() -> None:
    x = np.arange(0, 1000, 7.0)
    chosen = pick_evenly(x, 0, 1000, 20)
    assert len(chosen) <= 20 and set(chosen) <= set(x)
    assert (chosen[0], chosen[-1]) == (x[0], x[-1])


def test_places_of_several_curves_become_one_list() -> None:
    places = [np.array([0.0, 2.0]), np.array([0.0, 2.0]), np.array([1.0])]
    assert merge_sample_grids(places, 0, 2, 10).tolist() == [0, 1, 2]
    assert len(merge_sample_grids([np.arange(100.0), np.arange(100) + 0.5], 0, 100, 10)) <= 10
    assert merge_sample_grids([], 0, 1, 10).tolist() == []


def test_between_two_points_is_a_line_and_beyond_the_ends_nothing() -> None:
    curve = compute_curve(series([2, 4, 8], [0.0, 2.0, 0.0]), SeriesQuery())
    value = ResampledView(np.array([1.0, 2.0, 3.0, 6.0, 9.0]))(curve).value
    np.testing.assert_array_equal(value, [math.nan, 0, 1, 1, math.nan])


def test_extremes_between_places_are_kept() -> None:
    curve = compute_curve(series(range(11), [0, 0, 9, 0, 0, 0, 0, 0, -9, 0, 0]), SeriesQuery())
    samples = ResampledView(np.array([0.0, 5.0, 10.0]), with_extremes=True)(curve)
    assert (samples.low.tolist(), samples.high.tolist()) == ([0, 0, -9], [9, 0, 0])


def test_a_curve_of_nothing_finite_is_nowhere() -> None:
    samples = ResampledView(np.array([0.0]))(compute_curve(series([0], [math.nan]), SeriesQuery()))
    assert math.isnan(samples.value[0])


def test_one_place_is_enough() -> None:
    samples = ResampledView(np.array([3.0]), with_extremes=True)(
        compute_curve(series([3, 4], [5.0, 6.0]), SeriesQuery())
    )
    assert (samples.value[0], samples.low[0], samples.high[0]) == (5.0, 5.0, 5.0)
