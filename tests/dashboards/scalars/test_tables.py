from __future__ import annotations

import math

import pytest

from tests.dashboards.scalars.fake_log import Log, ask
from tests.index.series_builder import series
from tracklight.errors import UsageError

LOG = Log(
    series([0, 10, 20, 30], [1.0, 4.0, 2.0, math.nan], wall=[100, 101, 103, 109], run="a"),
    series([5], [-3.0], run="b"),
    series([5], [9.0], run="b", tag="acc"),
)


def at(x: float, **fields: object) -> list[tuple[str, int]]:
    rows = ask("at", LOG, tags=["loss"], x_value=x, **fields).rows
    return [(row.run, row.step) for row in rows]


@pytest.mark.parametrize(
    ("x", "step"), [(-9, 0), (4, 0), (5, 0), (5.1, 10), (10, 10), (26, 30), (99, 30)]
)
def test_returns_nearest_point(x: float, step: int) -> None:
    assert at(x, runs=["a"]) == [("a", step)]


def test_returns_one_point_per_series() -> None:
    assert at(12) == [("a", 10), ("b", 5)]


def test_point_has_all_fields() -> None:
    (row,) = ask(
        "at", LOG, tags=["loss"], x_value=3.2, runs=["a"], x="relative",
        smoothing={"kind": "mean", "amount": 3},
    ).rows  # fmt: skip
    assert (row.step, row.wall_time, row.relative_s, row.x) == (20, 103.0, 3.0, 3.0)
    assert (row.value, row.smoothed) == (2.0, 3.0)


def test_nearest_point_over_unsorted_metric() -> None:
    rows = ask("at", LOG, tags=["acc"], x_value=-2, x="metric:loss").rows
    assert [(row.run, row.x, row.value) for row in rows] == [("b", -3.0, 9.0)]


def test_computes_statistics_of_range() -> None:
    (row,) = ask("range", LOG, tags=["loss"], runs=["a"], start=0, stop=20).rows
    assert (row.start.step, row.stop.step, row.count) == (0, 20, 3)
    assert ((row.min.step, row.min.value), (row.max.step, row.max.value)) == ((0, 1.0), (10, 4.0))
    assert row.mean == pytest.approx(7 / 3)
    assert (row.change, row.change_ratio) == (1.0, 1.0)


def test_range_without_ends_is_whole_series() -> None:
    a, b = ask("range", LOG, tags=["loss"]).rows
    assert (a.count, a.stop.value, a.change, a.mean) == (4, "NaN", None, pytest.approx(7 / 3))
    assert (b.count, b.change, b.change_ratio) == (1, 0.0, 0.0)


def test_skips_series_without_points_in_range() -> None:
    assert [row.run for row in ask("range", LOG, tags=["loss"], start=6).rows] == ["a"]


def test_rejects_too_many_rows() -> None:
    tags = ["loss"] * 30_000
    with pytest.raises(UsageError, match="more than 50,000 rows"):
        ask("range", LOG, tags=tags)
