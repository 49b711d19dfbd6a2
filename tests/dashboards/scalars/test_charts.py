from __future__ import annotations

import math

import numpy as np
import pytest

from tests.dashboards.scalars.fake_log import Log, ask, query
from tests.index.series_builder import series
from tracklight.errors import UsageError

LONG = series(range(10_000), np.sin(np.arange(10_000.0)).tolist(), run="long")
SHORT = series([0, 10], [1.0, 2.0], run="short")


def test_sends_short_line_completely() -> None:
    chart = query(Log(SHORT), "loss")
    (line,) = chart.lines
    assert (line.run, line.tag, line.points) == ("short", "loss", 2)
    assert (line.x.tolist(), line.y.tolist()) == ([0.0, 10.0], [1.0, 2.0])
    assert (chart.reduced, chart.grid, chart.points, chart.runs) == (False, None, 2, 1)
    assert line.raw is line.low is line.high is None


def test_reduces_long_line_to_grid() -> None:
    chart = query(Log(LONG, SHORT), "loss", width=50)
    long, short = chart.lines
    assert (long.x, len(chart.grid), chart.reduced) == (None, 50, True)
    assert short.x.tolist() == [0.0, 10.0]
    assert chart.points == 10_002
    assert len(long.y) == len(long.low) == len(long.high) == 50
    assert long.y[-1] == np.float32(LONG.value[-1])
    assert long.high.max() == np.float32(LONG.value.max())


def test_sends_all_points_of_small_charts() -> None:
    chart = query(Log(series(range(2000), [0.0] * 2000)), "loss", width=10)
    assert len(chart.lines[0].x) == 2000 and not chart.reduced


def test_zoom_includes_one_neighbor_at_each_end() -> None:
    chart = query(Log(LONG), "loss", width=50, start=100, stop=120)
    (line,) = chart.lines
    assert line.x.tolist() == list(range(99, 122))
    assert line.y.tolist() == LONG.value[99:122].tolist()
    assert (chart.points, chart.reduced) == (21, False)


def test_zoom_into_gap_includes_crossing_line() -> None:
    (line,) = query(Log(SHORT), "loss", start=4, stop=5).lines
    assert line.x.tolist() == [0.0, 10.0]


def test_smoothing_includes_raw_values() -> None:
    (line,) = query(Log(SHORT), "loss", smoothing={"kind": "ema", "amount": 0.5}).lines
    assert line.raw.tolist() == [1.0, 2.0]
    assert line.y.tolist() == pytest.approx([1.0, 5 / 3])


def test_extremes_refer_to_whole_series() -> None:
    log = Log(series([0, 1, 2, 3], [math.nan, 7.0, -1.0, 3.0], wall=[10, 11, 12, 13]))
    (line,) = query(log, "loss", start=3, stop=3, smoothing={"kind": "mean", "amount": 3}).lines
    assert (line.first.step, line.first.value) == (0, "NaN")
    assert (line.last.step, line.last.wall_time, line.last.value) == (3, 13.0, 3.0)
    assert (line.min.step, line.min.value, line.min.smoothed) == (2, -1.0, 3.0)
    assert (line.max.step, line.max.value, line.max.x) == (1, 7.0, 1.0)


def test_reports_non_finite_values() -> None:
    (line,) = query(Log(series([0, 5, 9], [math.nan, math.inf, -math.inf])), "loss").lines
    assert [(odd.x, odd.step, odd.kind) for odd in line.nonfinite] == [
        (0.0, 0, "nan"),
        (5.0, 5, "inf"),
        (9.0, 9, "-inf"),
    ]
    assert line.min is line.max is None


def test_reports_only_first_non_finite_values() -> None:
    (line,) = query(Log(series(range(200), [math.nan] * 200)), "loss").lines
    assert (len(line.nonfinite), line.nonfinite_count) == (50, 200)


