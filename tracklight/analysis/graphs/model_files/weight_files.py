"""Parse model files that have weights, and compute statistics of the weights of a node.

A Keras file (``model.save("model.keras")``, or ``"model.h5"``) has the description of the model, so
its graph is shown, and the weights belong to its layers. A safetensors file has only tensors: its
graph has a node for each module that owns some, without edges. In an archive with a
``config.json``, as Hugging Face writes it beside them, there is a node with these settings.
"""

from __future__ import annotations

import io
import json
import math
import struct
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracklight.analysis.graphs import (
    Graph,
    NodeDetails,
    TensorSpec,
    WeightReader,
    format_output,
)
from tracklight.analysis.graphs.keras import parse_keras
from tracklight.analysis.graphs.model_files import ModelArchive, TensorGraphBuilder
from tracklight.errors import FormatError, MissingDependencyError, UsageError
from tracklight.formats.checkpoints import open_tensor_bytes
from tracklight.formats.checkpoints.tensor_file import read_root_attribute
from tracklight.types import Float64

HDF5_MAGIC = b"\x89HDF\r\n\x1a\n"

#: Its suffix determines the reader.
_FILE_NAME = "model.safetensors"
#: The description of the model in a ``.keras`` file.
KERAS_CONFIG = "config.json"
_MAX_KERAS_CONFIG_BYTES = 64 << 20
#: The settings of a model of Hugging Face.
_CONFIG = "config.json"
#: Keys of JSON files of ``transformers``, ``diffusers`` and ``peft`` with settings.
_SETTINGS_NAMES = ("model_type", "_class_name", "peft_type", "transformers_version")
_SETTINGS_KEYS = frozenset({"architectures", "_diffusers_version", *_SETTINGS_NAMES})
#: The op of a node that represents a module.
_MODULE = "Module"
_TYPES = {
    **{f"f{bits}": f"float{bits}" for bits in (16, 32, 64)},
    **{f"i{bits}": f"int{bits}" for bits in (8, 16, 32, 64)},
    **{f"u{bits}": f"uint{bits}" for bits in (8, 16, 32, 64)},
    "bf16": "bfloat16",
    "c64": "complex64",
}
_BUFFERS = ("running_mean", "running_var", "num_batches_tracked", "inv_freq")


def parse_keras_hdf5(data: bytes) -> Graph:
    """Parse a legacy Keras model.

    Raises:
        FormatError: The file is damaged, or has only weights.
        MissingDependencyError: h5py is not installed.
    """
    config = read_root_attribute(io.BytesIO(data), "model_config")
    if config is None:
        raise FormatError(
            "graphs.hdf5_weights_only",
            "it is an HDF5 file without a Keras model; save the whole model, or upload the output "
            "of model.to_json()",
        )
    return _add_keras_weights(parse_keras(config), data, "model.h5")


def parse_keras_archive(archive: ModelArchive, data: bytes) -> Graph:
    """Parse a ``.keras`` file. Without h5py, it is shown without weights.

    Raises:
        FormatError: The description of the model is damaged.
    """
    graph = parse_keras(archive.read(KERAS_CONFIG, _MAX_KERAS_CONFIG_BYTES))
    return _add_keras_weights(graph, data, "model.keras")


def _add_keras_weights(graph: Graph, data: bytes, file_name: str) -> Graph:
    """Assign the weights of a file to the layers, whose names are part of those of the weights."""
    try:
        infos = open_tensor_bytes(data, file_name).list_tensors()
    except (FormatError, MissingDependencyError):
        return graph
    nodes = {name: index for index, name in enumerate(graph.names)}
    # Files name a layer of a nested model without the model; equal names would be ambiguous.
    short_names = [name.rpartition("/")[2] for name in graph.names]
    for index, name in enumerate(short_names):
        if short_names.count(name) == 1:
            nodes.setdefault(name, index)
    keys: dict[int, dict[str, str]] = {}
    sizes: dict[int, int] = {}
    for info in infos:
        found = _find_layer(info.name.removesuffix(":0"), nodes)
        if found is None or info.is_optimizer_state:
            continue
        node, weight = found
        keys.setdefault(node, {})[weight or info.key.rpartition("/")[2]] = info.key
        sizes[node] = sizes.get(node, 0) + math.prod(info.shape)

    def describe(index: int) -> NodeDetails:
        details = graph.describe(index)
        # The description lacks the shapes of inputs, on which the number depends, in HDF5 files.
        return replace(details, parameters=details.parameters or sizes.get(index, 0))

    readers = {node: _make_reader(data, names, file_name) for node, names in keys.items()}
    return replace(graph, describe=describe, weights={**graph.weights, **readers})


