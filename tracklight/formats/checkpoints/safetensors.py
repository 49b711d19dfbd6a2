"""Safetensors: eight bytes of a length, as much JSON, then the memory of all tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, BinaryIO

import msgspec
import numpy as np
from numpy.typing import NDArray

from tracklight.errors import FormatError, UsageError
from tracklight.formats.checkpoints.tensor_file import (
    TensorInfo,
    check_array_size,
    get_file_size,
    read_array,
    read_exactly,
)
from tracklight.formats.tensor import DType, get_storage_dtype, widen

_MAX_HEADER_BYTES = 100 << 20
_DTYPES = {
    "F64": DType.DOUBLE,
    "F32": DType.FLOAT,
    "F16": DType.HALF,
    "BF16": DType.BFLOAT16,
    "F8_E4M3": DType.FLOAT8_E4M3FN,
    "F8_E5M2": DType.FLOAT8_E5M2,
    "I64": DType.INT64,
    "I32": DType.INT32,
    "I16": DType.INT16,
    "I8": DType.INT8,
    "U64": DType.UINT64,
    "U32": DType.UINT32,
    "U16": DType.UINT16,
    "U8": DType.UINT8,
    "BOOL": DType.BOOL,
    "C64": DType.COMPLEX64,
}


class _Entry(msgspec.Struct):
    dtype: str
    shape: tuple[int, ...]
    data_offsets: tuple[int, int]


class SafetensorsFile:
    """The tensors of a ``.safetensors`` file."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        size = get_file_size(file)
        if size < 8:
            raise FormatError(f"a safetensors file of only {size} bytes")
        length = int.from_bytes(read_exactly(file, 0, 8), "little")
        if length > min(size - 8, _MAX_HEADER_BYTES):
            raise FormatError(f"a safetensors file of {size} bytes whose header has {length}")
        self._start = 8 + length
        self._entries = _parse_header(read_exactly(file, 8, length))
        for key, entry in self._entries.items():
            _check(key, entry, size - self._start)

    def list_tensors(self) -> Sequence[TensorInfo]:
        return [
            TensorInfo(key, key, entry.dtype.lower(), entry.shape)
            for key, entry in self._entries.items()
        ]

    def read(self, key: str) -> NDArray[Any]:
        entry = self._entries.get(key)
        if entry is None:
            raise UsageError(f'the safetensors file has no tensor "{key}"')
        dtype = _DTYPES.get(entry.dtype)
        if dtype is None:
            raise FormatError(
                f'the tensor "{key}" is of the type {entry.dtype}, which is not known'
            )
        at = self._start + entry.data_offsets[0]
        return widen(dtype, read_array(self._file, at, get_storage_dtype(dtype), entry.shape))


def _parse_header(data: bytes) -> dict[str, _Entry]:
    try:
        raw = msgspec.json.decode(data, type=dict[str, msgspec.Raw])
        raw.pop("__metadata__", None)
        return {key: msgspec.json.decode(entry, type=_Entry) for key, entry in raw.items()}
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise FormatError(f"the header of a safetensors file is not right: {error}") from None


def _check(key: str, entry: _Entry, size: int) -> None:
    begin, end = entry.data_offsets
    if not 0 <= begin <= end <= size:
        raise FormatError(
            f'the tensor "{key}" ends beyond its file, which may still be being written'
        )
    dtype = _DTYPES.get(entry.dtype)
    if dtype is None:
        return  # others can be read all the same
    if check_array_size(entry.shape, np.dtype(get_storage_dtype(dtype)).itemsize) != end - begin:
        raise FormatError(f'the tensor "{key}" has {end - begin} bytes for {list(entry.shape)}')
