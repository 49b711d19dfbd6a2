"""Files that contain tensors: checkpoints, arrays and tables of vectors.

Every format is read without the framework that wrote it, and without running code from the file.
The readers implement the `tensor_file.TensorFile` protocol. `open_tensor_file` chooses a reader by
the name of the file; `tf_checkpoint` is separate, because TensorFlow checkpoints consist of several
files.

Used by `tracklight.analysis.embeddings`. May import what `tracklight.formats` may import.
"""

from __future__ import annotations

import io
import posixpath
from collections.abc import Callable
from typing import BinaryIO

from tracklight.errors import FormatError
from tracklight.formats.checkpoints.tables import TsvFile, open_csv, open_parquet
from tracklight.formats.checkpoints.tensor_file import (
    Hdf5File,
    NpyFile,
    NpzFile,
    SafetensorsFile,
    TensorFile,
    open_keras_archive,
)
from tracklight.formats.checkpoints.torch_file import TorchFile

_ZIP_MAGIC = b"PK\x03\x04"
_LEGACY_TORCH_MAGIC = b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19."

#: Opens a file; the second argument is its name without the suffix.
Opener = Callable[[BinaryIO, str], TensorFile]


def open_tensor_file(file: BinaryIO, name: str) -> TensorFile:
    """Open a tensor file. It must stay open while tensors are read.

    Args:
        file: The open file.
        name: Its name or path, whose suffix determines the format.

    Raises:
        FormatError: The suffix is unknown, or the file cannot be read.
    """
    stem, opener = _get_opener(posixpath.basename(name))
    try:
        return opener(file, stem)
    except FormatError as error:
        raise FormatError(
            "files.unreadable", '"{name}" cannot be read: {error}', name=name, error=error
        ) from None


def open_tensor_bytes(data: bytes, name: str) -> TensorFile:
    """Open a tensor file from its content, such as an uploaded file."""
    return open_tensor_file(io.BytesIO(data), name)


def _get_opener(name: str) -> tuple[str, Opener]:
    """Return the name without its suffix, and the opener for the suffix."""
    lower = name.lower()
    for suffix, opener in _OPENERS.items():
        if lower.endswith(suffix):
            return name[: -len(suffix)], opener
    known = ", ".join(suffix for suffix in _OPENERS if suffix != ".weights.h5")
    raise FormatError(
        "files.unknown_type",
        '"{name}" has an unknown file type; supported are {known}',
        name=name,
        known=known,
    )


def _open_torch(file: BinaryIO, name: str) -> TensorFile:
    file.seek(0)
    head = file.read(len(_LEGACY_TORCH_MAGIC))
    if head == _LEGACY_TORCH_MAGIC:
        raise FormatError(
            "files.old_torch",
            "it was saved by PyTorch before 1.6; load it in a newer version "
            "and save its state_dict again",
        )
    if not head.startswith(_ZIP_MAGIC):
        raise FormatError("files.not_torch", "it was not written by torch.save, or is incomplete")
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
