"""Write small dumps of TensorFlow's debugger with given events."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tracklight.formats import proto
from tracklight.formats.debug_events import TensorDebugMode
from tracklight.formats.tensor import encode_tensor
from tracklight.formats.tfrecord import encode_record

#: The path of the program of which the dumps tell, and the line of all stacks.
PROGRAM = "/home/user/train.py"
LINE = "y = tf.math.log(x)"

Event = dict[str, Any]

_LOCATION = {"host_name": b"host", "stack_frame_ids": [b"f1"]}
_FULL = TensorDebugMode.FULL_TENSOR


def encode(value: Any) -> bytes:
    data: bytes = encode_tensor(np.asarray(value)).SerializeToString()
    return data


def make_graph(id: str, name: str, outer: str = "") -> Event:
    graph = {
        "graph_id": id.encode(),
        "graph_name": name.encode(),
        "outer_context_id": outer.encode(),
    }
    return {"debugged_graph": graph}


def make_op(name: str, kind: str, *inputs: str, graph: str = "g") -> Event:
    op = {
        "op_type": kind.encode(),
        "op_name": name.encode(),
        "graph_id": graph.encode(),
        "input_names": [it.encode() for it in inputs],
        "num_outputs": 1,
        "code_location": _LOCATION,
    }
    return {"graph_op_creation": op}


def make_trace(
    op: str, value: Any, wall_time: float = 1.0, *, graph: str = "g", mode: int = _FULL
) -> Event:
    trace = {
        "tfdbg_context_id": graph.encode(),
        "op_name": op.encode(),
        "tensor_debug_mode": int(mode),
        "tensor_proto": encode(value),
    }
    return {"wall_time": wall_time, "graph_execution_trace": trace}


def make_execution(
    op_type: str,
    outputs: Mapping[int, Any],
    wall_time: float = 1.0,
    *,
    inputs: Sequence[int] = (),
    graph: str = "",
    mode: int = _FULL,
) -> Event:
    """Return the execution of an operation; ``outputs`` are values by the id of the tensor."""
    execution = {
        "op_type": op_type.encode(),
        "num_outputs": len(outputs),
        "graph_id": graph.encode(),
        "input_tensor_ids": list(inputs),
        "output_tensor_ids": list(outputs),
        "tensor_debug_mode": int(mode),
        "tensor_protos": [encode(it) for it in outputs.values()],
        "code_location": _LOCATION,
    }
    return {"wall_time": wall_time, "execution": execution}


def write_events(path: Path, events: Iterable[Event]) -> None:
    records = (encode_record(proto.DebugEvent(**it).SerializeToString()) for it in events)
    path.write_bytes(b"".join(records))


def write_dump(
    folder: Path,
    *,
    graphs: Sequence[Event] = (),
    executions: Sequence[Event] = (),
    traces: Sequence[Event] = (),
    host: str = "host",
    metadata: Event | None = None,
    extra: Mapping[str, Sequence[Event]] | None = None,
) -> Path:
    """Write the files of one host; ``extra`` are further events by the kind of their file."""
    folder.mkdir(parents=True, exist_ok=True)
    version = {"tensorflow_version": b"2.20.0", "file_version": b"debug.Event:1"}
    lines = [b"import tensorflow as tf", LINE.encode()]
    source = {"file_path": PROGRAM.encode(), "host_name": b"host", "lines": lines}
    frame = {"id": b"f1", "file_line_col": {"file_index": 0, "line": 2, "func": b"train"}}
    files: dict[str, Sequence[Event]] = {
        "metadata": [metadata or {"debug_metadata": {**version, "tfdbg_run_id": b"run"}}],
        "source_files": [{"source_file": source}],
        "stack_frames": [{"stack_frame_with_id": frame}],
        "graphs": graphs,
        "execution": executions,
        "graph_execution_traces": traces,
    }
    for kind, events in files.items():
        path = folder / f"tfdbg_events.1700000000.{host}.{kind}"
        write_events(path, [*events, *(extra or {}).get(kind, ())])
    return folder
