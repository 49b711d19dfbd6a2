"""Compare bands with pandas."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from tests.dashboards.scalars.fake_log import Log, query
from tests.index.series_builder import series
from tracklight.dashboards.scalars import charts
from tracklight.dashboards.scalars.charts import compute_t_quantiles
from tracklight.index.aggregation import SKETCH_ERROR

RNG = np.random.default_rng(4)


def noisy(run: str, steps: list[int]) -> object:
    return series(steps, RNG.normal(size=len(steps)).tolist(), run=run)


def frame(log: Log, *runs: str) -> pd.DataFrame:
    """Return a column for each run, interpolated at all steps within the range of the run."""
    columns = {
        run: pd.Series(log.series[run, "loss"].value, log.series[run, "loss"].step) for run in runs
    }
    return pd.DataFrame(columns).interpolate(method="index", limit_area="inside")


def band(log: Log, *runs: str, **fields: object) -> object:
    chart = query(log, "loss", groups=[{"key": "all", "runs": list(runs)}], **fields)
    (result,) = chart.bands
    return result


DIFFERENT = Log(
    noisy("a", list(range(0, 100, 10))),
    noisy("b", list(range(5, 120, 7))),
    noisy("c", list(range(20, 60, 3))),
)


def test_interpolates_runs_with_different_steps() -> None:
    rows = frame(DIFFERENT, "a", "b", "c")
    result = band(DIFFERENT, "a", "b", "c")
    assert result.x.tolist() == rows.index.tolist()
    np.testing.assert_allclose(result.center, rows.mean(axis=1), atol=1e-12)


@pytest.mark.parametrize("spread", ["std", "stderr", "ci95"])
def test_spreads_match_pandas(spread: str) -> None:
    rows = frame(DIFFERENT, "a", "b", "c")
    result = band(DIFFERENT, "a", "b", "c", band=spread)
    half_width = rows.std(axis=1).fillna(0.0)
    count = rows.count(axis=1)
    if spread != "std":
        half_width = half_width / np.sqrt(count)
    if spread == "ci95":
        half_width = half_width * count.map({1: 0.0, 2: 12.7062047, 3: 4.30265273})
    np.testing.assert_allclose(result.high - result.center, half_width, rtol=1e-6, atol=1e-12)
    np.testing.assert_allclose(result.center - result.low, half_width, rtol=1e-6, atol=1e-12)


def test_median_and_extremes_match_pandas() -> None:
    rows = frame(DIFFERENT, "a", "b", "c")
    result = band(DIFFERENT, "a", "b", "c", center="median", band="minmax")
    np.testing.assert_allclose(result.center, rows.median(axis=1), atol=1e-12)
    np.testing.assert_allclose(result.low, rows.min(axis=1), atol=1e-12)
    np.testing.assert_allclose(result.high, rows.max(axis=1), atol=1e-12)


def test_quantiles_match_pandas() -> None:
    rows = frame(DIFFERENT, "a", "b", "c")
    result = band(DIFFERENT, "a", "b", "c", band="quantiles")
    columns = (result.low, result.inner_low, result.center, result.inner_high, result.high)
    for column, quantile in zip(columns, (0.05, 0.25, 0.5, 0.75, 0.95), strict=True):
        np.testing.assert_allclose(column, rows.quantile(quantile, axis=1), atol=1e-12)


def test_quantiles_of_many_runs_are_approximate(monkeypatch: pytest.MonkeyPatch) -> None:
    exact = band(DIFFERENT, "a", "b", "c", band="quantiles")
    monkeypatch.setattr(charts, "MAX_EXACT_RUNS", 2)
    sketched = band(DIFFERENT, "a", "b", "c", band="quantiles")
    for name in ("low", "inner_low", "center", "inner_high", "high"):
        found, expected = getattr(sketched, name), getattr(exact, name)
        np.testing.assert_allclose(found, expected, rtol=2 * SKETCH_ERROR, atol=1e-12)
        assert (found != expected).any()


def test_samples_long_runs_at_existing_steps() -> None:
    log = Log(*(noisy(run, list(range(20_000))) for run in "abcde"))
    rows = frame(log, *"abcde")
    result = band(log, *"abcde", width=100)
    assert 190 <= len(result.x) <= 200
    np.testing.assert_allclose(result.center, rows.mean(axis=1).loc[result.x])
    np.testing.assert_allclose(result.high - result.center, rows.std(axis=1).loc[result.x])


def test_keeps_extremes_between_grid_points() -> None:
    log = Log(*(noisy(run, list(range(20_000))) for run in "abc"))
    result = band(log, *"abc", width=50, band="minmax")
    values = np.concatenate([one.value for one in log.series.values()])
    assert (result.low.min(), result.high.max()) == (values.min(), values.max())


def test_band_uses_smoothed_values() -> None:
    steps = list(range(50))
    log = Log(noisy("a", steps), noisy("b", steps))
    result = band(log, "a", "b", smoothing={"kind": "ema", "amount": 0.8})
    smoothed = frame(log, "a", "b").ewm(alpha=0.2).mean()
    np.testing.assert_allclose(result.center, smoothed.mean(axis=1))


def test_ungrouped_runs_stay_lines() -> None:
    log = Log(noisy("a", [0, 1]), noisy("b", [0, 1]), noisy("c", [0, 1]))
    groups = [{"key": "one", "runs": ["a", "gone"]}, {"key": "two", "runs": ["b"]}]
    chart = query(log, "loss", groups=groups)
    assert [line.run for line in chart.lines] == ["c"]
    assert [(one.group, one.tag, one.runs) for one in chart.bands] == [
        ("one", "loss", 1),
        ("two", "loss", 1),
    ]
    assert (chart.points, chart.runs) == (6, 3)


def test_counts_runs_at_each_step() -> None:
    rows = frame(DIFFERENT, "a", "b", "c")
    result = band(DIFFERENT, "a", "b", "c")
    assert result.count.tolist() == rows.count(axis=1).tolist()
    assert set(result.count.tolist()) == {1, 2, 3}


def test_requires_a_minimum_number_of_runs() -> None:
    rows = frame(DIFFERENT, "a", "b", "c")
    enough = rows[rows.count(axis=1) >= 2]
    result = band(DIFFERENT, "a", "b", "c", min_runs=2)
    assert result.x.tolist() == enough.index.tolist()
    np.testing.assert_allclose(result.center, enough.mean(axis=1), atol=1e-12)


def test_has_a_gap_where_too_few_runs_have_points() -> None:
    log = Log(
        series([0, 1], [1.0, 2.0], run="a"),
        series([4, 5], [3.0, 4.0], run="b"),
        series([0, 1, 2, 3, 4, 5], [5.0] * 6, run="c"),
    )
    result = band(log, "a", "b", "c", min_runs=2)
    assert result.count.tolist() == [2, 2, 1, 1, 2, 2]
    assert np.isnan(result.center).tolist() == [False, False, True, True, False, False]
    assert np.isnan(result.low).tolist() == np.isnan(result.center).tolist()


def test_band_without_enough_runs_is_empty() -> None:
    assert len(band(DIFFERENT, "a", "b", "c", min_runs=4).x) == 0


def test_single_run_has_no_spread() -> None:
    result = band(Log(noisy("a", [0, 1, 2])), "a")
    assert result.low.tolist() == result.center.tolist() == result.high.tolist()


def test_ignores_non_finite_values() -> None:
    log = Log(series([0, 1, 2], [1.0, np.nan, 3.0], run="a"), series([0, 1, 2], [3.0, 4.0, 5.0]))
    assert band(log, "a", "run").center.tolist() == [2.0, 3.0, 4.0]


@pytest.mark.parametrize(
    ("freedom", "quantile"), [(1, 12.7062), (9, 2.26216), (30, 2.04227), (100, 1.98397)]
)
def test_t_quantiles_match_published_tables(freedom: int, quantile: float) -> None:
    assert compute_t_quantiles(np.array([freedom]))[0] == pytest.approx(quantile, abs=1e-5)
