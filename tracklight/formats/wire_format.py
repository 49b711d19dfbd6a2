"""Protobuf's wire format: the fields of a message that stands between two offsets.

It is strict, so that bytes which only happen to pass their checksum are not taken for an event, and
it never looks into a field, so that whoever holds the bytes may leave the long ones unread.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, Protocol, overload

import numpy as np

from tracklight.errors import FormatError
from tracklight.types import Int64

VARINT = 0

FIXED64 = 1

LENGTH_DELIMITED = 2

FIXED32 = 5

_MAX_VARINT_BYTES = 10

_UINT64 = (1 << 64) - 1


class ByteSource(Protocol):
    """Bytes that may be taken one at a time or as a slice, such as a memoryview."""

    @overload
    def __getitem__(self, at: int, /) -> int: ...
    @overload
    def __getitem__(self, span: slice, /) -> bytes | memoryview: ...


class Field(NamedTuple):
    """One field: ``start`` and ``end`` bound its content, ``value`` is set only for a varint."""

    number: int
    wire_type: int
    value: int
    start: int
    end: int


def read_varint(source: ByteSource, offset: int, end: int) -> tuple[int, int]:
    """Give the unsigned number at ``at`` and the offset after it."""
    value = shift = 0
    for place in range(offset, min(end, offset + _MAX_VARINT_BYTES)):
        byte = source[place]
        if byte < 0x80:
            return (value | byte << shift) & _UINT64, place + 1
        value |= (byte & 0x7F) << shift
        shift += 7
    raise FormatError(f"the varint at offset {offset} does not end")


def encode_varint(value: int) -> bytes:
    """The bytes of a number that is not negative."""
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def iter_fields(source: ByteSource, start: int, end: int) -> Iterator[Field]:
    """Yield the fields of the message between two offsets; groups are refused."""
    at = start
    while at < end:
        key = source[at]
        if key < 0x80:  # nearly all of them
            first = at = at + 1
        else:
            key, first = read_varint(source, at, end)
            at = first
        number, wire, value = key >> 3, key & 7, 0
        if wire == VARINT:
            value, at = read_varint(source, at, end)
        elif wire == LENGTH_DELIMITED:
            length, first = read_varint(source, at, end)
            at = first + length
        elif wire == FIXED64:
            at += 8
        elif wire == FIXED32:
            at += 4
        else:
            raise FormatError(f"wire type {wire} at offset {first}")
        if number == 0 or at > end:
            raise FormatError(f"field {number} at offset {first} does not fit its message")
        yield Field(number, wire, value, first, at)


def to_int64(value: int) -> int:
    """Read a varint's 64 bits as a signed number."""
    return value - (1 << 64) if value >> 63 else value


# The fields of messages as columns, where there are too many to take them one by one.
#
# The compiled kernel is used where it was built; what ends in ``_in_python`` does the same slowly,
# and a test holds the two against each other.


def scan_fields(data: bytes, start: int, end: int) -> tuple[Int64, bool]:
    """Read the fields of a message, and whether it is whole; else they are those before a break.

    One row a field: its number, its wire type, its value or where it starts, and its size.
    """
    try:
        from tracklight.formats._xplane import scan_fields as scan
    except ImportError:
        return scan_fields_in_python(data, start, end)
    return scan(data, start, end)


def scan_messages(data: bytes, spans: Int64, wanted: int) -> Int64:
    """Read some fields of many messages, each between a start and so many bytes on.

    ``wanted`` has a bit for the number of each field that is. One row a field: which message it is
    of, its number, where it starts and its size.
    """
    try:
        from tracklight.formats._xplane import scan_each as scan
    except ImportError:
        return scan_messages_in_python(data, spans, wanted)
    return scan(data, spans, wanted)


def decode_texts(data: bytes, starts: Int64, sizes: Int64) -> list[str]:
    """Decode texts that stand in a file, as `decode_text` does one."""
    try:
        from tracklight.formats._xplane import take_texts as take
    except ImportError:
        return decode_texts_in_python(data, starts, sizes)
    return take(data, starts, sizes)


def scan_fields_in_python(data: bytes, start: int, end: int) -> tuple[Int64, bool]:
    rows: list[list[int]] = []
    try:
        for field in iter_fields(data, start, end):
            rows.append([field.number, field.wire_type, *get_field_value(data, field)])
    except FormatError:
        return to_field_table(rows), False
    return to_field_table(rows), True


def scan_messages_in_python(data: bytes, spans: Int64, wanted: int) -> Int64:
    try:
        rows = [
            [place, field.number, *get_field_value(data, field)]
            for place, (start, size) in enumerate(spans.tolist())
            for field in iter_fields(data, start, start + size)
            if field.wire_type == LENGTH_DELIMITED
            and field.number < 64
            and wanted >> field.number & 1
        ]
    except FormatError:
        raise FormatError("a message in it cannot be decoded") from None
    return to_field_table(rows)


def decode_texts_in_python(data: bytes, starts: Int64, sizes: Int64) -> list[str]:
    spans = zip(starts.tolist(), (starts + sizes).tolist(), strict=True)
    return [decode_text(data[start:end]) for start, end in spans]


def get_field_value(data: bytes, field: Field) -> tuple[int, int]:
    """Its 64 bits, or where it starts in the file; and its size."""
    if field.wire_type == LENGTH_DELIMITED:
        return field.start, field.end - field.start
    if field.wire_type == VARINT:
        return to_int64(field.value), 0
    bits = int.from_bytes(data[field.start : field.end], "little")
    return (to_int64(bits) if field.wire_type == FIXED64 else bits), 0


def to_field_table(rows: list[list[int]]) -> Int64:
    """An array of four columns, of however many rows."""
    return np.array(rows, np.int64).reshape(-1, 4)


def decode_text(data: bytes) -> str:
    r"""Text of a log as a string; bytes that are no UTF-8 stay visible as ``\xff``."""
    return data.decode("utf-8", "backslashreplace")
