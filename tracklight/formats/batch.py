"""Locate the values of encoded events without decoding them, and collect them in batches.

A `Batch` is the result of scanning a part of an event file: scalar columns, value locations and
damage. The compiled scanner and the Python scanner (`tracklight.formats.scanner`) both return one.

`scan_event` returns the tag, the step and the location of each value. Scalars are read on the way
(`find_scalar`), everything else is decoded on demand by `tracklight.formats.values`. Only the
bytes that are needed are touched, so that large images can be skipped; see
`tracklight.formats.scanner.scan_large_record`.
"""

from __future__ import annotations

import dataclasses
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tracklight.errors import FormatError
from tracklight.formats.proto import (
    FIXED32,
    FIXED64,
    LENGTH_DELIMITED,
    VARINT,
    ByteSource,
    Field,
    iter_fields,
    read_varint,
    to_int64,
)
from tracklight.types import Float64, Int32, Int64

UInt8 = NDArray[np.uint8]

#: The scanner does not wait for a complete record of this size or more, but reports a
#: `LargeRecord`. See `tracklight.formats.scanner.scan_large_record`.
LARGE_RECORD_BYTES = 256 * 1024

#: Tags for the fields of an event that have none.
GRAPH_TAG = b"__run_graph__"
META_GRAPH_TAG = b"__meta_graph__"


class ScalarType(IntEnum):
    """How to interpret the eight bytes of a scalar."""

    FLOAT = 0
    INT = 1
    UINT = 2

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(("<f8", "<i8", "<u8")[self])


class Content(IntEnum):
    """The field that contains a value.

    Members below 32 are fields of ``Summary.Value``; the others are fields of ``Event``, plus 32.
    """

    NONE = 0  # a summary value with metadata only, as written for hyperparameters
    SIMPLE_VALUE = 2
    OLD_HISTOGRAM = 3
    IMAGE = 4
    HISTOGRAM = 5
    AUDIO = 6
    TENSOR = 8
    GRAPH = 32 + 4
    RUN_METADATA = 32 + 8
    META_GRAPH = 32 + 9


class DamageKind(IntEnum):
    """Why bytes could not be read."""

    HEADER = 1  # no record starts here: the checksum of the length is wrong
    DATA = 2  # the checksum of the payload is wrong
    PROTO = 3  # the checksums are right, but the payload is not an event
    TORN = 4  # an incomplete record that is followed by complete ones


class Damage(NamedTuple):
    """A part of a file that was skipped."""

    offset: int
    size: int
    kind: DamageKind


class LargeRecord(NamedTuple):
    """A complete record that was not read; ``offset`` is the start of its header."""

    offset: int
    payload_bytes: int


class ScannedValue(NamedTuple):
    """One value of an event. See `References` for ``record``, ``start`` and ``size``."""

    tag: bytes
    content: int
    step: int
    wall: float
    record: int
    start: int
    size: int
    metadata: bytes | None = None
    scalar: tuple[ScalarType, float | int] | None = None


class ColumnMemory:
    """Memory for the columns of many points, in parts of large blocks.

    NumPy asks the system for large pages if an array has 4 MB or more: the first use of a small one
    costs as much as reading its points.
    """

    def __init__(self) -> None:
        #: Blocks, and how much of each is in use.
        self._free: list[tuple[UInt8, int]] = []

    def allocate_points(self, rows: int) -> tuple[Int64, Float64, Float64]:
        """Return columns for step, wall time and value. Their memory is not initialized."""
        size = rows * np.dtype(np.int64).itemsize
        if not _MIN_SHARED_BYTES <= 3 * size <= _BLOCK_BYTES:
            return np.empty(rows, np.int64), np.empty(rows), np.empty(rows)
        try:
            block, start = self._free.pop()
        except IndexError:
            block, start = np.empty(_BLOCK_BYTES, np.uint8), 0
        if start + 3 * size > _BLOCK_BYTES:
            block, start = np.empty(_BLOCK_BYTES, np.uint8), 0
        step, wall, value = block[start : start + 3 * size].reshape(3, size)
        self._free.append((block, start + 3 * size))
        return step.view(np.int64), wall.view(np.float64), value.view(np.float64)

    def clear(self) -> None:
        """Use new blocks from now on, so that those in use are freed with their columns."""
        self._free.clear()


