"""Runs a model on symbols instead of numbers, to learn how its layers are joined."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any, NamedTuple


class ModelTensors(NamedTuple):
    """What goes into a model and what comes out, as symbols that know their history."""

    inputs: list[Any]
    outputs: list[Any]


@contextmanager
def call_symbolically(model: Any) -> Iterator[ModelTensors | None]:
    """Inputs and outputs of a model; None where it cannot be run on symbols.

    A model made from layers has them. One that is written as a class is called, and what the call
    leaves in its layers is taken back afterwards.
    """
    inside = getattr(model, "_functional", None) or model
    if getattr(inside, "inputs", None) and getattr(inside, "outputs", None):
        yield ModelTensors(list(inside.inputs), list(inside.outputs))
        return
    with _restoring_call_history(model):
        try:
            ends = _call(model)
        except Exception:  # the model's own code, run on what it was not written for
            ends = None
        yield ends


def _call(model: Any) -> ModelTensors | None:
    import keras

    shapes = _get_input_shapes(model)
    if not shapes:
        return None
    # Code that was compiled by TensorFlow only takes numbers; what it was compiled from takes more.
    call = getattr(model.call, "python_function", model.call)
    names = (f"input_{number}" for number in count(1))
    inputs = keras.tree.map_shape_structure(
        lambda shape: keras.Input(batch_shape=shape, dtype=model.input_dtype, name=next(names)),
        shapes,
    )
    outputs = call(**inputs, **_get_training_argument(call))
    return ModelTensors(keras.tree.flatten(inputs), keras.tree.flatten(outputs))


def _get_input_shapes(model: Any) -> dict[str, Any]:
    """The shapes that a model was built for, by the arguments of its call."""
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
    """Calls on symbols are remembered by layers, and count up the names of new ones."""
    from keras.src.backend.common import global_state

    layers = list(model._flatten_layers())
    kept = [(layer, list(layer._inbound_nodes), list(layer._outbound_nodes)) for layer in layers]
    counts = global_state.get_global_attribute("object_name_uids")
    counted = None if counts is None else counts.copy()
    try:
        yield
    finally:
        for layer, inbound, outbound in kept:
            layer._inbound_nodes[:] = inbound
            layer._outbound_nodes[:] = outbound
        global_state.set_global_attribute("object_name_uids", counted)


# The layers of a model and how they are joined, as JSON in the form of ``model.to_json()``.
#
# Readers of that form understand a part of it only: tensors passed by keyword, numbers among the
# arguments, models inside of models that have several inputs or are called twice, and models that
# are written as a class are lost on them. For such models the same form is written anew, with every
# layer named by its path and joined to the layers that it reads from.

Json = dict[str, Any]


def build_model_json(model: Any) -> str:
    """The best JSON that can be had: Keras's own, the layers joined, or the layers alone."""
    own = _find_keras_json(model)
    if own is not None and is_supported_model_json(json.loads(own)):
        return own
    return json.dumps(_build_connected_json(model), default=str)


def is_supported_model_json(model: Json) -> bool:
    """Whether every edge of a model is in the part of the form that readers know."""
    layers = model["config"].get("layers", [])
    return all(_is_supported_layer(layer) for layer in layers)


def _is_supported_layer(layer: Json) -> bool:
    calls = layer.get("inbound_nodes", [])
    for call in calls:
        if _holds_tensors(call.get("kwargs", {})) or not _is_all_tensors(call.get("args", [])):
            return False
    if not layer["config"].get("layers"):
        return True
    inputs = [tensor for call in calls for tensor in iter_tensors(call.get("args", []))]
    return len(calls) <= 1 and len(inputs) <= 1 and is_supported_model_json(layer)


def _is_all_tensors(arguments: list[Any]) -> bool:
    flat = [item for part in arguments for item in (part if isinstance(part, list) else [part])]
    return all(isinstance(item, dict) and _is_tensor(item) for item in flat)


def _holds_tensors(arguments: Any) -> bool:
    return any(True for _ in iter_tensors(arguments))


