"""Reads what ONNX files say of a graph, without the ``onnx`` package and without the weights.

Models and graphs are walked through field by field, so that weights are passed over where they
stand; only nodes and the like are decoded. The numbers are those of the fields in ``onnx.proto``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from tracklight.errors import FormatError
from tracklight.formats import proto
from tracklight.formats.proto import Message
from tracklight.formats.wire_format import (
    LENGTH_DELIMITED,
    VARINT,
    Field,
    decode_text,
    iter_fields,
    read_varint,
    to_int64,
)

_MODEL_GRAPH, _MODEL_FUNCTION = 7, 25
_GRAPH_NODE, _GRAPH_NAME, _GRAPH_INITIALIZER, _GRAPH_SPARSE = 1, 2, 5, 15
_GRAPH_INPUT, _GRAPH_OUTPUT, _GRAPH_VALUE = 11, 12, 13
_TENSOR_DIMS, _TENSOR_TYPE, _TENSOR_NAME = 1, 2, 8
_FUNCTION_NAME, _FUNCTION_INPUT, _FUNCTION_OUTPUT, _FUNCTION_NODE = 1, 4, 5, 7
_FUNCTION_DOMAIN, _FUNCTION_VALUE = 10, 12

_CROSS = "\N{MULTIPLICATION SIGN}"
_MAX_ITEMS = 50
#: What holds an attribute's value, by the attribute's type.
_HOLDERS = ("", "f", "i", "s", "t", "g", "floats", "ints", "strings", "tensors", "graphs")
_TYPE_NAMES = (
    "", "float32", "uint8", "int8", "uint16", "int16", "int32", "int64", "string", "bool",
    "float16", "float64", "uint32", "uint64", "complex64", "complex128", "bfloat16",
    "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "uint4", "int4",
    "float4_e2m1fn", "float8_e8m0fnu", "uint2", "int2",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class OnnxTensor:
    """A tensor that the file holds, but not its numbers; None is a size that is not known."""

    name: str
    dtype: str
    shape: tuple[int | None, ...] | None


@dataclass(slots=True)
class OnnxGraph:
    """The parts of a graph, or of a function, in their order."""

    name: str = ""
    domain: str = ""
    nodes: list[Message] = field(default_factory=list)
    initializers: list[OnnxTensor] = field(default_factory=list)
    inputs: list[OnnxTensor] = field(default_factory=list)
    outputs: list[OnnxTensor] = field(default_factory=list)
    values: list[OnnxTensor] = field(default_factory=list)
    """What is told of tensors between nodes."""


@dataclass(frozen=True, slots=True)
class OnnxModel:
    graph: OnnxGraph
    functions: list[OnnxGraph]


def parse_onnx_model(data: bytes | memoryview) -> OnnxModel:
    graph: memoryview | None = None
    functions = []
    for part, content in _iter_contents(data):
        if part.number == _MODEL_GRAPH:
            graph = content
        elif part.number == _MODEL_FUNCTION:
            functions.append(parse_onnx_function(content))
    if graph is None:
        raise FormatError("the model holds no graph")
    return OnnxModel(parse_onnx_graph(graph), functions)


def parse_onnx_graph(data: bytes | memoryview) -> OnnxGraph:
    graph = OnnxGraph()
    values = {_GRAPH_INPUT: graph.inputs, _GRAPH_OUTPUT: graph.outputs, _GRAPH_VALUE: graph.values}
    for part, content in _iter_contents(data):
        if part.number == _GRAPH_NODE:
            graph.nodes.append(proto.parse("OnnxNode", content))
        elif part.number == _GRAPH_INITIALIZER:
            graph.initializers.append(parse_onnx_tensor(content))
        elif part.number == _GRAPH_SPARSE:
            graph.initializers.append(_read_sparse(content))
        elif part.number == _GRAPH_NAME:
            graph.name = decode_text(bytes(content))
        elif part.number in values:
            values[part.number].append(_read_value(content))
    return graph


def parse_onnx_function(data: bytes | memoryview) -> OnnxGraph:
    function = OnnxGraph()
    ends = {_FUNCTION_INPUT: function.inputs, _FUNCTION_OUTPUT: function.outputs}
    for part, content in _iter_contents(data):
        if part.number == _FUNCTION_NODE:
            function.nodes.append(proto.parse("OnnxNode", content))
        elif part.number == _FUNCTION_NAME:
            function.name = decode_text(bytes(content))
        elif part.number == _FUNCTION_DOMAIN:
            function.domain = decode_text(bytes(content))
        elif part.number == _FUNCTION_VALUE:
            function.values.append(_read_value(content))
        elif part.number in ends:
            ends[part.number].append(OnnxTensor(decode_text(bytes(content)), "", None))
    return function


def parse_onnx_tensor(data: bytes | memoryview) -> OnnxTensor:
    name, dtype = "", 0
    sizes: list[int | None] = []
    for part in iter_fields(data, 0, len(data)):
        if part.number == _TENSOR_NAME and part.wire_type == LENGTH_DELIMITED:
            name = decode_text(bytes(data[part.start : part.end]))
        elif part.number == _TENSOR_TYPE and part.wire_type == VARINT:
            dtype = part.value
        elif part.number == _TENSOR_DIMS:
            sizes += [_as_size(size) for size in _iter_numbers(data, part)]
    return OnnxTensor(name, get_onnx_type_name(dtype), tuple(sizes))


def get_onnx_type_name(number: int) -> str:
    """ONNX's number for a type in the words of NumPy."""
    return _TYPE_NAMES[number] if 0 <= number < len(_TYPE_NAMES) else f"type {number}"


