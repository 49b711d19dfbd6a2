"""Takes settings apart that a writer put into one text.

PyTorch writes ``{ name :  bias }``, which was a dict whose quotes it took away; tracklight writes
``stride=[2, 2], padding=[0, 0]`` and ``pads = [1, 2], mode = same``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tracklight.analysis.graphs.model import (
    EdgeBuilder,
    Edges,
    Graph,
    InputRef,
    NodeDetails,
    Shape,
    TensorSpec,
    format_shape,
)
from tracklight.errors import FormatError
from tracklight.formats import proto
from tracklight.formats.proto import Message
from tracklight.formats.wire_format import decode_text, decode_texts, scan_messages
from tracklight.types import Bool, Int64

_PACKED_PAIR = re.compile(r"\s*([\w.]+)\s*[=:]\s*(.*?)\s*", re.DOTALL)

_OPEN, _CLOSED = "([{", ")]}"

_MAX_PACKED_LENGTH = 20_000


def split_packed_attributes(text: str, key: str) -> dict[str, str]:
    """Settings by name; what does not come apart stays whole under ``key``."""
    plain = text.strip()
    if plain.startswith("{") and plain.endswith("}"):
        plain = plain[1:-1].strip()
    if not plain:
        return {}
    pairs = (
        [_PACKED_PAIR.fullmatch(part) for part in _iter_packed_parts(plain)]
        if len(plain) < _MAX_PACKED_LENGTH
        else []
    )
    named = {pair[1]: pair[2] for pair in pairs if pair}
    return named if pairs and len(named) == len(pairs) else {key: text}


def _iter_packed_parts(text: str) -> Iterator[str]:
    """What stands between commas that are in no brackets."""
    depth = start = 0
    for at, sign in enumerate(text):
        if sign in _OPEN:
            depth += 1
        elif sign in _CLOSED:
            depth -= 1
        elif sign == "," and depth == 0:
            yield text[start:at]
            start = at + 1
    yield text[start:]


# What the attributes of a ``NodeDef`` say, in words that fit a line.

#: Where the shapes of all outputs stand, for writers that know them.
_SHAPES = "_output_shapes"

#: Where tracklight's writers put the line that a node comes from.
_SOURCE = "source"

#: What PyTorch's writer and tracklight's put several settings into.
_PACKED = ("attr", "parameters")

#: What gives a variable to those who read or change it, and no numbers itself.
_HANDLE = "VarHandleOp"

#: Operations whose output is what training changes.
_PARAMETERS = frozenset({"Parameter", "VariableV2", "prim::GetAttr"})

#: Attributes that say of what type a node's outputs are, the best first.
_TYPES = ("output_type", "dtype", "T", "DstT", "out_type")

_MAX_VALUE_LENGTH = 1000

_TYPE_NAMES = (
    "", "float32", "float64", "int32", "uint8", "int16", "int8", "string", "complex64", "int64",
    "bool", "qint8", "quint8", "qint32", "bfloat16", "qint16", "quint16", "uint16", "complex128",
    "float16", "resource", "variant", "uint32", "uint64", "float8_e5m2", "float8_e4m3fn",
    "float8_e4m3fnuz", "float8_e4m3b11fnuz", "float8_e5m2fnuz", "int4", "uint4", "int2", "uint2",
    "float4_e2m1fn",
)  # fmt: skip

_REFERENCE = 100

#: What TensorFlow's own names for types are here.
_RENAMED = {"float": "float32", "double": "float64", "half": "float16"}


def describe_node(node: Message) -> NodeDetails:
    values = {decode_text(attr.key): attr.value for attr in node.attr}
    op = decode_text(node.op)
    outputs = _find_outputs(op, values)
    shown = {
        key: _format_value(value) for key, value in values.items() if key not in (_SHAPES, _SOURCE)
    }
    for key in _PACKED:
        if key in shown and values[key].WhichOneof("value") == "s":
            shown = split_packed_attributes(shown.pop(key), key) | shown
    return NodeDetails(
        outputs,
        shown,
        decode_text(node.device),
        _count_parameters(op, values, outputs),
        tuple(_iter_calls(values.values())),
        decode_text(values[_SOURCE].s) if _SOURCE in values else "",
    )


def get_dtype_name(number: int) -> str:
    """TensorFlow's number for a type in the words of NumPy."""
    plain = number - _REFERENCE if number > _REFERENCE else number
    return _TYPE_NAMES[plain] if 0 <= plain < len(_TYPE_NAMES) else f"type {number}"


def get_dtype_number(name: str) -> int:
    """TensorFlow's number for a type that is called ``DT_FLOAT`` there; 0 for an unknown one."""
    plain = name.removesuffix("_REF").lower()
    plain = _RENAMED.get(plain, plain)
    if plain not in _TYPE_NAMES:
        return 0
    return _TYPE_NAMES.index(plain) + (_REFERENCE if name.endswith("_REF") else 0)