def iter_tensors(arguments: Any) -> Iterator[Json]:
    """The tensors in the arguments of a call, however deep they are."""
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
    """What Keras itself gives for a model that is put together from layers."""
    if not (_is_functional(model) or (type(model).__name__ == "Sequential" and model.layers)):
        return None
    try:
        text: str = model.to_json()
    except Exception:  # a layer of the user's own may have any fault in its get_config
        return None
    return text


def _is_functional(model: Any) -> bool:
    # A subclass of Model is of this kind too if it was made from inputs and outputs.
    import keras

    functional = getattr(keras.src.models, "Functional", None)
    return functional is not None and isinstance(model, functional)


def _build_connected_json(model: Any) -> Json:
    scribe = _LayerGraphBuilder()
    with call_symbolically(model) as ends:
        if ends is None:
            scribe.list_layers(model, "")
            return _build_functional_json(model, scribe.layers, [], [])
        inputs = {id(tensor): scribe.add_input(tensor) for tensor in ends.inputs}
        outputs = [scribe.follow(tensor, inputs, "") for tensor in ends.outputs]
    return _build_functional_json(model, scribe.layers, list(inputs.values()), outputs)


def _build_functional_json(
    model: Any, layers: list[Json], inputs: list[str], outputs: list[str]
) -> Json:
    config: Json = {"name": model.name, "trainable": True, "layers": layers}
    if inputs and outputs:
        config["input_layers"] = [[name, 0, 0] for name in inputs]
        config["output_layers"] = [[name, 0, 0] for name in outputs]
    return {"class_name": "Functional", "config": config}


class _LayerGraphBuilder:
    """Writes down layers as it follows tensors back to where they come from."""

    def __init__(self) -> None:
        self.layers: list[Json] = []
        self._by_name: dict[str, Json] = {}
        self._calls: dict[tuple[int, int], list[str]] = {}
        self._knowns: list[dict[int, str]] = []

    def add_input(self, tensor: Any) -> str:
        config = {"batch_shape": list(tensor.shape), "dtype": str(tensor.dtype)}
        return self._add("InputLayer", tensor._keras_history.operation.name, config)

    def follow(self, tensor: Any, known: dict[int, str], scope: str) -> str:
        """The name of the layer that a tensor is an output of; inputs are ``known``."""
        if id(tensor) in known:
            return known[id(tensor)]
        operation, call, index = tensor._keras_history
        node = operation._inbound_nodes[call]
        # A model inside of this one is followed anew for every call of it, from other inputs.
        key = id(node), id(known)
        if key not in self._calls:
            sources = [self.follow(item, known, scope) for item in node.input_tensors]
            self._calls[key] = self._add_call(operation, node, sources, scope)
        outputs = self._calls[key]
        name: str = outputs[min(index, len(outputs) - 1)]
        return name

    def list_layers(self, model: Any, scope: str) -> None:
        """Write the layers down without saying how they are joined, which is not known."""
        for layer in model.layers:
            path = f"{scope}{layer.name}"
            if getattr(layer, "layers", None):
                self.list_layers(layer, f"{path}/")
            else:
                self._add(type(layer).__name__, path, _get_layer_config(layer))

    def _add_call(self, operation: Any, node: Any, sources: list[str], scope: str) -> list[str]:
        path = f"{scope}{operation.name}"
        if _is_functional(operation) or type(operation).__name__ == "Sequential":
            # A Sequential keeps a functional model of its own for the way through its layers.
            inside = getattr(operation, "_functional", None) or operation
            known = dict(zip(map(id, inside.inputs), sources, strict=False))
            self._knowns.append(known)  # or another could come to have its id
            return [self.follow(tensor, known, f"{path}/") for tensor in inside.outputs]
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
    """What a layer says of itself; a layer of the user's own may not be able to."""
    try:
        config: Json = json.loads(json.dumps(layer.get_config(), default=str))
    except Exception:
        return {}
    # A wrapper's own layer would be taken for a model's list of them.
    config.pop("layers", None)
    return config
