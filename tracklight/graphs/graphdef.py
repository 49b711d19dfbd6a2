"""Reads TensorFlow's ``GraphDef``, which PyTorch and others write as well."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tracklight.errors import FormatError
from tracklight.formats import proto
from tracklight.formats.event import decode_text
from tracklight.formats.proto import Message
from tracklight.graphs.attributes import describe_node, name_type
from tracklight.graphs.model import Detail, Graph, Output
from tracklight.graphs.nodedefs import NodeDefs, find_parts, scan_nodes
from tracklight.graphs.wiring import Input, Wiring
from tracklight.types import Int64

#: Fields of ``GraphDef``, ``FunctionDefLibrary`` and ``FunctionDef``.
_NODE, _LIBRARY = 1, 2
_FUNCTION, _FUNCTION_NODE = 1, 3
#: PyTorch's operations that take something from a module, which is often no node itself.
_MODULE_PARTS = frozenset({"prim::GetAttr", "prim::CallMethod"})
#: What a function's inputs and outputs are called where TensorFlow shows a function as a graph.
ARGUMENT, RESULT = "_Arg", "_Retval"


def read_graphdef(data: bytes) -> Graph:
    """The graph in the bytes of a ``GraphDef``, with the bodies of its functions."""
    whole = np.array([[0, len(data)]])
    try:
        nodes = scan_nodes(data, find_parts(data, whole, _NODE))
        functions = find_parts(data, find_parts(data, whole, _LIBRARY), _FUNCTION)
    except FormatError as error:
        raise FormatError(f"{len(data)} bytes that are no GraphDef message: {error}") from error
    wiring = Wiring(nodes.names)
    _wire(wiring, nodes, 0)
    return Graph(
        nodes.names,
        nodes.ops,
        wiring.edges(),
        nodes.describe,
        dict(_read_function(data, span) for span in functions),
        wiring.problems(),
    )


def build_graph(graph: Message) -> Graph:
    return read_graphdef(graph.SerializeToString())


def _read_function(data: bytes, span: Int64) -> tuple[str, Graph]:
    """A body between nodes for what goes in and what comes out."""
    start, size = span.tolist()
    function = proto.parse("FunctionDef", data[start : start + size])
    arguments, results = list(function.signature.input_arg), _list_results(function)
    nodes, first = (
        scan_nodes(data, find_parts(data, span[np.newaxis], _FUNCTION_NODE)),
        len(arguments),
    )
    names = [*(decode_text(argument.name) for argument in arguments), *nodes.names]
    wiring = Wiring(names)
    _wire(wiring, nodes, first)
    for place, pair in enumerate(results, len(names)):
        wiring.add(place, 0, *_split_input(decode_text(pair.value)))
    told = {entry.key: entry.value.attr for entry in function.arg_attr}
    ends = [decode_text(pair.key) for pair in results]

    def describe(place: int) -> Detail:
        if place < first:
            return _describe_argument(arguments[place], told.get(place, ()))
        return nodes.describe(place - first) if place < len(names) else Detail()

    return decode_text(function.signature.name), Graph(
        [*names, *ends],
        [ARGUMENT] * first + nodes.ops + [RESULT] * len(ends),
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


def _wire(wiring: Wiring, nodes: NodeDefs, first: int) -> None:
    def split(target: int, name: str) -> Input | None:
        # Modules are scopes, so that nothing is missing where one is named that is no node.
        return None if nodes.ops[target - first] in _MODULE_PARTS else _split_input(name)

    wiring.join(first, nodes.counts, nodes.inputs, split)


def _split_input(text: str) -> Input:
    """``^name`` is a control input; ``name``, ``name:1`` and ``name:output:1`` are tensors."""
    is_control = text.startswith("^")
    name, _, output = text.removeprefix("^").partition(":")
    return Input(name, "" if is_control else output or "0", is_control)
