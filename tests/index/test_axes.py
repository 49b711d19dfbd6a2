from __future__ import annotations

import math

import pytest

from tests.index.series_builder import series
from tracklight.errors import UsageError
from tracklight.index.series_query import SeriesQuery, compute_curve

ONE = series([10, 20, 40], [1.0, 2.0, 3.0], wall=[100.0, 103.0, 101.0])


@pytest.mark.parametrize(
    ("axis", "x", "values"),
    [
        ("step", [10, 20, 40], [1, 2, 3]),
        ("relative_step", [0, 10, 30], [1, 2, 3]),
        ("index", [0, 1, 2], [1, 2, 3]),
        # The clock went back: on a time axis, points are sorted by time.
        ("wall", [100, 101, 103], [1, 3, 2]),
        ("relative", [0, 1, 3], [1, 3, 2]),
    ],
)
def test_maps_points_to_axis(axis: str, x: list[float], values: list[float]) -> None:
    curve = compute_curve(ONE, SeriesQuery(axis))
    assert (curve.x.tolist(), curve.value.tolist(), curve.is_sorted) == (x, values, True)


def test_relative_axes_start_at_first_point_not_overwritten() -> None:
    data = series([0, 5, 5, 6], [0.0, 1.0, 2.0, 3.0], overwritten=[0, 1])
    assert compute_curve(data, SeriesQuery("relative")).x.tolist() == [0, 1]
    assert compute_curve(data, SeriesQuery("relative_step")).x.tolist() == [0, 1]
    assert compute_curve(data, SeriesQuery("index")).x.tolist() == [0, 1]


def test_metric_axis_uses_last_value_up_to_step() -> None:
    metric = series([20, 30, 30, 60], [5.0, 7.0, 6.0, 9.0], overwritten=[1])
    curve = compute_curve(
        series([10, 20, 29, 30, 99], [0, 1, 2, 3, 4]), SeriesQuery("metric:epoch"), metric
    )
    assert curve.x.tolist() == [5, 5, 6, 9]
    assert curve.value.tolist() == [1, 2, 3, 4]  # there is no epoch before the first


def test_metric_axis_keeps_order_of_steps() -> None:
    curve = compute_curve(ONE, SeriesQuery("metric:lr"), series([10, 20, 40], [3.0, 1.0, 2.0]))
    assert (curve.x.tolist(), curve.is_sorted) == ([3, 1, 2], False)


def test_empty_metric_gives_empty_curve() -> None:
    assert len(compute_curve(ONE, SeriesQuery("metric:lr"), series([], []))) == 0


@pytest.mark.parametrize("x", [math.nan, math.inf, -math.inf])
def test_drops_points_with_non_finite_x(x: float) -> None:
    data = series([0, 1, 2], [1.0, 2.0, 3.0], wall=[5.0, x, 6.0])
    assert compute_curve(data, SeriesQuery("wall")).value.tolist() == [1, 3]
    assert compute_curve(data, SeriesQuery("step")).value.tolist() == [1, 2, 3]


@pytest.mark.parametrize("axis", ["steps", "", "metric:", "Step"])
def test_rejects_unknown_axis(axis: str) -> None:
    with pytest.raises(UsageError, match=f'unknown axis "{axis}"; use step, relative_step'):
        SeriesQuery(axis)
