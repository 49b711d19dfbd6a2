"""The interface of all readers of tensor files, and helpers for reading arrays from files."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from tracklight.errors import FormatError

#: The limit on the memory of an array: a million vectors of 512 float64 numbers.
MAX_ARRAY_BYTES = 4 << 30

#: Columns of labels by name; an empty cell is a missing label.
LabelColumns = dict[str, list[str]]

#: The limit of numpy 1.
_MAX_DIMENSIONS = 32


@dataclass(frozen=True, slots=True)
class TensorInfo:
    """The description of one tensor.

    Attributes:
        key: The key of the tensor in the file.
        name: The name to show.
        dtype: The name of the element type.
        shape: The shape.
        is_optimizer_state: Whether only an optimizer uses it: moments, counters, averages.
    """

    key: str
    name: str
    dtype: str
    shape: tuple[int, ...]
    is_optimizer_state: bool = False


class TensorFile(Protocol):
    """A file, or a set of files, that contains tensors."""

    def list_tensors(self) -> Sequence[TensorInfo]:
        """Return the tensors in the order of the file."""

    def read(self, key: str) -> NDArray[Any]:
        """Read one tensor.

        Returns:
            Strings as an object array of bytes; bfloat16 and float8 as float32.

        Raises:
            FormatError: The tensor cannot be read.
            UsageError: There is no tensor with this key.
        """


def check_array_size(
    shape: Sequence[int], item_bytes: int, max_bytes: int = MAX_ARRAY_BYTES
) -> int:
    """Return the size of an array in bytes.

    Raises:
        FormatError: The array is too large, or the shape is invalid.
    """
    if any(size < 0 for size in shape) or len(shape) > _MAX_DIMENSIONS:
        raise FormatError(
            "files.invalid_shape", "{shape} is not a valid shape", shape=list(shape)[:40]
        )
    if item_bytes * math.prod(size for size in shape if size) > max_bytes:
        raise FormatError(
            "files.tensor_too_large",
            "a tensor of shape {shape} takes more than the limit of {limit_mib} MiB",
            shape=list(shape),
            limit_mib=max_bytes >> 20,
        )
    return item_bytes * math.prod(shape)


def get_file_size(file: BinaryIO) -> int:
    return file.seek(0, io.SEEK_END)


def read_exactly(file: BinaryIO, offset: int, size: int) -> bytes:
    """Read ``size`` bytes; raises FormatError if there are fewer."""
    file.seek(offset)
    data = file.read(size)
    if len(data) < size:
        raise FormatError(
            "files.truncated",
            "the file is truncated: {missing} bytes are missing",
            missing=size - len(data),
        )
    return data


def read_array(
    file: BinaryIO, offset: int, dtype: np.dtype[Any], shape: tuple[int, ...]
) -> NDArray[Any]:
    """Read an array without copying it; raises FormatError if the file is truncated.

    Files are never mapped into memory: if a checkpoint is truncated while it is mapped, for
    instance because it is saved again, the process crashes.
    """
    array = np.empty(shape, dtype)
    remaining = array.reshape(-1).view(np.uint8).data
    file.seek(offset)
    while remaining:
        count = cast(io.BufferedReader, file).readinto(remaining)
        if not count:
            raise FormatError(
                "files.truncated",
                "the file is truncated: {missing} bytes are missing",
                missing=len(remaining),
            )
        remaining = remaining[count:]
    return array