def _find_layer(name: str, nodes: Mapping[str, int]) -> tuple[int, str] | None:
    """Return the layer of a weight and the rest of its name: ``dense`` of ``model/dense/kernel``.

    The only weight of a layer may have the name of the layer itself.
    """
    if name in nodes:
        return nodes[name], ""
    parts = name.split("/")
    for end in range(len(parts) - 1, 0, -1):
        for start in range(end):
            layer = "/".join(parts[start:end])
            if layer in nodes:
                return nodes[layer], "/".join(parts[end:])
    return None


def is_safetensors(data: bytes) -> bool:
    """Return whether a file starts like one: the length of a header that is a JSON object."""
    size = int.from_bytes(data[:8], "little")
    return data[8:9] == b"{" and 2 <= size <= len(data) - 8


def parse_safetensors(data: bytes) -> Graph:
    """Parse a file with tensors; names are split into modules at dots.

    Raises:
        FormatError: The file is damaged.
    """
    builder = TensorGraphBuilder()
    _add_modules(builder, data)
    return builder.build()


def parse_safetensors_archive(archive: ModelArchive) -> Graph:
    """Parse all safetensors files in an archive, and the ``config.json`` beside them.

    Raises:
        FormatError: A file is damaged.
    """
    builder = TensorGraphBuilder()
    config = archive.find(_CONFIG)
    if config is not None:
        settings = archive.read_json(config)
        architectures = settings.get("architectures")
        first = architectures[0] if isinstance(architectures, list) and architectures else None
        name = first or settings.get("model_type") or _CONFIG
        attributes = {key: json.dumps(value) for key, value in settings.items()}
        builder.add(_CONFIG, str(name), attributes=attributes)
    for name in list_safetensors(archive):
        _add_modules(builder, archive.read(name))
    return builder.build()


def check_has_layers(content: Any) -> None:
    """Refuse JSON files of Hugging Face, which are beside the files with the weights.

    Raises:
        FormatError: ``content`` has only settings, or only the names of files with weights.
    """
    if not isinstance(content, dict):
        return
    if isinstance(content.get("weight_map"), dict):
        raise FormatError(
            "graphs.weights_index",
            "it lists which file has which weights; open one of the safetensors files, or a .zip "
            "archive of them",
        )
    if not content.keys() & _SETTINGS_KEYS:
        return
    names = content.get("architectures")
    candidates = [*(names if isinstance(names, list) else ()), *map(content.get, _SETTINGS_NAMES)]
    raise FormatError(
        "graphs.settings_only",
        "it has the settings of a Hugging Face model ({name}), but neither its weights nor a "
        "graph; open the safetensors file beside it, or a .zip archive of both",
        name=next((name for name in candidates if name and isinstance(name, str)), "?"),
    )


def list_safetensors(archive: ModelArchive) -> list[str]:
    """Return the safetensors files of an archive; a large model has several."""
    return sorted(name for name in archive.names if name.endswith(".safetensors"))


def _add_modules(builder: TensorGraphBuilder, data: bytes) -> None:
    tensors = open_tensor_bytes(data, _FILE_NAME)
    modules: dict[str, dict[str, TensorSpec]] = {}
    keys: dict[str, dict[str, str]] = {}
    for info in tensors.list_tensors():
        module, _, name = info.key.rpartition(".")
        modules.setdefault(module, {})[name] = TensorSpec(
            _TYPES.get(info.dtype, info.dtype), tuple(info.shape)
        )
        keys.setdefault(module, {})[name] = info.key
    for module, specs in modules.items():
        builder.add(
            module.replace(".", "/") or "tensors",
            _MODULE,
            attributes={name: format_output(spec) for name, spec in specs.items()},
            parameters=sum(
                spec.count_elements() or 0 for name, spec in specs.items() if name not in _BUFFERS
            ),
            weights=_make_reader(data, keys[module]),
        )


