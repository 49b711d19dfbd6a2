"""Any series and any request give a consistent response."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.dashboards.scalars.fake_log import Log, ask, query
from tests.index.series_builder import series
from tracklight.index.run import SeriesPart, mark_overwritten
from tracklight.types import Series

AXES = ["step", "relative_step", "relative", "wall", "index", "metric:other"]

any_number = st.one_of(
    st.floats(-10, 10),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([math.nan, math.inf, -math.inf]),
)
any_time = st.one_of(st.floats(0, 2e9), st.sampled_from([math.nan, math.inf]))


@st.composite
def logged(draw: st.DrawFn, run: str, tag: str) -> Series:
    """Return any points in any order, with overwritten ones marked like the index does."""
    rows = draw(st.lists(st.tuples(st.integers(-5, 40), any_number, any_time), max_size=40))
    steps, values, times = zip(*rows, strict=True) if rows else ((), (), ())
    step, wall = np.array(steps, np.int64), np.array(times, np.float64)
    marks = mark_overwritten([SeriesPart(0, None, step, wall, False, 0.0)])
    return series(steps, values, wall=times, overwritten=np.flatnonzero(marks), run=run, tag=tag)


logs = st.tuples(*(logged(run, tag) for run in "abc" for tag in ("loss", "other")))

smoothings = st.one_of(
    st.none(),
    st.builds(lambda n: {"kind": "ema", "amount": n}, st.floats(0, 0.999)),
    st.builds(lambda n: {"kind": "time_ema", "amount": n}, st.floats(0.1, 100)),
    st.builds(
        lambda kind, n: {"kind": kind, "amount": n},
        st.sampled_from(["mean", "median", "gaussian"]),
        st.integers(1, 60),
    ),
)

any_options = st.fixed_dictionaries(
    {
        "x": st.sampled_from(AXES),
        "smoothing": smoothings,
        "baseline": st.sampled_from(
            [None, {"run": "a", "mode": "difference"}, {"run": "b", "mode": "ratio"}]
        ),
    }
)

charts = st.fixed_dictionaries(
    {
        "width": st.integers(1, 50),
        "overwritten": st.booleans(),
        "groups": st.sampled_from([None, [{"key": "g", "runs": ["a", "b"]}]]),
        "center": st.sampled_from(["mean", "median"]),
        "band": st.sampled_from(["std", "stderr", "ci95", "minmax"]),
    },
    optional={"start": st.floats(-10, 50), "stop": st.floats(-10, 50)},
)


@given(logs, any_options, charts)
def test_draws_any_chart(
    all_series: tuple[Series, ...], options: dict[str, Any], chart: dict[str, Any]
) -> None:
    chart = query(Log(*all_series), "loss", **options, **chart)
    assert chart.error is None
    for line in chart.lines:
        x = chart.grid if line.x is None else line.x
        for column in (line.raw, line.low, line.high):
            assert column is None or len(column) == len(x)
        assert len(line.y) == len(x)
        assert np.isfinite(x).all()
        if not options["x"].startswith("metric:"):
            assert (np.diff(x) >= 0).all()
    for band in chart.bands:
        assert len(band.x) == len(band.center) == len(band.low) == len(band.high)
        finite = np.isfinite(band.low) & np.isfinite(band.high)
        assert (band.low[finite] <= band.high[finite]).all()


@given(logs, any_options, st.floats(-50, 50))
def test_fills_any_table(all_series: tuple[Series, ...], options: dict[str, Any], x: float) -> None:
    log = Log(*all_series)
    nearest = ask("at", log, tags=["loss"], x_value=x, **options).rows
    ranges = ask("range", log, tags=["loss"], **options).rows
    assert [row.run for row in nearest] == [row.run for row in ranges]
    assert all(row.count > 0 for row in ranges)
    for form in ("csv", "json"):
        assert ask("table", log, tags=["loss"], format=form, overwritten=True, **options).content
