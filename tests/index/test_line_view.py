from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.index.series_builder import series
from tracklight.index.downsampling import Line, LineView, make_edges
from tracklight.index.series_query import SeriesQuery, Smoothing, compute_curve
from tracklight.types import Series

EMA = Smoothing("ema", 0.9)


def draw(data: Series, start: float, stop: float, width: int, max_points: int = 0) -> Line:
    return LineView(make_edges(start, stop, width), max_points)(compute_curve(data, SeriesQuery()))


def test_keeps_float64_where_needed() -> None:
    data = series(range(100), (1e9 + np.arange(100.0)).tolist())
    assert draw(data, 0, 99, 10).columns.smoothed.dtype == np.float64
    small = series(range(100), np.arange(100.0).tolist())
    assert draw(small, 0, 99, 10).columns.smoothed.dtype == np.float32


def test_line_only_drops_raw_values_and_keeps_unsmoothed_extremes() -> None:
    curve = compute_curve(series(range(100), np.arange(100.0).tolist()), SeriesQuery())
    columns = LineView(make_edges(0, 99, 10), 0, is_smoothed=False, line_only=True)(curve).columns
    assert columns.value is None and columns.low is not None and columns.high is not None
    curve = compute_curve(series(range(100), np.arange(100.0).tolist()), SeriesQuery(smoothing=EMA))
    columns = LineView(make_edges(0, 99, 10), 0, is_smoothed=True, line_only=True)(curve).columns
    assert columns.value is columns.low is columns.high is None


def test_extremes_are_before_smoothing() -> None:
    values = [0.0, 10.0] * 50
    curve = compute_curve(series(range(100), values), SeriesQuery(smoothing=EMA))
    columns = LineView(make_edges(0, 99, 5), 0, is_smoothed=True)(curve).columns
    assert columns.low is not None and columns.high is not None and columns.value is not None
    assert (columns.low.max(), columns.high.min()) == (0.0, 10.0)
    assert columns.value.tolist() == [10.0] * 5
    assert abs(columns.smoothed[-1] - curve.smoothed[-1]) < 1e-6


finite_or_not = st.one_of(st.floats(-1e6, 1e6), st.sampled_from([math.nan, math.inf]))


@given(
    st.dictionaries(st.integers(0, 500), finite_or_not, min_size=1, max_size=80),
    st.integers(0, 500),
    st.integers(0, 500),
    st.integers(1, 30),
    st.integers(0, 100),
)
def test_line_is_complete_or_covers_all_points(
    points: dict[int, float], start: int, length: int, width: int, max_points: int
) -> None:
    steps = sorted(points)
    line = draw(series(steps, [points[s] for s in steps]), start, start + length, width, max_points)
    inside = [step for step in steps if start <= step <= start + length]
    columns = line.columns
    if columns.x is not None:
        assert len(inside) <= max_points
        assert set(inside) <= set(columns.x.tolist())
        assert len(columns.x) <= len(inside) + 2
    else:
        assert len(inside) > max_points and len(columns.smoothed) == width
        values = np.array([points[step] for step in inside])
        values = values[np.isfinite(values)].astype(np.float32)
        if len(values):
            assert columns.low is not None and columns.high is not None
            assert (np.nanmin(columns.low), np.nanmax(columns.high)) == (values.min(), values.max())
