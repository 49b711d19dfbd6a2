from __future__ import annotations

from pathlib import Path

import pytest

from tracklight.logdir.filesystem import LocalFileSystem
from tracklight.logdir.tail import Fingerprint, matches_fingerprint, read_fingerprint

fs = LocalFileSystem()


def compute_fingerprint(path: Path, position: int) -> Fingerprint:
    with fs.open(str(path)) as handle:
        return read_fingerprint(handle.read, position)


@pytest.mark.parametrize("position", [0, 1, 100, 4096, 4097, 10_000, 50_000])
def test_grown_file_matches(position: int, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(bytes(range(250)) * 200)
    before = compute_fingerprint(path, position)
    with path.open("ab") as file:
        file.write(b"more")
    assert matches_fingerprint(fs, str(path), before)


@pytest.mark.parametrize("position", [100, 4096, 10_000, 50_000])
@pytest.mark.parametrize("at_the_end", [False, True])
def test_detects_difference_at_either_end(position: int, at_the_end: bool, tmp_path: Path) -> None:
    path = tmp_path / "file"
    data = bytearray(bytes(range(250)) * 200)
    path.write_bytes(data)
    before = compute_fingerprint(path, position)
    data[position - 1 if at_the_end else 0] ^= 1
    path.write_bytes(data)
    assert not matches_fingerprint(fs, str(path), before)


def test_ignores_bytes_after_position(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"read" + b"torn")
    before = compute_fingerprint(path, 4)
    path.write_bytes(b"read" + b"complete")
    assert matches_fingerprint(fs, str(path), before)


def test_shorter_file_does_not_match(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(bytes(9000))
    before = compute_fingerprint(path, 9000)
    path.write_bytes(bytes(8000))
    assert not matches_fingerprint(fs, str(path), before)


def test_reads_head_only_once(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(bytes(range(250)) * 200)
    with fs.open(str(path)) as handle:
        offsets: list[int] = []

        def read(offset: int, size: int) -> bytes:
            offsets.append(offset)
            return handle.read(offset, size)

        before = read_fingerprint(read, 10_000)
        assert read_fingerprint(read, 20_000, before) == compute_fingerprint(path, 20_000)
        assert offsets == [0, 10_000 - 4096, 20_000 - 4096]