def parse_shape(shape: Message) -> Shape:
    if shape.unknown_rank:
        return None
    return tuple(dim.size if dim.size >= 0 else None for dim in shape.dim)


def _find_outputs(op: str, values: Mapping[str, Message]) -> tuple[TensorSpec, ...]:
    if op == _HANDLE:
        return (TensorSpec("resource", ()),)
    shapes = _find_shapes(values)
    types = _find_types(values)
    # One type is that of all outputs.
    types = types * len(shapes) if len(types) == 1 else [*types, *[""] * len(shapes)]
    return tuple(TensorSpec(dtype, shape) for dtype, shape in zip(types, shapes, strict=False))


def _find_shapes(values: Mapping[str, Message]) -> list[Shape]:
    if _SHAPES in values:
        given = values[_SHAPES]
        shapes = given.list.shape if given.WhichOneof("value") == "list" else [given.shape]
        return [parse_shape(shape) for shape in shapes]
    if "shape" in values and values["shape"].WhichOneof("value") == "shape":
        return [parse_shape(values["shape"].shape)]
    if "value" in values and values["value"].WhichOneof("value") == "tensor":
        return [parse_shape(values["value"].tensor.tensor_shape)]
    return [None] if any(key in values for key in _TYPES) else []


def _find_types(values: Mapping[str, Message]) -> list[str]:
    """TensorFlow writes one as a number, tracklight's own writers one for each output as text."""
    found = next((values[key] for key in _TYPES if key in values), None)
    if found is None:
        return []
    if found.WhichOneof("value") == "s":
        return decode_text(found.s).split(", ")
    return [get_dtype_name(found.type)]


def _count_parameters(
    op: str, values: Mapping[str, Message], outputs: tuple[TensorSpec, ...]
) -> int:
    if op == _HANDLE and "shape" in values:
        return TensorSpec("", parse_shape(values["shape"].shape)).count_elements() or 0
    return sum(output.count_elements() or 0 for output in outputs) if op in _PARAMETERS else 0


def _iter_calls(values: Iterable[Message]) -> Iterator[str]:
    for value in values:
        kind = value.WhichOneof("value")
        functions = [value.func] if kind == "func" else value.list.func if kind == "list" else ()
        yield from (decode_text(function.name) for function in functions)


def _format_value(value: Message) -> str:
    """A value as people write it; a long one is cut."""
    kind = value.WhichOneof("value")
    if kind is None:
        return ""
    if kind == "list":
        items = [
            _format_item(field.name, it)
            for field, its in value.list.ListFields()
            for it in its[:50]
        ]
        text = f"[{', '.join(items)}]"
    else:
        text = _format_item(kind, getattr(value, kind))
    return text if len(text) <= _MAX_VALUE_LENGTH else f"{text[:_MAX_VALUE_LENGTH]}…"


def _format_item(kind: str, item: Message) -> str:
    if kind in ("s", "placeholder"):
        return decode_text(item)
    if kind == "type":
        return get_dtype_name(item)
    if kind == "shape":
        return format_shape(parse_shape(item)) or "unknown"
    if kind == "tensor":
        shape = format_shape(parse_shape(item.tensor_shape))
        return f"{get_dtype_name(item.dtype)} {shape}".strip()
    if kind == "func":
        return decode_text(item.name)
    return str(item)


# The nodes of a ``GraphDef`` or a function as columns, taken straight from its bytes.
#
# A graph may have a hundred thousand of them. Their names and inputs are wanted at once; a message is
# only made of a node that somebody looks at.

_NODE_NAME, _NODE_OP, _NODE_INPUT = 1, 2, 3

_WANTED = 1 << _NODE_NAME | 1 << _NODE_OP | 1 << _NODE_INPUT

_DAMAGED = NodeDetails(
    attributes={"(damaged)": "what else is written of this node cannot be decoded"}
)


@dataclass(frozen=True, slots=True, eq=False)
class NodeColumns:
    names: list[str]
    ops: list[str]
    input_counts: Int64
    """How many inputs each node has."""
    inputs: list[str]
    """Those of all nodes, one after the other."""
    data: bytes
    spans: Int64
    """Where the message of each node starts in ``data``, and its size."""

    def describe(self, place: int) -> NodeDetails:
        start, size = self.spans[place].tolist()
        try:
            return describe_node(proto.parse("NodeDef", self.data[start : start + size]))
        except FormatError:
            return _DAMAGED


def scan_submessages(data: bytes, spans: Int64, field: int) -> Int64:
    """Where the messages in one field of some messages start, and their sizes."""
    return np.ascontiguousarray(scan_messages(data, spans, 1 << field)[:, 2:])


