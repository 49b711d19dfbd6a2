"""The arguments of the callback, and what it logs of a model: weights, embeddings and layers.

Weights are logged as histograms and images, embeddings for the projector. The layers are described
as JSON in the format of ``model.to_json()``. TensorBoard understands only a part of this format. It
misses tensors passed by keyword, numbers among the arguments, inner models with several inputs or
several calls, and subclassed models. For such models the JSON is rebuilt: every layer is named by
its path and connected to the layers that it reads from. The connections of a subclassed model are
found by calling it with symbolic tensors.

Keras is imported on use, so that the arguments are tested without it.
"""

from __future__ import annotations

import inspect
import json
import math
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tracklight.projector import (
    EmbeddingInfo,
    ProjectorConfig,
    format_vectors,
    visualize_embeddings,
)
from tracklight.writer import as_number, as_numbers
from tracklight.writer.event_writer import EventWriter
from tracklight.writer.media import encode_pixels
from tracklight.writer.values import defer_histogram
from tracklight.writer.warnings import ArgumentError, warn_or_raise

# ---- arguments

_PROFILE_BATCH_FORM = "must be a batch number, a pair [first, last], or 0"


class BatchRange(NamedTuple):
    """A range of batches, inclusive, counted from 1 over all epochs."""

    first: int
    last: int


def as_update_freq(value: Any) -> int | None:
    """Return the number of batches between two logs; None for once per epoch."""
    if value == "epoch":
        return None
    if value == "batch":
        return 1
    interval = _find_int(value)
    if interval is None or interval < 1:
        warn_or_raise(
            "update_freq", f"must be 'epoch', 'batch' or a positive int, not {value!r:.100}"
        )
        return None
    return interval


def as_epoch_interval(value: Any, argument: str) -> int:
    """Return the number of epochs between two logs; 0 for never."""
    interval = _find_int(0 if value is None else value)
    if interval is None or interval < 0:
        warn_or_raise(argument, f"must be a number of epochs, or 0 for never, not {value!r:.100}")
        return 0
    return interval


def parse_profile_batch(value: Any) -> BatchRange | None:
    """Return the batches to profile for ``5``, ``[10, 20]`` or ``"10,20"``; None for 0."""
    parts = value.split(",") if isinstance(value, str) else value
    if parts is None:
        return None
    if not isinstance(parts, (list, tuple)):
        parts = [parts]
    ends = [_find_int(part) for part in parts]
    first, last = ends[0] if ends else None, ends[-1] if ends else None
    if len(ends) > 2 or first is None or last is None or first < 0 or last < first:
        warn_or_raise("profile_batch", f"{_PROFILE_BATCH_FORM}, not {value!r:.100}")
        return None
    return BatchRange(first, last) if last else None


def as_embeddings_metadata(value: Any) -> str | dict[str, str]:
    """Return a metadata file for all embeddings, or files by layer name."""
    if value is None:
        return {}
    if isinstance(value, Mapping):
        return {str(name): str(path) for name, path in value.items()}
    if isinstance(value, (list, set, bytes)):
        raise ArgumentError(
            "embeddings_metadata", "must be a file name, or a dict of file names by layer"
        )
    return str(value)


def _find_int(value: Any) -> int | None:
    try:
        number = int(value)
    except (TypeError, ValueError):
        return None
    return number if isinstance(value, str) or number == value else None


# ---- weights

Pixels = NDArray[np.uint8]

#: The number of buckets of Keras's own callback.
_BUCKETS = 30
#: Larger images are downsampled.
_MAX_SIDE_PX = 1024
_MAX_TILES = 256
#: A bias is drawn as a strip of at most this aspect ratio.
_STRIP_RATIO = 16
#: The gray level of zero.
_ZERO_LEVEL = 128

_EMBEDDINGS_DIR = "embeddings"


def log_weights(writer: EventWriter, model: Any, step: int, *, with_images: bool) -> None:
    """Log histograms, and optionally images, of all weights under their Keras paths."""
    for name, array in iter_weights(model):
        build, size_bytes = defer_histogram(f"{name}/histogram", array, _BUCKETS)
        writer.add_later(build, step, size_bytes=size_bytes, always_write_metadata=True)
        if with_images:
            writer.add([_build_image(f"{name}/image", array)], step)


