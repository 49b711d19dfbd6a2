from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from tests import builders as b
from tests.index import logs
from tracklight.index.tags import summarize
from tracklight.types import Point, Series, SeriesSummary


def make_series(steps: list[int], values: list[float], overwritten: Sequence[int] = ()) -> Series:
    marks = np.zeros(len(steps), bool)
    marks[list(overwritten)] = True
    wall = np.arange(len(steps), dtype=np.float64)
    return Series("run", "loss", np.array(steps), wall, np.array(values), marks)


def test_ignores_overwritten_points() -> None:
    found = summarize(make_series([0, 1, 2, 2, 3], [5.0, 1.0, 99.0, 7.0, 3.0], [2]))
    assert found == SeriesSummary(4, Point(3, 4.0, 3.0), Point(1, 1.0, 1.0), Point(2, 3.0, 7.0))


def test_extremes_are_finite() -> None:
    found = summarize(make_series([0, 1, 2], [-np.inf, 2.0, np.nan]))
    assert found.min == found.max == Point(1, 1.0, 2.0)
    assert found.last is not None and np.isnan(found.last.value)
    assert summarize(make_series([0], [np.nan])).min is None
    assert summarize(make_series([], [])) == SeriesSummary(0, None, None, None)


def test_last_point_has_highest_step() -> None:
    found = summarize(make_series([10, 20, 20, 11], [1.0, 2.0, 3.0, 4.0]))
    assert found.last == Point(20, 2.0, 3.0)


def test_catalog_returns_none_for_missing_series(tmp_path: Path) -> None:
    logs.write(tmp_path, "a", logs.points(range(3)))
    logs.write(tmp_path, "b", logs.points(range(7)))
    catalog = logs.open_catalog(tmp_path, shards=2)
    keys = [("b", "loss"), ("gone", "loss"), ("a", "loss"), ("a", "gone")]
    counts = [found and found.count for found in catalog.summaries(keys)]
    assert counts == [7, None, 3, None]


def test_columns_match_the_summaries_of_single_runs(tmp_path: Path) -> None:
    for name, steps in (("a", range(3)), ("b", range(7)), ("restarted", [0, 1, 2, 1, 5, 3])):
        logs.write(tmp_path, name, logs.points(steps))
    logs.write(tmp_path, "other", logs.points(range(2), tag="accuracy"))
    logs.write(tmp_path, "resumed", logs.points(range(4)))
    logs.write(tmp_path, "resumed", logs.points(range(2, 6)), name="events.out.tfevents.2")
    runs = ["b", "gone", "a", "other", "restarted", "resumed"]
    for shards in (1, 2):
        catalog = logs.open_catalog(tmp_path, shards=shards)
        columns = catalog.summary_columns(runs, "loss")
        for row, found in enumerate(catalog.summaries([(run, "loss") for run in runs])):
            assert columns.is_present[row] == (found is not None)
            if found is None:
                assert np.isnan(columns.last[row])
                continue
            assert found.last and found.min and found.max
            row_values = [getattr(columns, it)[row] for it in ("last", "low", "high", "step")]
            last = found.last
            assert row_values == [last.value, found.min.value, found.max.value, last.step]
        catalog.close()


def test_long_lists_have_the_last_points_of_short_ones(tmp_path: Path) -> None:
    for name, steps in (
        ("a", range(3)),
        ("restarted", [0, 1, 2, 1]),
        ("interleaved", [10, 20, 11]),
    ):
        logs.write(tmp_path, name, logs.points(steps))
    logs.write(tmp_path, "resumed", logs.points(range(4)))
    logs.write(tmp_path, "resumed", logs.points(range(2, 6)), name="events.out.tfevents.2")
    runs = ["a", "gone", "restarted", "interleaved", "resumed"]
    keys = [(run, tag) for run in runs for tag in ("loss", "gone")]
    for shards in (1, 2):
        catalog = logs.open_catalog(tmp_path, shards=shards)
        few = catalog.last_points(keys)
        assert [point and point.step for point in few[::2]] == [2, None, 1, 11, 5]
        assert catalog.last_points(keys * 500) == few * 500
        path = tmp_path / "a" / "events.out.tfevents.2"
        logs.write(tmp_path, "a", logs.points([7]), name=path.name)
        catalog.refresh()
        assert catalog.last_points(keys * 500)[0] == catalog.last_points(keys)[0]
        assert catalog.last_points([("a", "loss")])[0].step == 7  # type: ignore[union-attr]
        path.unlink()
        catalog.close()


def test_counts_of_a_run_are_updated_when_it_grows(tmp_path: Path) -> None:
    path = logs.write(tmp_path, "a", logs.points(range(3)))
    catalog = logs.open_catalog(tmp_path)
    (before,) = catalog.runs()
    assert catalog.runs()[0] is before
    logs.append(path, logs.points(range(3, 7)))
    catalog.refresh()
    assert [before.points, catalog.runs()[0].points] == [3, 7]


def test_catalog_returns_plugin_data(tmp_path: Path) -> None:
    def tagged(content: bytes) -> bytes:
        metadata = b.blob(9, b.blob(1, b.blob(1, b"mine"), b.blob(2, content)))
        value = b.value("tag", b.simple(0.0), metadata)
        return b.record(b.event(b.summary(value), step=0))

    logs.write(tmp_path, "a", tagged(b"one") + tagged(b"two"))
    logs.write(tmp_path, "b", tagged(b"three"))
    logs.write(tmp_path, "c", logs.points(range(3)))
    catalog = logs.open_catalog(tmp_path, shards=2)
    assert catalog.plugin_data("tag") == {"a": b"one", "b": b"three"}
