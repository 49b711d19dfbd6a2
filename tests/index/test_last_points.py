from __future__ import annotations

from pathlib import Path

from tests.index import logs
from tracklight.types import Point


def test_returns_point_written_last(tmp_path: Path) -> None:
    logs.write(tmp_path, "a", logs.points(range(3)))
    logs.write(tmp_path, "b", logs.point(9, 0.5) + logs.point(4, 0.25, wall=7.0))
    catalog = logs.open_catalog(tmp_path, shards=2)
    series = catalog.scalar("a", "loss")
    expected = Point(2, float(series.wall_time[-1]), float(series.value[-1]))
    keys = [("b", "loss"), ("a", "loss"), ("a", "gone"), ("gone", "loss")]
    assert catalog.last_points(keys) == [Point(4, 7.0, 0.25), expected, None, None]
