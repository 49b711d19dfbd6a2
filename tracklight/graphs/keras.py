"""Reads the JSON that a Keras model gives of itself: layers, and which of them read from which.

Keras 2 and Keras 3 write calls of layers differently; both are read. A layer that is called several
times is one node with the edges of all its calls. A model inside of a model is a scope: whoever
reads from it reads from its output layers, and what is given to it goes to its input layers.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tracklight.errors import FormatError
from tracklight.graphs.keras_sizes import (
    as_shape,
    count_parameters,
    find_inputs,
    find_outputs,
    name_dtype,
)
from tracklight.graphs.model import Detail, Graph, Output
from tracklight.graphs.wiring import Wiring

Json = dict[str, Any]

_TENSOR = "__keras_tensor__"
_DEEPEST = 100


def read_keras(data: bytes) -> Graph:
    """The graph in what ``model.to_json()`` gave."""
    try:
        model = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise FormatError(f"the model's description is no JSON: {error}") from error
    if not isinstance(model, dict) or not isinstance(model.get("config"), dict):
        raise FormatError("the model's description has no configuration of layers")
    return _Reading(model).graph()


class _Tensor(NamedTuple):
    """What a layer gives, by its name and which of its outputs it is."""

    layer: str
    output: str
    told: Output | None = None
    """Keras 3 says of what type and shape it is wherever it is read."""


@dataclass
class _Node:
    """A layer that is no model, with the names of the nodes that it reads from."""

    name: str
    layer: Json
    reads: list[_Tensor] = field(default_factory=list)
    outputs: dict[str, Output] = field(default_factory=dict)
    """As readers tell."""


class _Reading:
    """Walks through models inside of models."""

    def __init__(self, model: Json) -> None:
        self._nodes: dict[str, _Node] = {}
        self._problems: list[str] = []
        root = _Model(model, "", 0)
        self._add(root)
        self._connect(root, [])

    def graph(self) -> Graph:
        nodes = list(self._nodes.values())
        wiring = Wiring([node.name for node in nodes])
        for place, node in enumerate(nodes):
            for position, tensor in enumerate(node.reads):
                wiring.add(place, position, tensor.layer, tensor.output, False)
        return Graph(
            [node.name for node in nodes],
            [str(node.layer.get("class_name", "")) for node in nodes],
            wiring.edges(),
            lambda place: _describe(nodes[place]),
            problems=(*self._problems, *wiring.problems()),
        )

    def _add(self, model: _Model) -> None:
        for name, layer in model.layers.items():
            inner = model.inner.get(name)
            if inner is not None:
                self._add(inner)
            else:
                self._nodes[model.path(name)] = _Node(model.path(name), layer)

    def _connect(self, model: _Model, given: list[list[_Tensor]]) -> None:
        """``given`` holds for each input of the model what its calls gave."""
        for name, sources in zip(model.input_names(), given, strict=False):
            for node in self._find_nodes(model, name):
                self._read(node, sources)
        before: _Tensor | None = None
        for name, layer in model.layers.items():
            calls = [[before]] if model.is_sequential and before else _iter_calls(layer)
            self._connect_layer(model, name, list(calls))
            before = _Tensor(name, "0")

    def _connect_layer(self, model: _Model, name: str, calls: list[list[_Tensor]]) -> None:
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

    def _read(self, node: _Node, sources: list[_Tensor]) -> None:
        """Join a node to what it reads; what the reader was built for is what the source gives."""
        built = find_inputs(node.layer)
        for at, source in enumerate(sources):
            told = source.told or (Output("", built[at]) if at < len(built) else None)
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
            for first in inner.input_names():
                yield from self._find_nodes(inner, first)


class _Model:
    """A layer with layers of its own."""

    def __init__(self, model: Json, scope: str, depth: int) -> None:
        if depth > _DEEPEST:
            raise FormatError(f"models are nested more than {_DEEPEST} deep")
        self.config: Json = model["config"]
        self.scope = scope
        listed = [it for it in _list_of(self.config.get("layers")) if isinstance(it, dict)]
        self.is_sequential = model.get("class_name") == "Sequential"
        self.layers = {_name_of(layer, at): layer for at, layer in enumerate(listed)}
        self.inner = {
            name: _Model(layer, self.path(name), depth + 1)
            for name, layer in self.layers.items()
            if isinstance(layer.get("config"), dict) and _list_of(layer["config"].get("layers"))
        }

    def path(self, name: str) -> str:
        return f"{self.scope}/{name}" if self.scope else name

    def input_names(self) -> list[str]:
        named = [end.layer for end in _iter_ends(self.config.get("input_layers"))]
        return named or list(self.layers)[:1]

    def output_ends(self) -> list[_Tensor]:
        return list(_iter_ends(self.config.get("output_layers"))) or [
            _Tensor(name, "0") for name in list(self.layers)[-1:]
        ]

    def resolve(self, tensor: _Tensor) -> _Tensor:
        """The same tensor of the node that gives it: for a model one of its own layers."""
        inner = self.inner.get(tensor.layer)
        ends = inner.output_ends() if inner else []
        if inner is None or not ends:
            return tensor._replace(layer=self.path(tensor.layer))
        place = int(tensor.output) if tensor.output.isdecimal() else 0
        end = ends[min(place, len(ends) - 1)]
        return inner.resolve(end._replace(told=tensor.told))


def _list_of(given: Any) -> list[Any]:
    """A description may be anything that JSON can say."""
    return given if isinstance(given, list) else []


def _name_of(layer: Json, at: int) -> str:
    config = layer.get("config")
    own = config.get("name") if isinstance(config, dict) else None
    return str(layer.get("name") or own or f"layer_{at}")


def _iter_ends(given: Any) -> Iterator[_Tensor]:
    """``[name, call, tensor]``, or a list or an object of such."""
    if isinstance(given, dict):
        given = list(given.values())
    if not isinstance(given, list) or not given:
        return
    if isinstance(given[0], str):
        yield _Tensor(given[0], str(given[2]) if len(given) > 2 else "0")
        return
    for part in given:
        yield from _iter_ends(part)


def _iter_calls(layer: Json) -> Iterator[list[_Tensor]]:
    """For each call of a layer what it read, in either form."""
    for call in _list_of(layer.get("inbound_nodes")):
        yield list(_iter_read(call))


def _iter_read(call: Any) -> Iterator[_Tensor]:
    if isinstance(call, dict):
        if call.get("class_name") == _TENSOR:
            config = call.get("config")
            config = config if isinstance(config, dict) else {}
            told = Output(str(config.get("dtype") or ""), as_shape(config.get("shape")))
            for tensor in _iter_ends(config.get("keras_history")):
                yield tensor._replace(told=told)
            return
        call = list(call.values())
    if not isinstance(call, list):
        return
    # Keras 2: [layer, call, tensor, {keyword: [layer, call, tensor]}].
    if len(call) >= 3 and isinstance(call[0], str) and isinstance(call[1], int):
        yield _Tensor(call[0], str(call[2]))
        call = call[3:]
    for part in call:
        yield from _iter_read(part)


def _describe(node: _Node) -> Detail:
    config = node.layer.get("config")
    config = config if isinstance(config, dict) else {}
    shown = {
        key: json.dumps(value, default=str) for key, value in config.items() if key != "layers"
    }
    told = _list_outputs(node.outputs)
    dtype = name_dtype(config)
    outputs = tuple(Output(it.dtype or dtype, it.shape) for it in told) or find_outputs(node.layer)
    return Detail(outputs, shown, parameters=count_parameters(node.layer) or 0)


def _list_outputs(told: dict[str, Output]) -> tuple[Output, ...]:
    """In the order of their numbers, with nothing known of those that nobody reads."""
    by_number = {int(name): it for name, it in told.items() if name.isdecimal() and len(name) < 4}
    return tuple(
        by_number.get(number, Output("", None)) for number in range(max(by_number, default=-1) + 1)
    )
