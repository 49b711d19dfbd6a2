from __future__ import annotations

import numpy as np
import pytest

from tracklight.dashboards.scalars import export_curve, pick_pixel_rows
from tracklight.index.series_query import SeriesQuery, compute_curve
from tracklight.types import Float64, Series


def make_series(value: Float64, step: np.ndarray | None = None) -> Series:
    step = np.arange(len(value)) if step is None else step
    return Series("run", "loss", step, 1e9 + step, value, np.zeros(len(value), bool))


def paint(step: np.ndarray, value: Float64, columns: int, last: int) -> list[tuple[float, ...]]:
    """Return first, last, lowest and highest value of each pixel column of a line."""
    edges = np.linspace(0, last, columns + 1)
    column = np.searchsorted(edges[1:-1], step, side="right")
    values = [value[column == number] for number in range(columns)]
    return [(v[0], v[-1], v.min(), v.max()) for v in values if len(v)]


def test_exports_short_series_completely() -> None:
    copied = export_curve(
        compute_curve(make_series(np.random.default_rng(1).normal(size=2000)), SeriesQuery())
    )
    assert (copied.points, len(copied.step), copied.index) == (2000, 2000, None)


def test_long_series_looks_the_same_on_wide_screen() -> None:
    value = np.random.default_rng(2).normal(size=100_000)
    curve = compute_curve(make_series(value), SeriesQuery())
    copied = export_curve(curve)
    assert copied.index is not None
    assert len(copied.step) <= 8000
    assert (copied.points, copied.step[0], copied.step[-1]) == (100_000, 0, 99_999)
    np.testing.assert_array_equal(copied.value, value[copied.index])
    assert paint(copied.step, copied.value, 2000, 99_999) == paint(curve.step, value, 2000, 99_999)


@pytest.mark.parametrize("count", [0, 3, 500])
def test_keeps_non_finite_values_that_are_marked(count: int) -> None:
    value = np.zeros(5000)
    value[100 : 100 + count] = np.nan
    rows = pick_pixel_rows(np.arange(5000), value, 2000)
    assert np.count_nonzero(np.isnan(value[rows])) == min(count, 50)
    assert np.all(np.diff(rows) > 0)


def test_counts_but_does_not_export_overwritten_points() -> None:
    step = np.array([0, 1, 2, 1, 2])
    marks = np.array([False, True, True, False, False])
    series = Series("run", "loss", step, 1.0 * step, 1.0 * step, marks)
    copied = export_curve(compute_curve(series, SeriesQuery()))
    assert (copied.overwritten, copied.step.tolist()) == (2, [0.0, 1.0, 2.0])


def test_series_with_only_nan() -> None:
    copied = export_curve(compute_curve(make_series(np.full(3000, np.nan)), SeriesQuery()))
    assert (copied.nonfinite_count, copied.points) == (3000, 3000)
