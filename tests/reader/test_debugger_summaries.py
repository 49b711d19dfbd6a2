"""``tracklight inspect --debugger``."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from tests.analysis.debugger.conftest import DATA
from tests.archives import extract
from tests.builders import flip
from tests.index import logs
from tracklight.cli import main
from tracklight.debugger.recorder import Recorder, Schedule
from tracklight.formats.tensor_health import STATS, WatchedTensor
from tracklight.reader.summaries import InspectedDump, iter_debugger_lines


@pytest.fixture(scope="module")
def dump(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a dump of all tensors."""
    folder = tmp_path_factory.mktemp("dumps")
    extract(DATA, folder)
    return folder / "full_health"


def write_recording(folder: Path, steps: int) -> None:
    recorder = Recorder(
        str(folder),
        "torch",
        "2.9",
        rank=0,
        schedule=Schedule(1, 0),
        history=5,
        on_problem="continue",
    )
    recorder.add(WatchedTensor("relu", "output", "ReLU", "float32", 40, (4, 10)))
    for step in range(steps):
        recorder.end_step(step, np.zeros((1, len(STATS)), np.float32))
    recorder.writer.flush()


def inspect(capsys: pytest.CaptureFixture[str], logdir: Path, *flags: str) -> str:
    main(["inspect", "--debugger", *flags, "--logdir", str(logdir), "--no-config"])
    return capsys.readouterr().out


def test_text(tmp_path: Path, dump: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copytree(dump, tmp_path / "dump")
    write_recording(tmp_path / "run", 1)
    lines = inspect(capsys, tmp_path).splitlines()
    assert lines[:3] == [
        "dump  (tensorflow 2.21.0)",
        "  49 executions, 159 graph executions, 14 graphs, 55 source files",
        "  140 alerts: 9 inf, 131 nan",
    ]
    assert lines[3].startswith('  Log "Log" produced 1 -Inf of 4 values from finite inputs')
    assert lines[4].startswith("  The logarithm of 0 is -Inf")
    assert lines[5:] == ["", "run  (torch 2.9)", "  1 step of 1 tensor", "  0 alerts", ""]


def test_damaged_dump(tmp_path: Path, dump: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copytree(dump, tmp_path / "dump")
    (path,) = tmp_path.glob("dump/*.execution")
    path.write_bytes(flip(path.read_bytes(), 200))
    summary = json.loads(inspect(capsys, tmp_path, "--json"))["dumps"]["dump"]
    (damage,) = summary["damaged"]
    assert damage["file"].endswith(".execution")
    assert summary["executions"] == 48
    text = f"{damage['file']}, byte {damage['offset']:,}: {damage['reason']}"
    assert f"  {text}\n" in inspect(capsys, tmp_path)


def test_dump_without_metadata(
    tmp_path: Path, dump: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(dump, tmp_path / "dump")
    (path,) = tmp_path.glob("dump/*.metadata")
    path.write_bytes(b"")
    text = inspect(capsys, tmp_path)
    assert text.startswith("dump  (tensorflow)\n")
    assert ".metadata, byte 0: it has no metadata\n" in text


def test_log_without_data(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    logs.write(tmp_path, "run", logs.point(1, 0.5))
    assert inspect(capsys, tmp_path) == "no debugger data found\n"


def test_problems_of_a_dump_are_shown_on_one_line() -> None:
    lines = iter_debugger_lines({"a\nb": InspectedDump(problem='cannot read "c\x1b"')})
    assert list(lines) == ["a\\nb", '  cannot read "c\\x1b"', ""]
