from __future__ import annotations

import os
from pathlib import Path

import pytest

from tracklight.logdir.access import open_filesystem
from tracklight.logdir.filesystem import LocalFileSystem


@pytest.fixture
def path(tmp_path: Path) -> str:
    (tmp_path / "file").write_bytes(bytes(range(200)))
    return str(tmp_path / "file")


def test_plain_path_is_local(path: str) -> None:
    fs, same = open_filesystem(path)
    assert isinstance(fs, LocalFileSystem)
    assert same == path


def test_reads_ranges(path: str) -> None:
    assert LocalFileSystem().read(path, 10, 5) == bytes(range(10, 15))
    assert LocalFileSystem().read(path, 190, 100) == bytes(range(190, 200))
    assert LocalFileSystem().read(path, 500, 10) == b""


def test_read_into_returns_number_of_bytes(path: str) -> None:
    buffer = bytearray(50)
    with LocalFileSystem().open(path) as handle:
        assert handle.read_into(memoryview(buffer), 100) == 50
        assert buffer == bytes(range(100, 150))
        assert handle.read_into(memoryview(buffer), 190) == 10
        assert buffer[:10] == bytes(range(190, 200))


def test_open_file_survives_replacement_and_truncation(path: str) -> None:
    with LocalFileSystem().open(path) as handle:
        Path(path + ".new").write_bytes(b"new")
        os.replace(path + ".new", path)
        assert handle.read(0, 3) == bytes(range(3))
    with LocalFileSystem().open(path) as handle:
        os.truncate(path, 1)
        assert handle.read(0, 3) == b"n"


def test_stat_of_file(path: str, tmp_path: Path) -> None:
    found = LocalFileSystem().find_stat(path)
    assert found is not None
    assert found.size == 200
    assert found.mtime_ns == os.stat(path).st_mtime_ns
    assert LocalFileSystem().find_stat(str(tmp_path)) is None
    assert LocalFileSystem().find_stat(path + ".missing") is None
    assert LocalFileSystem().find_stat(path + "/below") is None
