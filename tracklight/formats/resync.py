"""Looks for places where a record may start, in bytes where the thread was lost.

Every offset is tried, so this works on arrays: the checksums of many lengths are taken at once,
from tables of what each of their eight bytes adds.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracklight.formats.batch import LARGE_RECORD
from tracklight.formats.crc32c import crc32c
from tracklight.formats.tfrecord import FRAME_BYTES, HEADER_BYTES

_LENGTH_BYTES = 8
_MASK_DELTA = np.uint32(0xA282EAD8)
_BLOCK = 1 << 16  # offsets tried at once, which bounds the memory taken


def iter_headers(data: memoryview, start: int, most: int) -> Iterator[tuple[int, int]]:
    """Yield (offset, length) of the right headers from ``start`` on.

    Only those of records that end ``most`` bytes after ``start`` or before, or are not large.
    """
    stop = len(data) - HEADER_BYTES + 1
    for block in range(start, stop, _BLOCK):
        count = min(_BLOCK, stop - block)
        lengths = _every_offset(data, "<u8", block, count)
        longest = most - (block - start) - FRAME_BYTES - np.arange(count)
        longest = np.maximum(longest, LARGE_RECORD - 1).astype(np.uint64)
        (places,) = np.nonzero(lengths <= longest)
        crcs = _every_offset(data, "<u4", block + _LENGTH_BYTES, count)
        right = _masked_crcs(lengths[places]) == crcs[places]
        for place in places[right].tolist():
            yield block + place, int(lengths[place])


def _every_offset(data: memoryview, dtype: str, start: int, count: int) -> NDArray[Any]:
    """View the numbers that start at each of ``count`` offsets, overlapping as they do."""
    numbers: NDArray[Any] = np.ndarray((count,), np.dtype(dtype), data, start, strides=(1,))
    return numbers


def _masked_crcs(lengths: NDArray[np.uint64]) -> NDArray[np.uint32]:
    tables, of_zero = _crc_tables()
    crc = np.full(len(lengths), of_zero, np.uint32)
    for place, table in enumerate(tables):
        crc ^= table[(lengths >> np.uint64(8 * place)).astype(np.uint8)]
    masked: NDArray[np.uint32] = (crc >> np.uint32(15) | crc << np.uint32(17)) + _MASK_DELTA
    return masked


@cache
def _crc_tables() -> tuple[list[NDArray[np.uint32]], int]:
    """For each byte of a length, what its value adds to the checksum of a length of zero."""
    of_zero = crc32c(bytes(_LENGTH_BYTES))
    tables = [
        [crc32c((byte << 8 * place).to_bytes(_LENGTH_BYTES, "little")) for byte in range(256)]
        for place in range(_LENGTH_BYTES)
    ]
    return [np.array(table, np.uint32) ^ np.uint32(of_zero) for table in tables], of_zero