def test_sends_overwritten_points_only_on_request() -> None:
    log = Log(series([0, 1, 2, 1, 2], [0.0, 1.0, 2.0, 10.0, 20.0], overwritten=[1, 2]))
    (line,) = query(log, "loss").lines
    assert (line.points, line.overwritten, line.overwritten_parts) == (3, 2, [])
    (line,) = query(log, "loss", overwritten=True).lines
    assert line.y.tolist() == [0.0, 10.0, 20.0]
    assert [(piece.x.tolist(), piece.y.tolist()) for piece in line.overwritten_parts] == [
        ([1, 2], [1, 2])
    ]


def test_chart_with_many_smoothed_lines_has_no_raw_values() -> None:
    log = Log(*(series(range(3000), np.arange(3000.0).tolist(), run=f"{n}") for n in range(101)))
    chart = query(log, "loss", smoothing={"kind": "ema", "amount": 0.5})
    assert len(chart.lines) == 101
    assert {line.raw is line.low is line.high is None for line in chart.lines} == {True}


def test_chart_with_very_many_lines_has_fewer_columns() -> None:
    log = Log(*(series(range(2500), [0.0, 1.0] * 1250, run=f"{n}") for n in range(300)))
    chart = query(log, "loss", width=1000)
    assert 100 <= len(chart.grid) < 500
    assert sum(len(line.y) + len(line.low) + len(line.high) for line in chart.lines) <= 380_000


def test_several_tags_and_selected_runs() -> None:
    log = Log(SHORT, series([1], [1.0], run="short", tag="acc"), LONG)
    chart = query(log, "loss", "acc", runs=["short", "gone"])
    assert [(line.run, line.tag) for line in chart.lines] == [("short", "loss"), ("short", "acc")]
    assert chart.runs == 1


def test_unknown_tag_gives_empty_chart() -> None:
    chart = query(Log(SHORT), "nobody")
    assert (chart.runs, chart.lines, chart.error) == (0, [], None)


def test_unknown_metric_axis_is_an_error_of_the_chart() -> None:
    chart = query(Log(SHORT), "loss", x="metric:epoch")
    assert chart.error.message == 'no run has a scalar "epoch" for the x axis'


def test_metric_axis_in_any_order() -> None:
    epoch = series([0, 10, 20], [3.0, 1.0, 2.0], tag="epoch")
    log = Log(series([5, 10, 15, 25], [1.0, 2.0, 3.0, 4.0]), epoch)
    (line,) = query(log, "loss", x="metric:epoch").lines
    assert (line.x.tolist(), line.y.tolist()) == ([3.0, 1.0, 1.0, 2.0], [1.0, 2.0, 3.0, 4.0])


def test_reduces_long_line_over_metric() -> None:
    values = np.sin(np.arange(9000.0))
    log = Log(series(range(9000), values.tolist()), series(range(9000), values.tolist(), tag="m"))
    chart = query(log, "loss", x="metric:m", width=50)
    (line,) = chart.lines
    assert chart.reduced and len(line.x) == len(line.y) <= 102
    assert line.y.max() == values.max()


def test_compares_lines_with_baseline() -> None:
    log = Log(series([0, 10], [1.0, 3.0], run="base"), series([5, 20], [7.0, 9.0], run="other"))
    chart = query(log, "loss", baseline={"run": "base", "mode": "difference"})
    base, other = chart.lines
    assert base.y.tolist() == [0.0, 0.0]
    assert (other.x.tolist(), other.y.tolist()) == ([5.0], [5.0])


def test_baseline_without_tag_is_an_error_of_the_chart() -> None:
    chart = query(Log(SHORT), "loss", baseline={"run": "other"})
    assert 'the baseline "other"' in chart.error.message


def test_rejects_too_many_lines() -> None:
    log = Log(*(series([0], [0.0], run=f"{n}") for n in range(200)))
    charts = [{"id": str(n), "tags": ["loss"]} for n in range(500)]
    with pytest.raises(UsageError, match="more than 50,000 lines"):
        ask("query", log, charts=charts)
