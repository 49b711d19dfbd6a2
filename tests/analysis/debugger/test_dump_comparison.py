"""Where two dumps first differ."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.analysis.debugger.dump_builder import make_execution, make_trace, write_dump
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


@pytest.mark.parametrize(
    ("mode", "first", "second", "expected"),
    [
        (2, [3.0, 0.0], [3.0, 1.0], ("non_finite", "False", "True")),
        (3, [3.0, 9, 0, 0, 0], [3.0, 8, 0, 0, 0], ("size", "9", "8")),
        (3, [3.0, 9, 1, 0, 0], [3.0, 9, 0, 0, 2], ("nan", "0", "2")),
        (3, [3.0, 9, 1, 0, 0], [3.0, 9, 2, 0, 0], ("neg_inf", "1", "2")),
        (3, [3.0, 9, 0, 1, 0], [3.0, 9, 0, 2, 0], ("pos_inf", "1", "2")),
        (4, [3.0, 0, 1, 1, 2, 0, 0, 0, 1, 0, 1], [3.0, 0, 1, 1, 2, 0, 0, 0, 2, 0, 0],
         ("negative", "1", "2")),
        (4, [3.0, 0, 1, 1, 2, 0, 0, 0, 1, 0, 1], [3.0, 0, 1, 1, 2, 0, 0, 0, 1, 1, 0],
         ("zero", "0", "1")),
        (5, [3.0, 1, 2, 6, 2, 3, 0, 0, 0, 0], [3.0, 1, 2, 6, 3, 2, 0, 0, 0, 0],
         ("shape", "[2, 3]", "[3, 2]")),
        (5, [3.0, 1, 7, 6, 2, 3, 1, 1, 1, 1], [3.0, 1, 7, 6, 3, 2, 1, 1, 1, 1],
         ("shape", "[?, 2, 3, 1, 1, 1, 1]", "[?, 3, 2, 1, 1, 1, 1]")),
        (5, [3.0, 1, 1, 2, 2, 0, 0, 0, 0, 0], [3.0, 2, 1, 2, 2, 0, 0, 0, 0, 0],
         ("dtype", "float32", "float64")),
        (7, [1.0, 2.0], [1.0, 2.5], ("value", "2", "2.5")),
        (7, [1, 2], [1, 3], ("value", "2", "3")),
        (7, ["ab", "c"], ["ab", "d"], ("value", "c", "d")),
        (7, [1.0], [1.0, 2.0], ("shape", "[1]", "[2]")),
        (7, [1.0], ["a"], ("dtype", "float64", "string")),
    ],
)  # fmt: skip
@pytest.mark.parametrize("kind", ["graph_execution", "execution"])
def test_says_what_differs(
    tmp_path: Path,
    kind: str,
    mode: int,
    first: list[Any],
    second: list[Any],
    expected: tuple[str, str, str],
) -> None:
    folders = []
    for name, value in (("first", first), ("second", second)):
        folder = write_dump(
            tmp_path / name,
            executions=[make_execution("Abs", {1: value}, mode=mode)]
            if kind == "execution"
            else [],
            traces=[make_trace("x", value, mode=mode)] if kind == "graph_execution" else [],
        )
        folders.append(folder)
    difference = compare(*folders).difference
    assert difference is not None
    assert (difference.event, difference.index, difference.other_index) == (kind, 0, 0)
    assert (difference.kind, difference.first, difference.second) == expected


def test_small_relative_differences_are_equal(tmp_path: Path) -> None:
    first = write_dump(tmp_path / "first", traces=[make_trace("x", [1.0, np.nan])])
    second = write_dump(tmp_path / "second", traces=[make_trace("x", [1.0001, np.nan])])
    assert compare(first, second).difference is None