_BLOCK_BYTES = 16 << 20
#: Small batches have memory of their own: a few points must not keep a block alive.
_MIN_SHARED_BYTES = 256 << 10

column_memory = ColumnMemory()


@dataclass(frozen=True, slots=True)
class Points:
    """Scalars, grouped by series and in the order of the file within a series.

    The points of ``series[i]`` are the rows ``starts[i]:starts[i + 1]``.
    """

    series: Int32
    starts: Int64
    scalar_type: UInt8
    """A `ScalarType` for each of ``series``."""
    step: Int64
    wall: Float64
    value: Float64
    """Eight bytes per value; ``view(ScalarType(scalar_type[i]).dtype)`` returns the numbers."""


@dataclass(frozen=True, slots=True)
class References:
    """The location of each value that is not a scalar, grouped like `Points`.

    The message of a value begins ``start`` bytes into the payload of the record whose header is at
    the file offset ``record``, and has ``size`` bytes. It is a ``Summary.Value`` if ``content`` is
    below 32, otherwise the content of the field ``content - 32`` of ``Event``.
    """

    series: Int32
    starts: Int64
    step: Int64
    wall: Float64
    record: Int64
    start: Int64
    size: Int64
    content: UInt8


@dataclass(frozen=True, slots=True)
class Batch:
    """The values between two positions of one file."""

    points: Points
    references: References
    records: int = 0
    #: Tags that are new in this batch. Series are numbered consecutively across batches.
    tags: list[bytes] = dataclasses.field(default_factory=list)
    #: For each of ``tags``, the `Content` of its first value.
    contents: list[int] = dataclasses.field(default_factory=list)
    #: Pairs of a series and its encoded SummaryMetadata, for series whose metadata is new.
    metadata: list[tuple[int, bytes]] = dataclasses.field(default_factory=list)
    #: The step of a SessionLog.START that precedes everything in this batch.
    session_start: int | None = None
    damage: list[Damage] = dataclasses.field(default_factory=list)
    large: LargeRecord | None = None
    #: ``Event.file_version`` and ``Event.source_metadata.writer``, if present.
    file_version: bytes | None = None
    writer: bytes | None = None


def empty_points() -> Points:
    return Points(
        series=np.empty(0, np.int32),
        starts=np.zeros(1, np.int64),
        scalar_type=np.empty(0, np.uint8),
        step=np.empty(0, np.int64),
        wall=np.empty(0, np.float64),
        value=np.empty(0, np.float64),
    )


def empty_references() -> References:
    return References(
        series=np.empty(0, np.int32),
        starts=np.zeros(1, np.int64),
        step=np.empty(0, np.int64),
        wall=np.empty(0, np.float64),
        record=np.empty(0, np.int64),
        start=np.empty(0, np.int64),
        size=np.empty(0, np.int64),
        content=np.empty(0, np.uint8),
    )


# ---- scanning

TypedScalar = tuple[ScalarType, float | int]

# Field numbers of Event.
_WALL_TIME, _STEP, _FILE_VERSION, _GRAPH_DEF, _SUMMARY = 1, 2, 3, 4, 5
_SESSION_LOG, _RUN_METADATA, _META_GRAPH_DEF, _SOURCE_METADATA = 7, 8, 9, 10
# Field numbers of Summary.Value.
_TAG, _NODE_NAME, _METADATA = 1, 7, 9
_CONTENT_FIELDS = {
    Content.OLD_HISTOGRAM,
    Content.IMAGE,
    Content.HISTOGRAM,
    Content.AUDIO,
    Content.TENSOR,
}
# Field numbers of TensorProto.
_DTYPE, _SHAPE, _TENSOR_CONTENT = 1, 2, 4
_FLOAT_VAL, _DOUBLE_VAL, _INT_VAL, _INT64_VAL, _BOOL_VAL, _HALF_VAL = 5, 6, 7, 10, 11, 13
_UINT32_VAL, _UINT64_VAL, _FLOAT8_VAL = 16, 17, 18
_VARINT_FIELDS = {_INT_VAL, _INT64_VAL, _BOOL_VAL, _HALF_VAL, _UINT32_VAL, _UINT64_VAL}
#: The wire type of an unpacked element, and its size.
_FIXED_FIELDS = {_FLOAT_VAL: (FIXED32, 4), _DOUBLE_VAL: (FIXED64, 8)}

