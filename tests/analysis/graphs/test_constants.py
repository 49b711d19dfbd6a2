"""The values of constants of TensorFlow and ONNX graphs."""

from __future__ import annotations

import numpy as np
import pytest

from tracklight.analysis.graphs.graphdef import describe_node
from tracklight.formats import proto
from tracklight.formats.onnx import format_attribute
from tracklight.formats.tensor import encode_tensor


def describe_const(value: object) -> str:
    tensor = encode_tensor(np.asarray(value))
    attr = proto.Attr(key=b"value", value=proto.AttrValue(tensor=tensor))
    return describe_node(proto.NodeDef(name=b"c", op=b"Const", attr=[attr])).attributes["value"]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (np.float32(0.1), "float32 scalar 0.1"),
        (
            np.array([[1, -2], [3, 4]], np.int32),
            "int32 2\N{MULTIPLICATION SIGN}2 [[1, -2], [3, 4]]",
        ),
        (np.array([True, False]), "bool 2 [True, False]"),
        (np.array([b"adam", b""], object), 'string 2 ["adam", ""]'),
        (np.array([np.nan, np.inf], np.float64), "float64 2 [nan, inf]"),
        (np.zeros((0,), np.float32), "float32 0 []"),
    ],
)
def test_small_constants_are_shown_in_full(value: object, text: str) -> None:
    assert describe_const(value) == text


def test_large_constants_are_summarized() -> None:
    text = describe_const(np.arange(1000, dtype=np.float32).reshape(10, 100))
    assert text.startswith(
        "float32 10\N{MULTIPLICATION SIGN}100 (min 0, max 999, mean 499.5, std 288.7) [0, 1, 2, "
    )


@pytest.mark.parametrize(
    ("array", "raw"),
    [
        (np.array([[1.5, 2]], np.float32), True),
        (np.array([[1.5, 2]], np.float32), False),
        (np.array([-3, 7], np.int64), True),
        (np.array([-3, 7], np.int64), False),
        (np.array([0.5, -2], np.float16), True),
        (np.array([0.5, -2], np.float16), False),
        (np.array([True, False]), False),
        (np.array(3.25, np.float64), False),
        (np.array([2**63], np.uint64), False),
    ],
)
def test_onnx_constants_equal_those_of_onnx(array: np.ndarray, raw: bool) -> None:
    onnx = pytest.importorskip("onnx")
    flat = array.reshape(-1)
    if raw:
        tensor = onnx.numpy_helper.from_array(array)
    else:
        kind = onnx.helper.np_dtype_to_tensor_dtype(array.dtype)
        tensor = onnx.helper.make_tensor("t", kind, array.shape, flat.tolist())
    node = onnx.helper.make_node("Constant", [], ["c"], value=tensor)
    message = proto.parse("OnnxNode", node.SerializeToString())
    text = format_attribute(message.attribute[0])
    expected = ", ".join(str(item).removesuffix(".0") for item in flat)
    assert expected in text
