from __future__ import annotations

import os
from pathlib import Path

from tracklight.server.api import probe_logdir


def test_a_directory_is_told_with_some_of_its_names(tmp_path: Path) -> None:
    for name in ("d", "c", "b", "a"):
        (tmp_path / name).mkdir()
    found = probe_logdir(str(tmp_path))
    assert (found.exists, found.entries, found.examples) == (True, 4, ["a", "b", "c"])


def test_a_path_that_is_no_directory_does_not_exist(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    for path in (file, tmp_path / "nowhere"):
        assert probe_logdir(str(path)).exists is False


def test_a_relative_path_is_told_in_full(tmp_path: Path) -> None:
    assert probe_logdir(".").path == os.getcwd()


def test_a_url_is_not_looked_into() -> None:
    assert probe_logdir("s3://bucket/logs").entries is None
