"""Protobuf's wire format: the fields of a message that stands between two offsets.

It is strict, so that bytes which only happen to pass their checksum are not taken for an event, and
it never looks into a field, so that whoever holds the bytes may leave the long ones unread.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, Protocol, overload

from tracklight.errors import FormatError

VARINT = 0
EIGHT_BYTES = 1
DELIMITED = 2
FOUR_BYTES = 5

_LONGEST_VARINT = 10
_UINT64 = (1 << 64) - 1


class Source(Protocol):
    """Bytes that may be taken one at a time or as a slice, such as a memoryview."""

    @overload
    def __getitem__(self, at: int, /) -> int: ...
    @overload
    def __getitem__(self, span: slice, /) -> bytes | memoryview: ...


class Field(NamedTuple):
    """One field: ``start`` and ``end`` bound its content, ``value`` is set only for a varint."""

    number: int
    wire: int
    value: int
    start: int
    end: int


def read_varint(source: Source, at: int, end: int) -> tuple[int, int]:
    """Give the unsigned number at ``at`` and the offset after it."""
    value = shift = 0
    for place in range(at, min(end, at + _LONGEST_VARINT)):
        byte = source[place]
        if byte < 0x80:
            return (value | byte << shift) & _UINT64, place + 1
        value |= (byte & 0x7F) << shift
        shift += 7
    raise FormatError(f"the varint at offset {at} does not end")


def encode_varint(value: int) -> bytes:
    """The bytes of a number that is not negative."""
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def iter_fields(source: Source, start: int, end: int) -> Iterator[Field]:
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
        elif wire == DELIMITED:
            length, first = read_varint(source, at, end)
            at = first + length
        elif wire == EIGHT_BYTES:
            at += 8
        elif wire == FOUR_BYTES:
            at += 4
        else:
            raise FormatError(f"wire type {wire} at offset {first}")
        if number == 0 or at > end:
            raise FormatError(f"field {number} at offset {first} does not fit its message")
        yield Field(number, wire, value, first, at)


def to_int64(value: int) -> int:
    """Read a varint's 64 bits as a signed number."""
    return value - (1 << 64) if value >> 63 else value