def iter_weights(model: Any) -> Iterator[tuple[str, NDArray[Any]]]:
    """Yield the name and values of every weight; weights shared by layers once."""
    seen = set()
    for layer in model.layers:
        for weight in layer.weights:
            if id(weight) not in seen:
                seen.add(id(weight))
                path = getattr(weight, "path", None) or weight.name
                yield path.replace(":", "_"), read_variable(weight, "weights")


def render_weight(array: NDArray[Any]) -> Pixels:
    """Render a weight of any rank in gray: 0 is medium gray, the largest value black or white.

    A vector becomes a strip, a matrix is shown in landscape format, and a kernel becomes a grid of
    its filters.
    """
    squeezed = np.squeeze(array)
    if squeezed.ndim < 2:
        return _render_vector(squeezed.reshape(-1))
    if squeezed.ndim == 2:
        landscape = squeezed if squeezed.shape[0] <= squeezed.shape[1] else squeezed.T
        return _to_gray(_downsample(landscape))
    return _render_kernel(squeezed)


def _build_image(tag: str, array: NDArray[Any]) -> Any:
    from tracklight.formats.summary import images

    image = encode_pixels(render_weight(array))
    return images(tag, [image.encoded], image.width, image.height)


def _render_vector(vector: NDArray[Any]) -> Pixels:
    row = _to_gray(_downsample(vector[None]))
    return np.repeat(row, math.ceil(row.shape[1] / _STRIP_RATIO) or 1, axis=0)


def _render_kernel(kernel: NDArray[Any]) -> Pixels:
    """Render a grid of tiles with lines between them. In Keras, filters are on the last axis."""
    filters = np.moveaxis(kernel, -1, 0)
    # The axes of a 2D filter are height, width and input channels.
    depth = math.prod(filters.shape[3:])
    tiles = np.moveaxis(filters.reshape(*filters.shape[:3], depth), -1, 1)
    tiles = tiles.reshape(-1, *filters.shape[1:3])[:_MAX_TILES]
    tiles = _to_gray(tiles[:, :_MAX_SIDE_PX, :_MAX_SIDE_PX])
    columns = math.ceil(math.sqrt(len(tiles)))
    rows = math.ceil(len(tiles) / columns)
    height, width = tiles.shape[1] + 1, tiles.shape[2] + 1
    grid = np.full((rows * height - 1, columns * width - 1), 0, np.uint8)
    for index, tile in enumerate(tiles):
        top, left = index // columns * height, index % columns * width
        grid[top : top + height - 1, left : left + width - 1] = tile
    return _downsample(grid)


def _downsample(matrix: NDArray[Any]) -> NDArray[Any]:
    down, across = (math.ceil(side / _MAX_SIDE_PX) or 1 for side in matrix.shape)
    return matrix[::down, ::across]


def _to_gray(array: NDArray[Any]) -> Pixels:
    numbers = np.nan_to_num(array.astype(np.float32), nan=0.0, posinf=0.0, neginf=0.0)
    largest = float(np.abs(numbers).max(initial=0.0))
    scaled = numbers * (127 / largest) if largest else numbers
    return np.asarray(np.rint(scaled) + _ZERO_LEVEL, np.uint8)


