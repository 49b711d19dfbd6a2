"""Parse the graphs of ONNX models, without the ``onnx`` package and without reading weights.

Models and graphs are parsed field by field, so that weights can be skipped; only nodes and value
descriptions are decoded. Used by `tracklight.analysis.graphs` and `tracklight.torch`.

The field numbers are those of https://github.com/onnx/onnx/blob/main/onnx/onnx.proto.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracklight.errors import FormatError
from tracklight.formats import proto
from tracklight.formats.proto import (
    LENGTH_DELIMITED,
    VARINT,
    Field,
    Message,
    decode_text,
    iter_fields,
    read_varint,
    to_int64,
)
from tracklight.formats.tensor import format_elements

_MODEL_GRAPH, _MODEL_FUNCTION = 7, 25
_GRAPH_NODE, _GRAPH_NAME, _GRAPH_INITIALIZER, _GRAPH_SPARSE = 1, 2, 5, 15
_GRAPH_INPUT, _GRAPH_OUTPUT, _GRAPH_VALUE = 11, 12, 13
_TENSOR_DIMS, _TENSOR_TYPE, _TENSOR_NAME = 1, 2, 8
_TENSOR_RAW, _TENSOR_TEXT = 9, 6
#: The fields of TensorProto with elements of fixed size, and varints.
_TENSOR_FIXED = {4: "<f4", 10: "<f8"}
_TENSOR_VARINTS = (5, 7, 11)
#: Types that NumPy does not have, by the type of their bits.
_STORED_TYPES = {"bfloat16": "uint16"}
_FUNCTION_NAME, _FUNCTION_INPUT, _FUNCTION_OUTPUT, _FUNCTION_NODE = 1, 4, 5, 7
_FUNCTION_DOMAIN, _FUNCTION_VALUE = 10, 12

_CROSS = "\N{MULTIPLICATION SIGN}"
_MAX_ITEMS = 50
#: The field that contains the value of an attribute, by ``AttributeProto.type``.
_VALUE_FIELDS = ("", "f", "i", "s", "t", "g", "floats", "ints", "strings", "tensors", "graphs")
_TYPE_NAMES = (
    "", "float32", "uint8", "int8", "uint16", "int16", "int32", "int64", "string", "bool",
    "float16", "float64", "uint32", "uint64", "complex64", "complex128", "bfloat16",
    "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "uint4", "int4",
    "float4_e2m1fn", "float8_e8m0fnu", "uint2", "int2",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class OnnxTensor:
    """The description of a tensor. Symbolic sizes are names, unknown ones and shapes are None."""

    name: str
    dtype: str
    shape: tuple[int | str | None, ...] | None
    content: memoryview | None = field(default=None, compare=False, repr=False)
    """The encoded tensor, for `decode_onnx_elements`; None for a description of a value."""


@dataclass(slots=True)
class OnnxGraph:
    """A graph or a function."""

    name: str = ""
    domain: str = ""
    nodes: list[Message] = field(default_factory=list)
    initializers: list[OnnxTensor] = field(default_factory=list)
    inputs: list[OnnxTensor] = field(default_factory=list)
    outputs: list[OnnxTensor] = field(default_factory=list)
    values: list[OnnxTensor] = field(default_factory=list)
    """Descriptions of the tensors between nodes."""


@dataclass(frozen=True, slots=True)
class OnnxModel:
    graph: OnnxGraph
    functions: list[OnnxGraph]


def parse_onnx_model(data: bytes | memoryview) -> OnnxModel:
    """Parse a ModelProto.

    Raises:
        FormatError: The bytes are not a ModelProto, or it contains no graph.
    """
    graph: memoryview | None = None
    functions = []
    for part, content in _iter_messages(data):
        if part.number == _MODEL_GRAPH:
            graph = content
        elif part.number == _MODEL_FUNCTION:
            functions.append(parse_onnx_function(content))
    if graph is None:
        raise FormatError("graphs.model_empty", "the model contains no graph")
    return OnnxModel(parse_onnx_graph(graph), functions)


def parse_onnx_graph(data: bytes | memoryview) -> OnnxGraph:
    """Parse a GraphProto; raises FormatError if the bytes are not one."""
    graph = OnnxGraph()
    values = {_GRAPH_INPUT: graph.inputs, _GRAPH_OUTPUT: graph.outputs, _GRAPH_VALUE: graph.values}
    for part, content in _iter_messages(data):
        if part.number == _GRAPH_NODE:
            graph.nodes.append(proto.parse("OnnxNode", content))
        elif part.number == _GRAPH_INITIALIZER:
            graph.initializers.append(replace(parse_onnx_tensor(content), content=content))
        elif part.number == _GRAPH_SPARSE:
            graph.initializers.append(_parse_sparse_tensor(content))
        elif part.number == _GRAPH_NAME:
            graph.name = decode_text(bytes(content))
        elif part.number in values:
            values[part.number].append(_parse_value_info(content))
    return graph


def parse_onnx_function(data: bytes | memoryview) -> OnnxGraph:
    """Parse a FunctionProto; raises FormatError if the bytes are not one."""
    function = OnnxGraph()
    ends = {_FUNCTION_INPUT: function.inputs, _FUNCTION_OUTPUT: function.outputs}
    for part, content in _iter_messages(data):
        if part.number == _FUNCTION_NODE:
            function.nodes.append(proto.parse("OnnxNode", content))
        elif part.number == _FUNCTION_NAME:
            function.name = decode_text(bytes(content))
        elif part.number == _FUNCTION_DOMAIN:
            function.domain = decode_text(bytes(content))
        elif part.number == _FUNCTION_VALUE:
            function.values.append(_parse_value_info(content))
        elif part.number in ends:
            ends[part.number].append(OnnxTensor(decode_text(bytes(content)), "", None))
    return function


def parse_onnx_tensor(data: bytes | memoryview) -> OnnxTensor:
    """Parse a TensorProto of ONNX except for its elements."""
    name, dtype = "", 0
    sizes: list[int | str | None] = []
    for part in iter_fields(data, 0, len(data)):
        if part.number == _TENSOR_NAME and part.wire_type == LENGTH_DELIMITED:
            name = decode_text(bytes(data[part.start : part.end]))
        elif part.number == _TENSOR_TYPE and part.wire_type == VARINT:
            dtype = part.value
        elif part.number == _TENSOR_DIMS:
            sizes += [_as_size(size) for size in _iter_numbers(data, part)]
    return OnnxTensor(name, get_onnx_type_name(dtype), tuple(sizes))


def get_onnx_type_name(number: int) -> str:
    """Return the numpy name for ``TensorProto.DataType``."""
    return _TYPE_NAMES[number] if 0 <= number < len(_TYPE_NAMES) else f"type {number}"


def iter_subgraphs(attribute: Message) -> Iterator[bytes]:
    """Yield the encoded graphs in an attribute, such as the branches of an ``If`` node."""
    yield from [attribute.g] if attribute.g else attribute.graphs


def format_attribute(attribute: Message) -> str:
    """Format the value of an attribute; for tensors with their elements, for graphs the name."""
    field_name = _VALUE_FIELDS[attribute.type] if 0 < attribute.type < len(_VALUE_FIELDS) else ""
    if not field_name:  # files of old versions do not set the type
        fields = [part.name for part, _ in attribute.ListFields() if part.name in _VALUE_FIELDS]
        field_name = fields[0] if fields else "ref_attr_name"
    value = getattr(attribute, field_name)
    format_item = _FORMATTERS.get(field_name.removesuffix("s") or "s", str)
    if field_name in _LIST_FIELDS:
        return f"[{', '.join(format_item(item) for item in value[:_MAX_ITEMS])}]"
    return format_item(value)


def _format_tensor(data: bytes) -> str:
    tensor = parse_onnx_tensor(data)
    sizes = ["?" if size is None else str(size) for size in tensor.shape or ()]
    text = f"{tensor.dtype} {_CROSS.join(sizes) or 'scalar'}"
    elements = decode_onnx_elements(data)
    return text if elements is None else f"{text} {format_elements(elements)}"


def decode_onnx_elements(data: bytes | memoryview) -> NDArray[Any] | None:
    """Return the elements of a TensorProto; None if they are in another file or not supported."""
    tensor = parse_onnx_tensor(data)
    shape = [size for size in tensor.shape or () if isinstance(size, int)]
    raw, texts, numbers = b"", [], []
    try:
        for part in iter_fields(data, 0, len(data)):
            content = bytes(data[part.start : part.end])
            if part.number == _TENSOR_RAW:
                raw = content
            elif part.number == _TENSOR_TEXT:
                texts.append(content)
            elif part.number in _TENSOR_FIXED and part.wire_type == LENGTH_DELIMITED:
                numbers += np.frombuffer(content, _TENSOR_FIXED[part.number]).tolist()
            elif part.number in _TENSOR_VARINTS:
                numbers += _iter_numbers(data, part)
        return _build_elements(tensor.dtype, shape, raw, texts, numbers)
    except (TypeError, ValueError, OverflowError):  # the file is damaged, or a rare type
        return None


def _build_elements(
    dtype: str, shape: list[int], raw: bytes, texts: list[bytes], numbers: list[Any]
) -> NDArray[Any]:
    if dtype == "string":
        return np.array(texts, object).reshape(shape)
    if np.dtype(_STORED_TYPES.get(dtype, dtype)).isbuiltin != 1:
        raise TypeError(f"{dtype} is not a type of NumPy, but of a package that extends it")
    if raw:
        stored = np.frombuffer(raw, np.dtype(_STORED_TYPES.get(dtype, dtype)).newbyteorder("<"))
    elif dtype in ("float16", "bfloat16"):  # bits in 32-bit integers
        stored = np.array(numbers, np.int64).astype(np.uint16)
        stored = stored.view(np.float16) if dtype == "float16" else stored
    elif dtype.startswith("complex"):
        parts = np.array(numbers, np.float64).reshape(-1, 2)
        stored = (parts[:, 0] + 1j * parts[:, 1]).astype(dtype)
    else:
        is_float = np.dtype(dtype).kind == "f"
        stored = np.array(numbers, np.float64 if is_float else np.int64).astype(dtype)
    if dtype == "bfloat16":
        stored = (stored.astype(np.uint32) << 16).view(np.float32)
    return stored.reshape(shape)


def _format_graph(data: bytes) -> str:
    return next(
        (
            decode_text(bytes(content))
            for part, content in _iter_messages(data)
            if part.number == _GRAPH_NAME
        ),
        "",
    )


def _parse_sparse_tensor(data: memoryview) -> OnnxTensor:
    """Parse a SparseTensorProto: values, which carry the name, indices and shape."""
    name = dtype = ""
    sizes: list[int | str | None] = []
    for part in iter_fields(data, 0, len(data)):
        if part.number == 1 and part.wire_type == LENGTH_DELIMITED:
            values = parse_onnx_tensor(data[part.start : part.end])
            name, dtype = values.name, values.dtype
        elif part.number == 3:
            sizes += [_as_size(size) for size in _iter_numbers(data, part)]
    return OnnxTensor(name, dtype, tuple(sizes))


def _parse_value_info(data: memoryview) -> OnnxTensor:
    value = proto.parse("OnnxValue", data)
    tensor = value.type.tensor_type
    sizes: tuple[int | str | None, ...] | None = None
    if tensor.HasField("shape"):
        sizes = tuple(map(_parse_dim, tensor.shape.dim))
    return OnnxTensor(decode_text(value.name), get_onnx_type_name(tensor.elem_type), sizes)


def _parse_dim(dim: Message) -> int | str | None:
    if dim.WhichOneof("value") == "dim_value":
        return _as_size(dim.dim_value)
    return decode_text(dim.dim_param) or None


def _as_size(size: int) -> int | None:
    return size if size >= 0 else None


def _iter_messages(data: bytes | memoryview) -> Iterator[tuple[Field, memoryview]]:
    view = memoryview(data)
    for part in iter_fields(view, 0, len(view)):
        if part.wire_type == LENGTH_DELIMITED:
            yield part, view[part.start : part.end]


def _iter_numbers(data: bytes | memoryview, part: Field) -> Iterator[int]:
    """Yield the integers of a repeated field, packed or not."""
    if part.wire_type == VARINT:
        yield to_int64(part.value)
    elif part.wire_type == LENGTH_DELIMITED:
        offset = part.start
        while offset < part.end:
            value, offset = read_varint(data, offset, part.end)
            yield to_int64(value)


_LIST_FIELDS = frozenset({"floats", "ints", "strings", "tensors", "graphs"})
_FORMATTERS: dict[str, Callable[[Any], str]] = {
    "f": "{:g}".format,
    "float": "{:g}".format,
    "s": decode_text,
    "string": decode_text,
    "ref_attr_name": decode_text,
    "t": _format_tensor,
    "tensor": _format_tensor,
    "g": _format_graph,
    "graph": _format_graph,
}