#: ``SessionLog.SessionStatus.START``
_SESSION_START = 1


class ScannedEvent(NamedTuple):
    """The values of one event and what it says about the session."""

    step: int
    values: list[ScannedValue]
    starts_session: bool
    file_version: bytes | None
    writer: bytes | None


class _EventHeader(NamedTuple):
    """What all values of an event have in common."""

    step: int
    wall: float
    record: int


def scan_event(payload: ByteSource, size: int, record: int) -> ScannedEvent:
    """Locate the values of an encoded Event.

    Args:
        payload: The payload of the record.
        size: The size of the payload in bytes.
        record: The offset of the record in its file.

    Raises:
        FormatError: The payload is not an Event.
    """
    fields = list(iter_fields(payload, 0, size))
    header = _EventHeader(*_read_step_and_time(payload, fields), record)
    values: list[ScannedValue] = []
    starts_session = False
    file_version = writer = None
    for field in fields:
        if field.wire_type != LENGTH_DELIMITED:
            continue
        if field.number == _SUMMARY:
            values += _iter_scanned_values(payload, field, header)
        elif field.number in (_GRAPH_DEF, _META_GRAPH_DEF, _RUN_METADATA):
            values.append(_scan_event_field(payload, field, header))
        elif field.number == _SESSION_LOG:
            for part in iter_fields(payload, field.start, field.end):
                if part.number == 1 and part.wire_type == VARINT:
                    starts_session = part.value == _SESSION_START
        elif field.number == _FILE_VERSION:
            file_version = bytes(payload[field.start : field.end])
        elif field.number == _SOURCE_METADATA:
            writer = _find_string(payload, field, default=writer)
    return ScannedEvent(header.step, values, starts_session, file_version, writer)


def has_plugin_name(metadata: bytes) -> bool:
    """Return whether an encoded SummaryMetadata, which may be damaged, names a plugin."""
    message = Field(0, LENGTH_DELIMITED, 0, 0, len(metadata))
    return any(
        name.end > name.start
        for plugin_data in _iter_first_fields(metadata, message)
        for name in _iter_first_fields(metadata, plugin_data)
    )


def _iter_first_fields(source: ByteSource, message: Field) -> Iterator[Field]:
    """Yield the length-delimited fields with number 1, up to the first error."""
    try:
        for field in iter_fields(source, message.start, message.end):
            if field.number == 1 and field.wire_type == LENGTH_DELIMITED:
                yield field
    except FormatError:
        return


def _read_step_and_time(payload: ByteSource, fields: list[Field]) -> tuple[int, float]:
    step, wall = 0, 0.0
    for field in fields:
        if field.number == _STEP and field.wire_type == VARINT:
            step = to_int64(field.value)
        elif field.number == _WALL_TIME and field.wire_type == FIXED64:
            (wall,) = struct.unpack("<d", payload[field.start : field.end])
    return step, wall


def _find_string(payload: ByteSource, message: Field, default: bytes | None = None) -> bytes | None:
    """Return the content of field 1 of a message."""
    found = default
    for field in iter_fields(payload, message.start, message.end):
        if field.number == 1 and field.wire_type == LENGTH_DELIMITED:
            found = bytes(payload[field.start : field.end])
    return found


