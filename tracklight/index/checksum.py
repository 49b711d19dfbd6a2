"""Checksums of what the cache stores: the kernel's CRC-32C, or zlib's CRC-32 without it."""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracklight.types import Int64

try:
    from tracklight.formats import _scan

    ALGORITHM = "crc32c"
except ImportError:
    ALGORITHM = "crc32"


def checksum(data: bytes) -> int:
    return _scan.crc32c(data) if ALGORITHM == "crc32c" else zlib.crc32(data)


def row_checksums(columns: Iterable[NDArray[Any]], starts: Int64) -> NDArray[np.uint32]:
    """One checksum for each stretch ``starts[i]:starts[i + 1]``, over all columns."""
    crcs = np.zeros(len(starts) - 1, np.uint32)
    carry_on = _scan.crc32c_of_rows if ALGORITHM == "crc32c" else _carry_on
    for column in columns:
        carry_on(column, starts, crcs)
    return crcs


def _carry_on(column: NDArray[Any], starts: Int64, crcs: NDArray[np.uint32]) -> None:
    bounds = starts.tolist()
    for i in range(len(crcs)):
        crcs[i] = zlib.crc32(column[bounds[i] : bounds[i + 1]].data, int(crcs[i]))