class EmbeddingLogger:
    """Writes the embedding layers of a model, epoch by epoch, for the projector.

    All files go to the directory of the run: readers look for the config next to event files and
    reject paths that lead out of it.

    Args:
        run_dir: Directory of the run.
        log_dir: Directory to which metadata paths are relative.
        metadata: A metadata file, or files by layer name.

    Raises:
        ArgumentError: ``run_dir`` is a URL.
    """

    def __init__(self, run_dir: str, log_dir: str, metadata: str | dict[str, str]) -> None:
        if "://" in run_dir:
            raise ArgumentError("embeddings_freq", f"needs a local `log_dir`, not {log_dir}")
        self._run_dir = Path(run_dir)
        self._log_dir = Path(log_dir)
        self._metadata = metadata
        self._infos: list[EmbeddingInfo] = []

    def check(self, model: Any) -> None:
        """Warn about metadata of layers that do not exist."""
        names = {layer.name for layer in iter_embedding_layers(model)}
        unknown = set(self._metadata) - names if isinstance(self._metadata, dict) else set()
        if unknown:
            known = ", ".join(sorted(names)) or "none"
            problem = (
                f"names unknown embedding layers: {', '.join(sorted(unknown))}; known: {known}"
            )
            warn_or_raise("embeddings_metadata", problem)

    def log(self, model: Any, epoch: int) -> None:
        (self._run_dir / _EMBEDDINGS_DIR).mkdir(parents=True, exist_ok=True)
        added = [self._write(layer, epoch) for layer in iter_embedding_layers(model)]
        names = {info.tensor_name for info in added}
        # The newest first, because readers open the first one.
        self._infos = added + [info for info in self._infos if info.tensor_name not in names]
        config = ProjectorConfig()
        config.embeddings.extend(self._infos)
        visualize_embeddings(self._run_dir, config)

    def _write(self, layer: Any, epoch: int) -> EmbeddingInfo:
        vectors = read_variable(layer.embeddings, "embeddings").astype("<f4")
        name = f"{layer.name}:{epoch:05}"
        stem = re.sub(r"[^\w.-]", "_", f"{layer.name}-{epoch:05}")
        info = EmbeddingInfo(tensor_name=name, tensor_shape=list(vectors.shape))
        info.tensor_path = (
            f"{_EMBEDDINGS_DIR}/{_write_tensor(self._run_dir / _EMBEDDINGS_DIR / stem, vectors)}"
        )
        info.metadata_path = self._copy_metadata(layer.name)
        return info

    def _copy_metadata(self, layer: str) -> str:
        file = self._metadata if isinstance(self._metadata, str) else self._metadata.get(layer)
        if not file:
            return ""
        source = self._log_dir / os.path.expanduser(file)
        if not source.is_file():
            warn_or_raise("embeddings_metadata", f"names {source}, which does not exist")
            return ""
        target = self._run_dir / _EMBEDDINGS_DIR / source.name
        shutil.copyfile(source, target)
        return f"{_EMBEDDINGS_DIR}/{source.name}"


def iter_embedding_layers(model: Any) -> Iterator[Any]:
    """Yield the built embedding layers of a model and its inner models."""
    import keras

    for layer in model.layers:
        if isinstance(layer, keras.layers.Embedding):
            if layer.built:
                yield layer
        elif hasattr(layer, "layers"):
            yield from iter_embedding_layers(layer)


def _write_tensor(path: Path, vectors: NDArray[np.float32]) -> str:
    """Write raw values, or TSV if readers would mistake the bytes for text; return the name."""
    raw = vectors.tobytes()
    try:
        raw.decode()
    except UnicodeDecodeError:
        file = path.with_name(f"{path.name}.bytes")
        file.write_bytes(raw)
    else:
        file = path.with_name(f"{path.name}.tsv")
        file.write_text(format_vectors(vectors), encoding="utf-8")
    return file.name


def read_variable(variable: Any, name: str) -> NDArray[Any]:
    """Return the values of a variable of any backend."""
    import keras

    # Not np.asarray(variable), for which NumPy 2 issues a warning.
    return as_numbers(keras.ops.convert_to_numpy(variable), name)


def read_number(variable: Any, name: str) -> float:
    return as_number(read_variable(variable, name), name)


# ---- layers as JSON

Json = dict[str, Any]


def build_model_json(model: Any) -> str:
    """Return the JSON of a model: Keras's own if readers support it, otherwise a rebuilt one.

    If the connections of the layers cannot be determined, the layers are listed without them.
    """
    keras_json = _find_keras_json(model)
    if keras_json is not None and is_supported_model_json(json.loads(keras_json)):
        return keras_json
    return json.dumps(_build_connected_json(model), default=str)


def is_supported_model_json(model: Json) -> bool:
    """Return whether TensorBoard understands all connections of a model."""
    layers = model["config"].get("layers", [])
    return all(_is_supported_layer(layer) for layer in layers)


def _is_supported_layer(layer: Json) -> bool:
    calls = layer.get("inbound_nodes", [])
    for call in calls:
        if _has_tensors(call.get("kwargs", {})) or not _is_all_tensors(call.get("args", [])):
            return False
    if not layer["config"].get("layers"):
        return True
    inputs = [tensor for call in calls for tensor in iter_tensors(call.get("args", []))]
    return len(calls) <= 1 and len(inputs) <= 1 and is_supported_model_json(layer)


