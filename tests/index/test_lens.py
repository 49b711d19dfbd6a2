from __future__ import annotations

import numpy as np

from tests.index.curves import series
from tracklight.index.lens import Lens, look
from tracklight.index.smoothing import Smoothing
from tracklight.types import Series


def test_overwritten_points_are_left_out() -> None:
    curve = look(series([0, 1, 1], [0.0, 100.0, 1.0], overwritten=[1]), Lens())
    assert (curve.step.tolist(), curve.value.tolist()) == ([0, 1], [0.0, 1.0])


def test_workers_that_wrote_side_by_side_are_put_in_order() -> None:
    curve = look(series([0, 2, 4, 1, 3], [0.0, 2.0, 4.0, 1.0, 3.0]), Lens())
    assert curve.value.tolist() == [0, 1, 2, 3, 4]


def test_all_points_are_smoothed_before_any_is_left_out() -> None:
    one = series([0, 1, 2], [0.0, 3.0, 6.0], wall=[1.0, np.nan, 2.0])
    curve = look(one, Lens("wall", Smoothing("mean", 3)))
    assert (curve.value.tolist(), curve.smooth.tolist()) == ([0.0, 6.0], [1.5, 4.5])


def test_without_smoothing_the_values_stand_for_themselves() -> None:
    curve = look(series([0, 1], [0.0, 1.0]), Lens())
    assert curve.smooth is curve.value
    taken = curve.take(slice(1))
    assert taken.smooth is taken.value


def test_integers_become_floating_point() -> None:
    one = series([0, 1], [0, 0])
    whole = Series("run", "tag", one.step, one.wall_time, np.array([2**62, -1]), one.overwritten)
    assert look(whole, Lens()).value.tolist() == [2.0**62, -1.0]


def test_a_series_without_points_is_a_curve_without_points() -> None:
    for axis in ("step", "relative_step", "relative", "wall", "index"):
        assert len(look(series([], []), Lens(axis, Smoothing("ema", 0.5)))) == 0


def test_ranges_include_their_ends() -> None:
    curve = look(series([0, 1, 2, 3], [0.0, 1.0, 2.0, 3.0]), Lens())
    assert curve.take(curve.find_rows(1, 2)).value.tolist() == [1, 2]
    assert curve.take(curve.find_rows(None, 0.5)).value.tolist() == [0]
    assert curve.take(curve.find_rows(3, 1)).value.tolist() == []
    scattered = look(
        series([0, 1, 2], [0.0, 1.0, 2.0]), Lens("metric:m"), series([0, 1, 2], [5, 1, 5])
    )
    assert scattered.take(scattered.find_rows(5, None)).value.tolist() == [0, 2]
