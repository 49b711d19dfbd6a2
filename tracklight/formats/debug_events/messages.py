"""Decode the small messages of a dump: metadata, source files, stack frames, graphs and names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from tracklight.errors import FormatError
from tracklight.formats import proto
from tracklight.formats.wire_format import LENGTH_DELIMITED, decode_text, iter_fields

_SOURCE_FILE_FIELD = 4
_PATH_FIELD, _HOST_FIELD = 1, 2


class Metadata(NamedTuple):
    """The content of a metadata file."""

    wall_time: float
    tensorflow_version: str
    file_version: str
    run_id: str


class SourceFile(NamedTuple):
    """A source file of the program; its lines are read from ``offset`` on demand."""

    host: str
    path: str
    offset: int


class StackFrame(NamedTuple):
    """A stack frame; ``file`` is an index into the source files of the same host."""

    file: int
    line: int
    function: str


@dataclass(frozen=True, slots=True)
class GraphOp:
    """An operation of a graph, with the place in the program that created it."""

    type: str
    name: str
    graph: str
    inputs: tuple[str, ...]
    """Names of tensors: ``op:slot``."""
    outputs: int
    host: str
    stack: tuple[str, ...]
    """Ids of stack frames, outermost first."""
    output_tensor_ids: tuple[int, ...] = ()
    device: str = ""
    wall_time: float = 0.0


class DebuggedGraph(NamedTuple):
    """A graph, usually of a ``tf.function``."""

    id: str
    name: str
    outer: str


class ExecutionName(NamedTuple):
    """What executions of the same operation at the same place have in common."""

    op_type: str
    graph: str
    mode: int
    host: str
    stack: tuple[str, ...]
    devices: tuple[int, ...]
    outputs: int


class TraceName(NamedTuple):
    """The tensor that a graph execution trace belongs to."""

    graph: str
    op: str
    slot: int
    mode: int
    device: str


def decode_metadata(payload: bytes) -> Metadata | None:
    """Decode the event of a metadata file; None if it is another kind of event."""
    event = proto.parse("DebugEvent", payload)
    if not event.HasField("debug_metadata"):
        return None
    metadata = event.debug_metadata
    return Metadata(
        event.wall_time,
        decode_text(metadata.tensorflow_version),
        decode_text(metadata.file_version),
        decode_text(metadata.tfdbg_run_id),
    )


def decode_source_file(payload: bytes, offset: int) -> SourceFile | None:
    """Decode path and host of a source file, which come before its lines."""
    for field in iter_fields(payload, 0, len(payload)):
        if field.number == _SOURCE_FILE_FIELD and field.wire_type == LENGTH_DELIMITED:
            texts = {_PATH_FIELD: "", _HOST_FIELD: ""}
            for part in iter_fields(payload, field.start, field.end):
                if part.number not in texts:
                    break
                texts[part.number] = decode_text(payload[part.start : part.end])
            return SourceFile(texts[_HOST_FIELD], texts[_PATH_FIELD], offset)
    return None


def decode_source_lines(payload: bytes) -> list[str]:
    return [decode_text(line) for line in proto.parse("DebugEvent", payload).source_file.lines]


def decode_stack_frame(payload: bytes) -> tuple[str, StackFrame] | None:
    """Return the id of a stack frame and the frame."""
    event = proto.parse("DebugEvent", payload)
    if not event.HasField("stack_frame_with_id"):
        return None
    location = event.stack_frame_with_id.file_line_col
    frame = StackFrame(location.file_index, location.line, decode_text(location.func))
    return decode_text(event.stack_frame_with_id.id), frame


def decode_graph_event(payload: bytes) -> GraphOp | DebuggedGraph | tuple[int, str] | None:
    """Decode an event of a graphs file; a device is returned as its id and its name."""
    event = proto.parse("DebugEvent", payload)
    if event.HasField("graph_op_creation"):
        op = event.graph_op_creation
        return GraphOp(
            decode_text(op.op_type),
            decode_text(op.op_name),
            decode_text(op.graph_id),
            tuple(decode_text(name) for name in op.input_names),
            op.num_outputs,
            decode_text(op.code_location.host_name),
            tuple(decode_text(frame) for frame in op.code_location.stack_frame_ids),
            tuple(op.output_tensor_ids),
            decode_text(op.device_name),
            event.wall_time,
        )
    if event.HasField("debugged_graph"):
        graph = event.debugged_graph
        return DebuggedGraph(
            decode_text(graph.graph_id),
            decode_text(graph.graph_name),
            decode_text(graph.outer_context_id),
        )
    if event.HasField("debugged_device"):
        return event.debugged_device.device_id, decode_text(event.debugged_device.device_name)
    return None


def decode_execution_name(key: bytes) -> ExecutionName:
    try:
        message = proto.parse("DebugExecution", key)
    except FormatError:
        return ExecutionName("", "", 0, "", (), (), 0)
    return ExecutionName(
        decode_text(message.op_type),
        decode_text(message.graph_id),
        message.tensor_debug_mode,
        decode_text(message.code_location.host_name),
        tuple(decode_text(frame) for frame in message.code_location.stack_frame_ids),
        tuple(message.output_tensor_device_ids),
        message.num_outputs,
    )


def decode_trace_name(key: bytes) -> TraceName:
    try:
        message = proto.parse("GraphExecutionTrace", key)
    except FormatError:
        return TraceName("", "", 0, 0, "")
    return TraceName(
        decode_text(message.tfdbg_context_id),
        decode_text(message.op_name),
        message.output_slot,
        message.tensor_debug_mode,
        decode_text(message.device_name),
    )
