"""Sorted string tables of LevelDB, which store the index of a TensorFlow checkpoint.

A table is a sequence of blocks, an index block with the location of each block, and a footer of 48
bytes with the location of the index block. Blocks may be compressed with Snappy. A key is stored
as the length of the prefix that it shares with the previous key, and the rest.

Formats: https://github.com/google/leveldb/blob/main/doc/table_format.md and
https://github.com/google/snappy/blob/main/format_description.txt
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

from tracklight.errors import FormatError
from tracklight.formats.tfrecord import masked_crc32c
from tracklight.formats.wire_format import read_varint

FOOTER_BYTES = 48
#: The index of a hundred thousand tensors takes some megabytes.
MAX_TABLE_BYTES = 256 << 20

_MAGIC = 0xDB4775248B80FB57
#: Compression type and checksum.
_TRAILER_BYTES = 5
_UNCOMPRESSED, _SNAPPY = 0, 1

_SNAPPY_LITERAL = 0
#: Longer literals store their length after the tag.
_MAX_INLINE_LENGTH = 60


class IncompleteTableError(FormatError):
    """The table has no valid footer, most likely because it is being written."""


def parse_table(data: bytes) -> dict[bytes, bytes]:
    """Return the keys and values of a table after verifying the checksums.

    Raises:
        IncompleteTableError: The table has no valid footer.
        FormatError: The table is damaged or too large.
    """
    remaining = MAX_TABLE_BYTES
    entries: dict[bytes, bytes] = {}
    previous_end = 0
    for _, handle in _iter_entries(_read_block(data, *_parse_footer(data), MAX_TABLE_BYTES)):
        offset, position = read_varint(handle, 0, len(handle))
        size, _ = read_varint(handle, position, len(handle))
        if offset < previous_end:
            # A small file must not expand without bound.
            raise FormatError("files.table_overlap", "the blocks of the table overlap")
        previous_end = offset + size
        for key, value in _iter_entries(_read_block(data, offset, size, remaining)):
            entries[key] = value
            remaining -= len(key) + len(value)
            if remaining < 0:
                raise FormatError(
                    "files.table_too_large",
                    "the table is larger than {limit} bytes",
                    limit=MAX_TABLE_BYTES,
                )
    return entries


def _parse_footer(data: bytes) -> tuple[int, int]:
    """Return the offset and the size of the index block."""
    if len(data) < FOOTER_BYTES:
        raise IncompleteTableError(
            "files.table_too_small", "it has only {size} bytes", size=len(data)
        )
    if struct.unpack_from("<Q", data, len(data) - 8)[0] != _MAGIC:
        raise IncompleteTableError("files.table_no_footer", "the footer is missing")
    offset = len(data) - FOOTER_BYTES
    numbers = []
    for _ in range(4):
        number, offset = read_varint(data, offset, len(data) - 8)
        numbers.append(number)
    return numbers[2], numbers[3]


def _read_block(data: bytes, offset: int, size: int, max_bytes: int) -> bytes:
    end = offset + size
    if end + _TRAILER_BYTES > len(data):
        raise FormatError(
            "files.block_beyond_table",
            "the block of {size} bytes at {offset} ends beyond the table",
            size=size,
            offset=offset,
        )
    (crc,) = struct.unpack_from("<I", data, end + 1)
    if masked_crc32c(data[offset : end + 1]) != crc:
        raise FormatError(
            "files.block_checksum", "the checksum of the block at {offset} is wrong", offset=offset
        )
    compression, content = data[end], data[offset:end]
    if compression == _SNAPPY:
        return decompress_snappy(content, max_bytes)
    if compression != _UNCOMPRESSED:
        raise FormatError(
            "files.block_compression",
            "the block at {offset} has the unknown compression {compression}",
            offset=offset,
            compression=compression,
        )
    return content


def _iter_entries(block: bytes) -> Iterator[tuple[bytes, bytes]]:
    if len(block) < 4:
        raise FormatError("files.block_empty", "a block of the table is empty")
    (restarts,) = struct.unpack_from("<I", block, len(block) - 4)
    end = len(block) - 4 - 4 * restarts
    if end < 0:
        raise FormatError(
            "files.block_restarts",
            "a block of {size} bytes claims to have {restarts} restarts",
            size=len(block),
            restarts=restarts,
        )
    key, offset = b"", 0
    while offset < end:
        shared, offset = read_varint(block, offset, end)
        unshared, offset = read_varint(block, offset, end)
        length, offset = read_varint(block, offset, end)
        if shared > len(key) or offset + unshared + length > end:
            raise FormatError("files.block_entry", "an entry does not fit its block")
        key = key[:shared] + block[offset : offset + unshared]
        offset += unshared
        yield key, block[offset : offset + length]
        offset += length


def decompress_snappy(data: bytes, max_bytes: int) -> bytes:
    """Decompress data in the raw Snappy format.

    Raises:
        FormatError: The data is damaged, or larger than ``max_bytes`` when decompressed.
    """
    size, offset = read_varint(data, 0, len(data))
    if size > max_bytes:
        raise FormatError(
            "files.block_too_large",
            "a compressed block has {size} bytes, more than {limit}",
            size=size,
            limit=max_bytes,
        )
    out = bytearray()
    while offset < len(data):
        if data[offset] & 3 == _SNAPPY_LITERAL:
            start, end = _parse_literal(data, offset)
            out += data[start:end]
            offset = end
        else:
            length, distance, offset = _parse_copy(data, offset)
            _append_copy(out, length, distance)
        if len(out) > size:
            break
    if len(out) != size:
        raise FormatError(
            "files.block_size",
            "a compressed block has {actual} bytes instead of {size}",
            actual=len(out),
            size=size,
        )
    return bytes(out)


def _parse_literal(data: bytes, offset: int) -> tuple[int, int]:
    """Return the start and the end of the bytes of a literal."""
    length = data[offset] >> 2
    start = offset + 1
    if length >= _MAX_INLINE_LENGTH:
        length_bytes = length - _MAX_INLINE_LENGTH + 1
        length = int.from_bytes(data[start : start + length_bytes], "little")
        start += length_bytes
    end = start + length + 1
    if end > len(data):
        raise FormatError("files.block_truncated", "a compressed block is truncated")
    return start, end


def _parse_copy(data: bytes, offset: int) -> tuple[int, int, int]:
    """Return the length of a copy, its distance, and the offset of the next element."""
    tag = data[offset]
    if tag & 3 == 1:
        length, size, high_bits = (tag >> 2 & 7) + 4, 1, tag >> 5 << 8
    else:
        length, size, high_bits = (tag >> 2) + 1, 2 if tag & 3 == 2 else 4, 0
    end = offset + 1 + size
    if end > len(data):
        raise FormatError("files.block_truncated", "a compressed block is truncated")
    return length, high_bits | int.from_bytes(data[offset + 1 : end], "little"), end


def _append_copy(out: bytearray, length: int, distance: int) -> None:
    if not 0 < distance <= len(out):
        raise FormatError(
            "files.block_copy",
            "a compressed block copies from {distance} bytes before its start",
            distance=distance,
        )
    # The copy may overlap its own output.
    source = out[-distance:]
    out += (source * (length // distance + 1))[:length]
