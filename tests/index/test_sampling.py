from __future__ import annotations

import math

import numpy as np

from tests.index.curves import series
from tracklight.index.lens import Lens, look
from tracklight.index.sampling import Places, Sample, join_places, spread


def test_few_places_are_told_as_they_are() -> None:
    curve = look(series([0, 3, 7, 9], [0.0, 0.0, 0.0, 0.0]), Lens())
    assert Places(1, 8, 10)(curve).tolist() == [3, 7]


def test_of_many_places_some_are_chosen_that_exist() -> None:
    x = np.arange(0, 1000, 7.0)
    chosen = spread(x, 0, 1000, 20)
    assert len(chosen) <= 20 and set(chosen) <= set(x)
    assert (chosen[0], chosen[-1]) == (x[0], x[-1])


def test_places_of_several_curves_become_one_list() -> None:
    places = [np.array([0.0, 2.0]), np.array([0.0, 2.0]), np.array([1.0])]
    assert join_places(places, 0, 2, 10).tolist() == [0, 1, 2]
    assert len(join_places([np.arange(100.0), np.arange(100) + 0.5], 0, 100, 10)) <= 10
    assert join_places([], 0, 1, 10).tolist() == []


def test_between_two_points_is_a_line_and_beyond_the_ends_nothing() -> None:
    curve = look(series([2, 4, 8], [0.0, 2.0, 0.0]), Lens())
    value = Sample(np.array([1.0, 2.0, 3.0, 6.0, 9.0]))(curve).value
    np.testing.assert_array_equal(value, [math.nan, 0, 1, 1, math.nan])


def test_extremes_between_places_are_kept() -> None:
    curve = look(series(range(11), [0, 0, 9, 0, 0, 0, 0, 0, -9, 0, 0]), Lens())
    samples = Sample(np.array([0.0, 5.0, 10.0]), extremes=True)(curve)
    assert (samples.low.tolist(), samples.high.tolist()) == ([0, 0, -9], [9, 0, 0])


def test_a_curve_of_nothing_finite_is_nowhere() -> None:
    samples = Sample(np.array([0.0]))(look(series([0], [math.nan]), Lens()))
    assert math.isnan(samples.value[0])


def test_one_place_is_enough() -> None:
    samples = Sample(np.array([3.0]), extremes=True)(look(series([3, 4], [5.0, 6.0]), Lens()))
    assert (samples.value[0], samples.low[0], samples.high[0]) == (5.0, 5.0, 5.0)
