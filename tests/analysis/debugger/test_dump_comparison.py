"""Where two dumps first differ."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from tests.analysis.debugger.dumps import open_dump
from tracklight.analysis.debugger.dump_analysis import DumpAnalysis
from tracklight.analysis.debugger.dump_comparison import DumpComparison, compare_dumps
from tracklight.formats import proto
from tracklight.formats.debug_events import PayloadScanner
from tracklight.formats.tensor import decode_tensor, encode_tensor
from tracklight.formats.tfrecord import encode_record

MODES = ["no_tensor", "curt_health", "concise_health", "full_health", "shape", "full_tensor"]


def compare(first: Path, second: Path) -> DumpComparison:
    return compare_dumps(DumpAnalysis(open_dump(first)), DumpAnalysis(open_dump(second)))


def read_events(path: Path) -> list[proto.Message]:
    scanner = PayloadScanner()
    scanner.scan(path.read_bytes(), 0)
    return [proto.parse("DebugEvent", payload) for _, payload in scanner.take()]


def copy_dump(source: Path, target: Path, kind: str, change: dict[int, proto.Message]) -> Path:
    """Copy a dump with some events of one file replaced."""
    shutil.copytree(source, target)
    (path,) = target.glob(f"*.{kind}")
    events = [change.get(index, event) for index, event in enumerate(read_events(path))]
    path.write_bytes(b"".join(encode_record(event.SerializeToString()) for event in events))
    return target


@pytest.mark.parametrize("mode", MODES)
def test_a_dump_does_not_differ_from_itself(dumps_folder: Path, mode: str) -> None:
    result = compare(dumps_folder / mode, dumps_folder / mode)
    assert (result.difference, result.only_first, result.only_second) == (None, [], [])
    assert result.compared > 100


@pytest.mark.parametrize("mode", ["full_health", "full_tensor"])
def test_finds_the_first_value_that_differs(dumps_folder: Path, tmp_path: Path, mode: str) -> None:
    (path,) = (dumps_folder / mode).glob("*.graph_execution_traces")
    events = read_events(path)
    changed = {}
    for index in (70, 40):
        # A tensor of floats, which are the only ones with counts.
        index = next(
            row
            for row in range(index, len(events))
            if (value := decode_tensor(proto.parse("TensorProto", tensor_of(events[row])))).size
            and value.dtype.kind == "f"
            and np.isfinite(value).all()
        )
        event = proto.parse("DebugEvent", events[index].SerializeToString())
        value = decode_tensor(proto.parse("TensorProto", tensor_of(event))).copy()
        value.flat[-1] += 1
        event.graph_execution_trace.tensor_proto = encode_tensor(value).SerializeToString()
        changed[index] = event
    other = copy_dump(dumps_folder / mode, tmp_path / "other", "graph_execution_traces", changed)
    difference = compare(dumps_folder / mode, other).difference
    assert difference is not None
    assert difference.event == "graph_execution"
    assert difference.index == difference.other_index == min(changed)
    if mode == "full_tensor":
        assert difference.kind == "value"
        assert difference.element is not None
        assert float(difference.second) == pytest.approx(float(difference.first) + 1)
    else:
        assert difference.kind == "positive"
        assert int(difference.second) == int(difference.first) + 1


def tensor_of(event: proto.Message) -> bytes:
    tensor: bytes = event.graph_execution_trace.tensor_proto
    return tensor


def test_finds_another_operation(dumps_folder: Path, tmp_path: Path) -> None:
    source = dumps_folder / "no_tensor"
    (path,) = source.glob("*.execution")
    event = read_events(path)[3]
    event.execution.op_type = b"Sinh"
    other = copy_dump(source, tmp_path / "other", "execution", {3: event})
    difference = compare(source, other).difference
    assert difference is not None
    assert (difference.event, difference.index) == ("execution", 3)
    assert (difference.kind, difference.second) == ("operation", "Sinh")


def test_dumps_in_other_modes_are_compared_by_their_operations(dumps_folder: Path) -> None:
    result = compare(dumps_folder / "full_health", dumps_folder / "curt_health")
    assert (result.difference, result.compared) == (None, 0)


def test_lists_what_only_one_of_them_has(dumps_folder: Path, tmp_path: Path) -> None:
    other = copy_dump(dumps_folder / "full_health", tmp_path / "other", "execution", {})
    (traces,) = other.glob("*.graph_execution_traces")
    traces.write_bytes(b"")
    result = compare(dumps_folder / "full_health", other)
    assert result.difference is None
    assert "take_log/Log" in result.only_first
    assert result.only_second == []