def _is_all_tensors(arguments: list[Any]) -> bool:
    flat = [item for part in arguments for item in (part if isinstance(part, list) else [part])]
    return all(isinstance(item, dict) and _is_tensor(item) for item in flat)


def _has_tensors(arguments: Any) -> bool:
    return any(True for _ in iter_tensors(arguments))


def iter_tensors(arguments: Any) -> Iterator[Json]:
    """Yield the tensors in the nested arguments of a call."""
    if isinstance(arguments, dict):
        if _is_tensor(arguments):
            yield arguments
            return
        arguments = list(arguments.values())
    if isinstance(arguments, list):
        for item in arguments:
            yield from iter_tensors(item)


def _is_tensor(argument: Json) -> bool:
    return argument.get("class_name") == "__keras_tensor__"


def _find_keras_json(model: Any) -> str | None:
    """Return Keras's own JSON of a functional or sequential model."""
    if not (_is_functional(model) or (type(model).__name__ == "Sequential" and model.layers)):
        return None
    try:
        text: str = model.to_json()
    except Exception:  # get_config of a custom layer may raise anything
        return None
    return text


def _is_functional(model: Any) -> bool:
    # Includes subclasses of Model that were created from inputs and outputs.
    import keras

    functional = getattr(keras.src.models, "Functional", None)
    return functional is not None and isinstance(model, functional)


def _build_connected_json(model: Any) -> Json:
    builder = _LayerGraphBuilder()
    with call_symbolically(model) as tensors:
        if tensors is None:
            builder.list_layers(model, "")
            return _build_functional_json(model, builder.layers, [], [])
        inputs = {id(tensor): builder.add_input(tensor) for tensor in tensors.inputs}
        outputs = [builder.follow(tensor, inputs, "") for tensor in tensors.outputs]
    return _build_functional_json(model, builder.layers, list(inputs.values()), outputs)


def _build_functional_json(
    model: Any, layers: list[Json], inputs: list[str], outputs: list[str]
) -> Json:
    config: Json = {"name": model.name, "trainable": True, "layers": layers}
    if inputs and outputs:
        config["input_layers"] = [[name, 0, 0] for name in inputs]
        config["output_layers"] = [[name, 0, 0] for name in outputs]
    return {"class_name": "Functional", "config": config}


class _LayerGraphBuilder:
    """Collects layers by following tensors back to their inputs."""

    def __init__(self) -> None:
        self.layers: list[Json] = []
        self._by_name: dict[str, Json] = {}
        self._calls: dict[tuple[int, int], list[str]] = {}
        self._known_inputs: list[dict[int, str]] = []

    def add_input(self, tensor: Any) -> str:
        config = {"batch_shape": list(tensor.shape), "dtype": str(tensor.dtype)}
        return self._add("InputLayer", tensor._keras_history.operation.name, config)

    def follow(self, tensor: Any, known: dict[int, str], scope: str) -> str:
        """Add the layers that compute a tensor; return the name of the last one.

        Args:
            tensor: A symbolic tensor.
            known: Names of input layers by the id of their tensors.
            scope: Prefix of the layer names.
        """
        if id(tensor) in known:
            return known[id(tensor)]
        operation, call, index = tensor._keras_history
        node = operation._inbound_nodes[call]
        # An inner model is followed again for each of its calls, which have other inputs.
        key = id(node), id(known)
        if key not in self._calls:
            sources = [self.follow(item, known, scope) for item in node.input_tensors]
            self._calls[key] = self._add_call(operation, node, sources, scope)
        outputs = self._calls[key]
        name: str = outputs[min(index, len(outputs) - 1)]
        return name

    def list_layers(self, model: Any, scope: str) -> None:
        """Add all layers without connections."""
        for layer in model.layers:
            path = f"{scope}{layer.name}"
            if getattr(layer, "layers", None):
                self.list_layers(layer, f"{path}/")
            else:
                self._add(type(layer).__name__, path, _get_layer_config(layer))

    def _add_call(self, operation: Any, node: Any, sources: list[str], scope: str) -> list[str]:
        path = f"{scope}{operation.name}"
        if _is_functional(operation) or type(operation).__name__ == "Sequential":
            # A Sequential contains a functional model.
            functional = getattr(operation, "_functional", None) or operation
            known = dict(zip(map(id, functional.inputs), sources, strict=False))
            self._known_inputs.append(known)  # kept alive, so that its id stays unique
            return [self.follow(tensor, known, f"{path}/") for tensor in functional.outputs]
        name = self._add(type(operation).__name__, path, _get_layer_config(operation))
        self._connect(name, node, sources)
        return [name]

    def _connect(self, name: str, node: Any, sources: list[str]) -> None:
        arguments = [
            {
                "class_name": "__keras_tensor__",
                "config": {
                    "shape": list(tensor.shape),
                    "dtype": str(tensor.dtype),
                    "keras_history": [source, 0, 0],
                },
            }
            for tensor, source in zip(node.input_tensors, sources, strict=True)
        ]
        call = {"args": arguments, "kwargs": {}}
        calls = self._by_name[name]["inbound_nodes"]
        if call not in calls:
            calls.append(call)

    def _add(self, kind: str, path: str, config: Json) -> str:
        if path not in self._by_name:
            layer = {"class_name": kind, "config": {**config, "name": path}, "name": path}
            self._by_name[path] = {**layer, "inbound_nodes": []}
            self.layers.append(self._by_name[path])
        return path


