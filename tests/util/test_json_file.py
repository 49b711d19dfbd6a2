from __future__ import annotations

import threading
from pathlib import Path

import pytest

from tracklight.errors import SaveError
from tracklight.util.files import JsonFile, lock_file


def open_file(path: Path) -> JsonFile[list[str]]:
    return JsonFile(path, list[str], list)


def test_missing_file_has_default_content(tmp_path: Path) -> None:
    file = open_file(tmp_path / "runs.json")
    assert file.read() == []
    assert not file.path.exists()


def test_update_creates_folder_and_file(tmp_path: Path) -> None:
    file = open_file(tmp_path / "folder" / "runs.json")
    assert file.update(lambda runs: [*runs, "train"]) == ["train"]
    assert open_file(file.path).read() == ["train"]


def test_reads_updates_of_others(tmp_path: Path) -> None:
    first, second = open_file(tmp_path / "runs.json"), open_file(tmp_path / "runs.json")
    first.update(lambda runs: [*runs, "a"])
    assert second.update(lambda runs: [*runs, "b"]) == ["a", "b"]
    assert first.read() == ["a", "b"]


def test_renames_damaged_file(tmp_path: Path) -> None:
    path = tmp_path / "runs.json"
    path.write_text("{broken")
    file = open_file(path)
    assert file.update(lambda runs: [*runs, "new"]) == ["new"]
    assert "is damaged" in str(file.problem)
    (renamed,) = tmp_path.glob("runs.damaged-*")
    assert renamed.read_text() == "{broken"


def test_failed_update_keeps_content(tmp_path: Path) -> None:
    path = tmp_path / "runs.json"
    path.mkdir()
    with pytest.raises(SaveError, match="could not save"):
        open_file(path).update(lambda runs: [*runs, "a"])


def test_lock_is_exclusive(tmp_path: Path) -> None:
    order: list[str] = []

    def wait_for_lock() -> None:
        with lock_file(tmp_path / "lock"):
            order.append("second")

    thread = threading.Thread(target=wait_for_lock)
    with lock_file(tmp_path / "lock"):
        thread.start()
        thread.join(0.05)
        order.append("first")
    thread.join()
    assert order == ["first", "second"]
