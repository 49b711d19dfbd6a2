"""Charts of a growing log: those put together from changed lines equal those of a new server."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from tests.builders import event, record, scalar, session
from tracklight.analysis.source import Context
from tracklight.dashboards.scalars import Scalars
from tracklight.dashboards.scalars.schemas import ChartRow, ChartsRequest, LineRow
from tracklight.index.catalog import Catalog
from tracklight.logdir.access import parse_roots
from tracklight.server.responses import describe_error
from tracklight.server.source import ChangeHistory, LogOverview

REQUESTS: list[dict[str, Any]] = [
    {},
    {"width": 40},
    {"width": 40, "smoothing": {"kind": "ema", "amount": 0.9}},
    {"width": 30, "overwritten": True},
    {"width": 40, "x": "relative"},
    {"width": 40, "x": "metric:x"},
    {"runs": ["run1", "run2"]},
]
RANGES: list[dict[str, Any]] = [{}, {"start": 5.0}, {"start": 10.0, "stop": 2500.0}]


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


class Board:
    """The Scalars dashboard of a log, as a server has it."""

    def __init__(self, logdir: Path) -> None:
        self.catalog = Catalog(parse_roots(str(logdir)), cache=False)
        self.history = ChangeHistory(0)
        overview = LogOverview(self.catalog)
        context = Context(
            self.catalog,
            overview.scalar_tags,
            overview.runs_with_scalar,
            self.history.cursor,
            describe_error,
            state=lambda: str(self.catalog.version),
            changed_runs=lambda cursor, _: self.history.find_changed_runs(
                cursor, self.catalog.version
            ),
        )
        self.scalars = Scalars(context)
        self.refresh()

    def refresh(self) -> None:
        self.history.add(self.catalog.refresh())

    def query(self, chart: dict[str, Any], **fields: Any) -> ChartRow:
        body = {"charts": [{"id": "a", "tags": ["loss"], **chart}], **fields}
        (row,) = self.scalars.query(msgspec.convert(body, ChartsRequest)).charts
        assert row.error is None
        return row

    def close(self) -> None:
        self.catalog.close()


def merge(known: ChartRow | None, row: ChartRow) -> ChartRow:
    """Do what the page does."""
    if row.base is None:
        return row
    assert known is not None and row.base == known.revision
    changed = {(line.run, line.tag): line for line in row.lines}
    lines = [changed.get((line.run, line.tag), line) for line in known.lines]
    return msgspec.structs.replace(row, lines=lines)


def describe(row: ChartRow) -> str:
    return repr(msgspec.structs.replace(row, revision="", base=None))


@pytest.fixture
def board(tmp_path: Path) -> Iterator[Board]:
    for run in ("run0", "run1", "run2"):
        append(tmp_path, run, *make_points(0, 30))
    with closing(Board(tmp_path)) as board:
        yield board


def test_merged_charts_equal_those_of_a_new_server(board: Board, tmp_path: Path) -> None:
    changes: list[Callable[[], None]] = [
        lambda: None,
        lambda: append(tmp_path, "run0", *make_points(30, 60)),
        lambda: append(tmp_path, "run2", *make_points(30, 900)),
        lambda: append(tmp_path, "run2", *make_points(900, 905)),
        lambda: append(tmp_path, "run1", record(event(session(1), step=20)), *make_points(20, 25)),
        lambda: append(tmp_path, "run2", *make_points(2990, 3000)),
        lambda: append(tmp_path, "run2", *make_points(3000, 3010)),
        lambda: append(tmp_path, "run3", scalar("loss", 0, np.nan)),
        lambda: append(tmp_path, "run3", scalar("loss", 1, 1.0)),
        lambda: (tmp_path / "run1" / "events.out.tfevents.1.host").unlink(),
        lambda: append(tmp_path, "run1", *make_points(0, 3)),
    ]
    known: dict[str, ChartRow] = {}
    partial = 0
    for change in changes:
        change()
        board.refresh()
        with closing(Board(tmp_path)) as new:
            for fields in REQUESTS:
                for chart in RANGES:
                    name = f"{fields} {chart}"
                    base = known[name].revision if name in known else None
                    row = board.query({**chart, "base": base}, **fields)
                    partial += row.base is not None
                    known[name] = merge(known.get(name), row)
                    assert describe(known[name]) == describe(new.query(chart, **fields)), name
    assert partial > len(changes) * len(REQUESTS) * len(RANGES) // 2


def test_only_changed_lines_are_sent(board: Board, tmp_path: Path) -> None:
    first = board.query({})
    assert len(first.lines) == 3 and first.base is None
    append(tmp_path, "run1", *make_points(30, 31))
    board.refresh()
    second = board.query({"base": first.revision})
    assert [line.run for line in second.lines] == ["run1"]
    assert second.base == first.revision != second.revision
    assert second.points == 91
    assert board.query({"base": second.revision}).lines == []
    assert len(board.query({}).lines) == 3


def test_lines_of_other_runs_are_not_computed_again(board: Board, tmp_path: Path) -> None:
    append(tmp_path, "run0", *make_points(30, 2000))
    board.refresh()

    def find(run: str) -> LineRow:
        return next(line for line in board.query({}, width=50).lines if line.run == run)

    before = [find("run0"), find("run1")]
    assert before[0].x is None
    append(tmp_path, "run0", *make_points(2000, 2010))
    board.refresh()
    assert [find("run0") is before[0], find("run1") is before[1]] == [False, True]


def test_columns_stay_in_place_when_a_line_grows(board: Board, tmp_path: Path) -> None:
    append(tmp_path, "run0", *make_points(30, 2000))
    append(tmp_path, "run1", *make_points(30, 2450))
    board.refresh()
    before = board.query({}, width=50)
    append(tmp_path, "run1", *make_points(2450, 2600))
    board.refresh()
    after = board.query({"base": before.revision}, width=50)
    assert [line.run for line in after.lines] == ["run1"]
    assert before.grid is not None and after.grid is not None
    assert after.grid[: len(before.grid)].tolist() == before.grid.tolist()
    assert len(after.lines[0].y) == len(after.grid) > len(before.lines[0].y)


def test_everything_is_sent_for_a_base_of_another_request(board: Board) -> None:
    revision = board.query({}).revision
    others: list[dict[str, Any]] = [{"smoothing": {"kind": "ema", "amount": 0.5}}, {"width": 700}]
    for fields in others:
        row = board.query({"base": revision}, **fields)
        assert (row.base, len(row.lines)) == (None, 3)
    for base in ("", "~", revision.replace("~", "x"), "0.0~0~0"):
        assert len(board.query({"base": base}).lines) == 3


def test_everything_is_sent_after_unknown_changes(board: Board) -> None:
    first = board.query({})
    # As when a shard is available again: the version changes, and no run.
    board.catalog.version += 1
    assert len(board.query({"base": first.revision}).lines) == 3
    board.refresh()
    assert len(board.query({"base": first.revision}).lines) == 3


def test_bands_and_comparisons_are_sent_completely(board: Board) -> None:
    groups = [{"key": "g", "runs": ["run0", "run1"]}]
    assert board.query({}, groups=groups).revision == ""
    assert board.query({}, baseline={"run": "run0"}).revision == ""
