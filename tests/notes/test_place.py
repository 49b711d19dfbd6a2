from __future__ import annotations

from pathlib import Path

import pytest

from tracklight.notes.place import find_book, find_data_folder


def test_each_log_has_a_file_of_its_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TRACKLIGHT_DATA", str(tmp_path))
    assert find_book(["/a", "/b"]) == find_book(["/b", "/a"])
    assert len({find_book(["/a"]), find_book(["/b"]), find_book(["/a", "/b"])}) == 3
    assert find_book(["/a"]).is_relative_to(tmp_path)


def test_data_is_kept_where_the_system_wants_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("TRACKLIGHT_DATA", raising=False)
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert find_data_folder() == tmp_path / "tracklight"
    monkeypatch.delenv("XDG_DATA_HOME")
    assert find_data_folder() == Path.home() / ".local/share/tracklight"
