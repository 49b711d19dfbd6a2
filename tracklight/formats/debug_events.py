"""Read the files that ``tf.debugging.experimental.enable_dump_debug_info`` writes.

A dump consists of six files per host, ``tfdbg_events.<seconds>.<host>.<kind>``, each of them a
TFRecord file of DebugEvent messages. The files of executions and of graph execution traces may hold
millions of events, so they are scanned into columns; tensors are decoded when they are needed.
`create_event_scanner` returns the compiled scanner (``_debug_events.pyx``) if it was built, and
otherwise an `EventScanner`, which does the same much slower and is the reference in tests. A
`FileFollower` reads a file that grows, and skips what is damaged.

The *name* of an event is its message without the parts that differ from event to event (tensors and
tensor ids). Names are numbered in the order of their appearance; a dump of millions of events has a
few thousand of them. They are decoded here, as are the other small messages of a dump: metadata,
source files, stack frames and graphs.

`tracklight.analysis.debugger` combines the files of a dump.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from tracklight.errors import FormatError
from tracklight.formats import proto
from tracklight.formats.batch import Damage, DamageKind
from tracklight.formats.proto import (
    LENGTH_DELIMITED,
    VARINT,
    decode_text,
    iter_fields,
    read_varint,
    to_int64,
)
from tracklight.formats.scanner import iter_record_headers
from tracklight.formats.tensor import DType, decode_tensor
from tracklight.formats.tfrecord import FRAME_BYTES, HEADER_BYTES, BytesLike, masked_crc32c
from tracklight.types import Float64, Int32, Int64

#: Fields of DebugEvent.
EXECUTION_FIELD = 9
TRACE_FIELD = 10

#: Columns of `Columns.shapes`: dtype, rank, size and the last six dimensions, -1 where unknown.
SHAPE_COLUMNS = 9
#: Counts of a tensor that are not in the dump; see `Columns.bad_counts`.
UNKNOWN_COUNT = 0xFFFFFFFF
_MAX_DIMS = 6
_MAX_SIZE = 1 << 53

_MODE_FIELDS = {EXECUTION_FIELD: 6, TRACE_FIELD: 4}
_TENSOR_FIELDS = {EXECUTION_FIELD: 7, TRACE_FIELD: 5}
_INPUTS_FIELD, _OUTPUTS_FIELD = 4, 5
_WALL_TIME_FIELD = 1
_COUNTED_DTYPES = frozenset({DType.FLOAT, DType.DOUBLE, DType.BFLOAT16, DType.HALF})


class TensorDebugMode(IntEnum):
    """What a dump contains of each tensor (``tensor_debug_mode``)."""

    UNSPECIFIED = 0
    NO_TENSOR = 1
    CURT_HEALTH = 2
    CONCISE_HEALTH = 3
    FULL_HEALTH = 4
    SHAPE = 5
    FULL_NUMERICS = 6
    FULL_TENSOR = 7
    REDUCE_INF_NAN_THREE_SLOTS = 8


class Health(IntEnum):
    """Whether all elements of a tensor are finite."""

    UNKNOWN = 0
    FINITE = 1
    NON_FINITE = 2


class Stop(IntEnum):
    """Why a scan ended."""

    END = 0  # no further record is complete
    HEADER = 1  # the checksum of a length is wrong
    DATA = 2  # the checksum of a payload is wrong
    PROTO = 3  # the payload is not a valid message


class Columns(NamedTuple):
    """Events, one row each, and their tensors."""

    names: list[bytes]
    """Encoded names; an index is an id."""
    shapes: Int64
    """One row per distinct shape, with `SHAPE_COLUMNS` columns."""
    offset: Int64
    """File offset of the record of each event."""
    wall_time: Float64
    name: Int32
    """Id of the name of each event."""
    tensor_end: Int64
    """Executions only: the first tensor after those of each event. A trace has one tensor."""
    input_end: Int64
    output_end: Int64
    input_id: Int64
    """Executions only: ids of the input tensors of all events."""
    output_id: Int64
    shape: Int32
    """Shape of each tensor, a row of ``shapes``."""
    health: NDArray[np.uint8]
    """`Health` of each tensor."""
    bad_counts: NDArray[np.uint32]
    """Size and number of -Inf, +Inf and NaN of each tensor that is not finite, in their order.

    `UNKNOWN_COUNT` if the dump has no counts; larger counts are stored as the number before it.
    """


class ScansEvents(Protocol):
    """Scans the bytes of a file in order."""

    def scan(self, data: BytesLike, base: int) -> tuple[int, int]:
        """Scan records from the offset ``base`` of the file.

        Returns:
            The number of bytes that were consumed, and a `Stop`.
        """

    def take(self) -> dict[str, Any]:
        """Return the `Columns` of what was scanned since the last call."""


def create_event_scanner(field: int) -> ScansEvents:
    """Create the fastest scanner that is installed, for one kind of events."""
    try:
        from tracklight.formats import _debug_events
    except ImportError:
        return EventScanner(field)
    return _debug_events.EventScanner(field)


class ColumnStore:
    """Columns that grow; parts are joined when they are read."""

    def __init__(self, field: int) -> None:
        self.scanner = create_event_scanner(field)
        self._parts: list[dict[str, Any]] = [EventScanner(field).take()]

    def collect(self) -> None:
        """Take over what the scanner has found."""
        part = self.scanner.take()
        if len(part["offset"]) or len(part["shape"]):
            self._parts.append(part)

    def get(self) -> Columns:
        if len(self._parts) > 1:
            parts, self._parts = self._parts, []
            joined: dict[str, Any] = {"names": [item for part in parts for item in part["names"]]}
            for column in Columns._fields[1:]:
                # Free each part right away: joining all columns first would take twice the memory.
                joined[column] = np.concatenate([part.pop(column) for part in parts])
            self._parts = [joined]
        return Columns(**self._parts[0])


class EventScanner:
    """The reference implementation of `ScansEvents`."""

    def __init__(self, field: int) -> None:
        self._field = field
        self._names: dict[bytes, int] = {}
        self._shapes: dict[tuple[int, ...], int] = {}
        self._tensors = self._inputs = self._outputs = 0
        self._part = _new_part()

    def scan(self, data: BytesLike, base: int) -> tuple[int, int]:
        used = 0
        while True:
            stop, payload = find_record(data, used)
            if payload is None:
                return used, stop
            try:
                self._add_event(payload, base + used)
            except FormatError:
                return used, Stop.PROTO
            used += len(payload) + FRAME_BYTES

    def take(self) -> dict[str, Any]:
        part, self._part = self._part, _new_part()
        return {
            "names": part["names"],
            "shapes": np.array(part["shapes"], np.int64).reshape(-1, SHAPE_COLUMNS),
            "offset": np.array(part["offset"], np.int64),
            "wall_time": np.array(part["wall_time"], np.float64),
            "name": np.array(part["name"], np.int32),
            "tensor_end": np.array(part["tensor_end"], np.int64),
            "input_end": np.array(part["input_end"], np.int64),
            "output_end": np.array(part["output_end"], np.int64),
            "input_id": np.array(part["input_id"], np.int64),
            "output_id": np.array(part["output_id"], np.int64),
            "shape": np.array(part["shape"], np.int32),
            "health": np.array(part["health"], np.uint8),
            "bad_counts": np.array(part["bad_counts"], np.uint32).reshape(-1, 4),
        }

    def _add_event(self, payload: bytes, offset: int) -> None:
        wall_time, message = 0.0, None
        for field in iter_fields(payload, 0, len(payload)):
            if field.number == _WALL_TIME_FIELD and field.end - field.start == 8:
                wall_time = struct.unpack_from("<d", payload, field.start)[0]
            elif field.number == self._field and field.wire_type == LENGTH_DELIMITED:
                message = payload[field.start : field.end]
        if message is not None:
            self._add_message(message, offset, wall_time)

    def _add_message(self, message: bytes, offset: int, wall_time: float) -> None:
        part, is_trace = self._part, self._field == TRACE_FIELD
        key, mode, start = b"", 0, 0
        tensors: list[bytes] = []
        inputs: list[int] = []
        outputs: list[int] = []
        for field in iter_fields(message, 0, len(message)):
            if field.number == _MODE_FIELDS[self._field] and field.wire_type == VARINT:
                mode = field.value
            if field.number == _TENSOR_FIELDS[self._field]:
                if field.wire_type == LENGTH_DELIMITED:
                    tensors.append(message[field.start : field.end])
            elif not is_trace and field.number == _INPUTS_FIELD:
                inputs += _read_ids(message, field)
            elif not is_trace and field.number == _OUTPUTS_FIELD:
                outputs += _read_ids(message, field)
            else:
                key += message[start : field.end]
            start = field.end
        if is_trace:
            tensors = tensors[:1] or [b""]
        for tensor in tensors:
            self._add_tensor(tensor, mode)
        if not is_trace:
            self._inputs += len(inputs)
            self._outputs += len(outputs)
            part["input_id"] += inputs
            part["output_id"] += outputs
            part["tensor_end"].append(self._tensors)
            part["input_end"].append(self._inputs)
            part["output_end"].append(self._outputs)
        if key not in self._names:
            self._names[key] = len(self._names)
            part["names"].append(key)
        part["name"].append(self._names[key])
        part["offset"].append(offset)
        part["wall_time"].append(wall_time)

    def _add_tensor(self, tensor: bytes, mode: int) -> None:
        part = self._part
        shape, counts, health = summarize_tensor(tensor, mode)
        if shape not in self._shapes:
            self._shapes[shape] = len(self._shapes)
            part["shapes"].append(shape)
        part["shape"].append(self._shapes[shape])
        part["health"].append(health)
        if health == Health.NON_FINITE:
            part["bad_counts"].append([_to_uint32(count) for count in counts])
        self._tensors += 1


def find_record(data: BytesLike, at: int) -> tuple[Stop, bytes | None]:
    """Return the payload of the record at an offset of ``data``, or why there is none."""
    header = bytes(data[at : at + HEADER_BYTES])
    if len(header) < HEADER_BYTES:
        return Stop.END, None
    if masked_crc32c(header[:8]) != int.from_bytes(header[8:], "little"):
        return Stop.HEADER, None
    start = at + HEADER_BYTES
    end = start + int.from_bytes(header[:8], "little")
    if end + FRAME_BYTES - HEADER_BYTES > len(data):
        return Stop.END, None
    payload = bytes(data[start:end])
    if masked_crc32c(payload) != int.from_bytes(data[end : end + 4], "little"):
        return Stop.DATA, None
    return Stop.END, payload


def summarize_tensor(tensor: bytes, mode: int) -> tuple[tuple[int, ...], list[int], Health]:
    """Return the shape, the counts and the health of an encoded TensorProto."""
    shape, counts = [-1] * SHAPE_COLUMNS, [-1] * 4
    try:
        message = proto.parse("TensorProto", tensor)
    except FormatError:
        return tuple(shape), counts, Health.UNKNOWN
    if message.dtype == 0:
        return tuple(shape), counts, Health.UNKNOWN
    if mode == TensorDebugMode.FULL_TENSOR:
        return _summarize_values(message)
    summary = read_summary(message)
    is_bad = False
    if mode == TensorDebugMode.CURT_HEALTH and len(summary) == 2:
        is_bad = summary[1] != 0
    elif mode == TensorDebugMode.CONCISE_HEALTH and len(summary) == 5:
        counts = [_to_count(value) for value in summary[1:5]]
        shape[2] = counts[0]
        is_bad = any(value != 0 for value in summary[2:5])
    elif mode == TensorDebugMode.FULL_HEALTH and len(summary) == 11:
        counts = [_to_count(value) for value in summary[4:8]]
        shape[:3] = [_to_count(value) for value in summary[2:5]]
        is_bad = any(value != 0 for value in summary[5:8])
    else:
        if mode == TensorDebugMode.SHAPE and len(summary) == 10:
            shape = [_to_count(value) for value in summary[1:]]
        return tuple(shape), counts, Health.UNKNOWN
    return tuple(shape), counts, Health.NON_FINITE if is_bad else Health.FINITE


def read_summary(message: proto.Message) -> list[float]:
    """Return the doubles of a health summary; none if it is not one."""
    if message.dtype != DType.DOUBLE:
        return []
    if not message.tensor_content:
        return list(message.double_val) if len(message.double_val) <= 11 else []
    content = message.tensor_content
    if len(content) % 8 or len(content) > 88:
        return []
    values: list[float] = np.frombuffer(content, "<f8").tolist()
    return values


def _summarize_values(message: proto.Message) -> tuple[tuple[int, ...], list[int], Health]:
    dims = [dim.size for dim in message.tensor_shape.dim]
    size = -1 if message.tensor_shape.unknown_rank else 1
    for dim in dims:
        is_valid = dim >= 0 and size >= 0 and not (dim and size > _MAX_SIZE // dim)
        size = size * dim if is_valid else -1
    last = dims[-_MAX_DIMS:]
    shape = (message.dtype, len(dims), size, *last, *([0] * (_MAX_DIMS - len(last))))
    unknown = shape, [-1] * 4, Health.UNKNOWN
    if message.dtype not in _COUNTED_DTYPES or size < 0:
        return unknown
    try:
        values = decode_tensor(message)
    except FormatError:
        return unknown
    is_inf = np.isinf(values)
    negative = int(np.count_nonzero(is_inf & (values < 0)))
    positive = int(np.count_nonzero(is_inf)) - negative
    nan = int(np.count_nonzero(np.isnan(values)))
    health = Health.NON_FINITE if negative or positive or nan else Health.FINITE
    return shape, [size, negative, positive, nan], health


def _to_uint32(count: int) -> int:
    return UNKNOWN_COUNT if count < 0 else min(count, UNKNOWN_COUNT - 1)


def _to_count(value: float) -> int:
    return int(value) if 0 <= value <= _MAX_SIZE else -1


def _read_ids(message: bytes, field: Any) -> list[int]:
    if field.wire_type == VARINT:
        return [to_int64(field.value)]
    ids, at = [], field.start
    while field.wire_type == LENGTH_DELIMITED and at < field.end:
        try:
            value, at = read_varint(message, at, field.end)
        except FormatError:
            break
        ids.append(to_int64(value))
    return ids


def _new_part() -> dict[str, list[Any]]:
    return {column: [] for column in Columns._fields}


# ---- messages

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


# ---- growing files

_WINDOW_BYTES = 2 << 20
#: Longest rest of a window that is copied to the next one instead of being read again.
_MAX_REST_BYTES = 256 << 10

#: Fills a buffer with the bytes at an offset of a file and returns how many there were.
ReadInto = Callable[[memoryview, int], int]


class ScansRecords(Protocol):
    """Consumes records from the start of some bytes; see `columns.ScansEvents.scan`."""

    def scan(self, data: BytesLike, base: int) -> tuple[int, int]: ...


class PayloadScanner:
    """Keeps the offset and the payload of every record, for files with few of them."""

    def __init__(self) -> None:
        self.records: list[tuple[int, bytes]] = []

    def scan(self, data: BytesLike, base: int) -> tuple[int, int]:
        used = 0
        while True:
            stop, payload = find_record(data, used)
            if payload is None:
                return used, stop
            self.records.append((base + used, payload))
            used += len(payload) + FRAME_BYTES

    def take(self) -> list[tuple[int, bytes]]:
        records, self.records = self.records, []
        return records


class _Windows:
    """Reads parts of a file, the next one in another thread while the last one is scanned."""

    def __init__(self, read_into: ReadInto, size: int, pool: ThreadPoolExecutor) -> None:
        self._read_into = read_into
        self._size = size
        self._pool = pool
        self._buffers = [bytearray(), bytearray()]
        self._next: Future[int] | None = None
        self._next_start = 0
        self._last = memoryview(b"")
        self._last_start = 0

    def read(self, position: int, window_bytes: int) -> memoryview:
        """Return the bytes at a position, which are valid until the next call."""
        count = self._next.result() if self._next is not None else 0
        self._next = None
        rest = self._next_start - position
        wanted = min(window_bytes, self._size - position)
        is_near = 0 <= rest <= _MAX_REST_BYTES and position >= self._last_start
        if is_near and rest + count >= wanted:
            buffer = self._buffers[1]
            begin = _MAX_REST_BYTES - rest
            if rest:
                buffer[begin:_MAX_REST_BYTES] = self._last[len(self._last) - rest :]
            data = memoryview(buffer)[begin : _MAX_REST_BYTES + count]
        else:
            self._reserve(1, window_bytes)
            view = memoryview(self._buffers[1])[_MAX_REST_BYTES : _MAX_REST_BYTES + wanted]
            data = view[: self._read_into(view, position)]
        self._buffers.reverse()
        self._last, self._last_start = data, position
        self._read_ahead(position + len(data), window_bytes)
        return data

    def _read_ahead(self, position: int, window_bytes: int) -> None:
        wanted = min(window_bytes, self._size - position)
        if wanted > 0:
            self._reserve(1, window_bytes)
            view = memoryview(self._buffers[1])[_MAX_REST_BYTES : _MAX_REST_BYTES + wanted]
            self._next_start = position
            self._next = self._pool.submit(self._read_into, view, position)

    def _reserve(self, index: int, window_bytes: int) -> None:
        size = _MAX_REST_BYTES + min(window_bytes, self._size)
        if len(self._buffers[index]) < size:
            self._buffers[index] = bytearray(size)


class FileFollower:
    """Feed the records of one file to a scanner, from where the last update ended.

    Args:
        scanner: Parses the records.
        on_scan: Called after each part of the file, to collect what the scanner has found.
    """

    def __init__(self, scanner: ScansRecords, on_scan: Callable[[], None] = lambda: None) -> None:
        self._scanner = scanner
        self._on_scan = on_scan
        self._damage: list[Damage] = []
        self._lost_at = -1
        self._lost_kind = DamageKind.HEADER
        self._size = 0
        self.position = 0

    @property
    def damage(self) -> list[Damage]:
        """Byte ranges that were skipped, including a damaged one at the end of the file."""
        if self._lost_at < 0:
            return list(self._damage)
        lost = Damage(self._lost_at, self._size - self._lost_at, self._lost_kind)
        return [*self._damage, lost]

    @property
    def incomplete_bytes(self) -> int:
        """Bytes of a record at the end of the file that was not written completely (yet)."""
        return 0 if self._lost_at >= 0 else self._size - self.position

    def update(self, read_into: ReadInto, size: int) -> None:
        """Read on, up to the size of the file.

        Raises:
            OSError: The file cannot be read.
        """
        self._size = size
        if size - self.position >= HEADER_BYTES:
            with ThreadPoolExecutor(1, "tracklight-read") as pool:
                self._update(_Windows(read_into, size, pool))

    def _update(self, windows: _Windows) -> None:
        size, window_bytes = self._size, _WINDOW_BYTES
        while size - self.position >= HEADER_BYTES:
            data = windows.read(self.position, window_bytes)
            is_short = len(data) < min(window_bytes, size - self.position)
            is_end = is_short or self.position + len(data) >= size
            if self._lost_at >= 0:
                if not self._search(data, is_end) and is_end:
                    return
                continue
            used, stop = self._scanner.scan(data, self.position)
            self.position += used
            self._on_scan()
            if stop != Stop.END:
                self._skip(data[used:], Stop(stop), is_end)
            elif used == 0:
                length = int.from_bytes(data[:8], "little")
                needed = length + FRAME_BYTES
                if is_end or self.position + needed > size:
                    return
                window_bytes = max(window_bytes, needed)

    def _skip(self, data: memoryview, stop: Stop, is_end: bool) -> None:
        """Skip a damaged record, or begin to search for the next valid one."""
        kind = DamageKind(int(stop))
        if stop == Stop.HEADER:
            self._lose(kind)
            return
        end = int.from_bytes(data[:8], "little") + FRAME_BYTES
        next_stop, _ = find_record(data, end)
        if stop == Stop.DATA and next_stop == Stop.HEADER:
            self._lose(kind)  # the length is wrong as well
            return
        self._damage.append(Damage(self.position, end, kind))
        self.position += end

    def _lose(self, kind: DamageKind) -> None:
        self._lost_at, self._lost_kind = self.position, kind
        self.position += 1

    def _search(self, data: memoryview, is_end: bool) -> bool:
        """Move to the next valid record in ``data``; return whether there was one."""
        incomplete = None
        for start, length in iter_record_headers(data, 0, self._size - self.position):
            end = start + length + FRAME_BYTES
            is_inside = end <= len(data)
            if is_inside and find_record(data, start)[1] is None:
                continue
            if self.position + end > self._size:
                incomplete = start if incomplete is None else incomplete
                continue
            if not is_inside and start > 0 and not is_end:
                self.position += start  # look at it again with more bytes behind it
                return False
            self.position += start
            self._damage.append(
                Damage(self._lost_at, self.position - self._lost_at, self._lost_kind)
            )
            self._lost_at = -1
            return True
        # Search again from a record that may be completed later.
        skipped = max(len(data) - HEADER_BYTES + 1, 1)
        self.position += incomplete if is_end and incomplete is not None else skipped
        return False
