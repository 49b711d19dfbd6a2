"""Safetensors files: the length of the header in eight bytes, a JSON header, and the tensors.

Format: https://huggingface.co/docs/safetensors/index#format
"""

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
            raise FormatError(
                "files.safetensors_too_small",
                "the safetensors file has only {size} bytes",
                size=size,
            )
        length = int.from_bytes(read_exactly(file, 0, 8), "little")
        if length > min(size - 8, _MAX_HEADER_BYTES):
            raise FormatError(
                "files.safetensors_header_size",
                "the header has {length} bytes, but the safetensors file {size}",
                length=length,
                size=size,
            )
        self._start = 8 + length
        self._entries = _parse_header(read_exactly(file, 8, length))
        for key, entry in self._entries.items():
            _check_entry(key, entry, size - self._start)

    def list_tensors(self) -> Sequence[TensorInfo]:
        return [
            TensorInfo(key, key, entry.dtype.lower(), entry.shape)
            for key, entry in self._entries.items()
        ]

    def read(self, key: str) -> NDArray[Any]:
        entry = self._entries.get(key)
        if entry is None:
            raise UsageError(
                "files.safetensors_no_tensor", 'no tensor "{key}" in the safetensors file', key=key
            )
        dtype = _DTYPES.get(entry.dtype)
        if dtype is None:
            raise FormatError(
                "files.tensor_dtype",
                'the tensor "{key}" has the unsupported type {dtype}',
                key=key,
                dtype=entry.dtype,
            )
        offset = self._start + entry.data_offsets[0]
        return widen(dtype, read_array(self._file, offset, get_storage_dtype(dtype), entry.shape))


def _parse_header(data: bytes) -> dict[str, _Entry]:
    try:
        raw = msgspec.json.decode(data, type=dict[str, msgspec.Raw])
        raw.pop("__metadata__", None)
        return {key: msgspec.json.decode(entry, type=_Entry) for key, entry in raw.items()}
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise FormatError(
            "files.safetensors_header",
            "the header of the safetensors file is invalid: {error}",
            error=error,
        ) from None


def _check_entry(key: str, entry: _Entry, size: int) -> None:
    begin, end = entry.data_offsets
    if not 0 <= begin <= end <= size:
        raise FormatError(
            "files.tensor_incomplete",
            'the tensor "{key}" ends beyond the file, which may be incomplete',
            key=key,
        )
    dtype = _DTYPES.get(entry.dtype)
    if dtype is None:
        return  # other tensors can be read
    if check_array_size(entry.shape, np.dtype(get_storage_dtype(dtype)).itemsize) != end - begin:
        raise FormatError(
            "files.tensor_size",
            'the tensor "{key}" has {size} bytes, which do not match its shape {shape}',
            key=key,
            size=end - begin,
            shape=list(entry.shape),
        )
