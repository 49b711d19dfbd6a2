from __future__ import annotations

import csv
import io
import json
import math
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tracklight.errors import MissingDependencyError, TracklightError, UsageError
from tracklight.reader import export
from tracklight.reader.export import export_scalars, open_output
from tracklight.types import Series

FORMATS = ("csv", "json", "jsonl", "parquet")


def make_series(run: str, tag: str, values: list[Any], dtype: type = np.float64) -> Series:
    steps = np.arange(len(values), dtype=np.int64)
    marks = steps == 1
    return Series(run, tag, steps, steps / 3 + 1.7e9, np.array(values, dtype), marks)


SERIES = [
    make_series("a", 'odd,"tag"\n', [0.1, 2.0, math.nan, math.inf, -math.inf]),
    make_series("ü", "count", [1 << 62], np.int64),
    make_series("b", "empty", []),
]

Rows = list[tuple[Any, ...]]


def export_rows(series: list[Series], name: str, *, overwritten: bool = False) -> Rows:
    """Export, and read back with another program's reader."""
    file = io.BytesIO()
    export_scalars(series, file, name, overwritten=overwritten)
    readers = {
        "csv": read_csv,
        "json": read_json,
        "jsonl": read_json_lines,
        "parquet": read_parquet,
    }
    return readers[name](file.getvalue())


def read_csv(data: bytes) -> Rows:
    head, *rows = csv.reader(io.StringIO(data.decode(), newline=""))
    assert head[:5] == ["run", "tag", "step", "wall_time", "value"]
    return [(r, t, int(s), float(w), float(v), *more) for r, t, s, w, v, *more in rows]


def read_json(data: bytes) -> Rows:
    return [
        (it["run"], it["tag"], step, wall, float(value), *more)
        for it in json.loads(data)
        for step, wall, value, *more in zip(
            *(it[name] for name in it if name not in ("run", "tag")), strict=True
        )
    ]


def read_json_lines(data: bytes) -> Rows:
    points = [json.loads(line) for line in data.splitlines()]
    return [
        (
            it["run"],
            it["tag"],
            it["step"],
            it["wall_time"],
            float(it["value"]),
            *list(it.values())[5:],
        )
        for it in points
    ]


def read_parquet(data: bytes) -> Rows:
    parquet = pytest.importorskip("pyarrow.parquet")
    table = parquet.read_table(io.BytesIO(data))
    assert table.column_names[:5] == ["run", "tag", "step", "wall_time", "value"]
    return [tuple(row.values()) for row in table.to_pylist()]


def expect_rows(series: list[Series]) -> Rows:
    return [
        (one.run, one.tag, step, wall, float(value))
        for one in series
        for step, wall, value in zip(
            one.step.tolist(), one.wall_time.tolist(), one.value.tolist(), strict=True
        )
    ]


def assert_same(found: Rows, expected: Rows) -> None:
    # repr tells NaN from nothing and one float from the next.
    assert [tuple(map(repr, row)) for row in found] == [tuple(map(repr, row)) for row in expected]


@pytest.mark.parametrize("name", FORMATS)
def test_what_is_exported_reads_back_the_same(name: str) -> None:
    assert_same(
        export_rows(SERIES, name), expect_rows([one.without_overwritten() for one in SERIES])
    )


@pytest.mark.parametrize("name", FORMATS)
def test_overwritten_points_are_marked(name: str) -> None:
    rows = export_rows(SERIES, name, overwritten=True)

    assert_same([row[:5] for row in rows], expect_rows(SERIES))
    marks = [row[5] for row in rows]
    assert [mark in (True, "true") for mark in marks] == [False, True, False, False, False, False]


@pytest.mark.parametrize("name", FORMATS)
def test_batches_join_without_a_seam(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export, "_BATCH_ROWS", 3)
    series = [make_series("a", "x", list(range(8))), make_series("a", "y", list(range(4)))]

    assert_same(
        export_rows(series, name), expect_rows([one.without_overwritten() for one in series])
    )


@pytest.mark.parametrize("name", FORMATS)
def test_nothing_at_all_is_still_a_file(name: str) -> None:
    assert export_rows([], name) == []


def test_integers_are_not_rounded() -> None:
    for name in ("csv", "json"):
        file = io.BytesIO()
        export_scalars(SERIES, file, name)
        assert str(1 << 62).encode() in file.getvalue()


def test_tells_how_far_it_is() -> None:
    told: list[int] = []
    export_scalars(SERIES, io.BytesIO(), "csv", on_progress=told.append)

    assert told == [5, 1, 0]


def test_an_unknown_format_is_told() -> None:
    with pytest.raises(UsageError, match='"xlsx" is none of the formats csv, json, jsonl, parquet'):
        export_scalars(SERIES, io.BytesIO(), "xlsx")


def test_names_the_extra_that_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)

    with pytest.raises(MissingDependencyError, match=r"tracklight\[parquet\]"):
        export_scalars(SERIES, io.BytesIO(), "parquet")


def test_a_file_appears_when_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    with open_output(str(path)) as file:
        file.write(b"half")
        assert not path.exists()
    assert path.read_bytes() == b"half"
    assert os.listdir(tmp_path) == ["out.csv"]


def test_a_failure_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    path.write_bytes(b"before")

    with pytest.raises(RuntimeError), open_output(str(path)) as file:
        file.write(b"half")
        raise RuntimeError

    assert path.read_bytes() == b"before"
    assert os.listdir(tmp_path) == ["out.csv"]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")
def test_a_full_disk_is_reported_with_the_name_of_the_target(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_file = os.open

    def open_full(path: Path, flags: int, *rest: int) -> int:
        is_output = os.path.basename(path).startswith(".out.csv.part-")
        return open_file("/dev/full", os.O_WRONLY) if is_output else open_file(path, flags, *rest)

    monkeypatch.setattr(os, "open", open_full)
    with pytest.raises(TracklightError, match=r'cannot write ".*out\.csv": No space left'):
        with open_output(str(tmp_path / "out.csv")) as file:
            file.write(b"x")


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "real")

    with open_output(str(tmp_path / "link")) as file:
        file.write(b"x")

    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_bytes() == b"x"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")
def test_a_pipe_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        with open_output(str(pipe)) as file:
            file.write(b"x")
        assert os.read(reader, 10) == b"x"
    finally:
        os.close(reader)
    assert pipe.is_fifo()
