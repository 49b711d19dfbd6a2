"""Gives the reader for a file by what its name says, or its first bytes."""

from __future__ import annotations

import io
import posixpath
from collections.abc import Callable
from typing import BinaryIO

from tracklight.errors import FormatError
from tracklight.formats.checkpoints.hdf5 import Hdf5File, open_keras_archive
from tracklight.formats.checkpoints.numpy_files import NpyFile, NpzFile
from tracklight.formats.checkpoints.safetensors import SafetensorsFile
from tracklight.formats.checkpoints.tables import TsvFile, open_csv, open_parquet
from tracklight.formats.checkpoints.tensor_file import TensorFile
from tracklight.formats.checkpoints.torch_file import TorchFile

_ZIP = b"PK\x03\x04"
_OLD_TORCH = b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19."

Opener = Callable[[BinaryIO, str], TensorFile]


def open_tensor_file(file: BinaryIO, name: str) -> TensorFile:
    """The tensors of an open file; it must stay open for as long as they are read."""
    stem, opener = _find_opener(file, posixpath.basename(name))
    try:
        return opener(file, stem)
    except FormatError as error:
        raise FormatError(f'"{name}" cannot be read: {error}') from None


def open_tensor_bytes(data: bytes, name: str) -> TensorFile:
    """The tensors of a file that somebody brings along."""
    return open_tensor_file(io.BytesIO(data), name)


def _find_opener(file: BinaryIO, name: str) -> tuple[str, Opener]:
    lower = name.lower()
    for suffix, opener in _OPENERS.items():
        if lower.endswith(suffix):
            return name[: -len(suffix)], opener
    known = ", ".join(suffix for suffix in _OPENERS if suffix != ".weights.h5")
    raise FormatError(f'"{name}" is of no known kind; give one that ends with {known}')


def _open_torch(file: BinaryIO, name: str) -> TensorFile:
    file.seek(0)
    head = file.read(len(_OLD_TORCH))
    if head == _OLD_TORCH:
        raise FormatError(
            "torch before 1.6 wrote it; load it in a newer one and save its state_dict again"
        )
    if not head.startswith(_ZIP):
        raise FormatError("torch.save did not write it, or is still writing it")
    return TorchFile(file, name)


_OPENERS: dict[str, Opener] = {
    ".npy": NpyFile,
    ".npz": lambda file, name: NpzFile(file),
    ".safetensors": lambda file, name: SafetensorsFile(file),
    **dict.fromkeys((".pt", ".pth", ".ckpt", ".bin"), _open_torch),
    **dict.fromkeys((".weights.h5", ".h5", ".hdf5"), lambda file, name: Hdf5File(file)),
    ".keras": lambda file, name: open_keras_archive(file),
    ".tsv": TsvFile,
    ".csv": open_csv,
    ".parquet": open_parquet,
}
