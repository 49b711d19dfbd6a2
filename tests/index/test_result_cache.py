"""Results that are kept between queries equal those of a new catalog, however the log grows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.builders import event, record, scalar, session
from tracklight.index.catalog import Catalog
from tracklight.index.downsampling import ExtentView, Line, LineView, make_edges
from tracklight.index.series_query import SeriesQuery, Smoothing, View
from tracklight.logdir.access import parse_roots

KEYS = [(f"run{number}", "loss") for number in range(3)]
QUERIES = [
    SeriesQuery(),
    SeriesQuery("relative"),
    SeriesQuery("step", Smoothing("ema", 0.9)),
    SeriesQuery("metric:x"),
]
VIEWS: list[View[Any]] = [
    ExtentView(),
    ExtentView(3, 10),
    LineView(make_edges(0, 50, 10), 100),
    LineView(make_edges(0, 1000, 10), 100),
    LineView(make_edges(5, 20, 10), 100, is_smoothed=True),
    LineView(make_edges(0, 50, 10), 5, max_overwritten=20),
    LineView(make_edges(0, 50, 10), 100, max_overwritten=20),
    LineView(np.arange(0, 2101, 25.0), 5, is_growing=True),
    LineView(np.arange(0, 3001, 25.0), 5, is_growing=True),
    LineView(np.arange(10, 3001, 25.0), 15, is_growing=True),
]


def append(logdir: Path, run: str, *records: bytes) -> None:
    path = logdir / run / "events.out.tfevents.1.host"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as file:
        file.write(b"".join(records))


def make_points(first: int, stop: int) -> list[bytes]:
    return [
        point
        for step in range(first, stop)
        for point in (
            scalar("loss", step, np.sin(step) if step % 7 else np.nan),
            scalar("x", step, 100 * np.cos(step)),
        )
    ]


def open_catalog(logdir: Path) -> Catalog:
    return Catalog(parse_roots(str(logdir)), cache=False)


def are_equal(one: object, other: object) -> bool:
    return repr(one) == repr(other)


def test_results_equal_those_of_a_new_catalog(tmp_path: Path) -> None:
    for run, _ in KEYS:
        append(tmp_path, run, *make_points(0, 30))
    changes: list[Callable[[], None]] = [
        lambda: None,
        lambda: append(tmp_path, "run0", *make_points(30, 60)),
        lambda: append(tmp_path, "run1", record(event(session(1), step=20)), *make_points(20, 25)),
        lambda: append(tmp_path, "run2", *make_points(2000, 2001)),
        lambda: (tmp_path / "run1" / "events.out.tfevents.1.host").unlink(),
        lambda: append(tmp_path, "run1", *make_points(0, 3)),
    ]
    with closing(open_catalog(tmp_path)) as kept:
        for change in changes:
            change()
            kept.refresh()
            with closing(open_catalog(tmp_path)) as new:
                new.refresh()
                keys = [key for key in KEYS if key[0] in {run.name for run in new.runs()}]
                for query in QUERIES:
                    for view in VIEWS:
                        expected = new.query(keys, query, view)
                        assert are_equal(kept.query(keys, query, view), expected), (query, view)


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[Catalog]:
    for run, _ in KEYS:
        append(tmp_path, run, *make_points(0, 30))
    with closing(open_catalog(tmp_path)) as catalog:
        catalog.refresh()
        yield catalog


@pytest.mark.in_process
def test_keeps_lines_of_other_runs_when_one_grows(catalog: Catalog, tmp_path: Path) -> None:
    before: list[Line] = catalog.query(KEYS, SeriesQuery(), LineView(make_edges(0, 29, 9), 100))
    append(tmp_path, "run1", *make_points(30, 40))
    catalog.refresh()
    after: list[Line] = catalog.query(KEYS, SeriesQuery(), LineView(make_edges(0, 39, 9), 100))
    assert [one is other for one, other in zip(before, after, strict=True)] == [True, False, True]
    assert [line.points for line in after] == [30, 40, 30]


@pytest.mark.in_process
def test_reduced_lines_are_computed_again_for_another_range(catalog: Catalog) -> None:
    query = SeriesQuery()
    first = catalog.query(KEYS, query, LineView(make_edges(0, 29, 9), 5))
    again = catalog.query(KEYS, query, LineView(make_edges(0, 29, 9), 5))
    zoomed = catalog.query(KEYS, query, LineView(make_edges(0, 20, 9), 5))
    assert all(one is other for one, other in zip(first, again, strict=True))
    assert not any(one is other for one, other in zip(first, zoomed, strict=True))
