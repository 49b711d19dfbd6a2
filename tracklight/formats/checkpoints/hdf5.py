"""HDF5 files as Keras writes them: ``.h5``, ``.weights.h5``, and ``.keras`` archives of one."""

from __future__ import annotations

import importlib
import io
import posixpath
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from tracklight.errors import FormatError, MissingDependencyError, UsageError
from tracklight.formats.checkpoints.tensor_file import (
    ZIP_ERRORS,
    TensorInfo,
    check_array_size,
    open_archive,
)

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
        if getattr(getattr(item, "dtype", None), "kind", "") in ("b", "i", "u", "f", "c"):
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
