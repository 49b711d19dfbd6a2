"""HDF5 files, such as Keras writes: ``.h5``, ``.weights.h5``, and ``.keras`` with one inside."""

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
from tracklight.formats.checkpoints.numpy_files import ZIP_ERRORS, open_archive
from tracklight.formats.checkpoints.tensor_file import TensorInfo, check_array_size

#: Where Keras keeps the weights in an archive of a whole model.
_KERAS_MEMBER = "model.weights.h5"
_HOLDERS = {"layers", "_layer_checkpoint_dependencies"}
_STATE = re.compile(r"(^|/)(optimizer|optimizer_weights|_optimizer)(/|$)")


class Hdf5File:
    """The datasets of an HDF5 file that hold numbers.

    Links to other files are not followed, and datasets that keep their numbers in other files
    are not read: they could lead out of the log directory.
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
                f"an HDF5 file that is damaged, or still being written: {error}"
            ) from None

    def list_tensors(self) -> Sequence[TensorInfo]:
        names = _name_all(list(self._datasets), self._layers)
        return [
            TensorInfo(key, names[key], data.dtype.name, tuple(data.shape), _is_state(key))
            for key, data in self._datasets.items()
        ]

    def read(self, key: str) -> NDArray[Any]:
        data = self._datasets.get(key)
        if data is None:
            raise UsageError(f'the HDF5 file has no dataset "{key}"')
        if data.external or data.is_virtual:
            raise FormatError(f'the dataset "{key}" keeps its numbers in other files')
        check_array_size(data.shape, data.dtype.itemsize)
        try:
            array: NDArray[Any] = np.asarray(data[()])
        except (OSError, RuntimeError, ValueError) as error:
            raise FormatError(f'the dataset "{key}" is damaged: {error}') from None
        return array.astype(array.dtype.newbyteorder("="), copy=False)

    def _add(self, key: str, item: Any) -> None:
        if getattr(getattr(item, "dtype", None), "kind", "") in ("b", "i", "u", "f", "c"):
            self._datasets[key] = item
        elif posixpath.basename(key) == "vars" and isinstance(item.attrs.get("name"), str):
            self._layers[key] = item.attrs["name"]


def open_keras_archive(file: BinaryIO) -> Hdf5File:
    """The weights in a ``.keras`` file."""
    archive = open_archive(file)
    try:
        info = archive.getinfo(_KERAS_MEMBER)
        check_array_size([info.file_size], 1)
        return Hdf5File(io.BytesIO(archive.read(info)))
    except (KeyError, *ZIP_ERRORS) as error:
        raise FormatError(f"a Keras file without weights that can be read: {error}") from None


def _import_h5py() -> Any:
    try:
        return importlib.import_module("h5py")
    except ImportError:
        raise MissingDependencyError("reading an HDF5 file", "projector") from None


def _is_state(key: str) -> bool:
    return _STATE.search(key) is not None


def _name_all(keys: list[str], layers: dict[str, str]) -> dict[str, str]:
    """Names of variables as Keras prints them, wherever they tell all of them apart."""
    sizes = Counter(map(posixpath.dirname, keys))
    names = {}
    for key in keys:
        folder, place = posixpath.split(key)
        if _is_state(key):
            names[key] = key
        elif posixpath.basename(folder) == "vars":
            name = _name_layer(folder, layers.get(folder))
            names[key] = name if sizes[folder] == 1 else f"{name}/{place}"
        else:
            names[key] = _name_old(key)
    counts = Counter(names.values())
    return {key: name if counts[name] == 1 else key for key, name in names.items()}


def _name_layer(folder: str, name: str | None) -> str:
    """Keras 3 numbers layers of a kind and the variables of each: layers/embedding_1/vars/0."""
    *outer, layer = [part for part in folder.split("/")[:-1] if part not in _HOLDERS] or [""]
    return "/".join([*outer, name or layer])


def _name_old(key: str) -> str:
    """Keras 2 says the name of a layer twice: words/sequential/words/embeddings:0."""
    key = key.removeprefix("model_weights/").removesuffix(":0")
    return re.sub(r"^([^/]+)/(?=(?:.*/)?\1/)", "", key)
