"""Dumps and recordings as Python programs read them, and the library that opens them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracklight
from tests.analysis.debugger.dump_builder import (
    make_execution,
    make_graph,
    make_op,
    make_trace,
    write_dump,
)
from tracklight import Log
from tracklight.analysis.debugger.dump_analysis import DumpAnalysis
from tracklight.analysis.debugger.library import DebuggerData, DebuggerLibrary
from tracklight.debugger.recorder import Recorder, Schedule
from tracklight.errors import LogError, UsageError
from tracklight.formats.debug_events import TensorDebugMode
from tracklight.formats.tensor_health import STAT_INDEX, STATS, WatchedTensor
from tracklight.index.catalog import Catalog
from tracklight.logdir.access import parse_roots


def write_mixed_dump(folder: Path) -> Path:
    return write_dump(
        folder,
        graphs=[make_graph("g", "f"), make_op("log", "Log")],
        executions=[
            make_execution("Split", {1: [1.0], 2: [2.0, 3.0]}, 1.0),
            make_execution("__inference_f_1", {3: [4.0]}, 3.0, graph="g"),
        ],
        traces=[
            make_trace("log", [np.inf], 2.0),
            make_trace("log", [0.5], 2.5),
            make_trace("unknown", "text", 2.5, mode=TensorDebugMode.NO_TENSOR),
        ],
    )


def write_recording(folder: Path) -> None:
    recorder = Recorder(
        str(folder), "torch", "2", schedule=Schedule(1, 0), history=5, on_problem="continue"
    )
    recorder.add(WatchedTensor("fc", "output", "Linear", "float32", 4, (2, 2)))
    recorder.add(WatchedTensor("fc.weight", "gradient", "", "float32", 4, (2, 2)))
    for step in range(3):
        health = np.zeros((2, len(STATS)), np.float32)
        health[:, STAT_INDEX["norm"]] = step, 2 * step
        recorder.end_step(step, health)
    recorder.close()


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Log]:
    folder = tmp_path_factory.mktemp("logs")
    write_mixed_dump(folder / "dump")
    write_recording(folder / "recorded")
    with tracklight.open(folder, cache=False) as log:
        yield log


def test_executions_of_a_dump_are_columns(log: Log) -> None:
    dump = log.debugger("dump")
    assert repr(dump) == '<DebuggerData "dump": tensorflow, 1 alerts>'
    columns = {name: column.tolist() for name, column in dump.executions.items()}
    assert columns == {
        "wall_time": [1.0, 3.0],
        "op_type": ["Split", "__inference_f_1"],
        "graph": ["", "g"],
    }
    traces = {name: column.tolist() for name, column in dump.graph_executions.items()}
    assert traces == {
        "wall_time": [2.0, 2.5, 2.5],
        "op_type": ["Log", "Log", ""],
        "op_name": ["log", "log", "unknown"],
        "output_slot": [0, 0, 0],
        "graph": ["g", "g", "g"],
        "is_finite": [0, 1, -1],
    }


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"execution": 0}, [1.0]),
        ({"execution": 0, "slot": 1}, [2.0, 3.0]),
        ({"execution": 0, "slot": 2}, None),
        ({"graph_execution": 1}, [0.5]),
        ({"graph_execution": 2}, None),
    ],
)
def test_values_of_a_dump(log: Log, arguments: dict[str, int], expected: list[float]) -> None:
    value = log.debugger("dump").value(**arguments)
    assert (None if value is None else value.tolist()) == expected


def test_statistics_of_a_recording_are_arrays(log: Log) -> None:
    recording = log.debugger("recorded")
    assert repr(recording) == '<DebuggerData "recorded": torch, 0 alerts>'
    assert recording.step.tolist() == [0, 1, 2]
    assert recording.tensors == ["fc (output)", "fc.weight (gradient)"]
    assert recording.statistic("norm").tolist() == [[0, 0], [1, 2], [2, 4]]


@pytest.mark.parametrize(
    ("name", "read", "message"),
    [
        ("dump", lambda it: it.value(), "either execution= or graph_execution="),
        (
            "dump",
            lambda it: it.value(execution=0, graph_execution=0),
            "either execution= or graph_execution=",
        ),
        ("dump", lambda it: it.value(execution=2), "there are 2 of these, so no index 2"),
        ("dump", lambda it: it.value(graph_execution=-1), "there are 3 of these, so no index -1"),
        ("dump", lambda it: it.step, '"dump" is a dump, which has executions and no statistics'),
        ("dump", lambda it: it.statistic("norm"), '"dump" is a dump'),
        ("recorded", lambda it: it.executions, '"recorded" is a recording, which has statistics'),
        ("recorded", lambda it: it.value(execution=0), '"recorded" is a recording'),
        ("recorded", lambda it: it.statistic("mode"), 'no statistic "mode"; there are order, nan'),
    ],
)
def test_says_what_cannot_be_read(
    log: Log, name: str, read: Callable[[DebuggerData], Any], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        read(log.debugger(name))


def test_name_may_be_omitted_if_there_is_one(log: Log, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="choose one of the dumps: dump, recorded"):
        log.debugger()
    write_mixed_dump(tmp_path / "only")
    with tracklight.open(tmp_path, cache=False) as one:
        assert one.debugger().name == "only"


def test_log_without_debugger_data(tmp_path: Path) -> None:
    with (
        tracklight.open(tmp_path, cache=False) as empty,
        pytest.raises(LogError, match=r'No debugger data "\."\. Found: none'),
    ):
        empty.debugger()


def test_opened_dump_is_updated_when_its_files_grow(tmp_path: Path) -> None:
    folder = write_mixed_dump(tmp_path / "dump")
    (path,) = folder.glob("*.graph_execution_traces")
    data = path.read_bytes()
    path.write_bytes(data[:10])
    catalog = Catalog(parse_roots(str(tmp_path)), cache=False)
    library = DebuggerLibrary(catalog)
    catalog.refresh()
    first = library.get("dump")
    assert isinstance(first, DumpAnalysis)
    assert len(first.alerts) == 0
    assert library.get("dump") is first
    path.write_bytes(data)
    catalog.refresh()
    second = library.get("dump")
    assert [it.op_name for it in second.alerts] == ["log"]


def test_finds_a_dump_by_the_prefix_of_its_files(tmp_path: Path) -> None:
    folder = write_mixed_dump(tmp_path / "dump")
    catalog = Catalog(parse_roots(str(tmp_path)), cache=False)
    catalog.refresh()
    library = DebuggerLibrary(catalog)
    (path,) = folder.glob("*.metadata")
    assert library.find_dump(str(path.with_suffix(""))) == "dump"
    assert library.find_dump("elsewhere/tfdbg_events.1.host") is None