def iter_subgraphs(attribute: Message) -> Iterator[bytes]:
    """Graphs that an attribute holds, such as what a condition chooses from."""
    yield from [attribute.g] if attribute.g else attribute.graphs


def format_attribute(attribute: Message) -> str:
    """What an attribute is set to as people write it; the type of a tensor, the name of a graph."""
    holder = _HOLDERS[attribute.type] if 0 < attribute.type < len(_HOLDERS) else ""
    if not holder:  # old files name no type
        given = [part.name for part, _ in attribute.ListFields() if part.name in _HOLDERS]
        holder = given[0] if given else "ref_attr_name"
    value = getattr(attribute, holder)
    show = _SHOWN_BY.get(holder.removesuffix("s") or "s", str)
    if holder in _LISTS:
        return f"[{', '.join(show(item) for item in value[:_MAX_ITEMS])}]"
    return show(value)


def _show_tensor(data: bytes) -> str:
    tensor = parse_onnx_tensor(data)
    sizes = ["?" if size is None else str(size) for size in tensor.shape or ()]
    return f"{tensor.dtype} {_CROSS.join(sizes) or 'scalar'}"


def _show_graph(data: bytes) -> str:
    return next(
        (
            decode_text(bytes(content))
            for part, content in _iter_contents(data)
            if part.number == _GRAPH_NAME
        ),
        "",
    )


def _read_sparse(data: memoryview) -> OnnxTensor:
    """Values, indices and the size of the whole; the values are named like the whole."""
    name = dtype = ""
    sizes: list[int | None] = []
    for part in iter_fields(data, 0, len(data)):
        if part.number == 1 and part.wire_type == LENGTH_DELIMITED:
            values = parse_onnx_tensor(data[part.start : part.end])
            name, dtype = values.name, values.dtype
        elif part.number == 3:
            sizes += [_as_size(size) for size in _iter_numbers(data, part)]
    return OnnxTensor(name, dtype, tuple(sizes))


def _read_value(data: memoryview) -> OnnxTensor:
    value = proto.parse("OnnxValue", data)
    tensor = value.type.tensor_type
    sizes = None
    if tensor.HasField("shape"):
        sizes = tuple(
            _as_size(dim.dim_value) if dim.WhichOneof("value") == "dim_value" else None
            for dim in tensor.shape.dim
        )
    return OnnxTensor(decode_text(value.name), get_onnx_type_name(tensor.elem_type), sizes)


def _as_size(size: int) -> int | None:
    return size if size >= 0 else None


def _iter_contents(data: bytes | memoryview) -> Iterator[tuple[Field, memoryview]]:
    view = memoryview(data)
    for part in iter_fields(view, 0, len(view)):
        if part.wire_type == LENGTH_DELIMITED:
            yield part, view[part.start : part.end]


def _iter_numbers(data: bytes | memoryview, part: Field) -> Iterator[int]:
    """One number, or many in one field."""
    if part.wire_type == VARINT:
        yield to_int64(part.value)
    elif part.wire_type == LENGTH_DELIMITED:
        at = part.start
        while at < part.end:
            value, at = read_varint(data, at, part.end)
            yield to_int64(value)


_LISTS = frozenset({"floats", "ints", "strings", "tensors", "graphs"})
_SHOWN_BY: dict[str, Callable[[Any], str]] = {
    "f": "{:g}".format,
    "float": "{:g}".format,
    "s": decode_text,
    "string": decode_text,
    "ref_attr_name": decode_text,
    "t": _show_tensor,
    "tensor": _show_tensor,
    "g": _show_graph,
    "graph": _show_graph,
}
