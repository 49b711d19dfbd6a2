"""Reads graphs from ONNX files, without the ``onnx`` package.

Only the fields that a picture of the graph needs are looked at, by their numbers in ``onnx.proto``.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from tracklight.errors import FormatError
from tracklight.formats import proto
from tracklight.formats.proto import Message
from tracklight.formats.wire import (
    DELIMITED,
    FOUR_BYTES,
    VARINT,
    iter_fields,
    read_varint,
    to_int64,
)
from tracklight.sdk.lenient import Misuse
from tracklight.torch.graphs import build_graph, build_shape, shape_attribute

_MODEL_GRAPH = 7
_GRAPH_NODE, _GRAPH_INPUT, _GRAPH_OUTPUT, _GRAPH_VALUE = 1, 11, 12, 13
_NODE_INPUT, _NODE_OUTPUT, _NODE_OP, _NODE_ATTRIBUTE = 1, 2, 4, 5
_ATTRIBUTE_NAME, _ATTRIBUTE_FLOAT, _ATTRIBUTE_INT, _ATTRIBUTE_STRING = 1, 2, 3, 4
_ATTRIBUTE_FLOATS, _ATTRIBUTE_INTS, _ATTRIBUTE_STRINGS = 7, 8, 9


class _Value(NamedTuple):
    """What is known of an input, an output or a value in between."""

    name: bytes
    dtype: int
    sizes: list[int]


def read_onnx_graph(path: Any) -> Message:
    """The GraphDef of a model file; operations go by the names of their first outputs."""
    try:
        model = Path(path).read_bytes()
        graph = _get_message(model, _MODEL_GRAPH)
        return _build(graph)
    except (OSError, TypeError) as error:
        raise Misuse("prototxt", f"must be the path of an ONNX file: {error}") from error
    except FormatError as error:
        raise Misuse("prototxt", f"is no ONNX file: {error}") from error


def _build(graph: bytes) -> Message:
    message = build_graph([])
    inputs = [_read_value(data) for data in _iter_messages(graph, _GRAPH_INPUT)]
    between = [*_iter_messages(graph, _GRAPH_OUTPUT), *_iter_messages(graph, _GRAPH_VALUE)]
    shapes = {value.name: value.sizes for value in map(_read_value, between)}
    message.node.extend(_build_variable(value) for value in inputs)
    message.node.extend(_build_node(data, shapes) for data in _iter_messages(graph, _GRAPH_NODE))
    return message


def _build_variable(value: _Value) -> Message:
    attributes = [
        proto.Attr(key=b"dtype", value=proto.AttrValue(type=value.dtype)),
        proto.Attr(key=b"shape", value=proto.AttrValue(shape=build_shape(value.sizes))),
    ]
    return proto.NodeDef(name=value.name, op=b"Variable", attr=attributes)


def _build_node(node: bytes, shapes: dict[bytes, list[int]]) -> Message:
    outputs = list(_iter_messages(node, _NODE_OUTPUT))
    parameters = ", ".join(map(_read_attribute, _iter_messages(node, _NODE_ATTRIBUTE)))
    attributes = [proto.Attr(key=b"parameters", value=proto.AttrValue(s=parameters.encode()))]
    if outputs[0] in shapes:
        attributes.append(shape_attribute([shapes[outputs[0]]]))
    return proto.NodeDef(
        name=outputs[0],
        op=_get_message(node, _NODE_OP),
        input=list(_iter_messages(node, _NODE_INPUT)),
        attr=attributes,
    )


def _read_value(data: bytes) -> _Value:
    tensor = _get_message(_get_message(data, 2), 1)
    dtype = next(_iter_ints(tensor, 1), 0)
    dims = _iter_messages(_get_message(tensor, 2), 1)
    sizes = [next(_iter_ints(dim, 1), 0) for dim in dims]
    return _Value(_get_message(data, 1), dtype, sizes)


def _read_attribute(data: bytes) -> str:
    """``name = value``; of a tensor or a graph only the name."""
    numbers: list[object] = [
        *_iter_floats(data, _ATTRIBUTE_FLOAT),
        *_iter_floats(data, _ATTRIBUTE_FLOATS),
        *_iter_ints(data, _ATTRIBUTE_INT),
        *_iter_ints(data, _ATTRIBUTE_INTS),
        *(text.decode("utf-8", "replace") for text in _iter_messages(data, _ATTRIBUTE_STRING)),
        *(text.decode("utf-8", "replace") for text in _iter_messages(data, _ATTRIBUTE_STRINGS)),
    ]
    name = _get_message(data, _ATTRIBUTE_NAME).decode("utf-8", "replace")
    if not numbers:
        return name
    return f"{name} = {numbers[0] if len(numbers) == 1 else numbers}"


def _iter_messages(data: bytes, number: int) -> Iterator[bytes]:
    for field in iter_fields(data, 0, len(data)):
        if field.number == number and field.wire == DELIMITED:
            yield data[field.start : field.end]


def _get_message(data: bytes, number: int) -> bytes:
    return next(_iter_messages(data, number), b"")


def _iter_ints(data: bytes, number: int) -> Iterator[int]:
    for field in iter_fields(data, 0, len(data)):
        if field.number != number:
            continue
        if field.wire == VARINT:
            yield to_int64(field.value)
        elif field.wire == DELIMITED:  # many in one
            at = field.start
            while at < field.end:
                value, at = read_varint(data, at, field.end)
                yield to_int64(value)


def _iter_floats(data: bytes, number: int) -> Iterator[float]:
    for field in iter_fields(data, 0, len(data)):
        if field.number == number and field.wire in (FOUR_BYTES, DELIMITED):
            for (value,) in struct.iter_unpack("<f", data[field.start : field.end]):
                yield value
