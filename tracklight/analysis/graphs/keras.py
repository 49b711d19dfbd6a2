"""Finds layers in the JSON of a Keras model, and what each call of one reads, in either form.

Keras 3 writes the arguments of a call, among them tensors with their shapes; Keras 2 writes lists
of a layer, a call and a tensor. A description may be anything that JSON can say.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from tracklight.analysis.graphs.keras_layers import (
    count_parameters,
    get_layer_dtype,
    infer_outputs,
    list_input_shapes,
    parse_json_shape,
)
from tracklight.analysis.graphs.model import EdgeBuilder, Graph, NodeDetails, TensorSpec
from tracklight.errors import FormatError

Json = dict[str, Any]

_TENSOR = "__keras_tensor__"

_MAX_SEARCH_DEPTH = 100


class TensorRef(NamedTuple):
    """What a layer gives, by its name and which of its outputs it is."""

    layer: str
    output: str
    spec: TensorSpec | None = None
    """Keras 3 says of what type and shape it is wherever it is read."""


def iter_nested_layers(given: Any, depth: int) -> Iterator[Json]:
    """Layers that a model of a class of its own tells of; how they are joined, only its code says.

    What stands inside of a layer is the layer's own matter.
    """
    parts = given.values() if isinstance(given, dict) else as_list(given)
    for part in parts:
        config = part.get("config") if isinstance(part, dict) else None
        if isinstance(config, dict) and isinstance(config.get("name"), str) and "dtype" in config:
            yield part
        elif depth < _MAX_SEARCH_DEPTH:
            yield from iter_nested_layers(part, depth + 1)


def as_list(given: Any) -> list[Any]:
    """A description may be anything that JSON can say."""
    return given if isinstance(given, list) else []


def get_layer_name(layer: Json, at: int) -> str:
    config = layer.get("config")
    own = config.get("name") if isinstance(config, dict) else None
    return str(layer.get("name") or own or f"layer_{at}")


def iter_tensor_refs(given: Any) -> Iterator[TensorRef]:
    """``[name, call, tensor]``, or a list or an object of such."""
    if isinstance(given, dict):
        given = list(given.values())
    if not isinstance(given, list) or not given:
        return
    if isinstance(given[0], str):
        yield TensorRef(given[0], str(given[2]) if len(given) > 2 else "0")
        return
    for part in given:
        yield from iter_tensor_refs(part)


def iter_calls(layer: Json) -> Iterator[list[TensorRef]]:
    """For each call of a layer what it read, in either form."""
    for call in as_list(layer.get("inbound_nodes")):
        yield list(_iter_call_inputs(call))


def _iter_call_inputs(call: Any) -> Iterator[TensorRef]:
    if isinstance(call, dict):
        if call.get("class_name") == _TENSOR:
            config = call.get("config")
            config = config if isinstance(config, dict) else {}
            told = TensorSpec(str(config.get("dtype") or ""), parse_json_shape(config.get("shape")))
            for tensor in iter_tensor_refs(config.get("keras_history")):
                yield tensor._replace(spec=told)
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


# Reads the JSON that a Keras model gives of itself: layers, and which of them read from which.
#
# Keras 2 and Keras 3 write calls of layers differently; both are read. A layer that is called several
# times is one node with the edges of all its calls. A model inside of a model is a scope: whoever
# reads from it reads from its output layers, and what is given to it goes to its input layers.

_MAX_NESTED_MODELS = 100


def parse_keras(data: bytes) -> Graph:
    """The graph in what ``model.to_json()`` gave."""
    try:
        model = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise FormatError(f"the model's description is no JSON: {error}") from error
    if not isinstance(model, dict) or not isinstance(model.get("config"), dict):
        raise FormatError("the model's description has no configuration of layers")
    try:
        return _ModelReader(model).graph()
    except RecursionError as error:
        raise FormatError("the model's description is nested too deep") from error


@dataclass
class _Node:
    """A layer that is no model, with the names of the nodes that it reads from."""

    name: str
    layer: Json
    reads: list[TensorRef] = field(default_factory=list)
    outputs: dict[str, TensorSpec] = field(default_factory=dict)
    """As readers tell."""


class _ModelReader:
    """Walks through models inside of models."""

    def __init__(self, model: Json) -> None:
        self._nodes: dict[str, _Node] = {}
        self._problems: list[str] = []
        root = _Model(model, "", 0)
        self._add(root)
        self._connect(root, [])

    def graph(self) -> Graph:
        nodes = list(self._nodes.values())
        wiring = EdgeBuilder([node.name for node in nodes])
        for place, node in enumerate(nodes):
            for position, tensor in enumerate(node.reads):
                wiring.add(place, position, tensor.layer, tensor.output, False)
        return Graph(
            [node.name for node in nodes],
            [str(node.layer.get("class_name", "")) for node in nodes],
            wiring.build(),
            lambda place: _describe(nodes[place]),
            problems=(*self._problems, *wiring.list_problems()),
        )

    def _add(self, model: _Model) -> None:
        for name, layer in model.layers.items():
            inner = model.inner.get(name)
            if inner is not None:
                self._add(inner)
            else:
                self._nodes[model.path(name)] = _Node(model.path(name), layer)

    def _connect(self, model: _Model, given: list[list[TensorRef]]) -> None:
        """``given`` holds for each input of the model what its calls gave."""
        for name, sources in zip(model.input_names, given, strict=False):
            for node in self._find_nodes(model, name):
                self._read(node, sources)
        before: TensorRef | None = None
        for name, layer in model.layers.items():
            calls = [[before]] if model.is_sequential and before else iter_calls(layer)
            self._connect_layer(model, name, list(calls))
            before = TensorRef(name, "0")

    def _connect_layer(self, model: _Model, name: str, calls: list[list[TensorRef]]) -> None:
        resolved = [[model.resolve(source) for source in call] for call in calls]
        inner = model.inner.get(name)
        if inner is None:
            self._read(
                self._nodes[model.path(name)], [source for call in resolved for source in call]
            )
            return
        width = max(map(len, resolved), default=0)
        self._connect(
            inner, [[call[at] for call in resolved if at < len(call)] for at in range(width)]
        )

    def _read(self, node: _Node, sources: list[TensorRef]) -> None:
        """Join a node to what it reads; what the reader was built for is what the source gives."""
        built = list_input_shapes(node.layer)
        for at, source in enumerate(sources):
            told = source.spec or (TensorSpec("", built[at]) if at < len(built) else None)
            given = self._nodes.get(source.layer)
            if told is not None and given is not None:
                given.outputs.setdefault(source.output, told)
        node.reads.extend(sources)

    def _find_nodes(self, model: _Model, name: str) -> Iterator[_Node]:
        """The node of a layer, or of the first layers of a model that stands in its place."""
        inner = model.inner.get(name)
        if inner is None:
            found = self._nodes.get(model.path(name))
            if found is not None:
                yield found
        else:
            for first in inner.input_names:
                yield from self._find_nodes(inner, first)


class _Model:
    """A layer with layers of its own."""

    def __init__(self, model: Json, scope: str, depth: int) -> None:
        if depth > _MAX_NESTED_MODELS:
            raise FormatError(f"models are nested more than {_MAX_NESTED_MODELS} deep")
        self.config: Json = model["config"]
        self.scope = scope
        listed = [it for it in as_list(self.config.get("layers")) if isinstance(it, dict)]
        if not listed and depth == 0:
            listed = list(iter_nested_layers(self.config, 0)) or [model]
        self.is_sequential = model.get("class_name") == "Sequential"
        self.layers = {get_layer_name(layer, at): layer for at, layer in enumerate(listed)}
        self.inner = {
            name: _Model(layer, self.path(name), depth + 1)
            for name, layer in self.layers.items()
            if isinstance(layer.get("config"), dict) and as_list(layer["config"].get("layers"))
        }

    def path(self, name: str) -> str:
        return f"{self.scope}/{name}" if self.scope else name

    @cached_property
    def input_names(self) -> list[str]:
        named = [end.layer for end in iter_tensor_refs(self.config.get("input_layers"))]
        return named or list(self.layers)[:1]

    @cached_property
    def output_ends(self) -> list[TensorRef]:
        return list(iter_tensor_refs(self.config.get("output_layers"))) or [
            TensorRef(name, "0") for name in list(self.layers)[-1:]
        ]

    def resolve(self, tensor: TensorRef) -> TensorRef:
        """The same tensor of the node that gives it: for a model one of its own layers."""
        inner = self.inner.get(tensor.layer)
        ends = inner.output_ends if inner else []
        if inner is None or not ends:
            return tensor._replace(layer=self.path(tensor.layer))
        place = int(tensor.output) if tensor.output.isdecimal() else 0
        end = ends[min(place, len(ends) - 1)]
        return inner.resolve(end._replace(spec=tensor.spec))


def _describe(node: _Node) -> NodeDetails:
    config = node.layer.get("config")
    config = config if isinstance(config, dict) else {}
    shown = {key: _format_value(value) for key, value in config.items() if key != "layers"}
    told = _order_outputs(node.outputs)
    dtype = get_layer_dtype(config)
    outputs = tuple(TensorSpec(it.dtype or dtype, it.shape) for it in told) or infer_outputs(
        node.layer
    )
    return NodeDetails(outputs, shown, parameters=count_parameters(node.layer) or 0)


def _format_value(value: Any) -> str:
    try:
        return json.dumps(value)
    except RecursionError:
        return "…"


def _order_outputs(told: dict[str, TensorSpec]) -> tuple[TensorSpec, ...]:
    """In the order of their numbers, with nothing known of those that nobody reads."""
    by_number = {int(name): it for name, it in told.items() if name.isdecimal() and len(name) < 4}
    return tuple(
        by_number.get(number, TensorSpec("", None))
        for number in range(max(by_number, default=-1) + 1)
    )