def scan_nodes(data: bytes, spans: Int64) -> NodeColumns:
    of, field, start, size = np.ascontiguousarray(scan_messages(data, spans, _WANTED).T)
    texts = decode_texts(data, start, size)
    return NodeColumns(
        _scatter_texts(texts, of, field == _NODE_NAME, len(spans)),
        _scatter_texts(texts, of, field == _NODE_OP, len(spans)),
        np.bincount(of[field == _NODE_INPUT], minlength=len(spans)),
        [texts[row] for row in np.flatnonzero(field == _NODE_INPUT).tolist()],
        data,
        spans,
    )


def _scatter_texts(texts: list[str], of: Int64, is_taken: Bool, count: int) -> list[str]:
    """What each node says; of those who say it twice, what they say last."""
    found = [""] * count
    for row, place in zip(np.flatnonzero(is_taken).tolist(), of[is_taken].tolist(), strict=True):
        found[place] = texts[row]
    return found


# Reads TensorFlow's ``GraphDef``, which PyTorch and others write as well.

#: Fields of ``GraphDef``, ``FunctionDefLibrary`` and ``FunctionDef``.
_NODE, _LIBRARY = 1, 2

_FUNCTION, _FUNCTION_NODE = 1, 3

#: PyTorch's operations that take something from a module, which is often no node itself.
_MODULE_PARTS = frozenset({"prim::GetAttr", "prim::CallMethod"})

#: What a function's inputs and outputs are called where TensorFlow shows a function as a graph.
ARGUMENT, RESULT = "_Arg", "_Retval"


def parse_graphdef(data: bytes) -> Graph:
    """The graph in the bytes of a ``GraphDef``, with the bodies of its functions."""
    whole = np.array([[0, len(data)]])
    try:
        nodes = scan_nodes(data, scan_submessages(data, whole, _NODE))
        functions = scan_submessages(data, scan_submessages(data, whole, _LIBRARY), _FUNCTION)
    except FormatError as error:
        raise FormatError(f"{len(data)} bytes that are no GraphDef message: {error}") from error
    wiring = EdgeBuilder(nodes.names)
    _wire(wiring, nodes, 0)
    return Graph(
        nodes.names,
        nodes.ops,
        wiring.build(),
        nodes.describe,
        dict(_read_function(data, span) for span in functions),
        wiring.list_problems(),
    )


def build_graph(graph: Message) -> Graph:
    return parse_graphdef(graph.SerializeToString())


def _read_function(data: bytes, span: Int64) -> tuple[str, Graph]:
    """A body between nodes for what goes in and what comes out."""
    start, size = span.tolist()
    function = proto.parse("FunctionDef", data[start : start + size])
    arguments, results = list(function.signature.input_arg), _list_results(function)
    nodes, first = (
        scan_nodes(data, scan_submessages(data, span[np.newaxis], _FUNCTION_NODE)),
        len(arguments),
    )
    names = [*(decode_text(argument.name) for argument in arguments), *nodes.names]
    wiring = EdgeBuilder(names)
    _wire(wiring, nodes, first)
    for place, pair in enumerate(results, len(names)):
        wiring.add(place, 0, *_split_input(decode_text(pair.value)))
    told = {entry.key: entry.value.attr for entry in function.arg_attr}
    ends = [decode_text(pair.key) for pair in results]

    def describe(place: int) -> NodeDetails:
        if place < first:
            return _describe_argument(arguments[place], told.get(place, ()))
        return nodes.describe(place - first) if place < len(names) else NodeDetails()

    return decode_text(function.signature.name), Graph(
        [*names, *ends],
        [ARGUMENT] * first + nodes.ops + [RESULT] * len(ends),
        wiring.build(),
        describe,
        problems=wiring.list_problems(),
    )


def _list_results(function: Message) -> list[Message]:
    """In the order in which callers count them, which is not that of the map they stand in."""
    places = {argument.name: place for place, argument in enumerate(function.signature.output_arg)}
    return sorted(function.ret, key=lambda pair: places.get(pair.key, len(places)))


def _describe_argument(argument: Message, told: Sequence[Message]) -> NodeDetails:
    dtype = get_dtype_name(argument.type)
    if not told:
        return NodeDetails((TensorSpec(dtype, None),))
    detail = describe_node(proto.NodeDef(op=ARGUMENT.encode(), attr=told))
    shapes = [output.shape for output in detail.outputs] or [None]
    return replace(detail, outputs=tuple(TensorSpec(dtype, shape) for shape in shapes))


def _wire(wiring: EdgeBuilder, nodes: NodeColumns, first: int) -> None:
    def split(target: int, name: str) -> InputRef | None:
        # Modules are scopes, so that nothing is missing where one is named that is no node.
        return None if nodes.ops[target - first] in _MODULE_PARTS else _split_input(name)

    wiring.add_many(first, nodes.input_counts, nodes.inputs, split)


