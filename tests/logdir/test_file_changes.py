from __future__ import annotations

import os
from pathlib import Path

import pytest

from tracklight.logdir.filesystem import FileStat, LocalFileSystem
from tracklight.logdir.tail import (
    FileChange,
    classify_change,
    detect_change,
    read_fingerprint,
)

OLD = FileStat(size=100, mtime_ns=5, identity="7")


@pytest.mark.parametrize(
    ("position", "new", "change"),
    [
        (100, OLD, FileChange.UNCHANGED),
        (90, OLD, FileChange.UNCHANGED),
        (100, OLD._replace(size=99), FileChange.REPLACED),
        (100, OLD._replace(size=0, mtime_ns=6), FileChange.REPLACED),
        (100, OLD._replace(mtime_ns=6), FileChange.REPLACED),
        (100, OLD._replace(mtime_ns=6, identity="8"), FileChange.REPLACED),
        (100, OLD._replace(identity="8"), FileChange.CHECK),
        (100, OLD._replace(size=120, mtime_ns=6), FileChange.CHECK),
        (100, OLD._replace(size=120, mtime_ns=6, identity="8"), FileChange.CHECK),
        # A partial record at the end may be completed, removed, or overwritten in place.
        (90, OLD._replace(size=95, mtime_ns=6), FileChange.CHECK),
        (90, OLD._replace(mtime_ns=6), FileChange.CHECK),
    ],
)
def test_classifies_by_stat(position: int, new: FileStat, change: FileChange) -> None:
    assert classify_change(OLD, position, new) is change


class TestRealFiles:
    """Changes that only reading the file can tell."""

    @pytest.fixture(autouse=True)
    def read_some(self, tmp_path: Path) -> None:
        self.path = tmp_path / "file"
        self.path.write_bytes(b"first part" * 100)
        os.utime(self.path, ns=(0, 1))
        self.before = self.get_stat()
        with LocalFileSystem().open(str(self.path)) as handle:
            self.fingerprint = read_fingerprint(handle.read, 990)

    def get_stat(self) -> FileStat:
        found = LocalFileSystem().find_stat(str(self.path))
        assert found is not None
        return found

    def discover_runs(self) -> FileChange:
        fs = LocalFileSystem()
        return detect_change(fs, str(self.path), self.before, self.fingerprint, self.get_stat())

    def replace(self, data: bytes, mtime_ns: int = 2) -> None:
        new = self.path.with_name("new")
        new.write_bytes(data)
        os.utime(new, ns=(0, mtime_ns))
        new.replace(self.path)

    def test_unchanged(self) -> None:
        assert self.discover_runs() is FileChange.UNCHANGED

    def test_appended(self) -> None:
        with self.path.open("ab") as file:
            file.write(b"more")
        assert self.discover_runs() is FileChange.GROWN

    def test_replaced_by_a_longer_copy_as_rsync_does(self) -> None:
        self.replace(b"first part" * 100 + b"more")
        assert self.discover_runs() is FileChange.GROWN

    def test_copied_with_its_time(self) -> None:
        self.replace(b"first part" * 100, mtime_ns=1)
        assert self.discover_runs() is FileChange.UNCHANGED

    def test_replaced_by_another_longer_file(self) -> None:
        self.replace(b"other part" * 100 + b"more")
        assert self.discover_runs() is FileChange.REPLACED

    def test_truncated_and_rewritten(self) -> None:
        with self.path.open("wb") as file:
            file.write(b"other part" * 200)
        assert self.discover_runs() is FileChange.REPLACED

    def test_truncated(self) -> None:
        os.truncate(self.path, 500)
        assert self.discover_runs() is FileChange.REPLACED

    def test_unfinished_end_cut_off(self) -> None:
        os.truncate(self.path, 995)
        assert self.discover_runs() is FileChange.GROWN

    def test_unfinished_end_filled_in(self) -> None:
        with self.path.open("r+b") as file:
            file.seek(995)
            file.write(b"xxxxx")
        assert self.discover_runs() is FileChange.GROWN