def _make_reader(data: bytes, keys: dict[str, str], file_name: str = _FILE_NAME) -> WeightReader:
    def read() -> dict[str, NDArray[Any]]:
        # Opened again, as several threads may read.
        tensors = open_tensor_bytes(data, file_name)
        return {name: tensors.read(key) for name, key in keys.items()}

    return read


# ---- weights

_BINS = 40
#: Larger tensors are abbreviated.
_MAX_LISTED_VALUES = 256
_LINE_CHARACTERS = 46
#: A node of a damaged file may have any number of them.
_MAX_TENSORS = 100


@dataclass(frozen=True, eq=False)
class WeightStatistics:
    """A tensor of weights. Statistics are of finite values, NaN if there are none, as in texts."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    min: float
    max: float
    mean: float
    std: float
    zeros: int
    nonfinite: int
    edges: Float64
    """The edges of the bins, one more than ``counts``; empty without finite values."""
    counts: Float64


def read_weights(graph: Graph, node: int) -> Mapping[str, NDArray[Any]]:
    """Return the weights of a node by name, numbers or texts; nothing if it has none.

    Raises:
        FormatError: The weights are damaged.
    """
    reader = graph.weights.get(node)
    try:
        arrays = {} if reader is None else reader()
    except (ValueError, TypeError, IndexError, struct.error) as error:
        raise FormatError(
            "graphs.damaged_weights", "the weights of this node are damaged: {error}", error=error
        ) from None
    return {
        name: array if array.dtype.kind in "biufc" else _decode_texts(array)
        for name, array in [*arrays.items()][:_MAX_TENSORS]
        if array.dtype.kind in "biufcOSU"
    }


def _decode_texts(array: NDArray[Any]) -> NDArray[Any]:
    """Return an array of texts; other objects, which only damaged files have, as their text."""
    texts = [
        item.decode("utf-8", "replace") if isinstance(item, bytes) else str(item)
        for item in array.reshape(-1).tolist()
    ]
    return np.array(texts, np.str_).reshape(array.shape)


def summarize_weights(name: str, array: NDArray[Any]) -> WeightStatistics:
    """Return the statistics of a tensor. Those of complex numbers are of their magnitudes."""
    is_text = array.dtype.kind == "U"
    values = np.abs(array) if array.dtype.kind == "c" else array
    values = np.zeros(0) if is_text else values.reshape(-1).astype(np.float64)
    finite = values[np.isfinite(values)]
    has_values = len(finite) > 0
    counts, edges = np.zeros(0), np.zeros(0)
    if has_values:
        low, high = float(finite.min()), float(finite.max())
        if np.isfinite(high - low):
            counts, edges = _count_bins(finite, low, high)
    with np.errstate(over="ignore", invalid="ignore"):
        return WeightStatistics(
            name=name,
            dtype="string" if is_text else array.dtype.name,
            shape=array.shape,
            min=float(finite.min()) if has_values else np.nan,
            max=float(finite.max()) if has_values else np.nan,
            mean=float(finite.mean()) if has_values else np.nan,
            std=float(finite.std()) if has_values else np.nan,
            zeros=int(np.count_nonzero(finite == 0)),
            nonfinite=len(values) - len(finite),
            edges=edges,
            counts=counts,
        )


def _count_bins(finite: Float64, low: float, high: float) -> tuple[Float64, Float64]:
    try:
        counts, edges = np.histogram(finite, _BINS, (low, high))
    except ValueError:  # the range is too small for so many bins
        return np.array([float(len(finite))]), np.array([low, high])
    return counts.astype(np.float64), edges


def format_values(array: NDArray[Any]) -> str:
    """Return the values as text: all of a small tensor, the first and last of a larger one."""
    return np.array2string(
        array,
        max_line_width=_LINE_CHARACTERS,
        precision=5,
        separator=", ",
        threshold=_MAX_LISTED_VALUES,
        edgeitems=3,
    )


def encode_npy(arrays: Mapping[str, NDArray[Any]], name: str) -> bytes:
    """Return one of the tensors of a node as an ``.npy`` file.

    Raises:
        UsageError: The node has no weights of this name.
    """
    if name not in arrays:
        raise UsageError("graphs.no_weights", 'the node has no weights "{name}"', name=name)
    buffer = io.BytesIO()
    np.save(buffer, np.ascontiguousarray(arrays[name]), allow_pickle=False)
    return buffer.getvalue()
