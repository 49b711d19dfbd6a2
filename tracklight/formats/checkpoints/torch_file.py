"""Files of ``torch.save``: an archive of one pickle and of the memory of every storage.

A state_dict, a training checkpoint around one, a lone tensor and a whole model are all
looked through for tensors; nothing in the file is run.
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
from tracklight.formats.checkpoints.numpy_files import ZIP_ERRORS, open_archive
from tracklight.formats.checkpoints.safe_pickle import StoredTensor
from tracklight.formats.checkpoints.tensor_file import TensorInfo, check_array_size
from tracklight.formats.tensor import DType, get_dtype_name, get_storage_dtype, widen

_PICKLE = "data.pkl"
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
#: What stands around a state_dict and is no part of the names in it.
_WRAPPERS = {"state_dict", "model_state_dict", "model", "module", "net", "network", "weights", ""}
_DEEPEST = 64
_INSIDE_MODULES = {"_parameters", "_buffers", "_modules"}


class TorchFile:
    """The tensors of a file of ``torch.save``; ``name`` is for one that is nothing else."""

    def __init__(self, file: BinaryIO, name: str) -> None:
        self._archive = open_archive(file)
        self._folder = self._find_folder()
        order = self._read_member("byteorder") if self._has("byteorder") else b"little"
        self._is_big = order.strip() == b"big"
        objects = safe_pickle.load_pickle(self._read_member(_PICKLE))
        self._tensors = {".".join(path) or name: t for path, t in _iter_tensors(objects)}

    def list_tensors(self) -> Sequence[TensorInfo]:
        names = _shorten(list(self._tensors))
        return [
            TensorInfo(key, names[key], _name_dtype(tensor), tensor.shape, _is_state(key))
            for key, tensor in self._tensors.items()
        ]

    def read(self, key: str) -> NDArray[Any]:
        tensor = self._tensors.get(key)
        if tensor is None:
            raise UsageError(f'the file has no tensor "{key}"')
        dtype = _find_dtype(tensor)
        if dtype is None:
            raise FormatError(f'the tensor "{key}" is of the type {_name_dtype(tensor)}')
        try:
            return widen(dtype, self._read_strided(tensor, get_storage_dtype(dtype)))
        except ZIP_ERRORS as error:
            raise FormatError(f'the tensor "{key}" is damaged: {error}') from None

    def _find_folder(self) -> str:
        for member in self._archive.namelist():
            if member == _PICKLE or member.endswith(f"/{_PICKLE}"):
                return member.removesuffix(_PICKLE)
        raise FormatError("an archive that torch.save did not write")

    def _has(self, member: str) -> bool:
        return self._folder + member in self._archive.NameToInfo

    def _read_member(self, member: str) -> bytes:
        try:
            info = self._archive.getinfo(self._folder + member)
            check_array_size([info.file_size], 1)
            return self._archive.read(info)
        except (KeyError, *ZIP_ERRORS) as error:
            raise FormatError(f"{member} of the archive cannot be read: {error}") from None

    def _read_strided(self, tensor: StoredTensor, stored: np.dtype[Any]) -> NDArray[Any]:
        check_array_size(tensor.shape, stored.itemsize)
        length = _find_length(tensor)
        stored = stored.newbyteorder(">") if self._is_big else stored
        start, size = tensor.offset * stored.itemsize, length * stored.itemsize
        member = f"{self._folder}data/{tensor.storage.key}"
        if not self._has(f"data/{tensor.storage.key}"):
            raise FormatError("its numbers are not in the archive")
        check_array_size([size], 1)
        with self._archive.open(member) as file:
            file.seek(start)
            data = file.read(size)
        if len(data) < size:
            raise FormatError(f"its numbers end {size - len(data)} bytes early")
        strides = [stride * stored.itemsize for stride in tensor.strides]
        view = np.lib.stride_tricks.as_strided(
            np.frombuffer(data, stored), tensor.shape, strides, writeable=False
        )
        return np.ascontiguousarray(view, stored.newbyteorder("<")).reshape(tensor.shape)


def _find_length(tensor: StoredTensor) -> int:
    """How many numbers of the storage a tensor reaches over."""
    if len(tensor.shape) != len(tensor.strides) or min((*tensor.strides, tensor.offset)) < 0:
        raise FormatError("its strides make no sense")
    if not math.prod(tensor.shape):
        return 0
    pairs = zip(tensor.shape, tensor.strides, strict=True)
    return 1 + sum((size - 1) * stride for size, stride in pairs)


def _iter_tensors(objects: Any) -> Iterator[tuple[tuple[str, ...], StoredTensor]]:
    """Every tensor and the way that leads to it, in the order of the file."""
    left: list[tuple[tuple[str, ...], Any]] = [((), objects)]
    seen: set[int] = set()
    while left:
        path, value = left.pop()
        if isinstance(value, StoredTensor):
            yield path, value
        elif id(value) not in seen and len(path) < _DEEPEST:
            # A pickle can hold itself, or one thing a billion times.
            seen.add(id(value))
            inner = [((*path, *step), item) for step, item in _list_inner(value)]
            left.extend(reversed(inner))


def _list_inner(value: Any) -> list[tuple[tuple[str, ...], Any]]:
    if isinstance(value, safe_pickle.OpaqueObject):
        return [((), value.state), ((), value.items)]
    if isinstance(value, dict):
        return [
            (() if key in _INSIDE_MODULES else (f"{key}",), item) for key, item in value.items()
        ]
    if isinstance(value, (list, tuple)) and not isinstance(value, safe_pickle.GlobalName):
        return [((str(place),), item) for place, item in enumerate(value)]
    return []


def _shorten(keys: list[str]) -> dict[str, str]:
    """Names without what stands around the state_dict, where that leaves them apart."""
    short = {}
    for key in keys:
        first, _, rest = key.partition(".")
        short[key] = rest if first in _WRAPPERS and rest and not _is_state(key) else key
    counts = Counter(short.values())
    return {key: name if counts[name] == 1 else key for key, name in short.items()}


def _is_state(key: str) -> bool:
    return any(part.lower().startswith("optim") for part in key.split(".")[:2])


def _find_dtype(tensor: StoredTensor) -> DType | None:
    kind = getattr(tensor.storage.kind, "name", "")
    return _DTYPES.get(tensor.dtype or kind.removesuffix("Storage"))


def _name_dtype(tensor: StoredTensor) -> str:
    dtype = _find_dtype(tensor)
    if dtype is None:
        return tensor.dtype or getattr(tensor.storage.kind, "name", "unknown")
    return get_dtype_name(dtype)
