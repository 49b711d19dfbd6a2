"""The interface of all readers of tensor files, and the readers for NumPy, safetensors and HDF5.

``.npy`` files have one array, and ``.npz`` archives several. A safetensors file has the length of
its header in eight bytes, a JSON header, and the tensors
(https://huggingface.co/docs/safetensors/index#format). HDF5 files are read as Keras writes them:
``.h5``, ``.weights.h5``, and ``.keras`` archives of one.
"""

from __future__ import annotations

import importlib
import io
import math
import posixpath
import re
import tokenize
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO, NamedTuple, Protocol, TypeVar, cast

import msgspec
import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from tracklight.errors import FormatError, MissingDependencyError, UsageError
from tracklight.formats.tensor import DType, get_storage_dtype, widen

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


# ---- NumPy

T = TypeVar("T")

#: What zipfile and its decompressors raise for damaged archives.
ZIP_ERRORS = (zipfile.BadZipFile, EOFError, ValueError, RuntimeError, OSError, OverflowError)

#: What numpy raises for damaged headers, which it evaluates as Python literals.
_HEADER_ERRORS = (
    *(ValueError, TypeError, SyntaxError, tokenize.TokenError),
    *(RecursionError, MemoryError, OverflowError),
)


class _Header(NamedTuple):
    shape: tuple[int, ...]
    is_fortran: bool
    dtype: np.dtype[Any]


class NpyFile:
    """A ``.npy`` file; the key of its array is the name of the file."""

    def __init__(self, file: BinaryIO, name: str) -> None:
        self._file = file
        self._name = name
        file.seek(0)
        self._header = _read_header(file)
        self._start = file.tell()

    def list_tensors(self) -> Sequence[TensorInfo]:
        shape, _, dtype = self._header
        return [TensorInfo(self._name, self._name, dtype.name, shape)]

    def read(self, key: str) -> NDArray[Any]:
        if key != self._name:
            raise UsageError("files.no_array", 'no array "{key}" in the file', key=key)
        size = check_array_size(self._header.shape, self._header.dtype.itemsize)
        if get_file_size(self._file) - self._start < size:
            raise FormatError(
                "files.array_incomplete",
                'the array "{key}" ends beyond the file, which may be incomplete',
                key=key,
            )
        return _read_data(self._file, self._start, self._header)


class NpzFile:
    """A ``.npz`` file: a zip archive of ``.npy`` files."""

    def __init__(self, file: BinaryIO) -> None:
        self._archive = open_archive(file)
        names = [name for name in self._archive.namelist() if name.endswith(".npy")]
        self._names = {name.removesuffix(".npy"): name for name in names}

    def list_tensors(self) -> Sequence[TensorInfo]:
        tensors = []
        for key in self._names:
            shape, _, dtype = self._read_member(key, _read_header)
            tensors.append(TensorInfo(key, key, dtype.name, shape))
        return tensors

    def read(self, key: str) -> NDArray[Any]:
        if key not in self._names:
            raise UsageError("files.archive_no_array", 'no array "{key}" in the archive', key=key)
        return self._read_member(key, _read_npy)

    def _read_member(self, key: str, read: Callable[[BinaryIO], T]) -> T:
        try:
            with self._archive.open(self._names[key]) as member:
                return read(cast(BinaryIO, member))
        except ZIP_ERRORS as error:
            raise FormatError(
                "files.array_damaged", 'the array "{key}" is damaged: {error}', key=key, error=error
            ) from None


def open_archive(file: BinaryIO) -> zipfile.ZipFile:
    """Open a zip archive; raises FormatError if it is damaged."""
    try:
        return zipfile.ZipFile(file)
    except ZIP_ERRORS as error:
        raise FormatError(
            "files.archive_damaged", "the archive is damaged or incomplete: {error}", error=error
        ) from None


def _read_npy(member: BinaryIO) -> NDArray[Any]:
    header = _read_header(member)
    check_array_size(header.shape, header.dtype.itemsize)
    return _read_data(member, member.tell(), header)


def _read_header(file: BinaryIO) -> _Header:
    try:
        version = npy.read_magic(file)
        read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about files that Python 2 wrote
            header = _Header(*read(file))
    except _HEADER_ERRORS as error:
        raise FormatError(
            "files.array_header", "the header of the array is invalid: {error}", error=error
        ) from None
    if header.dtype.kind not in "biufc":
        # Arrays of objects are pickled, and a pickle can run any code.
        raise FormatError(
            "files.array_dtype",
            "arrays of {dtype} are not supported; only numbers are",
            dtype=header.dtype,
        )
    return header


def _read_data(file: BinaryIO, start: int, header: _Header) -> NDArray[Any]:
    shape, is_fortran, dtype = header
    array = read_array(file, start, dtype, shape[::-1] if is_fortran else shape)
    array = array.T if is_fortran else array
    return array.astype(dtype.newbyteorder("="), copy=False)


# ---- safetensors

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


# ---- HDF5

#: The weights in a ``.keras`` archive.
_KERAS_MEMBER = "model.weights.h5"
#: Groups in the paths of Keras 3 that are not layers.
_CONTAINER_GROUPS = {"layers", "_layer_checkpoint_dependencies"}
_OPTIMIZER_STATE = re.compile(r"(^|/)(optimizer|optimizer_weights|_optimizer)(/|$)")


