"""NaN and Inf in dumps are noticed while the dumps are written."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from tests.analysis.debugger.dump_builder import make_execution, make_trace, write_dump
from tests.analysis.debugger.dumps import list_files, open_file
from tracklight.analysis.debugger.library import DumpMonitor
from tracklight.logdir.filesystem import FileHandle
from tracklight.types import DebugEventFile


class Folder:
    """The files of a directory as they are now."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def debug_files(self) -> list[DebugEventFile]:
        return list_files(self.path)

    def open_debug_file(self, file: DebugEventFile) -> FileHandle:
        return open_file(file)


@pytest.mark.parametrize("mode", ["curt_health", "concise_health", "full_health", "full_tensor"])
def test_finds_the_first_non_finite_tensor(dumps_folder: Path, mode: str) -> None:
    monitor = DumpMonitor(Folder(dumps_folder / mode))
    (event,) = monitor.check(["."])
    assert (event.run, event.op) == (".", "Log")
    assert math.isnan(event.value) if mode == "curt_health" else math.isinf(event.value)
    assert monitor.check(["."]) == []
    monitor.remove_runs(["."])
    assert [it.op for it in monitor.check(["."])] == ["Log"]


@pytest.mark.parametrize("mode", ["no_tensor", "shape"])
def test_dumps_without_values_are_not_alarming(dumps_folder: Path, mode: str) -> None:
    assert DumpMonitor(Folder(dumps_folder / mode)).check(["."]) == []


def test_follows_a_dump_that_grows(dumps_folder: Path, tmp_path: Path) -> None:
    source = next((dumps_folder / "full_health").glob("*.graph_execution_traces"))
    data = source.read_bytes()
    monitor = DumpMonitor(Folder(tmp_path))
    found = []
    for end in range(0, len(data) + 1, 500):
        (tmp_path / source.name).write_bytes(data[:end])
        found += monitor.check(["."])
    assert [event.op for event in found] == ["Log"]


def test_other_runs_are_not_read(dumps_folder: Path) -> None:
    monitor = DumpMonitor(Folder(dumps_folder))
    assert [it.run for it in monitor.check(["shape", "full_health"])] == ["full_health"]


def test_file_that_disappears_is_read_when_it_is_there_again(
    dumps_folder: Path, tmp_path: Path
) -> None:
    source = next((dumps_folder / "full_health").glob("*.graph_execution_traces"))
    path = tmp_path / source.name
    path.write_bytes(source.read_bytes())
    folder = Folder(tmp_path)
    files = folder.debug_files()
    folder.debug_files = lambda: files  # type: ignore[method-assign]
    monitor = DumpMonitor(folder)
    path.unlink()
    assert monitor.check(["."]) == []
    path.write_bytes(source.read_bytes())
    assert [event.op for event in monitor.check(["."])] == ["Log"]


def test_reports_the_earliest_of_the_files_of_a_dump(tmp_path: Path) -> None:
    """The files of a dump are checked one after the other."""
    write_dump(
        tmp_path,
        executions=[make_execution("Log", {1: [math.nan]}, 1.0)],
        traces=[make_trace("later", [math.inf], 2.0)],
    )
    (event,) = DumpMonitor(Folder(tmp_path)).check(["."])
    assert (event.op, event.wall_time) == ("Log", 1.0)
