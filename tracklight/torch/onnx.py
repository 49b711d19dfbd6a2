"""Writes the graph of an ONNX file as a GraphDef, without the ``onnx`` package."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tracklight.errors import FormatError
from tracklight.formats import proto
from tracklight.formats.event import decode_text
from tracklight.formats.onnx import OnnxGraph, OnnxTensor, read_model, show_value
from tracklight.formats.proto import Message
from tracklight.formats.tensor import DType
from tracklight.sdk.lenient import Misuse
from tracklight.torch.graphs import build_graph, build_shape, shape_attribute

#: Types that are called otherwise in event files.
_TYPES = {"float32": DType.FLOAT, "float64": DType.DOUBLE, "float16": DType.HALF}


def read_onnx_graph(path: Any) -> Message:
    """The GraphDef of a model file; operations go by the names of their first outputs."""
    try:
        return _build(read_model(Path(path).read_bytes()).graph)
    except (OSError, TypeError) as error:
        raise Misuse("prototxt", f"must be the path of an ONNX file: {error}") from error
    except FormatError as error:
        raise Misuse("prototxt", f"is no ONNX file: {error}") from error


def _build(graph: OnnxGraph) -> Message:
    message = build_graph([])
    shapes = {value.name.encode(): _fill(value) for value in [*graph.outputs, *graph.values]}
    message.node.extend(_build_variable(value) for value in graph.inputs)
    message.node.extend(_build_node(node, shapes) for node in graph.nodes)
    return message


def _build_variable(value: OnnxTensor) -> Message:
    dtype = _TYPES.get(value.dtype) or DType.__members__.get(value.dtype.upper()) or 0
    attributes = [
        proto.Attr(key=b"dtype", value=proto.AttrValue(type=dtype)),
        proto.Attr(key=b"shape", value=proto.AttrValue(shape=build_shape(_fill(value)))),
    ]
    return proto.NodeDef(name=value.name.encode(), op=b"Variable", attr=attributes)


def _build_node(node: Message, shapes: dict[bytes, list[int]]) -> Message:
    parameters = ", ".join(map(_show_attribute, node.attribute))
    attributes = [proto.Attr(key=b"parameters", value=proto.AttrValue(s=parameters.encode()))]
    name = node.output[0] if node.output else node.name
    if name in shapes:
        attributes.append(shape_attribute([shapes[name]]))
    return proto.NodeDef(name=name, op=node.op_type, input=node.input, attr=attributes)


def _fill(value: OnnxTensor) -> list[int]:
    return [-1 if size is None else size for size in value.sizes or ()]


def _show_attribute(attribute: Message) -> str:
    return f"{decode_text(attribute.name)} = {show_value(attribute)}"
