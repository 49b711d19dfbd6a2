"""Parse TensorFlow's ``GraphDef`` and ``RunMetadata``, which PyTorch and others write as well.

A graph may have 100,000 nodes. Names, operations and inputs are scanned from the bytes as columns
(`NodeColumns`); the message of a single node is parsed when its details are needed
(`describe_node`).
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracklight.analysis.graphs import (
    ARGUMENT,
    RESULT,
    EdgeBuilder,
    Edges,
    Graph,
    InputRef,
    NodeDetails,
    Shape,
    TensorSpec,
    find_output_types,
    format_shape,
    locate_problem,
)
from tracklight.errors import FormatError
from tracklight.formats import proto
from tracklight.formats.proto import Message, decode_text, decode_texts, scan_messages
from tracklight.formats.tensor import decode_tensor, format_elements
from tracklight.types import Bool, Int64

# Field numbers of GraphDef, FunctionDefLibrary, FunctionDef and NodeDef.
_GRAPH_NODE, _GRAPH_LIBRARY = 1, 2
_LIBRARY_FUNCTION, _FUNCTION_NODE = 1, 3
_NODE_NAME, _NODE_OP, _NODE_INPUT = 1, 2, 3
_NODE_FIELDS = 1 << _NODE_NAME | 1 << _NODE_OP | 1 << _NODE_INPUT

#: TorchScript operations whose input is a module. Modules are scopes and often not nodes, so the
#: input is not reported as missing.
_MODULE_OPS = frozenset({"prim::GetAttr", "prim::CallMethod"})

_UNREADABLE_NODE = NodeDetails(attributes={"(damaged)": "the attributes cannot be decoded"})

#: The attribute with the shapes of all outputs, if the writer knows them.
_SHAPES = "_output_shapes"
#: The attribute in which tracklight's writers store the source line of a node.
_SOURCE = "source"
#: Attributes in which PyTorch's and tracklight's writers pack several values as text.
_PACKED = ("attr", "parameters")
#: Attributes with the type of the outputs of an unknown operation, in order of preference.
_TYPES = ("output_type", "dtype", "T", "DstT", "out_type")
_MAX_OUTPUTS = 100_000
_OUTPUT_SHAPES = "output_shapes"
_CONSTANT = "Const"
#: The operation that outputs a handle of a variable.
_HANDLE = "VarHandleOp"
#: Operations whose outputs are trainable.
_PARAMETERS = frozenset({"Parameter", "VariableV2", "prim::GetAttr"})

_MAX_VALUE_LENGTH = 1000
_MAX_LIST_ITEMS = 50
_MAX_PACKED_LENGTH = 20_000
_PACKED_PAIR = re.compile(r"\s*([\w.]+)\s*[=:]\s*(.*?)\s*", re.DOTALL)

#: NumPy's names of TensorFlow's data types, by the number in ``types.proto``.
_TYPE_NAMES = (
    "", "float32", "float64", "int32", "uint8", "int16", "int8", "string", "complex64", "int64",
    "bool", "qint8", "quint8", "qint32", "bfloat16", "qint16", "quint16", "uint16", "complex128",
    "float16", "resource", "variant", "uint32", "uint64", "float8_e5m2", "float8_e4m3fn",
    "float8_e4m3fnuz", "float8_e4m3b11fnuz", "float8_e5m2fnuz", "int4", "uint4", "int2", "uint2",
    "float4_e2m1fn",
)  # fmt: skip
#: Reference types are numbered from here on.
_REFERENCE = 100
#: TensorFlow's names that differ from NumPy's.
_RENAMED = {"float": "float32", "double": "float64", "half": "float16"}


def parse_graphdef(data: bytes) -> Graph:
    """Parse a serialized ``GraphDef``, including the bodies of its functions.

    Raises:
        FormatError: The bytes are not a GraphDef message.
    """
    whole = np.array([[0, len(data)]])
    try:
        nodes = scan_nodes(data, scan_submessages(data, whole, _GRAPH_NODE))
        libraries = scan_submessages(data, whole, _GRAPH_LIBRARY)
        functions = scan_submessages(data, libraries, _LIBRARY_FUNCTION)
    except FormatError as error:
        raise FormatError(
            "graphs.invalid_graphdef",
            "{size} bytes are not a GraphDef message: {error}",
            size=len(data),
            error=error,
        ) from error
    edges = EdgeBuilder(nodes.names)
    _add_edges(edges, nodes, 0)
    return Graph(
        nodes.names,
        nodes.ops,
        edges.build(),
        nodes.describe,
        dict(_parse_function(data, span) for span in functions),
        edges.list_problems(),
        {
            node: functools.partial(nodes.read_constant, node)
            for node, op in enumerate(nodes.ops)
            if op == _CONSTANT
        },
    )


def build_graph(graph: Message) -> Graph:
    """Convert a ``GraphDef`` message."""
    return parse_graphdef(graph.SerializeToString())


def _parse_function(data: bytes, span: Int64) -> tuple[str, Graph]:
    """Return a function's name and its body, with nodes for arguments and results."""
    start, size = span.tolist()
    function = proto.parse("FunctionDef", data[start : start + size])
    arguments, results = list(function.signature.input_arg), _list_results(function)
    nodes = scan_nodes(data, scan_submessages(data, span[np.newaxis], _FUNCTION_NODE))
    first = len(arguments)
    names = [*(decode_text(argument.name) for argument in arguments), *nodes.names]
    edges = EdgeBuilder(names)
    _add_edges(edges, nodes, first)
    for node, pair in enumerate(results, len(names)):
        edges.add(node, 0, *_split_input(decode_text(pair.value)))
    argument_attributes = {entry.key: entry.value.attr for entry in function.arg_attr}
    result_names = [decode_text(pair.key) for pair in results]

    def describe(node: int) -> NodeDetails:
        if node < first:
            return _describe_argument(arguments[node], argument_attributes.get(node, ()))
        return nodes.describe(node - first) if node < len(names) else NodeDetails()

    return decode_text(function.signature.name), Graph(
        [*names, *result_names],
        [ARGUMENT] * first + nodes.ops + [RESULT] * len(results),
        edges.build(),
        describe,
        problems=edges.list_problems(),
    )


