"""Tensors of text in a checkpoint: all lengths, a checksum of them, then all bytes."""

from __future__ import annotations

import itertools
import struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracklight.errors import FormatError
from tracklight.formats.crc32c import masked_crc32c
from tracklight.formats.wire import read_varint

_CRC_BYTES = 4
_LONGEST_UINT32 = (1 << 32) - 1


def decode_strings(data: bytes, count: int) -> tuple[NDArray[Any], int]:
    """An object array of ``count`` texts, and the checksum that its entry must have.

    Checksums are of the lengths as numbers of a fixed width and not as they are stored.
    """
    lengths, at = _read_lengths(data, count)
    packed = b"".join(
        struct.pack("<I" if length <= _LONGEST_UINT32 else "<Q", length) for length in lengths
    )
    stored = data[at : at + _CRC_BYTES]
    if stored != struct.pack("<I", masked_crc32c(packed)):
        raise FormatError("the checksum of the lengths of its texts is wrong")
    at += _CRC_BYTES
    if at + sum(lengths) != len(data):
        raise FormatError(f"the lengths of its {count} texts do not add up")
    texts = np.empty(count, object)
    ends = itertools.accumulate(lengths, initial=at)
    texts[:] = [data[start:end] for start, end in itertools.pairwise(ends)]
    return texts, masked_crc32c(packed + data[at - _CRC_BYTES :])


def _read_lengths(data: bytes, count: int) -> tuple[list[int], int]:
    if count > len(data):
        raise FormatError(f"{count} texts in {len(data)} bytes")
    at = 0
    lengths = []
    for _ in range(count):
        length, at = read_varint(data, at, len(data))
        lengths.append(length)
    return lengths, at
