"""Files of numpy: ``.npy`` with one array, and ``.npz`` archives with several."""

from __future__ import annotations

import tokenize
import warnings
import zipfile
from collections.abc import Callable, Sequence
from typing import Any, BinaryIO, NamedTuple, TypeVar, cast

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from tracklight.errors import FormatError, UsageError
from tracklight.formats.checkpoints.tensor_file import (
    TensorInfo,
    check_array_size,
    get_file_size,
    read_array,
)

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
