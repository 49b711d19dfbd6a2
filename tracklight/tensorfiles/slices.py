"""Variables that were saved in parts: the keys of the parts, and where each belongs.

A part's key is made of numbers and texts in a code that sorts like what it stands for.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from tracklight.errors import FormatError
from tracklight.formats.proto import Message

#: Keys of parts begin with this, and no other key does.
PREFIX = b"\x00"
_WHOLE = -1
_ESCAPED = {b"\x00": b"\x00\xff", b"\xff": b"\xff\x00"}


class Extent(NamedTuple):
    """A stretch of one dimension."""

    start: int
    length: int


def encode_key(name: bytes, extents: Sequence[Extent]) -> bytes:
    """The key under which a part of a tensor is saved."""
    escaped = re.sub(rb"[\x00\xff]", lambda byte: _ESCAPED[byte[0]], name)
    rank = len(extents)
    size = (rank.bit_length() + 7) // 8
    head = PREFIX + escaped + b"\x00\x01" + bytes([size]) + rank.to_bytes(size, "big")
    return head + b"".join(_encode_signed(number) for extent in extents for number in extent)


def _encode_signed(number: int) -> bytes:
    """The number of leading ones tells how many bytes there are; negative ones are inverted."""
    size = 1
    magnitude = ~number if number < 0 else number
    while magnitude >> (7 * size - 1):
        size += 1
    if size > 8:
        raise FormatError(f"a part of a tensor at {number}")
    code = magnitude | ((1 << size) - 1) << (7 * size)
    if number < 0:
        code ^= (1 << 8 * size) - 1
    return code.to_bytes(size, "big")


def read_extents(part: Message) -> list[Extent]:
    """The stretches that a part covers, as they stand in its key."""
    return [
        Extent(extent.start, extent.length if extent.HasField("has_length") else _WHOLE)
        for extent in part.extent
    ]


def find_place(extents: Sequence[Extent], shape: tuple[int, ...]) -> tuple[slice, ...]:
    """Where a part belongs in the whole."""
    if len(extents) != len(shape):
        raise FormatError(f"a part of {len(extents)} dimensions of a tensor of {len(shape)}")
    place = []
    for (start, length), size in zip(extents, shape, strict=True):
        end = size if length == _WHOLE else start + length
        if not 0 <= start <= end <= size:
            raise FormatError(f"a part from {start} to {end} of a dimension of {size}")
        place.append(slice(start, end))
    return tuple(place)