def _scan_event_field(payload: ByteSource, field: Field, header: _EventHeader) -> ScannedValue:
    """Return the location of a graph or of run metadata, which are fields of Event itself."""
    if field.number == _GRAPH_DEF:
        tag, content = GRAPH_TAG, Content.GRAPH
    elif field.number == _META_GRAPH_DEF:
        tag, content = META_GRAPH_TAG, Content.META_GRAPH
    else:
        tag, content = _find_string(payload, field) or b"", Content.RUN_METADATA
    return ScannedValue(tag, content, *header, field.start, field.end - field.start)


def _iter_scanned_values(
    payload: ByteSource, summary: Field, header: _EventHeader
) -> Iterator[ScannedValue]:
    for field in iter_fields(payload, summary.start, summary.end):
        if field.number == 1 and field.wire_type == LENGTH_DELIMITED:
            yield _scan_value(payload, field, header)


def _scan_value(payload: ByteSource, value: Field, header: _EventHeader) -> ScannedValue:
    tag = node_name = metadata = b""
    content: Field | None = None
    for field in iter_fields(payload, value.start, value.end):
        if field.wire_type == LENGTH_DELIMITED:
            if field.number == _TAG:
                tag = bytes(payload[field.start : field.end])
            elif field.number == _NODE_NAME:
                node_name = bytes(payload[field.start : field.end])
            elif field.number == _METADATA:
                metadata = bytes(payload[field.start : field.end])
            elif field.number in _CONTENT_FIELDS:
                content = field
        elif field.wire_type == FIXED32 and field.number == Content.SIMPLE_VALUE:
            content = field
    return ScannedValue(
        tag or node_name,
        content.number if content else Content.NONE,
        *header,
        value.start,
        value.end - value.start,
        metadata or None,
        _find_value_scalar(payload, content) if content else None,
    )


def _find_value_scalar(payload: ByteSource, content: Field) -> TypedScalar | None:
    if content.number == Content.SIMPLE_VALUE:
        (value,) = struct.unpack("<f", payload[content.start : content.end])
        return ScalarType.FLOAT, value
    if content.number == Content.TENSOR:
        return find_scalar(payload, content.start, content.end)
    return None


def _make_reader(layout: str) -> Callable[[bytes], float | int]:
    unpack_from = struct.Struct(layout).unpack_from

    def read(raw: bytes) -> float | int:
        value: float | int = unpack_from(raw)[0]
        return value

    return read


_read_float32 = _make_reader("<f")
_read_float16 = _make_reader("<e")


def _read_float8_e4m3fn(raw: bytes) -> float:
    sign = -1.0 if raw[0] & 0x80 else 1.0
    exponent, mantissa = raw[0] >> 3 & 15, raw[0] & 7
    if exponent == 15 and mantissa == 7:
        return float("nan")
    if exponent == 0:
        return sign * mantissa * 2.0**-9
    return sign * (8 + mantissa) * 2.0 ** (exponent - 10)


class _ElementType(NamedTuple):
    """How a dtype is stored."""

    width: int
    """Bytes per element of ``tensor_content``."""
    field: int
    """The repeated field that may contain the elements instead."""
    read: Callable[[bytes], float | int]


#: By ``TensorProto.dtype``. Tensors of other types are never scalars.
_ELEMENT_TYPES = {
    1: _ElementType(4, _FLOAT_VAL, _read_float32),
    2: _ElementType(8, _DOUBLE_VAL, _make_reader("<d")),
    3: _ElementType(4, _INT_VAL, _make_reader("<i")),
    4: _ElementType(1, _INT_VAL, _make_reader("<B")),
    5: _ElementType(2, _INT_VAL, _make_reader("<h")),
    6: _ElementType(1, _INT_VAL, _make_reader("<b")),
    9: _ElementType(8, _INT64_VAL, _make_reader("<q")),
    10: _ElementType(1, _BOOL_VAL, lambda raw: int(any(raw))),
    14: _ElementType(2, _HALF_VAL, lambda raw: _read_float32(b"\0\0" + raw[:2])),  # bfloat16
    17: _ElementType(2, _INT_VAL, _make_reader("<H")),
    19: _ElementType(2, _HALF_VAL, _read_float16),
    22: _ElementType(4, _UINT32_VAL, _make_reader("<I")),
    23: _ElementType(8, _UINT64_VAL, _make_reader("<Q")),
    24: _ElementType(1, _FLOAT8_VAL, lambda raw: _read_float16(b"\0" + raw[:1])),  # float8_e5m2
    25: _ElementType(1, _FLOAT8_VAL, _read_float8_e4m3fn),
}


