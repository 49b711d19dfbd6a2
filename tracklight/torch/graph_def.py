"""Build GraphDef messages in PyTorch's form from graph nodes and from ONNX files.

The ``onnx`` package is not needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tracklight.errors import FormatError
from tracklight.formats import proto
from tracklight.formats.onnx import OnnxGraph, OnnxTensor, format_attribute, parse_onnx_model
from tracklight.formats.proto import Message
from tracklight.formats.tensor import DType
from tracklight.formats.wire_format import decode_text
from tracklight.writer.warnings import ArgumentError

#: The operation of nodes that are inputs or outputs of a model.
IO_NODE_OP = "IO Node"

#: A RunMetadata message that names the CPU and contains no measurements, as PyTorch writes it.
RUN_METADATA = b"\x0a\x11\x0a\x0f\x0a\x0d/device:CPU:0"

#: The version that PyTorch writes; readers ignore it.
_PRODUCER = 22

#: ONNX types whose names differ from those of event files.
_ONNX_DTYPES = {"float32": DType.FLOAT, "float64": DType.DOUBLE, "float16": DType.HALF}


@dataclass(frozen=True, slots=True)
class GraphNode:
    """An operation.

    Attributes:
        name: Full name: the scopes of the modules that contain it, then its own name.
        op: Type of the operation.
        inputs: Names of the nodes that it reads, with ``:1`` and so on for further outputs.
        shapes: Shapes of its outputs.
        detail: Arguments that are not tensors.
        dtypes: Types of its outputs.
        source: The line of the program that it comes from.
    """

    name: str
    op: str
    inputs: Sequence[str] = ()
    shapes: Sequence[Sequence[int]] = ()
    detail: str = ""
    dtypes: Sequence[str] = ()
    source: str = ""


def build_graph_def(nodes: Sequence[GraphNode]) -> Message:
    return proto.GraphDef(
        node=map(_build_node_def, nodes), versions=proto.VersionDef(producer=_PRODUCER)
    )


def _build_node_def(node: GraphNode) -> Message:
    attributes = [proto.Attr(key=b"attr", value=proto.AttrValue(s=node.detail.encode()))]
    if node.shapes:
        attributes.append(build_shape_attribute(node.shapes))
    for key, text in {b"dtype": ", ".join(node.dtypes), b"source": node.source}.items():
        if text:
            attributes.append(proto.Attr(key=key, value=proto.AttrValue(s=text.encode())))
    return proto.NodeDef(
        name=node.name.encode(),
        op=node.op.encode(),
        input=[name.encode() for name in node.inputs],
        attr=attributes,
    )


def build_shape_attribute(shapes: Sequence[Sequence[int]]) -> Message:
    """Build the attribute with the shapes of the outputs of a node."""
    listed = proto.AttrValue(list=proto.AttrList(shape=[build_shape(sizes) for sizes in shapes]))
    return proto.Attr(key=b"_output_shapes", value=listed)


def build_shape(sizes: Sequence[int]) -> Message:
    return proto.TensorShapeProto(dim=[proto.Dim(size=size) for size in sizes])


def read_onnx_graph(path: Any) -> Message:
    """Return the GraphDef of an ONNX file. Operations are named by their first outputs.

    Raises:
        ArgumentError: The file cannot be read or is not an ONNX file.
    """
    try:
        return _build_onnx_graph_def(parse_onnx_model(Path(path).read_bytes()).graph)
    except (OSError, TypeError) as error:
        raise ArgumentError("prototxt", f"must be the path of an ONNX file: {error}") from error
    except FormatError as error:
        raise ArgumentError("prototxt", f"is not a valid ONNX file: {error}") from error


def _build_onnx_graph_def(graph: OnnxGraph) -> Message:
    message = build_graph_def([])
    shapes = {
        value.name.encode(): _get_known_shape(value) for value in [*graph.outputs, *graph.values]
    }
    message.node.extend(_build_variable(value) for value in graph.inputs)
    message.node.extend(_build_onnx_node(node, shapes) for node in graph.nodes)
    return message


def _build_variable(value: OnnxTensor) -> Message:
    dtype = _ONNX_DTYPES.get(value.dtype) or DType.__members__.get(value.dtype.upper()) or 0
    attributes = [
        proto.Attr(key=b"dtype", value=proto.AttrValue(type=dtype)),
        proto.Attr(key=b"shape", value=proto.AttrValue(shape=build_shape(_get_known_shape(value)))),
    ]
    return proto.NodeDef(name=value.name.encode(), op=b"Variable", attr=attributes)


def _build_onnx_node(node: Message, shapes: dict[bytes, list[int]]) -> Message:
    parameters = ", ".join(map(_format_attribute, node.attribute))
    attributes = [proto.Attr(key=b"parameters", value=proto.AttrValue(s=parameters.encode()))]
    name = node.output[0] if node.output else node.name
    if name in shapes:
        attributes.append(build_shape_attribute([shapes[name]]))
    return proto.NodeDef(name=name, op=node.op_type, input=node.input, attr=attributes)


def _get_known_shape(value: OnnxTensor) -> list[int]:
    return [size if isinstance(size, int) else -1 for size in value.shape or ()]


def _format_attribute(attribute: Message) -> str:
    return f"{decode_text(attribute.name)} = {format_attribute(attribute)}"
