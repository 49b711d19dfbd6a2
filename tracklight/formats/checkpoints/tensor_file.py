"""What every reader gives: the tensors of a file by name, and one of them as an array."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from tracklight.errors import FormatError

#: A million vectors of 512 float64 numbers.
MAX_ARRAY_BYTES = 4 << 30

#: Columns of labels by their names; a cell without anything is a missing one.
LabelColumns = dict[str, list[str]]


@dataclass(frozen=True, slots=True)
class TensorInfo:
    """One tensor of a file."""

    key: str
    """What the file calls it."""
    name: str
    """What people call it."""
    dtype: str
    shape: tuple[int, ...]
    is_optimizer_state: bool = False
    """True for what only an optimizer keeps: moments, counters, copies."""


class TensorFile(Protocol):
    """A file, or a family of files, that holds tensors."""

    def list_tensors(self) -> Sequence[TensorInfo]:
        """All of them in the order of the file."""

    def read(self, key: str) -> NDArray[Any]:
        """One of them; raises FormatError where it cannot be read, and UsageError for a wrong key.

        Strings come as an object array of bytes, bfloat16 and float8 as float32.
        """


def check_array_size(
    shape: Sequence[int], item_bytes: int, max_bytes: int = MAX_ARRAY_BYTES
) -> int:
    """How many bytes an array takes; refused where they are too many, or its shape makes none."""
    if any(size < 0 for size in shape) or len(shape) > 32:
        raise FormatError(f"no array has the shape {list(shape)[:40]}")
    if item_bytes * math.prod(size for size in shape if size) > max_bytes:
        raise FormatError(
            f"a tensor of shape {list(shape)} takes more than {max_bytes >> 20} MiB, the most that "
            "is read"
        )
    return item_bytes * math.prod(shape)


def get_file_size(file: BinaryIO) -> int:
    """How many bytes a file has."""
    return file.seek(0, io.SEEK_END)


def read_exactly(file: BinaryIO, offset: int, size: int) -> bytes:
    """Exactly that many bytes; the caller has checked that they are not too many."""
    file.seek(offset)
    data = file.read(size)
    if len(data) < size:
        raise FormatError(f"the file ends {size - len(data)} bytes early")
    return data


def read_array(
    file: BinaryIO, offset: int, dtype: np.dtype[Any], shape: tuple[int, ...]
) -> NDArray[Any]:
    """An array from its memory in a file, without a second copy of it."""
    array = np.empty(shape, dtype)
    left = array.reshape(-1).view(np.uint8).data
    file.seek(offset)
    while left:
        count = cast(io.BufferedReader, file).readinto(left)
        if not count:
            raise FormatError(f"the file ends {len(left)} bytes early")
        left = left[count:]
    return array
