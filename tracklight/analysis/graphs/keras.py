"""Parse the JSON of a Keras model: its layers and the connections between them.

Keras 2 and Keras 3 store the calls of layers differently; both are supported. A layer that is
called several times is one node with the edges of all calls. A nested model is a scope: reading
its output means reading its output layers, and its inputs go to its input layers.

The JSON may come from anywhere, so every value is checked before use.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from tracklight.analysis.graphs.keras_layers import (
    Json,
    count_parameters,
    get_layer_dtype,
    infer_outputs,
    list_input_shapes,
    parse_json_shape,
)
from tracklight.analysis.graphs.model import EdgeBuilder, Graph, NodeDetails, TensorSpec
from tracklight.errors import FormatError

_MAX_NESTED_MODELS = 100
_MAX_SEARCH_DEPTH = 100
_KERAS_TENSOR = "__keras_tensor__"


def parse_keras(data: bytes) -> Graph:
    """Parse the output of ``model.to_json()``.

    Raises:
        FormatError: The bytes are not the JSON of a Keras model.
    """
    try:
        model = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise FormatError(
            "graphs.keras_not_json", "the model's description is not JSON: {error}", error=error
        ) from error
    if not isinstance(model, dict) or not isinstance(model.get("config"), dict):
        raise FormatError(
            "graphs.keras_no_layers",
            "it is JSON, but not a model's description as model.to_json() returns it",
        )
    try:
        return _ModelReader(model).build_graph()
    except RecursionError as error:
        raise FormatError(
            "graphs.keras_too_deep", "the model's description is nested too deeply"
        ) from error


class TensorRef(NamedTuple):
    """An output of a layer, by layer name and output number."""

    layer: str
    output: str
    spec: TensorSpec | None = None
    """Type and shape, which Keras 3 stores with every reference."""


@dataclass
class _Node:
    """A layer that is not a model."""

    name: str
    layer: Json
    inputs: list[TensorRef] = field(default_factory=list)
    outputs: dict[str, TensorSpec] = field(default_factory=dict)
    """Known from the layers that read them, by output number."""
    calls: int = 0


class _ModelReader:
    """Collect the layers of a model and its nested models, and connect them."""

    def __init__(self, model: Json) -> None:
        self._nodes: dict[str, _Node] = {}
        root = _Model(model, "", 0)
        self._add_layers(root)
        self._connect(root, [])

    def build_graph(self) -> Graph:
        nodes = list(self._nodes.values())
        edges = EdgeBuilder([node.name for node in nodes])
        for index, node in enumerate(nodes):
            for position, tensor in enumerate(node.inputs):
                edges.add(index, position, tensor.layer, tensor.output, False)
        return Graph(
            [node.name for node in nodes],
            [str(node.layer.get("class_name", "")) for node in nodes],
            edges.build(),
            lambda index: _describe(nodes[index]),
            problems=edges.list_problems(),
        )

    def _add_layers(self, model: _Model) -> None:
        for name, layer in model.layers.items():
            nested = model.nested.get(name)
            if nested is not None:
                self._add_layers(nested)
            else:
                self._nodes[model.get_path(name)] = _Node(model.get_path(name), layer)

    def _connect(self, model: _Model, inputs: list[list[TensorRef]]) -> None:
        """Connect the layers of a model; ``inputs`` has the arguments of all calls, by input."""
        for name, sources in zip(model.input_names, inputs, strict=False):
            for node in self._iter_input_nodes(model, name):
                self._add_inputs(node, sources)
        previous: TensorRef | None = None
        for name, layer in model.layers.items():
            calls = [[previous]] if model.is_sequential and previous else iter_calls(layer)
            self._connect_layer(model, name, list(calls))
            previous = TensorRef(name, "0")

    def _connect_layer(self, model: _Model, name: str, calls: list[list[TensorRef]]) -> None:
        resolved = [[model.resolve(source) for source in call] for call in calls]
        nested = model.nested.get(name)
        if nested is None:
            node = self._nodes[model.get_path(name)]
            node.calls += len(calls)
            self._add_inputs(node, [source for call in resolved for source in call])
            return
        width = max(map(len, resolved), default=0)
        self._connect(
            nested,
            [[call[index] for call in resolved if index < len(call)] for index in range(width)],
        )

    def _add_inputs(self, node: _Node, sources: list[TensorRef]) -> None:
        """Add inputs to a node. What the node was built with is what its sources output."""
        shapes = list_input_shapes(node.layer)
        for index, source in enumerate(sources):
            built = TensorSpec("", shapes[index]) if index < len(shapes) else None
            spec = source.spec or built
            producer = self._nodes.get(source.layer)
            if spec is not None and producer is not None:
                producer.outputs.setdefault(source.output, spec)
        node.inputs.extend(sources)

    def _iter_input_nodes(self, model: _Model, name: str) -> Iterator[_Node]:
        """Yield the node of a layer, or the input nodes of a nested model of that name."""
        nested = model.nested.get(name)
        if nested is None:
            node = self._nodes.get(model.get_path(name))
            if node is not None:
                yield node
        else:
            for input_name in nested.input_names:
                yield from self._iter_input_nodes(nested, input_name)


class _Model:
    """A layer that consists of layers."""

    def __init__(self, model: Json, scope: str, depth: int) -> None:
        if depth > _MAX_NESTED_MODELS:
            raise FormatError(
                "graphs.keras_models_too_deep",
                "models are nested more than {max_depth} levels deep",
                max_depth=_MAX_NESTED_MODELS,
            )
        self.config: Json = model["config"]
        self.scope = scope
        layers = [it for it in as_list(self.config.get("layers")) if isinstance(it, dict)]
        if not layers and depth == 0:
            layers = list(iter_nested_layers(self.config, 0)) or [model]
        self.is_sequential = model.get("class_name") == "Sequential"
        self.layers = {get_layer_name(layer, index): layer for index, layer in enumerate(layers)}
        self.nested = {
            name: _Model(layer, self.get_path(name), depth + 1)
            for name, layer in self.layers.items()
            if isinstance(layer.get("config"), dict) and as_list(layer["config"].get("layers"))
        }

    def get_path(self, name: str) -> str:
        return f"{self.scope}/{name}" if self.scope else name

    @cached_property
    def input_names(self) -> list[str]:
        names = [tensor.layer for tensor in iter_tensor_refs(self.config.get("input_layers"))]
        return names or list(self.layers)[:1]

    @cached_property
    def outputs(self) -> list[TensorRef]:
        return list(iter_tensor_refs(self.config.get("output_layers"))) or [
            TensorRef(name, "0") for name in list(self.layers)[-1:]
        ]

    def resolve(self, tensor: TensorRef) -> TensorRef:
        """Return the reference with the path of the node that outputs the tensor.

        A reference to a nested model becomes one to the layer inside that outputs the tensor.
        """
        nested = self.nested.get(tensor.layer)
        outputs = nested.outputs if nested else []
        if nested is None or not outputs:
            return tensor._replace(layer=self.get_path(tensor.layer))
        index = int(tensor.output) if tensor.output.isdecimal() else 0
        output = outputs[min(index, len(outputs) - 1)]
        return nested.resolve(output._replace(spec=tensor.spec))


def iter_nested_layers(value: Any, depth: int) -> Iterator[Json]:
    """Yield the layers in the config of a subclassed model.

    Only its code knows how they are connected. Layers inside of layers are not yielded.
    """
    parts = value.values() if isinstance(value, dict) else as_list(value)
    for part in parts:
        config = part.get("config") if isinstance(part, dict) else None
        if isinstance(config, dict) and isinstance(config.get("name"), str) and "dtype" in config:
            yield part
        elif depth < _MAX_SEARCH_DEPTH:
            yield from iter_nested_layers(part, depth + 1)


def as_list(value: Any) -> list[Any]:
    """Return a list unchanged, and an empty list for any other value."""
    return value if isinstance(value, list) else []


def get_layer_name(layer: Json, index: int) -> str:
    config = layer.get("config")
    name = config.get("name") if isinstance(config, dict) else None
    return str(layer.get("name") or name or f"layer_{index}")


def iter_tensor_refs(value: Any) -> Iterator[TensorRef]:
    """Parse ``[layer, call, tensor]``, or a list or object of these."""
    if isinstance(value, dict):
        value = list(value.values())
    if not isinstance(value, list) or not value:
        return
    if isinstance(value[0], str):
        yield TensorRef(value[0], str(value[2]) if len(value) > 2 else "0")
        return
    for part in value:
        yield from iter_tensor_refs(part)


def iter_calls(layer: Json) -> Iterator[list[TensorRef]]:
    """Yield the inputs of each call of a layer."""
    for call in as_list(layer.get("inbound_nodes")):
        yield list(_iter_call_inputs(call))


def _iter_call_inputs(call: Any) -> Iterator[TensorRef]:
    # Keras 3: the arguments of the call, in which tensors have a class name and a shape.
    if isinstance(call, dict):
        if call.get("class_name") == _KERAS_TENSOR:
            config = call.get("config")
            config = config if isinstance(config, dict) else {}
            shape = parse_json_shape(config.get("shape"))
            spec = TensorSpec(str(config.get("dtype") or ""), shape)
            for tensor in iter_tensor_refs(config.get("keras_history")):
                yield tensor._replace(spec=spec)
            return
        call = list(call.values())
    if not isinstance(call, list):
        return
    # Keras 2: [layer, call, tensor, {keyword: [layer, call, tensor]}].
    if len(call) >= 3 and isinstance(call[0], str) and isinstance(call[1], int):
        yield TensorRef(call[0], str(call[2]))
        call = call[3:]
    for part in call:
        yield from _iter_call_inputs(part)


def _describe(node: _Node) -> NodeDetails:
    config = node.layer.get("config")
    config = config if isinstance(config, dict) else {}
    attributes = {key: _format_value(value) for key, value in config.items() if key != "layers"}
    if node.calls > 1:
        attributes["calls"] = str(node.calls)
    dtype = get_layer_dtype(config)
    outputs = tuple(
        TensorSpec(it.dtype or dtype, it.shape) for it in _order_outputs(node.outputs)
    ) or infer_outputs(node.layer)
    return NodeDetails(outputs, attributes, parameters=count_parameters(node.layer) or 0)


def _format_value(value: Any) -> str:
    try:
        return json.dumps(value)
    except RecursionError:
        return "…"


def _order_outputs(outputs: dict[str, TensorSpec]) -> tuple[TensorSpec, ...]:
    """Order outputs by number; outputs that no layer reads are unknown."""
    by_number = {int(key): it for key, it in outputs.items() if key.isdecimal() and len(key) < 4}
    return tuple(
        by_number.get(number, TensorSpec("", None))
        for number in range(max(by_number, default=-1) + 1)
    )