def _list_results(function: Message) -> list[Message]:
    """Return the results in the order of the signature; the message has them in a map."""
    order = {argument.name: index for index, argument in enumerate(function.signature.output_arg)}
    return sorted(function.ret, key=lambda pair: order.get(pair.key, len(order)))


def _describe_argument(argument: Message, attributes: Sequence[Message]) -> NodeDetails:
    dtype = get_dtype_name(argument.type)
    if not attributes:
        return NodeDetails((TensorSpec(dtype, None),))
    details = describe_node(proto.NodeDef(op=ARGUMENT.encode(), attr=attributes))
    shapes = [output.shape for output in details.outputs] or [None]
    return replace(details, outputs=tuple(TensorSpec(dtype, shape) for shape in shapes))


def _add_edges(edges: EdgeBuilder, nodes: NodeColumns, first: int) -> None:
    def split(target: int, name: str) -> InputRef | None:
        return None if nodes.ops[target - first] in _MODULE_OPS else _split_input(name)

    edges.add_many(first, nodes.input_counts, nodes.inputs, split)


def _split_input(text: str) -> InputRef:
    """Parse ``^name`` (control input), ``name``, ``name:1`` or ``name:output:1``."""
    is_control = text.startswith("^")
    name, _, output = text.removeprefix("^").partition(":")
    return InputRef(name, "" if is_control else output or "0", is_control)


@dataclass(frozen=True, slots=True, eq=False)
class NodeColumns:
    """The nodes of a graph or function body."""

    names: list[str]
    ops: list[str]
    input_counts: Int64
    """Number of inputs of each node."""
    inputs: list[str]
    """The inputs of all nodes, concatenated."""
    data: bytes
    spans: Int64
    """Offset and size of each node's message in ``data``."""

    def describe(self, node: int) -> NodeDetails:
        start, size = self.spans[node].tolist()
        try:
            return describe_node(proto.parse("NodeDef", self.data[start : start + size]))
        except FormatError:
            return _UNREADABLE_NODE

    def read_constant(self, node: int) -> dict[str, NDArray[Any]]:
        """Return the value of a constant, numbers or texts; nothing if it cannot be read."""
        start, size = self.spans[node].tolist()
        try:
            message = proto.parse("NodeDef", self.data[start : start + size])
            tensors = [item.value.tensor for item in message.attr if item.key == b"value"]
            array = decode_tensor(tensors[0]) if tensors else np.zeros(0)
        except FormatError:
            return {}
        is_known = array.dtype.kind in "biufcO"  # objects are texts
        return {"value": array} if array.size and is_known else {}


