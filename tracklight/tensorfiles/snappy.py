"""Snappy's raw format, as tables of key and value may use for their blocks."""

from __future__ import annotations

from tracklight.errors import FormatError
from tracklight.formats.wire import read_varint

_LITERAL = 0
_LONGEST_INLINE = 60


def decompress(data: bytes, max_bytes: int) -> bytes:
    """The bytes that were compressed, refused where they say to be more than ``max_bytes``."""
    size, at = read_varint(data, 0, len(data))
    if size > max_bytes:
        raise FormatError(f"a compressed block of {size} bytes, more than {max_bytes}")
    out = bytearray()
    while at < len(data):
        if data[at] & 3 == _LITERAL:
            start, end = _find_literal(data, at)
            out += data[start:end]
            at = end
        else:
            length, distance, at = _read_copy(data, at)
            _copy(out, length, distance)
        if len(out) > size:
            break
    if len(out) != size:
        raise FormatError(f"a compressed block of {size} bytes that holds {len(out)}")
    return bytes(out)


def _find_literal(data: bytes, at: int) -> tuple[int, int]:
    """Where bytes that stand for themselves begin and end."""
    length = data[at] >> 2
    start = at + 1
    if length >= _LONGEST_INLINE:
        extra = length - _LONGEST_INLINE + 1
        length = int.from_bytes(data[start : start + extra], "little")
        start += extra
    end = start + length + 1
    if end > len(data):
        raise FormatError("a compressed block that ends early")
    return start, end


def _read_copy(data: bytes, at: int) -> tuple[int, int, int]:
    """How much to repeat, from how far back, and where the next element begins."""
    tag = data[at]
    if tag & 3 == 1:
        length, size, high = (tag >> 2 & 7) + 4, 1, tag >> 5 << 8
    else:
        length, size, high = (tag >> 2) + 1, 2 if tag & 3 == 2 else 4, 0
    end = at + 1 + size
    if end > len(data):
        raise FormatError("a compressed block that ends early")
    return length, high | int.from_bytes(data[at + 1 : end], "little"), end


def _copy(out: bytearray, length: int, distance: int) -> None:
    if not 0 < distance <= len(out):
        raise FormatError(f"a compressed block that repeats what was {distance} bytes before it")
    # What is repeated may reach into what is being written.
    piece = out[-distance:]
    out += (piece * (length // distance + 1))[:length]
