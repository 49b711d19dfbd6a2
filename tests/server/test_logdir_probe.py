from __future__ import annotations

import os
from pathlib import Path

from tracklight.server.api import probe_logdir


def test_probe_lists_some_entries(tmp_path: Path) -> None:
    for name in ("d", "c", "b", "a"):
        (tmp_path / name).mkdir()
    probe = probe_logdir(str(tmp_path))
    assert (probe.exists, probe.entries, probe.examples) == (True, 4, ["a", "b", "c"])


def test_probe_of_a_file_does_not_exist(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    for path in (file, tmp_path / "nowhere"):
        assert probe_logdir(str(path)).exists is False


def test_probe_returns_the_absolute_path(tmp_path: Path) -> None:
    assert probe_logdir(".").path == os.getcwd()


def test_probe_does_not_list_urls() -> None:
    assert probe_logdir("s3://bucket/logs").entries is None
