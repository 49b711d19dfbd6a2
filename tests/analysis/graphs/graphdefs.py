"""Builders for small ``GraphDef`` messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tracklight.formats import proto
from tracklight.formats.proto import Message

#: Node names and their inputs, formatted as in a GraphDef.
Inputs = Mapping[str, Sequence[str]]


def graphdef(
    nodes: Inputs,
    ops: Mapping[str, str] | None = None,
    shapes: Mapping[str, Sequence[int]] | None = None,
) -> Message:
    """Return a graph with these nodes; the default operation is ``Op``."""
    graph = proto.GraphDef()
    for name, inputs in nodes.items():
        add_node(graph.node.add(), name, inputs, (ops or {}).get(name, "Op"))
        if shapes and name in shapes:
            attr = graph.node[-1].attr.add()
            attr.key = b"_output_shapes"
            shape = attr.value.list.shape.add()
            for size in shapes[name]:
                shape.dim.add().size = size
    return graph


def add_node(node: Message, name: str, inputs: Sequence[str] = (), op: str = "Op") -> None:
    node.name, node.op = name.encode(), op.encode()
    node.input.extend(text.encode() for text in inputs)


def add_function(
    graph: Message, name: str, arguments: Sequence[str], nodes: Inputs, results: Mapping[str, str]
) -> None:
    function = graph.library.function.add()
    function.signature.name = name.encode()
    for argument in arguments:
        function.signature.input_arg.add().name = argument.encode()
    for inner, inputs in nodes.items():
        add_node(function.node_def.add(), inner, inputs)
    for key, value in results.items():
        function.signature.output_arg.add().name = key.encode()
        pair = function.ret.add()
        pair.key, pair.value = key.encode(), value.encode()


def call(graph: Message, node: int, attribute: str, function: str) -> None:
    """Let a node call a function."""
    attr = graph.node[node].attr.add()
    attr.key = attribute.encode()
    attr.value.func.name = function.encode()
