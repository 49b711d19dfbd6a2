"""Tells whether a TensorProto is one plain number, and which, without building an array."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import NamedTuple

from tracklight.errors import FormatError
from tracklight.formats.batch import Number
from tracklight.formats.wire import (
    DELIMITED,
    EIGHT_BYTES,
    FOUR_BYTES,
    VARINT,
    Field,
    Source,
    iter_fields,
    read_varint,
)

Scalar = tuple[Number, float | int]

_DTYPE, _SHAPE, _CONTENT = 1, 2, 4
_FLOAT_VAL, _DOUBLE_VAL, _INT_VAL, _INT64_VAL, _BOOL_VAL, _HALF_VAL = 5, 6, 7, 10, 11, 13
_UINT32_VAL, _UINT64_VAL, _FLOAT8_VAL = 16, 17, 18

_VARINT_FIELDS = {_INT_VAL, _INT64_VAL, _BOOL_VAL, _HALF_VAL, _UINT32_VAL, _UINT64_VAL}
_FIXED_FIELDS = {_FLOAT_VAL: (FOUR_BYTES, 4), _DOUBLE_VAL: (EIGHT_BYTES, 8)}


def _number(layout: str) -> Callable[[bytes], float | int]:
    unpack_from = struct.Struct(layout).unpack_from

    def read(raw: bytes) -> float | int:
        value: float | int = unpack_from(raw)[0]
        return value

    return read


_read_float32 = _number("<f")
_read_float16 = _number("<e")


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
    2: _Element(8, _DOUBLE_VAL, _number("<d")),
    3: _Element(4, _INT_VAL, _number("<i")),
    4: _Element(1, _INT_VAL, _number("<B")),
    5: _Element(2, _INT_VAL, _number("<h")),
    6: _Element(1, _INT_VAL, _number("<b")),
    9: _Element(8, _INT64_VAL, _number("<q")),
    10: _Element(1, _BOOL_VAL, lambda raw: int(any(raw))),
    14: _Element(2, _HALF_VAL, lambda raw: _read_float32(b"\0\0" + raw[:2])),
    17: _Element(2, _INT_VAL, _number("<H")),
    19: _Element(2, _HALF_VAL, _read_float16),
    22: _Element(4, _UINT32_VAL, _number("<I")),
    23: _Element(8, _UINT64_VAL, _number("<Q")),
    24: _Element(1, _FLOAT8_VAL, lambda raw: _read_float16(b"\0" + raw[:1])),  # e5m2
    25: _Element(1, _FLOAT8_VAL, _read_float8_e4m3fn),
}


def find_scalar(source: Source, start: int, end: int) -> Scalar | None:
    """Give the number a TensorProto holds, or None if it is not one number of shape [] or [1]."""
    dtype = rank = content_size = content_start = 0
    all_ones = True
    typed: dict[int, bytes] = {}
    for field in iter_fields(source, start, end):
        if field.number == _DTYPE and field.wire == VARINT:
            dtype = field.value
        elif field.number == _SHAPE and field.wire == DELIMITED:
            dimensions, ones = _read_shape(source, field)
            rank, all_ones = rank + dimensions, all_ones and ones
        elif field.number == _CONTENT and field.wire == DELIMITED:
            content_start, content_size = field.start, field.end - field.start
        elif field.number == _FLOAT8_VAL and field.wire == DELIMITED:
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


def _to_scalar(value: float | int) -> Scalar:
    if isinstance(value, float):
        return Number.FLOAT, value
    return (Number.INT if value < 1 << 63 else Number.UINT), value


def _read_shape(source: Source, shape: Field) -> tuple[int, bool]:
    """Count the dimensions of a TensorShapeProto, and say whether all are known to be 1."""
    rank, all_ones = 0, True
    for field in iter_fields(source, shape.start, shape.end):
        if field.number == 3 and field.wire == VARINT and field.value:
            all_ones = False  # unknown_rank
        elif field.number == 2 and field.wire == DELIMITED:
            size = 0
            for part in iter_fields(source, field.start, field.end):
                if part.number == 1 and part.wire == VARINT:
                    size = part.value
            rank, all_ones = rank + 1, all_ones and size == 1
    return rank, all_ones


def _find_first(source: Source, field: Field) -> bytes | None:
    """Give the first element of one of the typed fields, packed or not, as little-endian bytes."""
    is_packed, size = field.wire == DELIMITED, field.end - field.start
    if is_packed and size == 0:
        return None
    if field.number in _VARINT_FIELDS and field.wire in (VARINT, DELIMITED):
        value = read_varint(source, field.start, field.end)[0] if is_packed else field.value
        return value.to_bytes(8, "little")
    if field.number in _FIXED_FIELDS:
        plain, width = _FIXED_FIELDS[field.number]
        if is_packed and size % width:
            raise FormatError(f"{size} bytes of packed numbers of {width} bytes")
        if is_packed or field.wire == plain:
            return bytes(source[field.start : field.start + width])
    return None
