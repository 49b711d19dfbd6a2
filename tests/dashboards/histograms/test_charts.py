"""Selection of steps, the grid of a chart, and unusual histograms."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

from tests import builders as b
from tests.analysis.media.conftest import Open
from tests.dashboards.histograms.requests import query, request, write
from tests.index import logs
from tests.index.logs import histogram
from tracklight.errors import UsageError
from tracklight.formats import summary
from tracklight.writer.values import build_histogram


def make_rows(step: int) -> list[list[float]]:
    return [[0, 1, step], [1, 3, 10]]


@pytest.fixture
def thousand(tmp_path: Path) -> Path:
    write(tmp_path, "a", *(histogram(step, make_rows(step)) for step in range(0, 2000, 2)))
    return tmp_path


def test_many_steps_are_thinned_evenly(thousand: Path, open_log: Open) -> None:
    (series,) = query(open_log(thousand)).series
    assert (series.count, len(series.step)) == (1000, 51)
    assert series.step[0] == 0 and series.step[-1] == 1998
    assert np.ptp(np.diff(series.step)) <= 2


def test_range_has_all_its_steps(thousand: Path, open_log: Open) -> None:
    context = open_log(thousand)
    (series,) = query(context, start=100, stop=140).series
    assert series.step.tolist() == list(range(100, 141, 2))
    assert series.count == 21
    (series,) = query(context, x="relative", start=200, stop=240).series
    assert series.x.tolist() == [200, 220, 240]
    assert query(context, start=1999).series == []


def test_counts_on_the_grid(thousand: Path, open_log: Open) -> None:
    chart = query(open_log(thousand), bins=3, max_points=2)
    assert chart.grid.tolist() == [0, 1, 2, 3]
    (series,) = chart.series
    assert series.bins.tolist() == [0, 5, 5, 1998, 5, 5]
    assert series.bucket_sum.tolist() == [10, 2008]
    assert (series.low.tolist(), series.high.tolist()) == ([0, 0], [3, 3])
    assert series.percentiles is None
    narrow = query(open_log(thousand), bins=2, low=1, high=2, max_points=1)
    assert narrow.series[0].bins.tolist() == [2.5, 2.5]


def test_runs_share_a_grid(thousand: Path, open_log: Open) -> None:
    write(thousand, "b", histogram(0, [[-5, 7, 12]]))
    context = open_log(thousand)
    chart = query(context, bins=12)
    assert (chart.grid[0], chart.grid[-1]) == (-5, 7)
    assert [series.run for series in chart.series] == ["a", "b"]
    assert chart.series[1].bins.tolist() == [1] * 12
    assert [series.run for series in query(context, runs=["b", "gone"]).series] == ["b"]
    assert query(context, "unknown").series == []


def test_runs_are_paged(tmp_path: Path, open_log: Open) -> None:
    for run in "abcdefg":
        write(tmp_path, run, histogram(0, make_rows(1)))
    context = open_log(tmp_path)
    chart = query(context, max_runs=3, offset=3)
    assert chart.runs == 7
    assert [series.run for series in chart.series] == ["d", "e", "f"]
    assert query(context, max_runs=3, offset=9).series == []


def test_percentiles_without_bins(thousand: Path, open_log: Open) -> None:
    chart = query(open_log(thousand), bins=0, percentiles=True, max_points=2000)
    assert chart.grid is None
    (series,) = chart.series
    assert series.bins is None
    # The first one has an empty bucket from 0 to 1; TensorBoard starts at its left edge as well.
    first = series.percentiles.reshape(1000, 9)[0]
    assert_allclose(first[[0, 4, 8]], [0, 1.5, 3])


def test_overwritten_histograms_are_left_out(tmp_path: Path, open_log: Open) -> None:
    rewritten = [histogram(step, [[0, 1, 100]], wall=1.8e9 + step) for step in (1, 2)]
    write(tmp_path, "a", *(histogram(step, make_rows(step)) for step in range(4)), *rewritten)
    (series,) = query(open_log(tmp_path)).series
    assert series.step.tolist() == [0, 1, 2]
    assert series.bucket_sum.tolist() == [10, 100, 100]


def test_unusual_histograms(tmp_path: Path, open_log: Open) -> None:
    nan, inf = float("nan"), float("inf")
    tables = [
        [],
        [[nan, nan, 0], [nan, nan, 0]],
        [[-inf, 0, 3], [0, 1, 4]],
        [[0, 1, nan]],
        [[0, 0, 0], [0, 0, 0]],
        [[2, 2, 7]],
    ]
    write(tmp_path, "a", *(histogram(step, table) for step, table in enumerate(tables)))
    chart = query(open_log(tmp_path), bins=2, percentiles=True)
    (series,) = chart.series
    assert (chart.grid[0], chart.grid[-1]) == (0, 2)
    assert series.bucket_sum.tolist() == [0, 0, 7, 0, 0, 7]
    assert series.has_nan.tolist() == [False, True, False, True, False, False]
    assert series.unbounded.tolist() == [0, 0, 3, 0, 0, 0]
    assert series.bins.reshape(6, 2).tolist() == [[0, 0]] * 2 + [[4, 0]] + [[0, 0]] * 2 + [[0, 7]]
    assert np.isnan(series.low).tolist() == [True, True, False, False, False, False]
    assert series.errors == []


def test_nan_and_infinity_are_counted_by_our_writer(tmp_path: Path, open_log: Open) -> None:
    numbers = [1.0, 2.0, np.nan, np.inf, np.inf, -np.inf]
    data = build_histogram("w", numbers, 2).SerializeToString()
    logs.write(tmp_path, "a", b.record(b.event(b.summary(b.blob(1, data)), step=1, wall=1.7e9)))
    context = open_log(tmp_path)
    (series,) = query(context).series
    nonfinite = series.nan, series.positive_infinity, series.negative_infinity
    assert [column.tolist() for column in nonfinite] == [[1], [2], [1]]
    assert (series.num.tolist(), series.bucket_sum.tolist()) == ([2], [2])
    exact = request(context, "buckets", run="a", tag="w", index=0)
    assert (exact.left.tolist(), exact.counts.tolist()) == ([1, 1.5], [1, 1])
    assert (exact.totals.nan, exact.totals.positive_infinity, exact.totals.sum) == (1, 2, 3)


def test_unreadable_histograms_are_reported(tmp_path: Path, open_log: Open) -> None:
    two_columns = b.value(
        "w", b.metadata("histograms"), b.tensor(b.DOUBLE, b.shape(1, 2), b.content(bytes(16)))
    )
    invalid = b.record(b.event(b.summary(two_columns), step=1, wall=1.7e9 + 1))
    records = [
        histogram(0, make_rows(0)),
        invalid,
        histogram(2, make_rows(2)),
        histogram(3, make_rows(3)),
    ]
    path = write(tmp_path, "a", *records)
    context = open_log(tmp_path)
    path.write_bytes(b.flip(path.read_bytes(), sum(map(len, records[:3])) + 60))
    (series,) = query(context).series
    assert series.bucket_sum.tolist() == [10, 0, 12, 0]
    assert [error.step for error in series.errors] == [1, 3]
    assert [error.message.code for error in series.errors] == [
        "log.not_a_histogram",
        "log.record_checksum",
    ]
    assert "not a histogram" in series.errors[0].message.text
    assert "checksum" in series.errors[1].message.text


def test_fewer_large_histograms_are_selected(
    tmp_path: Path, open_log: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tracklight.dashboards.histograms.binning.MAX_SELECTED_BYTES", 500)
    write(tmp_path, "a", *(histogram(step, make_rows(step)) for step in range(20)))
    (series,) = query(open_log(tmp_path)).series
    assert 1 < len(series.step) < 10
    assert series.count == 20


def test_too_many_histograms_raise_usage_error(thousand: Path, open_log: Open) -> None:
    charts = [{"id": str(number), "tag": "w"} for number in range(256)]
    with pytest.raises(UsageError, match="select fewer runs"):
        request(open_log(thousand), "query", charts=charts, max_points=2000, max_runs=200)


def test_old_and_new_format_agree(tmp_path: Path, open_log: Open) -> None:
    old = b.blob(
        5,
        *(b.double(number, one) for number, one in enumerate([-1.0, 3.0, 6.0, 5.0, 20.0], 1)),
        b.blob(6, np.array([-2.0, 0, 2, 1e308]).tobytes()),
        b.blob(7, np.array([0.0, 2, 3, 1]).tobytes()),
    )
    write(tmp_path, "old", b.record(b.event(b.summary(b.value("w", old)), step=1, wall=1.0)))
    write(tmp_path, "new", histogram(1, [[-1, 0, 2], [0, 2, 3], [2, 3, 1]]))
    context = open_log(tmp_path)
    first, second = query(context, bins=8, percentiles=True).series
    assert_allclose(first.bins, second.bins)
    assert_allclose(first.percentiles, second.percentiles)
    assert {series.run: series.num[0] for series in (first, second)}["old"] == 6


def test_values_of_another_kind_are_reported(tmp_path: Path, open_log: Open) -> None:
    text = summary.text("t", "words").SerializeToString()
    logs.write(tmp_path, "a", b.record(b.event(b.summary(b.blob(1, text)), step=0, wall=1.0)))
    (series,) = query(open_log(tmp_path), "t").series
    assert series.errors and series.bucket_sum.tolist() == [0]


def test_outliers_do_not_extend_the_grid(tmp_path: Path, open_log: Open) -> None:
    tables = [[[-1, 0, 500], [0, 1, 500], [1, 1000, 1]] for _ in range(20)]
    tables.append([[-1e6, 1e6, 1000]])
    write(tmp_path, "a", *(histogram(step, table) for step, table in enumerate(tables)))
    context = open_log(tmp_path)
    whole = query(context, bins=30)
    assert (whole.grid[0], whole.grid[-1], whole.is_clipped) == (-1e6, 1e6, False)
    core = query(context, bins=30, ignore_outliers=True)
    assert -2 < core.grid[0] < -1 < 1 < core.grid[-1] < 2
    assert core.is_clipped
    assert query(context, bins=30, ignore_outliers=True, high=9.0).grid[-1] == 9


def test_grid_is_not_cropped_without_outliers(thousand: Path, open_log: Open) -> None:
    chart = query(open_log(thousand), ignore_outliers=True)
    assert (chart.grid[0], chart.grid[-1], chart.is_clipped) == (0, 3, False)


def test_constant_steps_are_not_outliers(tmp_path: Path, open_log: Open) -> None:
    write(tmp_path, "a", *(histogram(step, [[step, step, 5]]) for step in range(9)))
    chart = query(open_log(tmp_path), ignore_outliers=True)
    assert (chart.grid[0], chart.grid[-1], chart.is_clipped) == (0, 8, False)