def _get_layer_config(layer: Any) -> Json:
    """Return the config of a layer; empty if a custom layer cannot provide it."""
    try:
        config: Json = json.loads(json.dumps(layer.get_config(), default=str))
    except Exception:
        return {}
    # Readers would mistake the layer of a wrapper for the layers of a model.
    config.pop("layers", None)
    return config


class ModelTensors(NamedTuple):
    """Symbolic inputs and outputs of a model, which record their history."""

    inputs: list[Any]
    outputs: list[Any]


@contextmanager
def call_symbolically(model: Any) -> Iterator[ModelTensors | None]:
    """Yield the symbolic inputs and outputs of a model; None if it cannot be called with symbols.

    Functional models have them. A subclassed model is called, and the traces of the call in its
    layers are removed afterwards.
    """
    functional = getattr(model, "_functional", None) or model
    if getattr(functional, "inputs", None) and getattr(functional, "outputs", None):
        yield ModelTensors(list(functional.inputs), list(functional.outputs))
        return
    with _restoring_call_history(model):
        try:
            tensors = _call(model)
        except Exception:  # the code of the model may not support symbolic tensors
            tensors = None
        yield tensors


def _call(model: Any) -> ModelTensors | None:
    import keras

    shapes = _get_input_shapes(model)
    if not shapes:
        return None
    # A tf.function does not accept Keras tensors; the Python function below it does.
    call = getattr(model.call, "python_function", model.call)
    names = (f"input_{number}" for number in count(1))
    inputs = keras.tree.map_shape_structure(
        lambda shape: keras.Input(batch_shape=shape, dtype=model.input_dtype, name=next(names)),
        shapes,
    )
    outputs = call(**inputs, **_get_training_argument(call))
    return ModelTensors(keras.tree.flatten(inputs), keras.tree.flatten(outputs))


def _get_input_shapes(model: Any) -> dict[str, Any]:
    """Return the shapes that a model was built for, by the arguments of its call."""
    config = model.get_build_config() or {}
    first = next(iter(inspect.signature(model.call).parameters), "inputs")
    if "shapes_dict" in config:
        shapes = config["shapes_dict"].items()
        return {name.removesuffix("_shape"): shape for name, shape in shapes}
    return {first: config["input_shape"]} if config.get("input_shape") else {}


def _get_training_argument(call: Any) -> dict[str, bool]:
    return {"training": False} if "training" in inspect.signature(call).parameters else {}


@contextmanager
def _restoring_call_history(model: Any) -> Iterator[None]:
    """Restore the nodes of all layers and Keras's name counters, which symbolic calls change."""
    from keras.src.backend.common import global_state

    layers = list(model._flatten_layers())
    nodes = [(layer, list(layer._inbound_nodes), list(layer._outbound_nodes)) for layer in layers]
    counts = global_state.get_global_attribute("object_name_uids")
    saved_counts = None if counts is None else counts.copy()
    try:
        yield
    finally:
        for layer, inbound, outbound in nodes:
            layer._inbound_nodes[:] = inbound
            layer._outbound_nodes[:] = outbound
        global_state.set_global_attribute("object_name_uids", saved_counts)
