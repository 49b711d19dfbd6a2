from __future__ import annotations

from pathlib import Path

import pytest

from tracklight.util.files import get_data_dir, get_notes_path


def test_each_log_has_its_own_notes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TRACKLIGHT_DATA_DIR", str(tmp_path))
    assert get_notes_path(["/a", "/b"]) == get_notes_path(["/b", "/a"])
    assert len({get_notes_path(["/a"]), get_notes_path(["/b"]), get_notes_path(["/a", "/b"])}) == 3
    assert get_notes_path(["/a"]).is_relative_to(tmp_path)


def test_data_dir_follows_platform_conventions(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("TRACKLIGHT_DATA_DIR", raising=False)
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert get_data_dir() == tmp_path / "tracklight"
    monkeypatch.delenv("XDG_DATA_HOME")
    assert get_data_dir() == Path.home() / ".local/share/tracklight"