class Hdf5File:
    """The numeric datasets of an HDF5 file.

    Links to other files are not followed, and datasets that are stored in other files are not
    read: they could be outside of the log directory.
    """

    def __init__(self, file: BinaryIO) -> None:
        h5py = _import_h5py()
        try:
            self._file = h5py.File(file, "r")
            self._datasets: dict[str, Any] = {}
            self._layers: dict[str, str] = {}
            self._file.visititems(self._add)
        except (OSError, RuntimeError, ValueError, KeyError) as error:
            raise FormatError(
                "files.hdf5_damaged", "the HDF5 file is damaged or incomplete: {error}", error=error
            ) from None

    def list_tensors(self) -> Sequence[TensorInfo]:
        names = _make_names(list(self._datasets), self._layers)
        return [
            TensorInfo(
                key, names[key], data.dtype.name, tuple(data.shape), _is_optimizer_state(key)
            )
            for key, data in self._datasets.items()
        ]

    def read(self, key: str) -> NDArray[Any]:
        data = self._datasets.get(key)
        if data is None:
            raise UsageError(
                "files.hdf5_no_dataset", 'no dataset "{key}" in the HDF5 file', key=key
            )
        if data.external or data.is_virtual:
            raise FormatError(
                "files.hdf5_external", 'the dataset "{key}" is stored in other files', key=key
            )
        check_array_size(data.shape, data.dtype.itemsize)
        try:
            array: NDArray[Any] = np.asarray(data[()])
        except (OSError, RuntimeError, ValueError) as error:
            raise FormatError(
                "files.hdf5_dataset_damaged",
                'the dataset "{key}" is damaged: {error}',
                key=key,
                error=error,
            ) from None
        return array.astype(array.dtype.newbyteorder("="), copy=False)

    def _add(self, key: str, item: Any) -> None:
        # A file can also have types by themselves, which have no shape.
        is_dataset = hasattr(item, "shape")
        if is_dataset and getattr(item.dtype, "kind", "") in ("b", "i", "u", "f", "c"):
            self._datasets[key] = item
        elif posixpath.basename(key) == "vars" and isinstance(item.attrs.get("name"), str):
            self._layers[key] = item.attrs["name"]


def read_root_attribute(file: BinaryIO, name: str) -> bytes | None:
    """Return a text attribute of an HDF5 file, such as the description of a Keras model.

    Raises:
        FormatError: The file is damaged.
        MissingDependencyError: h5py is not installed.
    """
    h5py = _import_h5py()
    try:
        with h5py.File(file, "r") as content:
            value = content.attrs.get(name)
    except (OSError, RuntimeError, ValueError, KeyError, TypeError) as error:
        raise FormatError(
            "files.hdf5_damaged", "the HDF5 file is damaged or incomplete: {error}", error=error
        ) from None
    if isinstance(value, str):
        return value.encode("utf-8", "surrogatepass")
    return bytes(value) if isinstance(value, (bytes, np.bytes_)) else None


def open_keras_archive(file: BinaryIO) -> Hdf5File:
    """Open the weights in a ``.keras`` file."""
    archive = open_archive(file)
    try:
        info = archive.getinfo(_KERAS_MEMBER)
        check_array_size([info.file_size], 1)
        return Hdf5File(io.BytesIO(archive.read(info)))
    except (KeyError, *ZIP_ERRORS) as error:
        raise FormatError(
            "files.keras_no_weights",
            "the Keras file contains no readable weights: {error}",
            error=error,
        ) from None


def _import_h5py() -> Any:
    try:
        return importlib.import_module("h5py")
    except ImportError:
        raise MissingDependencyError("reading an HDF5 file", "projector") from None


def _is_optimizer_state(key: str) -> bool:
    return _OPTIMIZER_STATE.search(key) is not None


def _make_names(keys: list[str], layers: dict[str, str]) -> dict[str, str]:
    """Return the names of variables as Keras prints them, or the keys where those are ambiguous."""
    counts_by_folder = Counter(map(posixpath.dirname, keys))
    names = {}
    for key in keys:
        folder, index = posixpath.split(key)
        if _is_optimizer_state(key):
            names[key] = key
        elif posixpath.basename(folder) == "vars":
            name = _make_keras3_name(folder, layers.get(folder))
            names[key] = name if counts_by_folder[folder] == 1 else f"{name}/{index}"
        else:
            names[key] = _make_keras2_name(key)
    counts = Counter(names.values())
    return {key: name if counts[name] == 1 else key for key, name in names.items()}


def _make_keras3_name(folder: str, name: str | None) -> str:
    """Name a variable of Keras 3, whose paths look like ``layers/embedding_1/vars/0``."""
    layers = [part for part in folder.split("/")[:-1] if part not in _CONTAINER_GROUPS]
    if name:
        layers[-1:] = [name]
    return "/".join(layers)


def _make_keras2_name(key: str) -> str:
    """Name a variable of Keras 2, which repeats the layer: ``words/model/words/embeddings:0``."""
    key = key.removeprefix("model_weights/").removesuffix(":0")
    return re.sub(r"^([^/]+)/(?=(?:.*/)?\1/)", "", key)
