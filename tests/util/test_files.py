from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

import pytest

from tracklight.util.files import TEMPORARY_GLOB, make_temporary_path, open_atomic, write_atomic


def test_file_appears_when_it_is_complete(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    with open_atomic(path) as file:
        file.write(b"new")
        file.flush()
        assert path.read_bytes() == b"old"
        assert len(list(tmp_path.glob(TEMPORARY_GLOB))) == 1
    assert path.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [path]


def test_exception_keeps_the_old_content(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    with pytest.raises(KeyboardInterrupt), open_atomic(path) as file:
        file.write(b"half")
        raise KeyboardInterrupt
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_errors_name_the_requested_file(tmp_path: Path) -> None:
    missing = tmp_path / "missing" / "file"
    with pytest.raises(FileNotFoundError) as caught:
        write_atomic(missing, b"")
    assert caught.value.filename == str(missing)
    folder = tmp_path / "folder"
    (folder / "inside").mkdir(parents=True)
    with pytest.raises(OSError) as failed:
        write_atomic(folder, b"")
    assert failed.value.filename == str(folder)
    assert list(tmp_path.glob(TEMPORARY_GLOB)) == []


def test_errors_about_other_files_are_unchanged(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as caught, open_atomic(tmp_path / "file"):
        (tmp_path / "other").read_bytes()
    assert caught.value.filename == str(tmp_path / "other")


@pytest.mark.skipif(sys.platform == "win32", reason="has no such permissions")
def test_permissions_follow_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        write_atomic(tmp_path / "public", b"")
        write_atomic(tmp_path / "private", b"", mode=0o600, sync=True)
    finally:
        os.umask(before)
    modes = [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("public", "private")]
    assert modes == [0o644, 0o600]


def test_long_names_are_shortened(tmp_path: Path) -> None:
    path = tmp_path / ("é" * 120)
    write_atomic(path, b"data")
    assert path.read_bytes() == b"data"
    assert make_temporary_path(path).match(TEMPORARY_GLOB)
    assert make_temporary_path(path) != make_temporary_path(path)