def find_scalar(source: ByteSource, start: int, end: int) -> TypedScalar | None:
    """Return the number that the TensorProto ``source[start:end]`` contains.

    Returns None if the shape is neither [] nor [1], or the dtype is not numeric.

    Raises:
        FormatError: The bytes are not a TensorProto.
    """
    dtype = rank = content_size = content_start = 0
    all_ones = True
    first_elements: dict[int, bytes] = {}
    for field in iter_fields(source, start, end):
        if field.number == _DTYPE and field.wire_type == VARINT:
            dtype = field.value
        elif field.number == _SHAPE and field.wire_type == LENGTH_DELIMITED:
            dimensions, ones = _read_shape(source, field)
            rank, all_ones = rank + dimensions, all_ones and ones
        elif field.number == _TENSOR_CONTENT and field.wire_type == LENGTH_DELIMITED:
            content_start, content_size = field.start, field.end - field.start
        elif field.number == _FLOAT8_VAL and field.wire_type == LENGTH_DELIMITED:
            # A bytes field, not a repeated one: the last occurrence wins.
            first_end = min(field.start + 1, field.end)
            first_elements[field.number] = bytes(source[field.start : first_end]) or b"\0"
        elif field.number not in first_elements and (raw := _find_first(source, field)):
            first_elements[field.number] = raw
    element = _ELEMENT_TYPES.get(dtype)
    if element is None or rank > 1 or not all_ones or content_size not in (0, element.width):
        return None
    raw = first_elements.get(element.field, bytes(8))
    if content_size:
        raw = bytes(source[content_start : content_start + content_size])
    value = element.read(raw)
    if isinstance(value, float):
        return ScalarType.FLOAT, value
    return (ScalarType.INT if value < 1 << 63 else ScalarType.UINT), value


def _read_shape(source: ByteSource, shape: Field) -> tuple[int, bool]:
    """Return the rank of a TensorShapeProto and whether all sizes are known to be 1."""
    rank, all_ones = 0, True
    for field in iter_fields(source, shape.start, shape.end):
        if field.number == 3 and field.wire_type == VARINT and field.value:
            all_ones = False  # unknown_rank
        elif field.number == 2 and field.wire_type == LENGTH_DELIMITED:
            size = 0
            for part in iter_fields(source, field.start, field.end):
                if part.number == 1 and part.wire_type == VARINT:
                    size = part.value
            rank, all_ones = rank + 1, all_ones and size == 1
    return rank, all_ones


def _find_first(source: ByteSource, field: Field) -> bytes | None:
    """Return the first element of a repeated field, packed or not, as little-endian bytes."""
    is_packed, size = field.wire_type == LENGTH_DELIMITED, field.end - field.start
    if is_packed and size == 0:
        return None
    if field.number in _VARINT_FIELDS and field.wire_type in (VARINT, LENGTH_DELIMITED):
        value = read_varint(source, field.start, field.end)[0] if is_packed else field.value
        return value.to_bytes(8, "little")
    if field.number in _FIXED_FIELDS:
        unpacked_type, width = _FIXED_FIELDS[field.number]
        if is_packed and size % width:
            raise FormatError(
                "files.element_size",
                "{size} bytes are not a whole number of {width}-byte elements",
                size=size,
                width=width,
            )
        if is_packed or field.wire_type == unpacked_type:
            return bytes(source[field.start : field.start + width])
    return None
