"""``tracklight inspect --profile``."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.profiles.captured import DATA, read_bytes
from tracklight.cli import main


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    session = tmp_path / "run" / "train" / "plugins" / "profile" / "2026_11_15_00_37_55"
    session.mkdir(parents=True)
    (session / "host.with.dots.xplane.pb").write_bytes(read_bytes("inputbound"))
    (session / "broken.xplane.pb").write_bytes(b"\xff" * 100)
    (tmp_path / "elsewhere.xplane.pb").write_bytes(b"")
    shutil.copyfile(DATA / "tgpu.pt.trace.json.gz", tmp_path / "worker0.17947.pt.trace.json.gz")
    return tmp_path


def test_captures_of_all_kinds_for_programs(logs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", "--profile", "--logdir", str(logs), "--json"]) == 0
    torch, broken, keras = json.loads(capsys.readouterr().out)["profiles"]
    assert [torch[key] for key in ("run", "session", "host")] == [".", "17947", "worker0"]
    assert torch["summary"]["steps"]["averaged"] == 3
    assert (keras["run"], keras["host"]) == ("run/train", "host.with.dots")
    assert keras["session"] == "2026_11_15_00_37_55"
    assert keras["summary"]["steps"]["mean_ms"] == pytest.approx(49.3, abs=0.05)
    assert broken["summary"] is None and "broken.xplane.pb" in broken["problem"]


def test_a_capture_in_a_few_lines(logs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", "--profile", "--logdir", str(logs / "run")]) == 0
    said = capsys.readouterr().out
    assert "train  2026_11_15_00_37_55  host.with.dots" in said
    assert "steps: batches that Keras profiled" in said
    assert "86.8 %  input: 42.787 ms" in said


def test_nothing_was_captured(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", "--profile", "--logdir", str(tmp_path)]) == 0
    assert capsys.readouterr().out == "no profile was captured here\n"