def _split_input(text: str) -> InputRef:
    """``^name`` is a control input; ``name``, ``name:1`` and ``name:output:1`` are tensors."""
    is_control = text.startswith("^")
    name, _, output = text.removeprefix("^").partition(":")
    return InputRef(name, "" if is_control else output or "0", is_control)


# Reads ``RunMetadata``: the graphs of all functions that ran while a trace was on, as one.


def parse_run_metadata(data: bytes) -> Graph:
    """Each graph as it was before it was optimised; where there are several, in scopes."""
    metadata = proto.parse("RunMetadata", data)
    written = [entry.pre_optimization_graph for entry in metadata.function_graphs]
    written = [graph for graph in written if graph] or list(metadata.partition_graphs)
    if not written:
        raise FormatError("the trace holds no graph")
    graphs = [parse_graphdef(graph) for graph in written]
    return graphs[0] if len(graphs) == 1 else _merge_graphs(graphs)


def _merge_graphs(graphs: Sequence[Graph]) -> Graph:
    """Side by side, each in a scope of its own; equal names of functions mean one function."""
    starts = np.cumsum([0, *map(len, graphs)])
    scopes = [f"graph_{number}" for number in range(1, len(graphs) + 1)]

    def describe(place: int) -> NodeDetails:
        which = int(np.searchsorted(starts, place, side="right")) - 1
        return graphs[which].describe(place - int(starts[which]))

    return Graph(
        [
            f"{scope}/{name}"
            for scope, graph in zip(scopes, graphs, strict=True)
            for name in graph.names
        ],
        [op for graph in graphs for op in graph.ops],
        _concatenate_edges([graph.edges for graph in graphs], starts),
        describe,
        {name: body for graph in graphs for name, body in graph.functions.items()},
        tuple(
            f"in {scope}, {problem}"
            for scope, graph in zip(scopes, graphs, strict=True)
            for problem in graph.problems
        ),
    )


def _concatenate_edges(parts: Sequence[Edges], starts: np.ndarray) -> Edges:
    shifts = [start.astype(np.int32) for start in starts]
    return Edges(
        np.concatenate([part.source + shift for part, shift in zip(parts, shifts, strict=False)]),
        np.concatenate([part.target + shift for part, shift in zip(parts, shifts, strict=False)]),
        np.concatenate([part.position for part in parts]),
        [output for part in parts for output in part.output],
        np.concatenate([part.control for part in parts]),
    )


# When each node ran and what memory it took, from the run metadata of one step.


@dataclass(frozen=True, slots=True)
class NodeExecution:
    """One node's share of a step."""

    device: str
    start_us: float
    end_us: float
    memory_bytes: int
    """Taken while it ran, by all allocators together."""
    outputs: tuple[str, ...]
    """Types and shapes as they were, also where the graph does not tell them."""

    @property
    def duration_us(self) -> float:
        return self.end_us - self.start_us


def parse_step_stats(run_metadata: bytes) -> dict[str, NodeExecution]:
    """By the names of nodes; nothing where the step was not recorded."""
    stats = proto.parse("StepStats", proto.parse("RunMetadata", run_metadata).step_stats)
    found: dict[str, NodeExecution] = {}
    for name, execution in _iter_executions(stats):
        known = found.get(name)
        found[name] = execution if known is None else _merge_executions(known, execution)
    return found


def _iter_executions(stats: Message) -> Iterator[tuple[str, NodeExecution]]:
    for device in stats.dev_stats:
        name = decode_text(device.device)
        for node in device.node_stats:
            yield decode_text(node.node_name), _parse_execution(name, node)


def _parse_execution(device: str, node: Message) -> NodeExecution:
    start_us = float(node.all_start_micros)
    took_us = node.all_end_rel_nanos / 1000 or float(node.all_end_rel_micros)
    memory_bytes = sum(max(used.total_bytes, 0) for used in node.memory)
    outputs = sorted(node.output, key=lambda output: int(output.slot))
    return NodeExecution(
        device,
        start_us,
        start_us + max(took_us, 0.0),
        memory_bytes,
        tuple(_format_tensor(output.tensor_description) for output in outputs),
    )


def _format_tensor(tensor: Message) -> str:
    return f"{get_dtype_name(tensor.dtype)} {format_shape(parse_shape(tensor.shape))}".strip()


def _merge_executions(one: NodeExecution, other: NodeExecution) -> NodeExecution:
    """A node that ran several times, or on several devices, took from its first start to its
    last end."""
    return NodeExecution(
        one.device,
        min(one.start_us, other.start_us),
        max(one.end_us, other.end_us),
        max(one.memory_bytes, other.memory_bytes),
        one.outputs or other.outputs,
    )
