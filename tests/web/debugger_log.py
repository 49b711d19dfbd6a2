"""Dumps and recordings of the debugger in which all names are Chinese."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from tests.web.event_writer import append_records
from tracklight.formats import proto
from tracklight.formats.debug_events import TensorDebugMode
from tracklight.formats.proto import Message
from tracklight.formats.summary import encode_event, make_metadata
from tracklight.formats.tensor import encode_tensor
from tracklight.formats.tensor_health import (
    HEALTH_TAG,
    HISTOGRAM_TAG,
    LAYOUT_TAG,
    PLUGIN,
    REPORT_TAG,
    SOURCE_FILES_TAG,
    STAT_INDEX,
    STATS,
    VALUES_TAG,
    HealthLayout,
    HealthReport,
    RecordedSourceFile,
    SourceLocation,
    WatchedTensor,
    compute_histogram,
    make_tag,
)
from tracklight.formats.tfrecord import encode_record

PROGRAM = "def 前向(输入):\n    概率 = softmax(输入)\n    return log(概率)\n"
PATH = "/项目/训练.py"
STEPS = 20
START = 1.7e9
SIZE = 12
_FRAMES = (SourceLocation(PATH, 2, "前向", "softmax"), SourceLocation(PATH, 3, "前向", "log"))
_TENSORS = (
    WatchedTensor("输入", "input", "", "float32", SIZE, (3, 4)),
    WatchedTensor(
        "概率", "output", "softmax", "float32", SIZE, (3, 4), 0, (0,), source=_FRAMES[0], stack=(0,)
    ),
    WatchedTensor(
        "对数", "output", "log", "float32", SIZE, (3, 4), 0, (1,), source=_FRAMES[1], stack=(1,)
    ),
    WatchedTensor("损失", "loss", "", "float32", 1, (), 0, (2,)),
    WatchedTensor("权重", "gradient", "", "float32", SIZE, (3, 4), of=5),
    WatchedTensor("权重", "parameter", "", "float32", SIZE, (3, 4)),
)


def write_recording(run: Path, *, first_bad: int | None) -> None:
    """Write a recording in which a logarithm is infinite from a step on."""
    layout = HealthLayout("torch", "2.9.0", 0, _TENSORS, frames=_FRAMES)
    values = [
        _make_value(LAYOUT_TAG, msgspec.json.encode(layout)),
        _make_value(SOURCE_FILES_TAG, msgspec.json.encode(RecordedSourceFile(PATH, PROGRAM))),
    ]
    records = [encode_record(encode_event(START, 0, values))]
    for step in range(STEPS):
        is_bad = first_bad is not None and step >= first_bad
        values = [
            _make_value(HEALTH_TAG, _make_health(step, is_bad)),
            _make_value(HISTOGRAM_TAG, _make_histograms(step)),
        ]
        if step == first_bad:
            values += _make_report(step)
        records.append(encode_record(encode_event(START + step, step, values)))
    append_records(run, *records)


def write_dead_units(run: Path, rank: int) -> None:
    """Write the recording of a process in which all units of an activation are zero."""
    tensor = WatchedTensor("激活", "output", "ReLU", "float32", 40, (4, 10), channels=10)
    layout = HealthLayout("torch", "2.9.0", rank, (tensor,))
    health = np.zeros((1, len(STATS)), np.float32)
    health[0, STAT_INDEX["dead"]] = 10
    values = [_make_value(LAYOUT_TAG, msgspec.json.encode(layout), rank)]
    records = [encode_record(encode_event(START, 0, values))]
    for step in range(STEPS):
        value = _make_value(HEALTH_TAG, health, rank)
        records.append(encode_record(encode_event(START + step, step, [value])))
    append_records(run, *records)


def _make_health(step: int, is_bad: bool) -> NDArray[np.float32]:
    health = np.zeros((len(_TENSORS), len(STATS)), np.float32)
    for row, tensor in enumerate(_TENSORS):
        scale = 1 + row + step / 10
        stats = {"order": row, "min": 0, "max": scale, "mean": scale / 2, "std": 0.3 * scale}
        for name, value in {**stats, "norm": scale * tensor.size**0.5}.items():
            health[row, STAT_INDEX[name]] = value
        if is_bad and row >= 2:
            health[row, STAT_INDEX["neg_inf" if row == 2 else "nan"]] = 1
    return health


def _make_histograms(step: int) -> NDArray[np.uint8]:
    values = np.linspace(-1 - step, 1 + step, SIZE, dtype=np.float32)
    return np.stack([compute_histogram(values) for _ in _TENSORS])


def _make_report(step: int) -> list[Message]:
    probabilities = np.linspace(0, 1, SIZE, dtype=np.float32).reshape(3, 4)
    with np.errstate(divide="ignore"):
        stored = {"概率": probabilities, "对数": np.log(probabilities)}
    tags = {name: make_tag(f"{VALUES_TAG}/{name}") for name in stored}
    report = HealthReport(step, 2, f"第 {step} 步", _FRAMES[1:], tags, {"torch": ""})
    return [
        *(_make_value(f"{VALUES_TAG}/{name}", value) for name, value in stored.items()),
        _make_value(REPORT_TAG, msgspec.json.encode(report)),
    ]


def _make_value(
    tag: str, value: bytes | NDArray[np.float32] | NDArray[np.uint8], rank: int = 0
) -> Message:
    name = make_tag(tag, rank).encode()
    return proto.Value(tag=name, tensor=encode_tensor(value), metadata=make_metadata(PLUGIN))


# ---- dumps of TensorFlow

#: Name, type and inputs of the operations of the graph.
_OPS = (("输入", "Placeholder", ()), ("差", "Sub", ("输入:0",)), ("对数", "Log", ("差:0",)))
_GRAPH = "图"


def write_dump(folder: Path, *, shift: float, is_cut: bool = False) -> None:
    """Write a dump in mode FULL_TENSOR.

    Args:
        folder: Where to write it.
        shift: Added to the input of the graph.
        is_cut: Whether the last file is incomplete.
    """
    folder.mkdir(parents=True)
    location = {"host_name": "主机".encode(), "stack_frame_ids": [b"f1"]}
    ops = [
        {
            "op_type": kind.encode(),
            "op_name": name.encode(),
            "graph_name": "前向".encode(),
            "graph_id": _GRAPH.encode(),
            "input_names": [it.encode() for it in inputs],
            "num_outputs": 1,
            "code_location": location,
        }
        for name, kind, inputs in _OPS
    ]
    graph = {"graph_id": _GRAPH.encode(), "graph_name": "前向".encode()}
    source = {
        "file_path": PATH.encode(),
        "host_name": "主机".encode(),
        "lines": [it.encode() for it in PROGRAM.splitlines()],
    }
    line = {"file_index": 0, "line": 3, "func": "前向".encode(), "code": b"log"}
    version = {"tensorflow_version": b"2.20.0", "file_version": b"debug.Event:1"}
    executions, traces = _make_executions(shift, location)
    files = {
        "metadata": [{"debug_metadata": {**version, "tfdbg_run_id": f"{shift}".encode()}}],
        "source_files": [{"source_file": source}],
        "stack_frames": [{"stack_frame_with_id": {"id": b"f1", "file_line_col": line}}],
        "graphs": [{"debugged_graph": graph}, *({"graph_op_creation": it} for it in ops)],
        "execution": executions,
        "graph_execution_traces": traces,
    }
    for kind, events in files.items():
        data = b"".join(
            encode_record(proto.DebugEvent(**{"wall_time": START, **event}).SerializeToString())
            for event in events
        )
        end = len(data) - 5 if is_cut and kind == "graph_execution_traces" else len(data)
        (folder / f"tfdbg_events.1700000000.主机.{kind}").write_bytes(data[:end])


def _make_executions(
    shift: float, location: dict[str, object]
) -> tuple[list[dict[str, object]], list[dict[str, object]]]:
    """Return executions of the graph, and the tensors of its operations."""
    executions: list[dict[str, object]] = []
    traces: list[dict[str, object]] = []
    for step in range(5):
        difference = np.array([[2.0, 1.0], [0.5, 2.0 - step]], np.float32) + np.float32(shift)
        with np.errstate(invalid="ignore", divide="ignore"):
            values = {"差": difference, "对数": np.log(difference)}
        for index, (name, value) in enumerate(values.items()):
            trace = {
                "tfdbg_context_id": _GRAPH.encode(),
                "op_name": name.encode(),
                "tensor_debug_mode": int(TensorDebugMode.FULL_TENSOR),
                "tensor_proto": encode_tensor(value).SerializeToString(),
            }
            wall_time = START + step + index / 10
            traces.append({"wall_time": wall_time, "graph_execution_trace": trace})
        execution = {
            "op_type": "__inference_前向_1".encode(),
            "num_outputs": 1,
            "graph_id": _GRAPH.encode(),
            "input_tensor_ids": [step],
            "output_tensor_ids": [100 + step],
            "tensor_debug_mode": int(TensorDebugMode.FULL_TENSOR),
            "tensor_protos": [encode_tensor(values["对数"]).SerializeToString()],
            "code_location": location,
        }
        executions.append({"wall_time": START + step + 0.5, "execution": execution})
    return executions, traces
