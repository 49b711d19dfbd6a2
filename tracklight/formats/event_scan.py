"""Tells whether a TensorProto is one plain number, and which, without building an array."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from typing import NamedTuple

from tracklight.errors import FormatError
from tracklight.formats.batch import GRAPH_TAG, META_GRAPH_TAG, Content, ScalarType, ScannedValue
from tracklight.formats.wire_format import (
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

TypedScalar = tuple[ScalarType, float | int]

_DTYPE, _SHAPE, _CONTENT = 1, 2, 4

_FLOAT_VAL, _DOUBLE_VAL, _INT_VAL, _INT64_VAL, _BOOL_VAL, _HALF_VAL = 5, 6, 7, 10, 11, 13

_UINT32_VAL, _UINT64_VAL, _FLOAT8_VAL = 16, 17, 18

_VARINT_FIELDS = {_INT_VAL, _INT64_VAL, _BOOL_VAL, _HALF_VAL, _UINT32_VAL, _UINT64_VAL}

_FIXED_FIELDS = {_FLOAT_VAL: (FIXED32, 4), _DOUBLE_VAL: (FIXED64, 8)}


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


class _Element(NamedTuple):
    """A data type: its width in tensor_content, its typed field, and how its bytes are read."""

    width: int
    field: int
    read: Callable[[bytes], float | int]


#: By DataType; whatever is not here is never a point.
_ELEMENTS = {
    1: _Element(4, _FLOAT_VAL, _read_float32),
    2: _Element(8, _DOUBLE_VAL, _make_reader("<d")),
    3: _Element(4, _INT_VAL, _make_reader("<i")),
    4: _Element(1, _INT_VAL, _make_reader("<B")),
    5: _Element(2, _INT_VAL, _make_reader("<h")),
    6: _Element(1, _INT_VAL, _make_reader("<b")),
    9: _Element(8, _INT64_VAL, _make_reader("<q")),
    10: _Element(1, _BOOL_VAL, lambda raw: int(any(raw))),
    14: _Element(2, _HALF_VAL, lambda raw: _read_float32(b"\0\0" + raw[:2])),
    17: _Element(2, _INT_VAL, _make_reader("<H")),
    19: _Element(2, _HALF_VAL, _read_float16),
    22: _Element(4, _UINT32_VAL, _make_reader("<I")),
    23: _Element(8, _UINT64_VAL, _make_reader("<Q")),
    24: _Element(1, _FLOAT8_VAL, lambda raw: _read_float16(b"\0" + raw[:1])),  # e5m2
    25: _Element(1, _FLOAT8_VAL, _read_float8_e4m3fn),
}


def find_scalar(source: ByteSource, start: int, end: int) -> TypedScalar | None:
    """Give the number a TensorProto holds, or None if it is not one number of shape [] or [1]."""
    dtype = rank = content_size = content_start = 0
    all_ones = True
    typed: dict[int, bytes] = {}
    for field in iter_fields(source, start, end):
        if field.number == _DTYPE and field.wire_type == VARINT:
            dtype = field.value
        elif field.number == _SHAPE and field.wire_type == LENGTH_DELIMITED:
            dimensions, ones = _read_shape(source, field)
            rank, all_ones = rank + dimensions, all_ones and ones
        elif field.number == _CONTENT and field.wire_type == LENGTH_DELIMITED:
            content_start, content_size = field.start, field.end - field.start
        elif field.number == _FLOAT8_VAL and field.wire_type == LENGTH_DELIMITED:
            # Bytes, not a repeated field, so that the last of several counts.
            first_end = min(field.start + 1, field.end)
            typed[field.number] = bytes(source[field.start : first_end]) or b"\0"
        elif field.number not in typed and (first := _find_first(source, field)):
            typed[field.number] = first
    element = _ELEMENTS.get(dtype)
    if element is None or rank > 1 or not all_ones or content_size not in (0, element.width):
        return None
    raw = typed.get(element.field, bytes(8))
    if content_size:
        raw = bytes(source[content_start : content_start + content_size])
    return _to_scalar(element.read(raw))


def _to_scalar(value: float | int) -> TypedScalar:
    if isinstance(value, float):
        return ScalarType.FLOAT, value
    return (ScalarType.INT if value < 1 << 63 else ScalarType.UINT), value


def _read_shape(source: ByteSource, shape: Field) -> tuple[int, bool]:
    """Count the dimensions of a TensorShapeProto, and say whether all are known to be 1."""
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
    """Give the first element of one of the typed fields, packed or not, as little-endian bytes."""
    is_packed, size = field.wire_type == LENGTH_DELIMITED, field.end - field.start
    if is_packed and size == 0:
        return None
    if field.number in _VARINT_FIELDS and field.wire_type in (VARINT, LENGTH_DELIMITED):
        value = read_varint(source, field.start, field.end)[0] if is_packed else field.value
        return value.to_bytes(8, "little")
    if field.number in _FIXED_FIELDS:
        plain, width = _FIXED_FIELDS[field.number]
        if is_packed and size % width:
            raise FormatError(f"{size} bytes of packed numbers of {width} bytes")
        if is_packed or field.wire_type == plain:
            return bytes(source[field.start : field.start + width])
    return None


# Takes an Event apart into its values, looking only at what says where and what they are.

_WALL_TIME, _STEP, _FILE_VERSION, _GRAPH_DEF, _SUMMARY = 1, 2, 3, 4, 5

_SESSION_LOG, _RUN_METADATA, _META_GRAPH_DEF, _SOURCE_METADATA = 7, 8, 9, 10

_TAG, _NODE_NAME, _METADATA = 1, 7, 9

_SESSION_START = 1

_BODIES = {
    Content.OLD_HISTOGRAM,
    Content.IMAGE,
    Content.HISTOGRAM,
    Content.AUDIO,
    Content.TENSOR,
}


class ScannedEvent(NamedTuple):
    """What one record says."""

    step: int
    values: list[ScannedValue]
    starts_session: bool
    file_version: bytes | None
    writer: bytes | None


class _EventHeader(NamedTuple):
    """What all values of an event share."""

    step: int
    wall: float
    record: int


def scan_event(payload: ByteSource, size: int, record: int) -> ScannedEvent:
    """Take apart the Event of ``size`` bytes whose record starts at ``record`` of its file.

    Raises FormatError when it is none.
    """
    fields = list(iter_fields(payload, 0, size))
    moment = _EventHeader(*_read_time(payload, fields), record)
    values: list[ScannedValue] = []
    starts_session = False
    file_version = writer = None
    for field in fields:
        if field.wire_type != LENGTH_DELIMITED:
            continue
        if field.number == _SUMMARY:
            values += _iter_scanned_values(payload, field, moment)
        elif field.number in (_GRAPH_DEF, _META_GRAPH_DEF, _RUN_METADATA):
            values.append(_scan_event_field(payload, field, moment))
        elif field.number == _SESSION_LOG:
            for part in iter_fields(payload, field.start, field.end):
                if part.number == 1 and part.wire_type == VARINT:
                    starts_session = part.value == _SESSION_START
        elif field.number == _FILE_VERSION:
            file_version = bytes(payload[field.start : field.end])
        elif field.number == _SOURCE_METADATA:
            writer = _find_string(payload, field, writer)
    return ScannedEvent(moment.step, values, starts_session, file_version, writer)


def has_plugin_name(metadata: bytes) -> bool:
    """Say whether a SummaryMetadata names a plugin, as far as it can be read."""
    whole = Field(0, LENGTH_DELIMITED, 0, 0, len(metadata))
    return any(
        name.end > name.start
        for plugin_data in _iter_readable(metadata, whole)
        for name in _iter_readable(metadata, plugin_data)
    )


def _iter_readable(source: ByteSource, message: Field) -> Iterator[Field]:
    """Yield the fields that are number 1 and have a content, up to where the message is broken."""
    try:
        for field in iter_fields(source, message.start, message.end):
            if field.number == 1 and field.wire_type == LENGTH_DELIMITED:
                yield field
    except FormatError:
        return


def _read_time(payload: ByteSource, fields: list[Field]) -> tuple[int, float]:
    step, wall = 0, 0.0
    for field in fields:
        if field.number == _STEP and field.wire_type == VARINT:
            step = to_int64(field.value)
        elif field.number == _WALL_TIME and field.wire_type == FIXED64:
            (wall,) = struct.unpack("<d", payload[field.start : field.end])
    return step, wall


def _find_string(payload: ByteSource, message: Field, found: bytes | None = None) -> bytes | None:
    """Give the string in field 1 of a message, else what was ``found`` before."""
    for field in iter_fields(payload, message.start, message.end):
        if field.number == 1 and field.wire_type == LENGTH_DELIMITED:
            found = bytes(payload[field.start : field.end])
    return found


def _scan_event_field(payload: ByteSource, field: Field, moment: _EventHeader) -> ScannedValue:
    """Describe a field of the Event itself that is kept as a reference."""
    if field.number == _GRAPH_DEF:
        tag, content = GRAPH_TAG, Content.GRAPH
    elif field.number == _META_GRAPH_DEF:
        tag, content = META_GRAPH_TAG, Content.META_GRAPH
    else:
        tag, content = _find_string(payload, field) or b"", Content.RUN_METADATA
    return ScannedValue(tag, content, *moment, field.start, field.end - field.start)


def _iter_scanned_values(
    payload: ByteSource, summary: Field, moment: _EventHeader
) -> Iterator[ScannedValue]:
    for field in iter_fields(payload, summary.start, summary.end):
        if field.number == 1 and field.wire_type == LENGTH_DELIMITED:
            yield _scan_value(payload, field, moment)


def _scan_value(payload: ByteSource, value: Field, moment: _EventHeader) -> ScannedValue:
    tag = node_name = metadata = b""
    body: Field | None = None
    for field in iter_fields(payload, value.start, value.end):
        if field.wire_type == LENGTH_DELIMITED:
            if field.number == _TAG:
                tag = bytes(payload[field.start : field.end])
            elif field.number == _NODE_NAME:
                node_name = bytes(payload[field.start : field.end])
            elif field.number == _METADATA:
                metadata = bytes(payload[field.start : field.end])
            elif field.number in _BODIES:
                body = field
        elif field.wire_type == FIXED32 and field.number == Content.SIMPLE_VALUE:
            body = field
    return ScannedValue(
        tag or node_name,
        body.number if body else Content.NONE,
        *moment,
        value.start,
        value.end - value.start,
        metadata or None,
        _find_value_scalar(payload, body) if body else None,
    )


def _find_value_scalar(payload: ByteSource, body: Field) -> TypedScalar | None:
    if body.number == Content.SIMPLE_VALUE:
        (value,) = struct.unpack("<f", payload[body.start : body.end])
        return ScalarType.FLOAT, value
    return find_scalar(payload, body.start, body.end) if body.number == Content.TENSOR else None
