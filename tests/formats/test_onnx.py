"""Tensors of ONNX files."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from tests import builders as b
from tracklight.errors import FormatError
from tracklight.formats.onnx import (
    OnnxTensor,
    decode_onnx_elements,
    parse_onnx_function,
    parse_onnx_graph,
    parse_onnx_model,
)

#: Fields of TensorProto that have the elements.
FLOATS, INT32S, TEXTS, INT64S, NAME, RAW, DOUBLES, UINT64S = range(4, 12)
FLOAT, UINT8, INT32, STRING, BOOL, FLOAT16 = 1, 2, 6, 8, 9, 10
DOUBLE, UINT64, COMPLEX64, COMPLEX128, BFLOAT16, FLOAT8 = 11, 13, 14, 15, 16, 17


def make_tensor(dtype: int, shape: list[int], *parts: bytes) -> bytes:
    return b"".join([*(b.integer(1, size) for size in shape), b.integer(2, dtype), *parts])


def pack(format: str, *numbers: float) -> bytes:
    return struct.pack(f"<{len(numbers)}{format}", *numbers)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (make_tensor(FLOAT, [2], b.blob(FLOATS, pack("f", 0.5, -1))), np.float32([0.5, -1])),
        (make_tensor(DOUBLE, [2], b.blob(RAW, pack("d", 0.5, -1))), np.float64([0.5, -1])),
        (make_tensor(INT32, [2, 1], b.blob(INT32S, b"\x05\x07")), np.int32([[5], [7]])),
        (make_tensor(UINT8, [1], b.integer(INT32S, 200)), np.uint8([200])),
        (make_tensor(UINT64, [1], b.integer(UINT64S, 2**64 - 1)), np.uint64([2**64 - 1])),
        (make_tensor(BOOL, [2], b.blob(INT32S, b"\1\0")), np.bool_([True, False])),
        (make_tensor(FLOAT16, [1], b.integer(INT32S, 0x3C00)), np.float16([1])),
        (make_tensor(BFLOAT16, [1], b.integer(INT32S, 0xBF80)), np.float32([-1])),
        (make_tensor(BFLOAT16, [1], b.blob(RAW, b"\x80\x3f")), np.float32([1])),
        (make_tensor(COMPLEX64, [1], b.blob(FLOATS, pack("f", 1, -2))), np.complex64([1 - 2j])),
        (make_tensor(COMPLEX128, [1], b.blob(DOUBLES, pack("d", 1, 2))), np.complex128([1 + 2j])),
        (
            make_tensor(STRING, [2], b.blob(TEXTS, b"a"), b.blob(TEXTS, b"")),
            np.array([b"a", b""], object),
        ),
    ],
)
def test_elements_of_a_tensor(data: bytes, expected: np.ndarray) -> None:  # type: ignore[type-arg]
    elements = decode_onnx_elements(data)
    assert elements is not None
    assert elements.dtype == expected.dtype
    np.testing.assert_array_equal(elements, expected)


@pytest.mark.parametrize(
    "data",
    [
        make_tensor(FLOAT, [3], b.blob(FLOATS, pack("f", 0.5))),  # too few
        make_tensor(FLOAT, [1], b.blob(FLOATS, b"abc")),  # part of a number
        make_tensor(FLOAT, [1], b.blob(RAW, b"abc")),
        make_tensor(COMPLEX64, [1], b.blob(FLOATS, pack("f", 1))),
        make_tensor(FLOAT8, [1], b.blob(RAW, b"a")),
        make_tensor(99, [1], b.blob(RAW, b"a")),
        make_tensor(0, [1], b.blob(RAW, b"a")),
        make_tensor(INT32, [1], b.integer(RAW, 3), b.integer(FLOATS, 3)),
        make_tensor(FLOAT, [2**40], b.blob(FLOATS, pack("f", 0.5))),
    ],
)
def test_elements_that_cannot_be_decoded_are_none(data: bytes) -> None:
    assert decode_onnx_elements(data) is None


def test_elements_of_types_that_packages_add_to_numpy_are_none() -> None:
    pytest.importorskip("ml_dtypes")
    assert decode_onnx_elements(make_tensor(FLOAT8, [1], b.blob(RAW, b"a"))) is None


def test_sparse_initializers_have_the_shape_of_the_whole_tensor() -> None:
    values = make_tensor(FLOAT, [1], b.blob(FLOATS, pack("f", 0.5)), b.blob(NAME, b"weights"))
    indices = make_tensor(7, [1, 2], b.blob(INT64S, b"\0\1"))
    packed = b.blob(1, values) + b.blob(2, indices) + b.blob(3, b"\x04\x05")
    single = b.blob(1, values) + b.integer(3, 9)
    graph = parse_onnx_graph(b.blob(15, packed) + b.blob(15, single))
    assert graph.initializers == [
        OnnxTensor("weights", "float32", (4, 5)),
        OnnxTensor("weights", "float32", (9,)),
    ]


def test_values_of_a_function() -> None:
    data = b.blob(1, b"Gelu") + b.blob(4, b"x") + b.blob(5, b"y") + b.blob(10, b"my.ops")
    value = b.blob(1, b"half") + b.blob(2, b.blob(1, b.integer(1, FLOAT16)))
    function = parse_onnx_function(data + b.blob(12, value))
    assert (function.name, function.domain) == ("Gelu", "my.ops")
    assert [[it.name for it in part] for part in (function.inputs, function.outputs)] == [
        ["x"],
        ["y"],
    ]
    assert [(it.name, it.dtype) for it in function.values] == [("half", "float16")]


@pytest.mark.parametrize("data", [b"", b.blob(8, b""), b.integer(7, 1)])
def test_model_without_a_graph_is_rejected(data: bytes) -> None:
    with pytest.raises(FormatError, match="the model contains no graph"):
        parse_onnx_model(data)
