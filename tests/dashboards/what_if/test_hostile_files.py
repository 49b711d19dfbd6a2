"""Data files with hostile names and contents: a sentence, and no file outside the directories."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.dashboards.what_if.board import Board, start_board
from tracklight.analysis.source import DataAccess

CSV = b"x,y\n1,2\n3,4\n"
NAMES = [
    b"new\nline.csv",
    b"tab\tbell\x07.csv",
    b"<img src=x onerror=alert(1)>.csv",
    b"%2e%2e.csv",
    b"[a-c].csv",
    "\u202ecsv.exe.csv".encode(),
    b" .csv",
    b"a" * 250 + b".csv",
]


@pytest.fixture
def board(tmp_path: Path) -> Iterator[Board]:
    (tmp_path / "data").mkdir()
    (tmp_path / "secret.csv").write_bytes(b"password\nhunter2\n")
    with start_board(tmp_path / "data", DataAccess()) as board:
        yield board


def write(tmp_path: Path, name: bytes, content: bytes = CSV) -> None:
    Path(os.fsdecode(os.path.join(os.fsencode(tmp_path / "data"), name))).write_bytes(content)


@pytest.mark.parametrize("name", NAMES)
def test_files_with_odd_names_are_listed_and_opened(
    board: Board, tmp_path: Path, name: bytes
) -> None:
    write(tmp_path, name)
    write(tmp_path, b"plain.csv")
    listed = {each["path"]: each for each in board.get("files")["data"]}
    assert len(listed) == 2
    for path in listed:
        info = board.post("open", path=path)
        assert info["row_count"] == 2, path


def test_names_that_are_not_utf8_are_left_out(board: Board, tmp_path: Path) -> None:
    write(tmp_path, b"\xff\xfe.csv")
    os.mkdir(os.path.join(os.fsencode(tmp_path / "data"), b"\xff"))
    write(tmp_path, b"\xff/other.csv")
    write(tmp_path, b"plain.csv")
    paths = [each["path"] for each in board.get("files")["data"]]
    assert [os.path.basename(path) for path in paths] == ["plain.csv"]
    assert board.post("open", path="*.csv")["row_count"] == 2
    assert "no file" in board.fail("open", path=f"{tmp_path}/data/?/other.csv").lower()


@pytest.mark.parametrize(
    "path",
    [
        "../secret.csv",
        "./../data/../secret.csv",
        "..\\secret.csv",
        "%2e%2e/secret.csv",
        "link.csv",
        "folder/secret.csv",
        "folder/*.csv",
        "*/secret.csv",
        "**/secret.csv",
        "..*/secret.csv",
        "/etc/passwd",
        "file:///etc/passwd",
        "~/secret.csv",
        "/proc/self/environ",
        "/dev/zero",
        "x\0.csv",
        "a" * 5000 + ".csv",
        "a/" * 2000 + "b.csv",
        "*" * 300,
        "[",
        "",
    ],
)
def test_files_outside_of_the_directories_are_not_read(
    board: Board, tmp_path: Path, path: str
) -> None:
    (tmp_path / "data" / "link.csv").symlink_to(tmp_path / "secret.csv")
    (tmp_path / "data" / "folder").symlink_to(tmp_path)
    message = board.fail("open", path=path)
    assert "hunter2" not in message and "password" not in message
    assert "internal error" not in message
    assert board.get("sessions")["sessions"] == []


def test_links_to_other_places_are_not_listed_as_data(board: Board, tmp_path: Path) -> None:
    (tmp_path / "data" / "folder").symlink_to(tmp_path)
    (tmp_path / "data" / "loop").symlink_to(tmp_path / "data")
    write(tmp_path, b"plain.csv")
    paths = [each["path"] for each in board.get("files")["data"]]
    assert [os.path.basename(path) for path in paths] == ["plain.csv"]


@pytest.mark.timeout(60)
@pytest.mark.parametrize("kind", ["folder", "pipe", "dangling link", "loop"])
def test_things_that_are_no_files_are_refused(board: Board, tmp_path: Path, kind: str) -> None:
    path = tmp_path / "data" / "x.csv"
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "loop":
        path.symlink_to(path)
    else:
        path.symlink_to(tmp_path / "data" / "gone.csv")
    message = board.fail("open", path=str(path))
    assert "x.csv" in message


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("x.csv", b""),
        ("x.csv", b"\0\0\0\0"),
        ("x.csv", b"a,a\n1,2\n"),
        ("x.jsonl", b'{"a": 1}\n{"a": \n'),
        ("x.jsonl", b"[1, 2]\n"),
        ("x.jsonl", b'{"a": ' * 5000),
        ("x.parquet", b"PAR1" + b"\xff" * 100 + b"PAR1"),
        ("x.tfrecord", b"\0" * 100),
        ("x.tfrecord", b"\xff" * 8 + b"\0" * 100),
        ("x.csv.gz", b"\x1f\x8b\x08\0" + b"\xff" * 50),
        ("x.bin", b"anything"),
    ],
)
def test_damaged_files_are_one_sentence(
    board: Board, tmp_path: Path, name: str, content: bytes
) -> None:
    write(tmp_path, name.encode(), content)
    message: Any = board.fail("open", path=str(tmp_path / "data" / name))
    assert name in message and "internal error" not in message
    assert len(message) < 300 and "\n" not in message
