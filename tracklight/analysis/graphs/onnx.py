"""Parse the graph of an ONNX file: inputs, weights, nodes and outputs, in the scopes of modules.

Subgraphs (branches of ``If``, bodies of ``Loop``) and functions of the file become functions of
the graph. Tensors that a subgraph captures from outside become arguments of the subgraph and
inputs of the node that contains it.

PyTorch's exporter stores the modules around a node and the stack trace in the node's metadata.
Its older exporter and others put the modules into node names, which are scopes already.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from numpy.typing import NDArray

from tracklight.analysis.graphs import (
    ARGUMENT,
    INPUT,
    OUTPUT,
    RESULT,
    EdgeBuilder,
    Graph,
    NodeDetails,
    TensorSpec,
    UniqueNames,
    WeightReader,
)
from tracklight.errors import FormatError
from tracklight.formats.onnx import (
    OnnxGraph,
    OnnxTensor,
    decode_onnx_elements,
    format_attribute,
    iter_subgraphs,
    parse_onnx_graph,
    parse_onnx_model,
)
from tracklight.formats.proto import Message, decode_text
from tracklight.util.parsing import extract_python_line

INITIALIZER = "Initializer"

_MAX_NESTED_GRAPHS = 50
#: Types of initializers that are indices or shapes and not trainable.
_UNTRAINABLE_TYPES = frozenset({"int64", "int32", "bool", "string", ""})

_SCOPES = b"pkg.torch.onnx.name_scopes"
_CLASSES = b"pkg.torch.onnx.class_hierarchy"
_STACK = b"pkg.torch.onnx.stack_trace"
_QUOTED = re.compile(r"'([^']*)'")


def parse_onnx(data: bytes) -> Graph:
    """Parse a serialized ONNX model.

    Raises:
        FormatError: The bytes are not an ONNX model.
    """
    model = parse_onnx_model(data)
    functions: dict[str, Graph] = {}
    known = {(item.domain, item.name): _get_function_name(item) for item in model.functions}
    for function in model.functions:
        builder = _GraphBuilder(function, known, functions, depth=1)
        functions[_get_function_name(function)] = builder.build()
    return _GraphBuilder(model.graph, known, functions, depth=0).build()


@dataclass(slots=True)
class _Node:
    """A node of the graph to build; inputs and outputs are names of tensors."""

    name: str
    op: str
    inputs: list[str] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)
    message: Message | None = None
    functions: tuple[str, ...] = ()
    parameters: int = 0


class _GraphBuilder:
    """Build one graph; subgraphs get a builder each.

    Args:
        graph: The ONNX graph.
        known: Names of the file's functions by domain and operation.
        functions: Subgraphs are added here.
        depth: 0 for the main graph.
        path: Prefix of the names of subgraphs.
    """

    def __init__(
        self,
        graph: OnnxGraph,
        known: dict[tuple[str, str], str],
        functions: dict[str, Graph],
        depth: int,
        path: str = "",
    ) -> None:
        if depth > _MAX_NESTED_GRAPHS:
            raise FormatError(
                "graphs.too_deep",
                "graphs are nested more than {max_depth} levels deep",
                max_depth=_MAX_NESTED_GRAPHS,
            )
        self._known, self._functions, self._depth, self._path = known, functions, depth, path
        self._names = UniqueNames()
        described = [*graph.inputs, *graph.values, *graph.outputs, *graph.initializers]
        self._tensors = {tensor.name: tensor for tensor in described}
        operations = [self._make_operation(index, node) for index, node in enumerate(graph.nodes)]
        initializers = {tensor.name: tensor for tensor in graph.initializers}
        start, end = (ARGUMENT, RESULT) if depth else (INPUT, OUTPUT)
        inputs = [
            self._make_node(item.name, start, outputs=[item.name])
            for item in graph.inputs
            if item.name not in initializers
        ]
        produced = {name for node in [*inputs, *operations] for name in node.outputs}
        self.captured = list(_iter_missing(operations, graph, produced | set(initializers)))
        if depth:
            inputs += [self._make_node(name, start, outputs=[name]) for name in self.captured]
        self._nodes = [
            *inputs,
            *self._make_initializers(initializers.values(), operations),
            *operations,
            *(self._make_node(output.name, end, inputs=[output.name]) for output in graph.outputs),
        ]

    def build(self) -> Graph:
        nodes = self._nodes
        producers = {
            name: (node.name, str(slot)) for node in nodes for slot, name in enumerate(node.outputs)
        }
        edges = EdgeBuilder([node.name for node in nodes])
        for index, node in enumerate(nodes):
            for position, name in enumerate(node.inputs):
                if name in producers:
                    edges.add(index, position, *producers[name], False)
                elif name:  # an empty name is an omitted optional input
                    edges.add_missing(name)
        return Graph(
            [node.name for node in nodes],
            [node.op for node in nodes],
            edges.build(),
            lambda index: self._describe(nodes[index]),
            self._functions if not self._depth else {},
            edges.list_problems(),
            dict(self._iter_weights()),
        )

    def _iter_weights(self) -> Iterator[tuple[int, WeightReader]]:
        for index, node in enumerate(self._nodes):
            tensor = self._tensors[node.outputs[0]] if node.op == INITIALIZER else None
            if tensor is not None and tensor.content is not None:
                yield index, functools.partial(_read_weights, tensor.name, tensor.content)

    def _make_node(
        self, name: str, op: str, *, inputs: Iterable[str] = (), outputs: Iterable[str] = ()
    ) -> _Node:
        unique = self._names.make_unique(name.strip("/") or op)
        return _Node(unique, op, list(inputs), list(outputs))

    def _make_operation(self, index: int, message: Message) -> _Node:
        op = decode_text(message.op_type)
        outputs = [decode_text(name) for name in message.output]
        label = decode_text(message.name).strip("/") or "".join(outputs[:1]) or f"{op}_{index}"
        name = self._names.make_unique(join_scopes(get_module_scope(message), label))
        node = _Node(name, op, [decode_text(item) for item in message.input], outputs, message)
        function = self._known.get((decode_text(message.domain), op))
        subgraphs = self._make_subgraphs(node, message)
        node.functions = (*([function] if function else []), *subgraphs)
        return node

    def _make_subgraphs(self, node: _Node, message: Message) -> Iterator[str]:
        for attribute in message.attribute:
            for number, data in enumerate(iter_subgraphs(attribute)):
                title = f"{self._path}{node.name}.{decode_text(attribute.name)}"
                title += f"_{number}" if number else ""
                graph, depth = parse_onnx_graph(data), self._depth + 1
                builder = _GraphBuilder(graph, self._known, self._functions, depth, f"{title}/")
                self._functions[title] = builder.build()
                known = set(node.inputs)
                node.inputs += [name for name in builder.captured if name not in known]
                yield title

    def _make_initializers(
        self, initializers: Iterable[OnnxTensor], operations: list[_Node]
    ) -> Iterator[_Node]:
        """Place each initializer in the innermost scope with all operations that use it."""
        scopes: dict[str, str] = {}
        for operation in operations:
            scope = operation.name.rpartition("/")[0]
            for name in operation.inputs:
                scopes[name] = get_common_scope(scopes[name], scope) if name in scopes else scope
        for tensor in initializers:
            label = tensor.name.replace("/", ".").strip(".") or INITIALIZER
            name = self._names.make_unique(join_scopes(scopes.get(tensor.name, ""), label))
            count = TensorSpec(tensor.dtype, tensor.shape).count_elements() or 0
            parameters = 0 if tensor.dtype in _UNTRAINABLE_TYPES else count
            yield _Node(name, INITIALIZER, outputs=[tensor.name], parameters=parameters)

    def _describe(self, node: _Node) -> NodeDetails:
        tensors = (self._tensors.get(name) for name in node.outputs or node.inputs[:1])
        outputs = tuple(
            TensorSpec(tensor.dtype, tensor.shape) if tensor else TensorSpec("", None)
            for tensor in tensors
        )
        if node.message is None:
            return NodeDetails(outputs, parameters=node.parameters)
        attributes = {
            decode_text(item.name): format_attribute(item) for item in node.message.attribute
        }
        if node.message.domain:
            attributes["domain"] = decode_text(node.message.domain)
        source = get_source(node.message)
        return NodeDetails(outputs, attributes, functions=node.functions, source=source)


def _read_weights(name: str, content: memoryview) -> dict[str, NDArray[Any]]:
    elements = decode_onnx_elements(content)
    return {} if elements is None else {name: elements}


def _get_function_name(function: OnnxGraph) -> str:
    return f"{function.domain}::{function.name}" if function.domain else function.name


def _iter_missing(operations: list[_Node], graph: OnnxGraph, produced: set[str]) -> Iterator[str]:
    """Yield names of tensors that are used but not produced in the graph, each once."""
    used = [name for node in operations for name in node.inputs]
    used += [tensor.name for tensor in graph.outputs]
    yield from dict.fromkeys(name for name in used if name and name not in produced)


def get_common_scope(one: str, other: str) -> str:
    """Return the common prefix of two scopes."""
    common = []
    for part, other_part in zip(one.split("/"), other.split("/"), strict=False):
        if part != other_part:
            break
        common.append(part)
    return "/".join(common)


def get_module_scope(node: Message) -> str:
    """Return the modules around a node, such as ``Net/Sequential[blocks]/Block[0]``, or ``""``."""
    properties = _get_properties(node)
    # The last entry of both lists is the node itself.
    paths = _QUOTED.findall(properties.get(_SCOPES, ""))[:-1]
    classes = _QUOTED.findall(properties.get(_CLASSES, ""))[:-1]
    return join_modules(zip(paths, classes, strict=False))


def join_modules(modules: Iterable[tuple[str, str]]) -> str:
    """Return the scope of nested modules, from the path and the class of each.

    A part of a ``ModuleList`` is not called through it, so the list is only in the path of the
    part: ``stem.0`` and ``head.0`` are different modules.
    """
    parts, outer = [], ""
    for path, class_path in modules:
        class_name = class_path.rpartition(".")[2]
        if not class_name:
            continue
        is_inside = bool(outer) and path.startswith(f"{outer}.")
        attribute = path[len(outer) + 1 :] if is_inside else path
        part = f"{class_name}[{attribute}]" if attribute else class_name
        parts.append(part.replace("/", "."))
        outer = path
    return "/".join(parts)


def get_source(node: Message) -> str:
    """Return the source line that a node comes from, or ``""``."""
    trace = _get_properties(node).get(_STACK) or decode_text(node.doc_string)
    return extract_python_line(trace)


def join_scopes(scope: str, name: str) -> str:
    return f"{scope}/{name}" if scope else name


def _get_properties(node: Message) -> dict[bytes, str]:
    return {entry.key: decode_text(entry.value) for entry in node.metadata_props}