def scan_submessages(data: bytes, spans: Int64, field: int) -> Int64:
    """Return offset and size of the messages in one field of several messages."""
    return np.ascontiguousarray(scan_messages(data, spans, 1 << field)[:, 2:])


def scan_nodes(data: bytes, spans: Int64) -> NodeColumns:
    """Scan names, operations and inputs of the ``NodeDef`` messages at some spans."""
    node, field, start, size = np.ascontiguousarray(scan_messages(data, spans, _NODE_FIELDS).T)
    texts = decode_texts(data, start, size)
    return NodeColumns(
        _scatter_texts(texts, node, field == _NODE_NAME, len(spans)),
        _scatter_texts(texts, node, field == _NODE_OP, len(spans)),
        np.bincount(node[field == _NODE_INPUT], minlength=len(spans)),
        [texts[row] for row in np.flatnonzero(field == _NODE_INPUT).tolist()],
        data,
        spans,
    )


def _scatter_texts(texts: list[str], node: Int64, mask: Bool, count: int) -> list[str]:
    """Return the text of each node; as in protobuf, the last one counts if a field is repeated."""
    column = [""] * count
    for row, index in zip(np.flatnonzero(mask).tolist(), node[mask].tolist(), strict=True):
        column[index] = texts[row]
    return column


def describe_node(node: Message) -> NodeDetails:
    """Convert the attributes of a ``NodeDef`` message."""
    values = {decode_text(attr.key): attr.value for attr in node.attr}
    op = decode_text(node.op)
    outputs = _get_outputs(op, values)
    attributes = {
        key: _format_value(value) for key, value in values.items() if key not in (_SHAPES, _SOURCE)
    }
    for key in _PACKED:
        if key in attributes and values[key].WhichOneof("value") == "s":
            attributes = split_packed_attributes(attributes.pop(key), key) | attributes
    return NodeDetails(
        outputs,
        attributes,
        decode_text(node.device),
        _count_parameters(op, values, outputs),
        tuple(_iter_functions(values.values())),
        decode_text(values[_SOURCE].s) if _SOURCE in values else "",
    )


def split_packed_attributes(text: str, key: str) -> dict[str, str]:
    """Split attributes that a writer packed into one text; return it under ``key`` if it cannot.

    PyTorch writes ``{ name :  bias }``, the text of a dict without its quotes; tracklight writes
    ``stride=[2, 2], padding=[0, 0]`` and ``pads = [1, 2], mode = same``.
    """
    plain = text.strip()
    if plain.startswith("{") and plain.endswith("}"):
        plain = plain[1:-1].strip()
    if not plain:
        return {}
    if len(plain) >= _MAX_PACKED_LENGTH:
        return {key: text}
    pairs = [_PACKED_PAIR.fullmatch(part) for part in _iter_packed_parts(plain)]
    named = {pair[1]: pair[2] for pair in pairs if pair}
    return named if len(named) == len(pairs) else {key: text}


def _iter_packed_parts(text: str) -> Iterator[str]:
    """Split at commas outside of brackets."""
    depth = start = 0
    for index, character in enumerate(text):
        if character in "([{":
            depth += 1
        elif character in ")]}":
            depth -= 1
        elif character == "," and depth == 0:
            yield text[start:index]
            start = index + 1
    yield text[start:]


def get_dtype_name(number: int) -> str:
    """Return NumPy's name for TensorFlow's number of a data type."""
    plain = number - _REFERENCE if number > _REFERENCE else number
    return _TYPE_NAMES[plain] if 0 <= plain < len(_TYPE_NAMES) else f"type {number}"


def get_dtype_number(name: str) -> int:
    """Return TensorFlow's number for its name of a data type, without ``DT_``; 0 if unknown."""
    plain = name.removesuffix("_REF").lower()
    plain = _RENAMED.get(plain, plain)
    if plain not in _TYPE_NAMES:
        return 0
    return _TYPE_NAMES.index(plain) + (_REFERENCE if name.endswith("_REF") else 0)


