"""Decode binary columns; written from the documentation, independently of the encoder."""

from __future__ import annotations

import json
import struct
from typing import Any

import numpy as np


def read_columns(data: bytes) -> Any:
    """Decode a response, with NumPy arrays in place of columns."""
    magic, length = struct.unpack_from("<4sI", data)
    assert magic == b"TLC1"
    start = 8 + length
    assert start % 8 == 0

    def revive(value: dict[str, Any]) -> Any:
        if value.keys() != {"$column"}:
            return value
        dtype, offset, count = value["$column"]
        assert offset % 8 == 0
        return np.frombuffer(data, "<" + dtype, count, start + offset)

    return json.loads(data[8:start], object_hook=revive)
