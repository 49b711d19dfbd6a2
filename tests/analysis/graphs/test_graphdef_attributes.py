"""Details of nodes are taken from their attributes."""

from __future__ import annotations

import pytest

from tracklight.analysis.graphs import TensorSpec, format_shape
from tracklight.analysis.graphs.graphdef import describe_node, get_dtype_name
from tracklight.formats import proto

FLOAT32, INT64 = proto.AttrValue(type=1), proto.AttrValue(type=9)


def _shape(*sizes: int) -> object:
    return proto.TensorShapeProto(dim=[proto.Dim(size=size) for size in sizes])


def _node(op: str, **attributes: object) -> object:
    attrs = [proto.Attr(key=key.encode(), value=value) for key, value in attributes.items()]
    return proto.NodeDef(name=b"n", op=op.encode(), device=b"/device:GPU:0", attr=attrs)


def test_shapes_and_types_of_outputs() -> None:
    shapes = proto.AttrList(
        shape=[_shape(-1, 3), _shape(), proto.TensorShapeProto(unknown_rank=True)]
    )
    node = _node("Op", _output_shapes=proto.AttrValue(list=shapes), T=proto.AttrValue(type=14))
    details = describe_node(node)
    assert details.outputs == (
        TensorSpec("bfloat16", (None, 3)),
        TensorSpec("bfloat16", ()),
        TensorSpec("bfloat16", None),
    )
    assert [output.count_elements() for output in details.outputs] == [None, 1, None]
    assert [format_shape(output.shape) for output in details.outputs] == [
        "?\N{MULTIPLICATION SIGN}3",
        "scalar",
        "",
    ]
    assert details.device == "/device:GPU:0"
    assert dict(details.attributes) == {"T": "bfloat16"}


@pytest.mark.parametrize(
    ("op", "attributes", "types"),
    [
        ("Shape", {"T": FLOAT32, "out_type": INT64}, ["int64"]),
        ("Less", {"T": FLOAT32}, ["bool"]),
        ("TopKV2", {"T": FLOAT32, "index_type": INT64}, ["float32", "int64"]),
        ("Split", {"T": FLOAT32, "num_split": proto.AttrValue(i=3)}, ["float32"] * 3),
        ("Switch", {"T": INT64}, ["int64", "int64"]),
        ("AsString", {"T": FLOAT32}, ["string"]),
        ("AssignVariableOp", {"dtype": FLOAT32}, []),
        # A SavedModel has no attributes with default values.
        ("Shape", {"T": FLOAT32}, ["int32"]),
        ("ArgMax", {"T": FLOAT32}, ["int64"]),
        ("MaxPool", {"dtype": INT64}, ["int64"]),
        # Without its attributes it is an operation of another framework.
        ("Split", {"dtype": FLOAT32}, ["float32"]),
    ],
)
def test_types_of_outputs_are_those_that_tensorflow_declares(
    op: str, attributes: dict[str, object], types: list[str]
) -> None:
    assert [output.dtype for output in describe_node(_node(op, **attributes)).outputs] == types


def test_variables_own_parameters() -> None:
    shape, kind = proto.AttrValue(shape=_shape(3, 5)), proto.AttrValue(type=1)
    handle = describe_node(_node("VarHandleOp", shape=shape, dtype=kind))
    assert (handle.parameters, handle.outputs) == (15, (TensorSpec("resource", ()),))
    assert describe_node(_node("VariableV2", shape=shape, dtype=kind)).parameters == 15
    assert describe_node(_node("VarHandleOp", dtype=kind)).parameters == 0
    assert describe_node(_node("Placeholder", shape=shape, dtype=kind)).parameters == 0


def test_formats_attribute_values() -> None:
    node = _node(
        "Op",
        padding=proto.AttrValue(s=b"SAME"),
        strides=proto.AttrValue(list=proto.AttrList(i=[1, 2])),
        value=proto.AttrValue(tensor=proto.TensorProto(dtype=1, tensor_shape=_shape(2))),
        f=proto.AttrValue(func=proto.NameAttrList(name=b"body")),
        branches=proto.AttrValue(list=proto.AttrList(func=[proto.NameAttrList(name=b"then")])),
        long=proto.AttrValue(s=b"x" * 5000),
        nothing=proto.AttrValue(),
    )
    details = describe_node(node)
    assert details.attributes["padding"] == "SAME"
    assert details.attributes["strides"] == "[1, 2]"
    assert details.attributes["value"] == "float32 2 [0, 0]"
    assert details.attributes["nothing"] == ""
    assert len(details.attributes["long"]) == 1001
    assert details.functions == ("body", "then")


def test_unknown_types_keep_their_number() -> None:
    assert get_dtype_name(101) == "float32"
    assert get_dtype_name(77) == "type 77"


@pytest.mark.parametrize(
    ("op", "key", "more"),
    [
        ("PartitionedCall", "Tout", {"Tin": [3]}),
        ("StatefulPartitionedCall", "Tout", {"Tin": [20, 20]}),
        ("StatelessIf", "Tout", {"Tin": [3]}),
        ("While", "T", {}),
        ("IteratorGetNext", "output_types", {}),
    ],
)
def test_calls_and_loops_have_the_type_of_each_output(
    op: str, key: str, more: dict[str, list[int]]
) -> None:
    types = {name: proto.AttrValue(list=proto.AttrList(type=it)) for name, it in more.items()}
    types[key] = proto.AttrValue(list=proto.AttrList(type=[1, 9, 10]))
    outputs = describe_node(_node(op, **types)).outputs
    assert [output.dtype for output in outputs] == ["float32", "int64", "bool"]
    shapes = proto.AttrValue(list=proto.AttrList(shape=[_shape(2), _shape()]))
    outputs = describe_node(_node(op, **types, output_shapes=shapes)).outputs
    assert [output.shape for output in outputs] == [(2,), (), None]