def parse_shape(shape: Message) -> Shape:
    """Convert a ``TensorShapeProto``."""
    if shape.unknown_rank:
        return None
    return tuple(dim.size if dim.size >= 0 else None for dim in shape.dim)


def _get_outputs(op: str, values: Mapping[str, Message]) -> tuple[TensorSpec, ...]:
    if op == _HANDLE:
        return (TensorSpec("resource", ()),)
    declared = _list_declared_types(op, values)
    if declared is not None:
        shapes = _list_shapes(values)
        # Without the shapes of outputs, the only shape is that of the only output.
        if len(declared) > 1 and not (_SHAPES in values or _OUTPUT_SHAPES in values):
            shapes = []
        shapes += [None] * (len(declared) - len(shapes))
        return tuple(map(TensorSpec, declared, shapes))
    shapes = _list_shapes(values)
    types = _list_types(values)
    # A single type applies to all outputs.
    types = types * len(shapes) if len(types) == 1 else [*types, *[""] * len(shapes)]
    return tuple(TensorSpec(dtype, shape) for dtype, shape in zip(types, shapes, strict=False))


def _list_shapes(values: Mapping[str, Message]) -> list[Shape]:
    if _SHAPES in values:
        value = values[_SHAPES]
        shapes = value.list.shape if value.WhichOneof("value") == "list" else [value.shape]
        return [parse_shape(shape) for shape in shapes]
    if _OUTPUT_SHAPES in values and values[_OUTPUT_SHAPES].WhichOneof("value") == "list":
        return [parse_shape(shape) for shape in values[_OUTPUT_SHAPES].list.shape]
    if "shape" in values and values["shape"].WhichOneof("value") == "shape":
        return [parse_shape(values["shape"].shape)]
    if "value" in values and values["value"].WhichOneof("value") == "tensor":
        return [parse_shape(values["value"].tensor.tensor_shape)]
    return [None] if any(key in values for key in _TYPES) else []


def _list_declared_types(op: str, values: Mapping[str, Message]) -> list[str] | None:
    """Return the type of each output as TensorFlow declares the operation; None if unknown.

    Writers for other frameworks use names of operations of TensorFlow without their attributes.
    """
    declared = find_output_types(op)
    if declared is None:
        return None
    types: list[str] = []
    # SavedModels omit attributes with default values; writers for other frameworks have no types,
    # or only ``dtype``.
    has_types = any(
        key != "dtype" and value.WhichOneof("value") == "type" for key, value in values.items()
    )
    for output in declared:
        output, _, count = output.partition("*")
        kind, _, default = output.partition("=")
        if default and (not kind or (has_types and kind not in values)):
            names = [default]
        elif kind not in values:
            return None
        elif values[kind].WhichOneof("value") == "list":
            names = [get_dtype_name(number) for number in values[kind].list.type]
        elif values[kind].WhichOneof("value") == "type":
            names = [get_dtype_name(values[kind].type)]
        else:
            return None
        if count and count not in values:
            return None
        types += names * (min(values[count].i, _MAX_OUTPUTS) if count else 1)
    return types


def _list_types(values: Mapping[str, Message]) -> list[str]:
    """TensorFlow writes one number, tracklight's writers the type of each output as text."""
    value = next((values[key] for key in _TYPES if key in values), None)
    if value is None:
        return []
    if value.WhichOneof("value") == "s":
        return decode_text(value.s).split(", ")
    return [get_dtype_name(value.type)]


def _count_parameters(
    op: str, values: Mapping[str, Message], outputs: tuple[TensorSpec, ...]
) -> int:
    if op == _HANDLE and "shape" in values:
        return TensorSpec("", parse_shape(values["shape"].shape)).count_elements() or 0
    return sum(output.count_elements() or 0 for output in outputs) if op in _PARAMETERS else 0


def _iter_functions(values: Iterable[Message]) -> Iterator[str]:
    for value in values:
        kind = value.WhichOneof("value")
        functions = [value.func] if kind == "func" else value.list.func if kind == "list" else ()
        yield from (decode_text(function.name) for function in functions)


