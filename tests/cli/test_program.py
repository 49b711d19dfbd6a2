"""`tracklight.program` as a replacement for `tensorboard.program`."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from tests.server.waiting import wait_until
from tracklight import program
from tracklight.errors import UsageError


@pytest.fixture(autouse=True)
def isolated_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACKLIGHT_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("TRACKLIGHT_DATA_DIR", str(tmp_path / "data"))


def count_runs(url: str) -> int:
    with urllib.request.urlopen(url + "api/v1/runs", timeout=60) as response:
        return len(json.load(response)["runs"])


def test_configure_and_launch(small_logdir: Path) -> None:
    tensorboard = program.TensorBoard()
    tensorboard.configure(argv=[None, "--logdir", str(small_logdir), "--port", "0"])
    url = tensorboard.launch()
    assert tensorboard.board is not None
    with tensorboard.board as board:
        assert url == f"http://localhost:{board.port}/"
        wait_until(lambda: count_runs(url) > 1)


def test_configure_accepts_keyword_flags(small_logdir: Path) -> None:
    tensorboard = program.TensorBoard()
    tensorboard.configure(
        logdir=small_logdir, port=0, path_prefix="/tb", bind_all=False, read_only=True, host=None
    )
    assert tensorboard.launch().endswith("/tb/")
    assert tensorboard.board is not None
    tensorboard.board.close()


def test_configure_rejects_invalid_flags() -> None:
    tensorboard = program.TensorBoard()
    with pytest.raises(UsageError, match="--prot"):
        tensorboard.configure(argv=["tensorboard", "--prot=1"])
    with pytest.raises(UsageError, match="only serves logs"):
        tensorboard.configure(argv=["tensorboard", "--inspect", "--logdir", "logs"])


def test_main_blocks(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    tensorboard = program.TensorBoard()
    tensorboard.configure(argv=["", "--logdir", str(tmp_path), "--host", "203.0.113.7"])
    assert tensorboard.main() == 3
    assert "cannot listen" in capsys.readouterr().err


def test_python_m_tracklight() -> None:
    command = [sys.executable, "-m", "tracklight", "--version"]
    finished = subprocess.run(command, capture_output=True, text=True, check=True)
    assert finished.stdout.startswith("tracklight ")
