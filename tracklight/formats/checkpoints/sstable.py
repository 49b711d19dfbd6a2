"""Snappy's raw format, as tables of key and value may use for their blocks."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from tracklight.errors import FormatError
from tracklight.formats.tfrecord import masked_crc32c
from tracklight.formats.wire_format import read_varint

_LITERAL = 0

_LONGEST_INLINE = 60


def decompress_snappy(data: bytes, max_bytes: int) -> bytes:
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


# Sorted tables of key and value, the container of a checkpoint's index.
#
# Blocks of entries stand one after the other; an index block says where each is, and the last 48
# bytes where that block is. A key is stored as how much it shares with the one before, and the rest.

FOOTER_BYTES = 48

_MAGIC = 0xDB4775248B80FB57

_TRAILER_BYTES = 5

_PLAIN, _SNAPPY = 0, 1

#: The index of a hundred thousand tensors takes some megabytes.
MAX_TABLE_BYTES = 256 << 20


class IncompleteTableError(FormatError):
    """The table has no end, or not the right one: mostly it is still being written."""


def parse_table(data: bytes) -> dict[bytes, bytes]:
    """Every key and value of a table, checksums looked at."""
    left = MAX_TABLE_BYTES
    entries: dict[bytes, bytes] = {}
    end = 0
    for _, handle in _iter_entries(_read_block(data, *_read_footer(data), MAX_TABLE_BYTES)):
        offset, at = read_varint(handle, 0, len(handle))
        size, _ = read_varint(handle, at, len(handle))
        if offset < end:
            raise FormatError("blocks that overlap")  # a small file must not unfold without end
        end = offset + size
        for key, value in _iter_entries(_read_block(data, offset, size, left)):
            entries[key] = value
            left -= len(key) + len(value)
            if left < 0:
                raise FormatError(f"keys and values of more than {MAX_TABLE_BYTES} bytes")
    return entries


def _read_footer(data: bytes) -> tuple[int, int]:
    """Where the index block is: its offset and size."""
    if len(data) < FOOTER_BYTES:
        raise IncompleteTableError(f"it has only {len(data)} bytes")
    if struct.unpack_from("<Q", data, len(data) - 8)[0] != _MAGIC:
        raise IncompleteTableError("its end is missing")
    at = len(data) - FOOTER_BYTES
    numbers = []
    for _ in range(4):
        number, at = read_varint(data, at, len(data) - 8)
        numbers.append(number)
    return numbers[2], numbers[3]


def _read_block(data: bytes, offset: int, size: int, max_bytes: int) -> bytes:
    end = offset + size
    if end + _TRAILER_BYTES > len(data):
        raise FormatError(f"a block of {size} bytes at {offset} reaches beyond the end")
    (crc,) = struct.unpack_from("<I", data, end + 1)
    if masked_crc32c(data[offset : end + 1]) != crc:
        raise FormatError(f"the checksum of the block at {offset} is wrong")
    kind, content = data[end], data[offset:end]
    if kind == _SNAPPY:
        return decompress_snappy(content, max_bytes)
    if kind != _PLAIN:
        raise FormatError(f"a block of unknown compression {kind}")
    return content


def _iter_entries(block: bytes) -> Iterator[tuple[bytes, bytes]]:
    if len(block) < 4:
        raise FormatError("a block without entries")
    (restarts,) = struct.unpack_from("<I", block, len(block) - 4)
    end = len(block) - 4 - 4 * restarts
    if end < 0:
        raise FormatError(f"a block of {len(block)} bytes with {restarts} restarts")
    key, at = b"", 0
    while at < end:
        shared, at = read_varint(block, at, end)
        unshared, at = read_varint(block, at, end)
        length, at = read_varint(block, at, end)
        if shared > len(key) or at + unshared + length > end:
            raise FormatError("an entry that does not fit its block")
        key = key[:shared] + block[at : at + unshared]
        at += unshared
        yield key, block[at : at + length]
        at += length
