"""Reads the JSON that a Keras model gives of itself: layers, and which of them read from which.

Keras 2 and Keras 3 write calls of layers differently; both are read. A layer that is called several
times is one node with the edges of all its calls. A model inside of a model is a scope: whoever
reads from it reads from its output layers, and what is given to it goes to its input layers.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from tracklight.errors import FormatError
from tracklight.graphs.keras_calls import Tensor, iter_calls, iter_ends, iter_held, list_of, name_of
from tracklight.graphs.keras_sizes import (
    count_parameters,
    find_inputs,
    find_outputs,
    name_dtype,
)
from tracklight.graphs.model import Detail, Graph, Output
from tracklight.graphs.wiring import Wiring

Json = dict[str, Any]

_DEEPEST = 100


def read_keras(data: bytes) -> Graph:
    """The graph in what ``model.to_json()`` gave."""
    try:
        model = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise FormatError(f"the model's description is no JSON: {error}") from error
    if not isinstance(model, dict) or not isinstance(model.get("config"), dict):
        raise FormatError("the model's description has no configuration of layers")
    try:
        return _Reading(model).graph()
    except RecursionError as error:
        raise FormatError("the model's description is nested too deep") from error


@dataclass
class _Node:
    """A layer that is no model, with the names of the nodes that it reads from."""

    name: str
    layer: Json
    reads: list[Tensor] = field(default_factory=list)
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

    def _connect(self, model: _Model, given: list[list[Tensor]]) -> None:
        """``given`` holds for each input of the model what its calls gave."""
        for name, sources in zip(model.input_names, given, strict=False):
            for node in self._find_nodes(model, name):
                self._read(node, sources)
        before: Tensor | None = None
        for name, layer in model.layers.items():
            calls = [[before]] if model.is_sequential and before else iter_calls(layer)
            self._connect_layer(model, name, list(calls))
            before = Tensor(name, "0")

    def _connect_layer(self, model: _Model, name: str, calls: list[list[Tensor]]) -> None:
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

    def _read(self, node: _Node, sources: list[Tensor]) -> None:
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
            for first in inner.input_names:
                yield from self._find_nodes(inner, first)


class _Model:
    """A layer with layers of its own."""

    def __init__(self, model: Json, scope: str, depth: int) -> None:
        if depth > _DEEPEST:
            raise FormatError(f"models are nested more than {_DEEPEST} deep")
        self.config: Json = model["config"]
        self.scope = scope
        listed = [it for it in list_of(self.config.get("layers")) if isinstance(it, dict)]
        if not listed and depth == 0:
            listed = list(iter_held(self.config, 0)) or [model]
        self.is_sequential = model.get("class_name") == "Sequential"
        self.layers = {name_of(layer, at): layer for at, layer in enumerate(listed)}
        self.inner = {
            name: _Model(layer, self.path(name), depth + 1)
            for name, layer in self.layers.items()
            if isinstance(layer.get("config"), dict) and list_of(layer["config"].get("layers"))
        }

    def path(self, name: str) -> str:
        return f"{self.scope}/{name}" if self.scope else name

    @cached_property
    def input_names(self) -> list[str]:
        named = [end.layer for end in iter_ends(self.config.get("input_layers"))]
        return named or list(self.layers)[:1]

    @cached_property
    def output_ends(self) -> list[Tensor]:
        return list(iter_ends(self.config.get("output_layers"))) or [
            Tensor(name, "0") for name in list(self.layers)[-1:]
        ]

    def resolve(self, tensor: Tensor) -> Tensor:
        """The same tensor of the node that gives it: for a model one of its own layers."""
        inner = self.inner.get(tensor.layer)
        ends = inner.output_ends if inner else []
        if inner is None or not ends:
            return tensor._replace(layer=self.path(tensor.layer))
        place = int(tensor.output) if tensor.output.isdecimal() else 0
        end = ends[min(place, len(ends) - 1)]
        return inner.resolve(end._replace(told=tensor.told))


def _describe(node: _Node) -> Detail:
    config = node.layer.get("config")
    config = config if isinstance(config, dict) else {}
    shown = {key: _show(value) for key, value in config.items() if key != "layers"}
    told = _list_outputs(node.outputs)
    dtype = name_dtype(config)
    outputs = tuple(Output(it.dtype or dtype, it.shape) for it in told) or find_outputs(node.layer)
    return Detail(outputs, shown, parameters=count_parameters(node.layer) or 0)


def _show(value: Any) -> str:
    try:
        return json.dumps(value)
    except RecursionError:
        return "…"


def _list_outputs(told: dict[str, Output]) -> tuple[Output, ...]:
    """In the order of their numbers, with nothing known of those that nobody reads."""
    by_number = {int(name): it for name, it in told.items() if name.isdecimal() and len(name) < 4}
    return tuple(
        by_number.get(number, Output("", None)) for number in range(max(by_number, default=-1) + 1)
    )
