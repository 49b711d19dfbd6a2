from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

import tracklight
from tracklight.profiler import process
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


def test_remote_directory_is_not_captured(tmp_path: Path) -> None:
    before = sys.stdout
    with pytest.warns(UserWarning, match="is captured in local directories only, not s3://b/run"):
        capture = ConsoleCapture("s3://b/run")
    assert sys.stdout is before
    capture.stop()


def test_stream_that_was_kept_still_prints_after_the_end(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capture = ConsoleCapture(str(tmp_path))
    kept = sys.stdout
    kept.writelines(["first\n", "second\n"])
    capture.stop()
    kept.write("later\n")
    assert read_lines(tmp_path) == [("stdout", "first"), ("stdout", "second")]
    assert capsys.readouterr().out == "first\nsecond\nlater\n"


def test_stream_that_was_replaced_meanwhile_is_kept(tmp_path: Path) -> None:
    capture = ConsoleCapture(str(tmp_path))
    captured, replacement = sys.stdout, io.StringIO()
    sys.stdout = replacement
    try:
        capture.stop()
        assert sys.stdout is replacement
    finally:
        sys.stdout = captured.original  # type: ignore[attr-defined]


def test_captured_stream_is_like_the_original(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = io.StringIO("line 1\nline 2\n")
    monkeypatch.setattr(sys, "stdout", original)
    capture = ConsoleCapture(str(tmp_path))
    assert list(sys.stdout) == ["line 1\n", "line 2\n"]
    assert sys.stdout.seekable()
    assert not sys.stdout.isatty()
    capture.stop()
    assert sys.stdout is original


def test_long_line_is_divided(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "_MAX_LINE_CHARS", 10)
    capture = ConsoleCapture(str(tmp_path))
    for text in ("12345", "67890", "end\n"):
        sys.stdout.write(text)
    capture.stop()
    assert read_lines(tmp_path) == [("stdout", "1234567890"), ("stdout", "end")]


def test_capture_ends_at_the_size_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(process, "_MAX_FILE_BYTES", 100)
    capture = ConsoleCapture(str(tmp_path))
    for number in range(5):
        print("line", number)
    capture.stop()
    assert read_lines(tmp_path) == [
        ("stdout", "line 0"),
        ("stdout", "line 1"),
        ("stderr", "(further output is not captured)"),
    ]
    assert capsys.readouterr().out == "".join(f"line {i}\n" for i in range(5))


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_full_disk_ends_the_capture_and_not_the_program(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / FILE_NAME).symlink_to("/dev/full")
    capture = ConsoleCapture(str(tmp_path))
    with pytest.warns(UserWarning, match="is no longer captured: .*No space left"):
        print("hello")
    print("again")
    capture.stop()
    assert capsys.readouterr().out == "hello\nagain\n"
