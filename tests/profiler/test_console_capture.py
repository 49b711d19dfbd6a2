from __future__ import annotations

import sys
from pathlib import Path

import pytest

import tracklight
from tracklight.profiler.process import FILE_NAME, ConsoleCapture
from tracklight.server.run_table.run_files import parse_console


def read_lines(folder: Path) -> list[tuple[str | None, str]]:
    lines = parse_console((folder / FILE_NAME).read_text(encoding="utf-8"))
    assert all(line.time is not None for line in lines)
    return [(line.stream, line.text) for line in lines]


def test_copies_lines_with_time_and_stream(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = sys.stdout, sys.stderr
    capture = ConsoleCapture(str(tmp_path))
    print("epoch", 1)
    print("careful", file=sys.stderr)
    sys.stdout.write("no end")
    capture.stop()
    print("later")
    assert (sys.stdout, sys.stderr) == before
    expected = [("stdout", "epoch 1"), ("stderr", "careful"), ("stdout", "no end")]
    assert read_lines(tmp_path) == expected
    printed = capsys.readouterr()
    assert (printed.out, printed.err) == ("epoch 1\nno endlater\n", "careful\n")


def test_progress_bars_are_written_once(tmp_path: Path) -> None:
    capture = ConsoleCapture(str(tmp_path))
    for percent in range(0, 101, 5):
        sys.stderr.write(f"\r{percent:3}%|{'#' * (percent // 10)}")
    sys.stderr.write("\n")
    capture.stop()
    assert read_lines(tmp_path) == [("stderr", f"100%|{'#' * 10}")]


def test_runs_record_console_and_system_metrics(tmp_path: Path) -> None:
    with tracklight.run(tmp_path, name="run", console=True, system_metrics=True) as run:
        print("hello")
        run.log({"loss": 1.0})
    assert read_lines(tmp_path / "run") == [("stdout", "hello")]
    tags = {*tracklight.open(tmp_path)["run"].tags()}
    assert {"loss", "system/cpu_percent", "system/network_sent_mb_s"} <= tags


def test_directory_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    before = sys.stdout
    with pytest.warns(UserWarning, match="cannot be captured"):
        capture = ConsoleCapture(str(tmp_path / "file" / "run"))
    assert sys.stdout is before
    capture.stop()
