"""Files of ``torch.save``: a zip archive of one pickle and the data of all storages.

Tensors are found in a state_dict, a training checkpoint that contains one, a single tensor or a
pickled model. No code in the file is run; see `safe_pickle`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from tracklight.errors import FormatError, UsageError
from tracklight.formats.checkpoints import safe_pickle
from tracklight.formats.checkpoints.safe_pickle import StoredTensor
from tracklight.formats.checkpoints.tensor_file import (
    ZIP_ERRORS,
    TensorInfo,
    check_array_size,
    open_archive,
)
from tracklight.formats.tensor import DType, get_dtype_name, get_storage_dtype, widen

_PICKLE = "data.pkl"
#: By the name of the storage class or of the dtype.
_DTYPES = {
    **{"Double": DType.DOUBLE, "Float": DType.FLOAT, "Half": DType.HALF, "Bool": DType.BOOL},
    **{"Long": DType.INT64, "Int": DType.INT32, "Short": DType.INT16, "Char": DType.INT8},
    **{"Byte": DType.UINT8, "BFloat16": DType.BFLOAT16, "ComplexFloat": DType.COMPLEX64},
    "ComplexDouble": DType.COMPLEX128,
    **{f"uint{bits}": DType[f"UINT{bits}"] for bits in (16, 32, 64)},
    **{
        dtype.name.lower(): dtype
        for dtype in DType
        if dtype.name.startswith("FLOAT8") and "B11" not in dtype.name
    },
}
#: Keys of a checkpoint that contain a state_dict; they are left out of names.
_WRAPPERS = {"state_dict", "model_state_dict", "model", "module", "net", "network", "weights", ""}
_MAX_DEPTH = 64
#: Attributes of a pickled module; they are left out of keys.
_MODULE_ATTRIBUTES = {"_parameters", "_buffers", "_modules"}


class TorchFile:
    """A file of ``torch.save``; ``name`` is the key if it contains only a tensor."""

    def __init__(self, file: BinaryIO, name: str) -> None:
        self._archive = open_archive(file)
        self._folder = self._find_folder()
        order = self._read_member("byteorder") if self._has("byteorder") else b"little"
        self._is_big_endian = order.strip() == b"big"
        root = safe_pickle.load_pickle(self._read_member(_PICKLE))
        self._tensors = {".".join(path) or name: tensor for path, tensor in _iter_tensors(root)}

    def list_tensors(self) -> Sequence[TensorInfo]:
        names = _shorten(list(self._tensors))
        return [
            TensorInfo(
                key, names[key], _get_dtype_name(tensor), tensor.shape, _is_optimizer_state(key)
            )
            for key, tensor in self._tensors.items()
        ]

    def read(self, key: str) -> NDArray[Any]:
        tensor = self._tensors.get(key)
        if tensor is None:
            raise UsageError("files.no_tensor", 'no tensor "{key}" in the file', key=key)
        dtype = _find_dtype(tensor)
        if dtype is None:
            raise FormatError(
                "files.tensor_dtype",
                'the tensor "{key}" has the unsupported type {dtype}',
                key=key,
                dtype=_get_dtype_name(tensor),
            )
        try:
            return widen(dtype, self._read_strided(tensor, get_storage_dtype(dtype)))
        except ZIP_ERRORS as error:
            raise FormatError(
                "files.tensor_damaged",
                'the tensor "{key}" is damaged: {error}',
                key=key,
                error=error,
            ) from None

    def _find_folder(self) -> str:
        for member in self._archive.namelist():
            if member == _PICKLE or member.endswith(f"/{_PICKLE}"):
                return member.removesuffix(_PICKLE)
        raise FormatError("files.archive_not_torch", "the archive was not written by torch.save")

    def _has(self, member: str) -> bool:
        return self._folder + member in self._archive.NameToInfo

    def _read_member(self, member: str) -> bytes:
        try:
            info = self._archive.getinfo(self._folder + member)
            check_array_size([info.file_size], 1)
            return self._archive.read(info)
        except (KeyError, *ZIP_ERRORS) as error:
            raise FormatError(
                "files.member_unreadable",
                "{member} in the archive cannot be read: {error}",
                member=member,
                error=error,
            ) from None

    def _read_strided(self, tensor: StoredTensor, stored: np.dtype[Any]) -> NDArray[Any]:
        check_array_size(tensor.shape, stored.itemsize)
        length = _get_extent(tensor)
        stored = stored.newbyteorder(">") if self._is_big_endian else stored
        start, size = tensor.offset * stored.itemsize, length * stored.itemsize
        member = f"{self._folder}data/{tensor.storage.key}"
        if not self._has(f"data/{tensor.storage.key}"):
            raise FormatError("files.data_missing", "its data is not in the archive")
        check_array_size([size], 1)
        with self._archive.open(member) as file:
            file.seek(start)
            data = file.read(size)
        if len(data) < size:
            raise FormatError(
                "files.data_truncated",
                "its data is truncated: {missing} bytes are missing",
                missing=size - len(data),
            )
        strides = [stride * stored.itemsize for stride in tensor.strides]
        view = np.lib.stride_tricks.as_strided(
            np.frombuffer(data, stored), tensor.shape, strides, writeable=False
        )
        return np.ascontiguousarray(view, stored.newbyteorder("<")).reshape(tensor.shape)


def _get_extent(tensor: StoredTensor) -> int:
    """Return the number of storage elements from the first to the last of a tensor."""
    if len(tensor.shape) != len(tensor.strides) or min((*tensor.strides, tensor.offset)) < 0:
        raise FormatError("files.invalid_strides", "its strides are invalid")
    if not math.prod(tensor.shape):
        return 0
    pairs = zip(tensor.shape, tensor.strides, strict=True)
    return 1 + sum((size - 1) * stride for size, stride in pairs)


def _iter_tensors(root: Any) -> Iterator[tuple[tuple[str, ...], StoredTensor]]:
    """Yield the path and the tensor of each tensor, in the order of the file."""
    pending: list[tuple[tuple[str, ...], Any]] = [((), root)]
    seen: set[int] = set()
    while pending:
        path, value = pending.pop()
        if isinstance(value, StoredTensor):
            yield path, value
        elif id(value) not in seen and len(path) < _MAX_DEPTH:
            # An object can contain itself, or another one a billion times.
            seen.add(id(value))
            children = [((*path, *step), item) for step, item in _list_children(value)]
            pending.extend(reversed(children))


def _list_children(value: Any) -> list[tuple[tuple[str, ...], Any]]:
    if isinstance(value, safe_pickle.OpaqueObject):
        return [((), value.state), ((), value.items)]
    if isinstance(value, dict):
        return [
            (() if key in _MODULE_ATTRIBUTES else (f"{key}",), item) for key, item in value.items()
        ]
    if isinstance(value, (list, tuple)) and not isinstance(value, safe_pickle.GlobalName):
        return [((str(index),), item) for index, item in enumerate(value)]
    return []


def _shorten(keys: list[str]) -> dict[str, str]:
    """Return names without the key of the state_dict, unless that makes them ambiguous."""
    short = {}
    for key in keys:
        first, _, rest = key.partition(".")
        short[key] = rest if first in _WRAPPERS and rest and not _is_optimizer_state(key) else key
    counts = Counter(short.values())
    return {key: name if counts[name] == 1 else key for key, name in short.items()}


def _is_optimizer_state(key: str) -> bool:
    return any(part.lower().startswith("optim") for part in key.split(".")[:2])


def _find_dtype(tensor: StoredTensor) -> DType | None:
    storage_class = getattr(tensor.storage.storage_class, "name", "")
    return _DTYPES.get(tensor.dtype or storage_class.removesuffix("Storage"))


def _get_dtype_name(tensor: StoredTensor) -> str:
    dtype = _find_dtype(tensor)
    if dtype is None:
        return tensor.dtype or getattr(tensor.storage.storage_class, "name", "unknown")
    return get_dtype_name(dtype)