def _format_value(value: Message) -> str:
    """Format an ``AttrValue``, truncated if it is long."""
    kind = value.WhichOneof("value")
    if kind is None:
        return ""
    if kind == "list":
        items = [
            _format_item(field.name, item)
            for field, field_items in value.list.ListFields()
            for item in field_items[:_MAX_LIST_ITEMS]
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
        return f"{_format_tensor(item.dtype, item.tensor_shape)} {_format_elements(item)}".strip()
    if kind == "func":
        return decode_text(item.name)
    return str(item)


def _format_elements(tensor: Message) -> str:
    """Return the elements of a constant; empty if they cannot be read."""
    try:
        return format_elements(decode_tensor(tensor))
    except FormatError:
        return ""


def _format_tensor(dtype: int, shape: Message) -> str:
    return f"{get_dtype_name(dtype)} {format_shape(parse_shape(shape))}".strip()


def parse_run_metadata(data: bytes) -> Graph:
    """Return the graphs in a serialized ``RunMetadata``, as they were before optimization.

    Several graphs are merged into one, each in its own scope.

    Raises:
        FormatError: The bytes are not a RunMetadata message, or it has no graph.
    """
    metadata = proto.parse("RunMetadata", data)
    serialized = [entry.pre_optimization_graph for entry in metadata.function_graphs]
    serialized = [graph for graph in serialized if graph] or list(metadata.partition_graphs)
    if not serialized:
        raise FormatError("graphs.trace_without_graph", "the trace has no graph")
    graphs = [parse_graphdef(graph) for graph in serialized]
    return graphs[0] if len(graphs) == 1 else _merge_graphs(graphs)


def _merge_graphs(graphs: Sequence[Graph]) -> Graph:
    """Place graphs side by side; functions of the same name are taken to be the same."""
    starts = np.cumsum([0, *map(len, graphs)])
    scopes = [f"graph_{number}" for number in range(1, len(graphs) + 1)]

    def describe(node: int) -> NodeDetails:
        graph = int(np.searchsorted(starts, node, side="right")) - 1
        return graphs[graph].describe(node - int(starts[graph]))

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
            locate_problem(scope, problem)
            for scope, graph in zip(scopes, graphs, strict=True)
            for problem in graph.problems
        ),
        {
            int(start) + node: reader
            for start, graph in zip(starts, graphs, strict=False)
            for node, reader in graph.weights.items()
        },
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


@dataclass(frozen=True, slots=True)
class NodeExecution:
    """When one node ran during a profiled step, and the memory it used."""

    device: str
    start_us: float
    end_us: float
    memory_bytes: int
    """Allocated while it ran, by all allocators together."""
    outputs: tuple[str, ...]
    """Types and shapes at run time, also where the graph does not have them."""

    @property
    def duration_us(self) -> float:
        return self.end_us - self.start_us


def parse_step_stats(run_metadata: bytes) -> dict[str, NodeExecution]:
    """Return the executions in a serialized ``RunMetadata`` by node name; empty without stats."""
    stats = proto.parse("StepStats", proto.parse("RunMetadata", run_metadata).step_stats)
    executions: dict[str, NodeExecution] = {}
    for name, execution in _iter_executions(stats):
        known = executions.get(name)
        executions[name] = execution if known is None else _merge_executions(known, execution)
    return executions


def _iter_executions(stats: Message) -> Iterator[tuple[str, NodeExecution]]:
    for device in stats.dev_stats:
        name = decode_text(device.device)
        for node in device.node_stats:
            yield decode_text(node.node_name), _parse_execution(name, node)


def _parse_execution(device: str, node: Message) -> NodeExecution:
    start_us = float(node.all_start_micros)
    duration_us = node.all_end_rel_nanos / 1000 or float(node.all_end_rel_micros)
    memory_bytes = sum(max(used.total_bytes, 0) for used in node.memory)
    outputs = sorted(node.output, key=lambda output: int(output.slot))
    tensors = (output.tensor_description for output in outputs)
    return NodeExecution(
        device,
        start_us,
        start_us + max(duration_us, 0.0),
        memory_bytes,
        tuple(_format_tensor(tensor.dtype, tensor.shape) for tensor in tensors),
    )


def _merge_executions(one: NodeExecution, other: NodeExecution) -> NodeExecution:
    """Merge executions of a node that ran several times or on several devices."""
    return NodeExecution(
        one.device,
        min(one.start_us, other.start_us),
        max(one.end_us, other.end_us),
        max(one.memory_bytes, other.memory_bytes),
        one.outputs or other.outputs,
    )
