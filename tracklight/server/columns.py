"""Answers with arrays in them, as bytes that a browser turns into typed arrays without parsing.

    "TLC1"  u32 length of the header  header: JSON, padded with spaces  arrays

All numbers are little endian, and the body, as well as each array in it, begins at a multiple of
eight bytes. In the header, ``{"$column": [dtype, offset, length]}`` stands where an array belongs;
``offset`` counts bytes from the start of the body, ``length`` elements, and ``dtype`` is one of
f4, f8, i4, i8, u1.
"""

from __future__ import annotations

import struct
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

MEDIA_TYPE = "application/vnd.tracklight.columns"

_MAGIC = b"TLC1"
_ALIGNMENT = 8

#: How each kind of array travels: unchanged, or as the next larger one that can.
_DTYPES = {
    "float16": "f4",
    "float32": "f4",
    "float64": "f8",
    "int8": "i4",
    "int16": "i4",
    "int32": "i4",
    "int64": "i8",
    "uint8": "u1",
    "uint16": "i4",
    "uint32": "i8",
    # A browser reads i8 as floating point, too, so nothing is lost on the way there.
    "uint64": "f8",
    "bool": "u1",
}


def encode(content: object) -> bytes:
    """``content``, anything that msgspec encodes, with its arrays as columns."""
    body = _Body()
    header = msgspec.json.encode(content, enc_hook=body.refer)
    start = len(_MAGIC) + 4 + len(header)
    header += b" " * (-start % _ALIGNMENT)
    return b"".join([_MAGIC, struct.pack("<I", len(header)), header, *body.parts])


class _Body:
    """The arrays met so far, one after another."""

    def __init__(self) -> None:
        self.parts: list[bytes | memoryview] = []
        self._size = 0

    def refer(self, value: Any) -> object:
        if not isinstance(value, np.ndarray):
            return plain(value)
        dtype = _wire_dtype(value)
        data = np.ascontiguousarray(value, dtype="<" + dtype)
        reference = {"$column": [dtype, self._size, len(data)]}
        padding = bytes(-data.nbytes % _ALIGNMENT)
        # An empty array has no memory to view.
        self.parts += [data.data.cast("B") if len(data) else b"", padding]
        self._size += data.nbytes + len(padding)
        return reference


def plain(value: Any) -> object:
    """What JSON has no word for, as msgspec asks: a number of NumPy's as one of Python's."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{type(value).__name__} cannot be sent")


def _wire_dtype(array: NDArray[Any]) -> str:
    if array.ndim != 1 or array.dtype.name not in _DTYPES:
        raise TypeError(f"an array of {array.ndim} dimensions and {array.dtype} is no column")
    return _DTYPES[array.dtype.name]
