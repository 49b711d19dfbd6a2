from __future__ import annotations

import numpy as np

from tests.index.series_builder import series
from tracklight.index.series_query import SeriesQuery, Smoothing, compute_curve
from tracklight.types import Series


def test_drops_overwritten_points() -> None:
    curve = compute_curve(series([0, 1, 1], [0.0, 100.0, 1.0], overwritten=[1]), SeriesQuery())
    assert (curve.step.tolist(), curve.value.tolist()) == ([0, 1], [0.0, 1.0])


def test_sorts_points_of_concurrent_workers() -> None:
    curve = compute_curve(series([0, 2, 4, 1, 3], [0.0, 2.0, 4.0, 1.0, 3.0]), SeriesQuery())
    assert curve.value.tolist() == [0, 1, 2, 3, 4]


def test_smooths_all_points_before_dropping_any() -> None:
    one = series([0, 1, 2], [0.0, 3.0, 6.0], wall=[1.0, np.nan, 2.0])
    curve = compute_curve(one, SeriesQuery("wall", Smoothing("mean", 3)))
    assert (curve.value.tolist(), curve.smoothed.tolist()) == ([0.0, 6.0], [1.5, 4.5])


def test_smoothed_is_value_without_smoothing() -> None:
    curve = compute_curve(series([0, 1], [0.0, 1.0]), SeriesQuery())
    assert curve.smoothed is curve.value
    taken = curve.take(slice(1))
    assert taken.smoothed is taken.value


def test_converts_integers_to_floats() -> None:
    one = series([0, 1], [0, 0])
    whole = Series("run", "tag", one.step, one.wall_time, np.array([2**62, -1]), one.overwritten)
    assert compute_curve(whole, SeriesQuery()).value.tolist() == [2.0**62, -1.0]


def test_empty_series_gives_empty_curve() -> None:
    for axis in ("step", "relative_step", "relative", "wall", "index"):
        assert len(compute_curve(series([], []), SeriesQuery(axis, Smoothing("ema", 0.5)))) == 0


def test_ranges_include_ends() -> None:
    curve = compute_curve(series([0, 1, 2, 3], [0.0, 1.0, 2.0, 3.0]), SeriesQuery())
    assert curve.take(curve.select_rows(1, 2)).value.tolist() == [1, 2]
    assert curve.take(curve.select_rows(None, 0.5)).value.tolist() == [0]
    assert curve.take(curve.select_rows(3, 1)).value.tolist() == []
    scattered = compute_curve(
        series([0, 1, 2], [0.0, 1.0, 2.0]), SeriesQuery("metric:m"), series([0, 1, 2], [5, 1, 5])
    )
    assert scattered.take(scattered.select_rows(5, None)).value.tolist() == [0, 2]
