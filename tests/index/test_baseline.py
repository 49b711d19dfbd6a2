from __future__ import annotations

import math

import numpy as np
import pytest

from tests.index.series_builder import series
from tracklight.index.series_query import (
    Baseline,
    BaselineMode,
    Curve,
    SeriesQuery,
    Smoothing,
    compute_curve,
    make_baseline,
)
from tracklight.types import Series

BASE = series([0, 10, 20], [1.0, 3.0, 0.0])


def compare(
    data: Series, base: Series = BASE, mode: BaselineMode = "difference", **options: Smoothing
) -> Curve:
    baseline = make_baseline(compute_curve(base, SeriesQuery(**options)))
    return compute_curve(
        data, SeriesQuery(**options, baselines={"loss": baseline}, baseline_mode=mode)
    )


def test_interpolates_baseline_at_points_of_series() -> None:
    curve = compare(series([0, 5, 15], [1.0, 1.0, 1.0]))
    assert curve.value.tolist() == [0.0, -1.0, -0.5]


def test_drops_points_outside_range_of_baseline() -> None:
    assert compare(series([-1, 10, 21], [1.0, 1.0, 1.0])).step.tolist() == [10]


@np.errstate(divide="ignore")
def test_ratio_to_zero_is_not_finite() -> None:
    curve = compare(series([10, 20], [6.0, 1.0]), mode="ratio")
    assert curve.value.tolist() == [2.0, math.inf]


def test_compares_smoothed_with_smoothed_values() -> None:
    curve = compare(series([0, 10, 20], [2.0, 4.0, 9.0]), smoothing=Smoothing("mean", 3))
    assert curve.value.tolist() == [1.0, 1.0, 9.0]
    assert curve.smoothed.tolist() == pytest.approx([3 - 2, 5 - 4 / 3, 6.5 - 1.5])


def test_tag_without_baseline_has_no_points() -> None:
    nothing = Baseline(*(BASE.value[:0],) * 3)
    for baselines in ({}, {"loss": nothing}):
        assert len(compute_curve(BASE, SeriesQuery(baselines=baselines))) == 0


def test_baseline_is_sorted_and_finite() -> None:
    metric = series([0, 1, 2, 3], [2.0, 1.0, 2.0, math.nan])
    values = series([0, 1, 2, 3], [5.0, math.nan, 7.0, 8.0])
    base = make_baseline(compute_curve(values, SeriesQuery("metric:m"), metric))
    assert (base.x.tolist(), base.value.tolist()) == ([2.0], [7.0])
    assert base.smoothed is base.value
