"""In which module an ONNX node was computed, and on which line, where the exporter says so.

PyTorch notes the modules around a node and the stack in the node's properties. Its older exporter
and others put the modules into the node's name, which are scopes as they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from tracklight.analysis.graphs.graphdef import ARGUMENT, RESULT
from tracklight.analysis.graphs.model import (
    INPUT,
    OUTPUT,
    EdgeBuilder,
    Graph,
    NodeDetails,
    TensorSpec,
    UniqueNames,
)
from tracklight.errors import FormatError
from tracklight.formats.onnx import (
    OnnxGraph,
    OnnxTensor,
    format_attribute,
    iter_subgraphs,
    parse_onnx_graph,
    parse_onnx_model,
)
from tracklight.formats.proto import Message
from tracklight.formats.wire_format import decode_text
from tracklight.util.stack_trace import extract_python_line

_SCOPES, _CLASSES = b"pkg.torch.onnx.name_scopes", b"pkg.torch.onnx.class_hierarchy"

_STACK = b"pkg.torch.onnx.stack_trace"

_QUOTED = re.compile(r"'([^']*)'")


def get_module_scope(node: Message) -> str:
    """As in ``Net/Sequential[blocks]/Block[0]``; empty where nothing is known."""
    properties = _get_properties(node)
    # The last of both is the node itself.
    paths = _QUOTED.findall(properties.get(_SCOPES, ""))[:-1]
    classes = _QUOTED.findall(properties.get(_CLASSES, ""))[:-1]
    parts = []
    for path, module in zip(paths, classes, strict=False):
        kind = module.rpartition(".")[2]
        own = path.rpartition(".")[2]
        parts.append((f"{kind}[{own}]" if own else kind).replace("/", "."))
    return "/".join(parts)


def get_source(node: Message) -> str:
    trace = _get_properties(node).get(_STACK) or decode_text(node.doc_string)
    return extract_python_line(trace)


def join_scopes(scope: str, name: str) -> str:
    return f"{scope}/{name}" if scope else name


def _get_properties(node: Message) -> dict[bytes, str]:
    return {entry.key: decode_text(entry.value) for entry in node.metadata_props}


# Reads the graph of an ONNX file: inputs, weights, nodes and outputs, in the scopes of modules.
#
# Graphs inside of nodes, between which a condition or a loop chooses, and functions that the file
# defines are functions of the graph. What such a graph reads from outside of it is an argument of
# its own, and an input of the node that holds it.

INITIALIZER = "Initializer"

_MAX_DEPTH = 50

#: Types of numbers that say where to look and are not trained.
_INDICES = frozenset({"int64", "int32", "bool", "string", ""})


def parse_onnx(data: bytes) -> Graph:
    """The graph in the bytes of an ONNX model."""
    model = parse_onnx_model(data)
    functions: dict[str, Graph] = {}
    known = {(it.domain, it.name): _name_function(it) for it in model.functions}
    for function in model.functions:
        functions[_name_function(function)] = _GraphBuilder(function, known, functions, 1).graph()
    return _GraphBuilder(model.graph, known, functions, 0).graph()


@dataclass(slots=True)
class _Node:
    """A node that is to be: what it reads and gives are names of tensors."""

    name: str
    op: str
    reads: list[str] = field(default_factory=list)
    gives: list[str] = field(default_factory=list)
    message: Message | None = None
    calls: tuple[str, ...] = ()
    parameters: int = 0


class _GraphBuilder:
    """One graph, or one graph inside of another."""

    def __init__(
        self,
        graph: OnnxGraph,
        known: dict[tuple[str, str], str],
        functions: dict[str, Graph],
        depth: int,
        path: str = "",
    ) -> None:
        if depth > _MAX_DEPTH:
            raise FormatError(f"graphs are nested more than {_MAX_DEPTH} deep")
        self._known, self._functions, self._depth, self._path = known, functions, depth, path
        self._names = UniqueNames()
        told = [*graph.inputs, *graph.values, *graph.outputs, *graph.initializers]
        self._tensors = {tensor.name: tensor for tensor in told}
        operations = [self._build_operation(place, node) for place, node in enumerate(graph.nodes)]
        weights = {tensor.name: tensor for tensor in graph.initializers}
        start, end = (ARGUMENT, RESULT) if depth else (INPUT, OUTPUT)
        inputs = [
            self._node(it.name, start, gives=[it.name])
            for it in graph.inputs
            if it.name not in weights
        ]
        made = {name for node in [*inputs, *operations] for name in node.gives}
        self.captured = list(_iter_missing(operations, graph, made | set(weights)))
        if depth:
            inputs += [self._node(name, start, gives=[name]) for name in self.captured]
        self._nodes = [
            *inputs,
            *self._build_weights(weights.values(), operations),
            *operations,
            *(self._node(it.name, end, reads=[it.name]) for it in graph.outputs),
        ]

    def graph(self) -> Graph:
        nodes = self._nodes
        source = {
            name: (node.name, str(port)) for node in nodes for port, name in enumerate(node.gives)
        }
        wiring = EdgeBuilder([node.name for node in nodes])
        for place, node in enumerate(nodes):
            for position, name in enumerate(node.reads):
                if name in source:
                    wiring.add(place, position, *source[name], False)
                elif name:  # without one, an optional input was left out
                    wiring.add_missing(name)
        return Graph(
            [node.name for node in nodes],
            [node.op for node in nodes],
            wiring.build(),
            lambda place: self._describe(nodes[place]),
            self._functions if not self._depth else {},
            wiring.list_problems(),
        )

    def _node(
        self, name: str, op: str, *, reads: Iterable[str] = (), gives: Iterable[str] = ()
    ) -> _Node:
        return _Node(self._names.make_unique(name.strip("/") or op), op, list(reads), list(gives))

    def _build_operation(self, place: int, message: Message) -> _Node:
        op = decode_text(message.op_type)
        gives = [decode_text(name) for name in message.output]
        own = decode_text(message.name).strip("/") or "".join(gives[:1]) or f"{op}_{place}"
        name = self._names.make_unique(join_scopes(get_module_scope(message), own))
        node = _Node(name, op, [decode_text(it) for it in message.input], gives, message)
        called = self._known.get((decode_text(message.domain), op))
        inner = [*([called] if called else []), *self._build_subgraphs(node, message)]
        node.calls = tuple(inner)
        return node

    def _build_subgraphs(self, node: _Node, message: Message) -> Iterator[str]:
        for attribute in message.attribute:
            for number, data in enumerate(iter_subgraphs(attribute)):
                title = f"{self._path}{node.name}.{decode_text(attribute.name)}"
                title += f"_{number}" if number else ""
                inside = _GraphBuilder(
                    parse_onnx_graph(data),
                    self._known,
                    self._functions,
                    self._depth + 1,
                    f"{title}/",
                )
                self._functions[title] = inside.graph()
                there = set(node.reads)
                node.reads += [name for name in inside.captured if name not in there]
                yield title

    def _build_weights(
        self, weights: Iterable[OnnxTensor], operations: list[_Node]
    ) -> Iterator[_Node]:
        """Each in the innermost scope that all of its readers are in."""
        scopes: dict[str, str] = {}
        for operation in operations:
            scope = operation.name.rpartition("/")[0]
            for name in operation.reads:
                scopes[name] = _find_common_scope(scopes[name], scope) if name in scopes else scope
        for tensor in weights:
            own = tensor.name.replace("/", ".").strip(".") or INITIALIZER
            name = self._names.make_unique(join_scopes(scopes.get(tensor.name, ""), own))
            count = (
                0
                if tensor.dtype in _INDICES
                else TensorSpec(tensor.dtype, tensor.shape).count_elements()
            )
            yield _Node(name, INITIALIZER, gives=[tensor.name], parameters=count or 0)

    def _describe(self, node: _Node) -> NodeDetails:
        told = (self._tensors.get(name) for name in node.gives or node.reads[:1])
        outputs = tuple(
            TensorSpec(it.dtype, it.shape) if it else TensorSpec("", None) for it in told
        )
        if node.message is None:
            return NodeDetails(outputs, parameters=node.parameters)
        shown = {decode_text(it.name): format_attribute(it) for it in node.message.attribute}
        if node.message.domain:
            shown["domain"] = decode_text(node.message.domain)
        return NodeDetails(outputs, shown, functions=node.calls, source=get_source(node.message))


def _name_function(function: OnnxGraph) -> str:
    return f"{function.domain}::{function.name}" if function.domain else function.name


def _iter_missing(operations: list[_Node], graph: OnnxGraph, made: set[str]) -> Iterator[str]:
    """What is read but made nowhere in the graph, each once."""
    reads = [name for node in operations for name in node.reads]
    reads += [tensor.name for tensor in graph.outputs]
    yield from dict.fromkeys(name for name in reads if name and name not in made)


def _find_common_scope(one: str, other: str) -> str:
    """The parts that two scopes begin with."""
    shared = []
    for part, same in zip(one.split("/"), other.split("/"), strict=False):
        if part != same:
            break
        shared.append(part)
    return "/".join(shared)
