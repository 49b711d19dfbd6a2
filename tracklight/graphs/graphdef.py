"""Reads TensorFlow's ``GraphDef``, which PyTorch and others write as well."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tracklight.formats import proto
from tracklight.formats.event import decode_text
from tracklight.formats.proto import Message
from tracklight.graphs.attributes import describe_node, name_type
from tracklight.graphs.model import Detail, Graph, Output
from tracklight.graphs.wiring import Wiring

#: PyTorch's operations that take something from a module, which is often no node itself.
_MODULE_PARTS = frozenset({"prim::GetAttr", "prim::CallMethod"})
#: What a function's inputs and outputs are called where TensorFlow shows a function as a graph.
ARGUMENT, RESULT = "_Arg", "_Retval"


def read_graphdef(data: bytes) -> Graph:
    """The graph in the bytes of a ``GraphDef``, with the bodies of its functions."""
    return build_graph(proto.parse("GraphDef", data))


def build_graph(graph: Message) -> Graph:
    functions = {
        decode_text(function.signature.name): _build_function(function)
        for function in graph.library.function
    }
    nodes = list(graph.node)
    names = [decode_text(node.name) for node in nodes]
    ops = [decode_text(node.op) for node in nodes]
    wiring = Wiring(names)
    _wire(wiring, nodes, ops, 0)
    return Graph(
        names,
        ops,
        wiring.edges(),
        lambda place: describe_node(nodes[place]),
        functions,
        wiring.problems(),
    )


def _build_function(function: Message) -> Graph:
    """A body between nodes for what goes in and what comes out."""
    arguments, results = list(function.signature.input_arg), _list_results(function)
    nodes, first = list(function.node_def), len(arguments)
    names = [decode_text(argument.name) for argument in arguments]
    names += [decode_text(node.name) for node in nodes]
    ops = [decode_text(node.op) for node in nodes]
    wiring = Wiring(names)
    _wire(wiring, nodes, ops, first)
    for place, pair in enumerate(results, len(names)):
        _add_input(wiring, place, 0, decode_text(pair.value))
    told = {entry.key: entry.value.attr for entry in function.arg_attr}
    ends = [decode_text(pair.key) for pair in results]

    def describe(place: int) -> Detail:
        if place < first:
            return _describe_argument(arguments[place], told.get(place, ()))
        return describe_node(nodes[place - first]) if place < len(names) else Detail()

    return Graph(
        [*names, *ends],
        [ARGUMENT] * first + ops + [RESULT] * len(ends),
        wiring.edges(),
        describe,
        problems=wiring.problems(),
    )


def _list_results(function: Message) -> list[Message]:
    """In the order in which callers count them, which is not that of the map they stand in."""
    places = {argument.name: place for place, argument in enumerate(function.signature.output_arg)}
    return sorted(function.ret, key=lambda pair: places.get(pair.key, len(places)))


def _describe_argument(argument: Message, told: Sequence[Message]) -> Detail:
    dtype = name_type(argument.type)
    if not told:
        return Detail((Output(dtype, None),))
    detail = describe_node(proto.NodeDef(op=ARGUMENT.encode(), attr=told))
    shapes = [output.shape for output in detail.outputs] or [None]
    return replace(detail, outputs=tuple(Output(dtype, shape) for shape in shapes))


def _wire(wiring: Wiring, nodes: Sequence[Message], ops: Sequence[str], first: int) -> None:
    for target, (node, op) in enumerate(zip(nodes, ops, strict=True), first):
        if op in _MODULE_PARTS:
            _add_parts(wiring, target, node)
            continue
        for position, text in enumerate(node.input):
            name = decode_text(text)
            if not wiring.join(target, position, name):
                _add_input(wiring, target, position, name)


def _add_input(wiring: Wiring, target: int, position: int, text: str) -> None:
    """``^name`` is a control input; ``name``, ``name:1`` and ``name:output:1`` are tensors."""
    is_control = text.startswith("^")
    name, _, output = text.removeprefix("^").partition(":")
    wiring.add(target, position, name, "" if is_control else output or "0", is_control)


def _add_parts(wiring: Wiring, target: int, node: Message) -> None:
    """Modules are scopes, so that nothing is missing where one is named that is no node."""
    for position, text in enumerate(node.input):
        if wiring.find(decode_text(text)) is not None:
            _add_input(wiring, target, position, decode_text(text))
