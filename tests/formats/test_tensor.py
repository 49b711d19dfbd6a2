from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from tracklight.errors import FormatError, UsageError
from tracklight.formats import proto, tensor
from tracklight.formats.tensor import DType, decode_tensor, encode_tensor

NUMBERS = "f2 f4 f8 i1 i2 i4 i8 u1 u2 u4 u8 ? c8 c16".split()


def make(dtype: int, shape: list[int], **fields: Any) -> Any:
    dims = proto.TensorShapeProto(dim=[proto.Dim(size=size) for size in shape])
    return proto.TensorProto(dtype=dtype, tensor_shape=dims, **fields)


@given(npst.arrays(st.sampled_from(NUMBERS), npst.array_shapes(min_dims=0, min_side=0)))
def test_round_trip_of_numbers_is_exact(array: np.ndarray[Any, Any]) -> None:
    again = decode_tensor(encode_tensor(array).SerializeToString())

    assert again.dtype == array.dtype
    assert again.shape == array.shape
    assert again.tobytes() == array.tobytes()


@given(
    npst.arrays(object, npst.array_shapes(min_dims=0, min_side=0), elements=st.binary(max_size=9))
)
def test_round_trip_of_strings(array: np.ndarray[Any, Any]) -> None:
    again = decode_tensor(encode_tensor(array).SerializeToString())

    assert again.dtype == object
    assert again.shape == array.shape
    assert again.tolist() == array.tolist()


def test_other_memory_layouts_are_normalized() -> None:
    array = np.arange(6, dtype=">i4").reshape(2, 3).T

    assert encode_tensor(array).tensor_content == np.array([0, 3, 1, 4, 2, 5], "<i4").tobytes()


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("text", b"text"),
        (b"nul\0", b"nul\0"),
        (["é", b"b\0"], ["é".encode(), b"b\0"]),
        (np.array(["a", "bc"]), [b"a", b"bc"]),
        (np.array([["a"], ["b"]], dtype=object), [[b"a"], [b"b"]]),
        (True, True),
        (2**40, 2**40),
        (1.5, 1.5),
    ],
)
def test_encodes_python_values(value: Any, expected: Any) -> None:
    assert decode_tensor(encode_tensor(value)).tolist() == expected


@pytest.mark.parametrize(
    "value", [np.datetime64("2024-01-01"), np.array([{}, object()]), np.array(["a", None])]
)
def test_unsupported_values_raise(value: Any) -> None:
    with pytest.raises(UsageError, match="cannot log"):
        encode_tensor(value)


@pytest.mark.parametrize(
    ("dtype", "field", "values", "expected"),
    [
        (DType.FLOAT, "float_val", [1.5, -2.0], np.array([1.5, -2.0], np.float32)),
        (DType.DOUBLE, "double_val", [1e300, 0.1], np.array([1e300, 0.1])),
        (DType.INT32, "int_val", [-5, 7], np.array([-5, 7], np.int32)),
        (DType.UINT8, "int_val", [255, 300], np.array([255, 44], np.uint8)),
        (DType.INT16, "int_val", [-5, 7], np.array([-5, 7], np.int16)),
        (DType.INT8, "int_val", [-5, 7], np.array([-5, 7], np.int8)),
        (DType.UINT16, "int_val", [65535, 1], np.array([65535, 1], np.uint16)),
        (DType.QINT8, "int_val", [-128, 1], np.array([-128, 1], np.int8)),
        (DType.QUINT8, "int_val", [128, 1], np.array([128, 1], np.uint8)),
        (DType.QINT16, "int_val", [-300, 1], np.array([-300, 1], np.int16)),
        (DType.QUINT16, "int_val", [300, 1], np.array([300, 1], np.uint16)),
        (DType.QINT32, "int_val", [-(2**31), 1], np.array([-(2**31), 1], np.int32)),
        (DType.INT64, "int64_val", [-(2**63), 1], np.array([-(2**63), 1], np.int64)),
        (DType.BOOL, "bool_val", [True, False], np.array([True, False])),
        (DType.UINT32, "uint32_val", [2**32 - 1, 1], np.array([2**32 - 1, 1], np.uint32)),
        (DType.UINT64, "uint64_val", [2**64 - 1, 1], np.array([2**64 - 1, 1], np.uint64)),
        (DType.COMPLEX64, "scomplex_val", [1, 2, 3, 4], np.array([1 + 2j, 3 + 4j], np.complex64)),
        (DType.COMPLEX128, "dcomplex_val", [1, 2, 3, 4], np.array([1 + 2j, 3 + 4j])),
        (DType.HALF, "half_val", [0x3C00, 0xC000], np.array([1, -2], np.float16)),
        (DType.BFLOAT16, "half_val", [0x3FC0, 0xC000], np.array([1.5, -2], np.float32)),
        (DType.FLOAT8_E5M2, "float8_val", b"\x3c\xc0", np.array([1, -2], np.float32)),
        (DType.FLOAT8_E4M3FN, "float8_val", b"\x38\xc0", np.array([1, -2], np.float32)),
        (DType.INT4, "int_val", [-8, 7], np.array([-8, 7], np.int8)),
        (DType.UINT4, "int_val", [15, 7], np.array([15, 7], np.uint8)),
        (DType.STRING, "string_val", [b"a", b""], np.array([b"a", b""], object)),
        (100 + DType.INT64, "int64_val", [1, 2], np.array([1, 2], np.int64)),
    ],
)
def test_typed_fields(dtype: int, field: str, values: Any, expected: np.ndarray[Any, Any]) -> None:
    array = decode_tensor(make(dtype, [2], **{field: values}).SerializeToString())

    assert array.dtype == expected.dtype
    assert array.tolist() == expected.tolist()


@pytest.mark.parametrize(
    ("dtype", "content", "expected"),
    [
        (DType.BFLOAT16, b"\xc0\x3f\x80\xff", np.array([1.5, -np.inf], np.float32)),
        (DType.HALF, b"\x00\x3c\x00\xfc", np.array([1, -np.inf], np.float16)),
        (DType.BOOL, b"\x00\x02", np.array([False, True])),
        (DType.INT4, b"\x0f\xf8", np.array([-1, -8], np.int8)),
        (DType.UINT4, b"\x0f\xf8", np.array([15, 8], np.uint8)),
        (DType.FLOAT8_E5M2, b"\x7b\x01", np.array([57344, 2**-16], np.float32)),
        (DType.FLOAT8_E5M2, b"\x7c\xfc", np.array([np.inf, -np.inf], np.float32)),
        (DType.FLOAT8_E4M3FN, b"\x7e\x01", np.array([448, 2**-9], np.float32)),
        (DType.FLOAT8_E4M3FNUZ, b"\x7f\x01", np.array([240, 2**-10], np.float32)),
        (DType.FLOAT8_E4M3B11FNUZ, b"\x7f\x01", np.array([30, 2**-13], np.float32)),
        (DType.FLOAT8_E5M2FNUZ, b"\xff\x01", np.array([-57344, 2**-17], np.float32)),
        (DType.STRING, b"\x03\x00abc", np.array([b"abc", b""], object)),
    ],
)
def test_content(dtype: int, content: bytes, expected: np.ndarray[Any, Any]) -> None:
    array = decode_tensor(make(dtype, [2], tensor_content=content))

    assert array.dtype == expected.dtype
    assert array.tolist() == expected.tolist()


@pytest.mark.parametrize(
    ("dtype", "codes"),
    [
        (DType.FLOAT8_E5M2, [*range(0x7D, 0x80), *range(0xFD, 0x100)]),
        (DType.FLOAT8_E4M3FN, [0x7F, 0xFF]),
        (DType.FLOAT8_E4M3FNUZ, [0x80]),
        (DType.FLOAT8_E4M3B11FNUZ, [0x80]),
        (DType.FLOAT8_E5M2FNUZ, [0x80]),
    ],
)
def test_float8_codes_of_nan(dtype: int, codes: list[int]) -> None:
    array = decode_tensor(make(dtype, [256], tensor_content=bytes(range(256))))

    assert np.flatnonzero(np.isnan(array)).tolist() == codes


def test_e5m2_is_the_upper_half_of_a_float16() -> None:
    codes = np.arange(256, dtype=np.uint16)

    array = decode_tensor(make(DType.FLOAT8_E5M2, [256], tensor_content=bytes(range(256))))

    # Arm reports the conversion of a signaling NaN.
    with np.errstate(invalid="ignore"):
        wanted = (codes << 8).view(np.float16).astype(np.float32)
    np.testing.assert_array_equal(array, wanted)


def test_names_of_types_without_numpy_equivalent() -> None:
    assert tensor._DTYPE_BY_NAME["bfloat16"] is DType.BFLOAT16
    assert tensor._DTYPE_BY_NAME["float8_e4m3b11fnuz"] is DType.FLOAT8_E4M3B11FNUZ
    assert tensor._DTYPE_BY_NAME["int4"] is DType.INT4


def test_last_value_is_repeated() -> None:
    assert decode_tensor(make(DType.FLOAT, [2, 2], float_val=[3])).tolist() == [[3, 3], [3, 3]]
    assert decode_tensor(make(DType.INT32, [4], int_val=[1, 2])).tolist() == [1, 2, 2, 2]
    assert decode_tensor(make(DType.STRING, [3], string_val=[b"a", b"b"])).tolist() == [
        b"a",
        b"b",
        b"b",
    ]


def test_missing_values_are_zero_and_extra_values_are_ignored() -> None:
    assert decode_tensor(make(DType.DOUBLE, [2])).tolist() == [0, 0]
    assert decode_tensor(make(DType.STRING, [2])).tolist() == [b"", b""]
    assert decode_tensor(make(DType.BFLOAT16, [])).tolist() == 0
    assert decode_tensor(make(DType.FLOAT, [1], float_val=[4, 5])).tolist() == [4]


def test_missing_shape_is_scalar() -> None:
    assert decode_tensor(proto.TensorProto(dtype=DType.FLOAT, float_val=[2])).shape == ()


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (make(0, []), "unknown tensor dtype 0"),
        (make(999, []), "unknown tensor dtype 999"),
        (make(-5, []), "unknown tensor dtype -5"),
        (make(DType.RESOURCE, []), "dtype resource contain no values"),
        (make(100 + DType.VARIANT, []), "dtype variant"),
        (make(DType.FLOAT, [-1]), "shape of the tensor is unknown"),
        (make(DType.FLOAT, [1] * 33), "33 dimensions"),
        (make(DType.FLOAT, [2], tensor_content=b"1234567"), "7 bytes for 2 elements of 4 bytes"),
        (make(DType.COMPLEX64, [1], scomplex_val=[1, 2, 3]), "no imaginary part"),
        (make(DType.STRING, [2], tensor_content=b"\x03\x01abc"), "do not add up"),
        (make(DType.STRING, [2], tensor_content=b"\x83"), "varint"),
        (make(DType.FLOAT, [2**40], float_val=[1]), "pass a larger max_bytes"),
        (make(DType.STRING, [2**40]), "pass a larger max_bytes"),
        (make(DType.FLOAT, [0, 2**62, 2**62]), "pass a larger max_bytes"),
    ],
)
def test_invalid_tensor_raises(message: Any, reason: str) -> None:
    with pytest.raises(FormatError, match=reason):
        decode_tensor(message)


def test_unknown_rank_raises() -> None:
    message = proto.TensorProto(dtype=1, tensor_shape=proto.TensorShapeProto(unknown_rank=True))
    with pytest.raises(FormatError, match="shape of the tensor is unknown"):
        decode_tensor(message)


def test_limit_is_checked_before_allocation() -> None:
    message = make(DType.DOUBLE, [1000])
    assert decode_tensor(message, max_bytes=8000).shape == (1000,)
    tracemalloc.start()
    try:
        with pytest.raises(FormatError, match=r"shape \[1000\] takes 8000 bytes, more than 7999"):
            decode_tensor(message, max_bytes=7999)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 8000


@settings(max_examples=500)
@given(st.binary(max_size=60))
def test_random_bytes_raise_only_format_error(data: bytes) -> None:
    check_decoding(data)


@st.composite
def damaged_tensors(draw: st.DrawFn) -> bytes:
    fields = {
        "tensor_content": st.binary(max_size=20),
        "float_val": st.lists(st.floats(width=32), max_size=4),
        "int_val": st.lists(st.integers(-(2**31), 2**31 - 1), max_size=4),
        "string_val": st.lists(st.binary(max_size=4), max_size=4),
        "scomplex_val": st.lists(st.floats(width=32), max_size=4),
        "half_val": st.lists(st.integers(-(2**31), 2**31 - 1), max_size=4),
        "float8_val": st.binary(max_size=4),
    }
    values = draw(st.fixed_dictionaries({}, optional=fields))
    shape = draw(st.lists(st.integers(-1, 5) | st.integers(0, 2**63 - 1), max_size=4))
    data = bytearray(make(draw(st.integers(-1, 140)), shape, **values).SerializeToString())
    for at in draw(st.lists(st.integers(0, max(len(data) - 1, 0)), max_size=3)):
        data[at : at + 1] = draw(st.binary(max_size=2))
    return bytes(data)


@pytest.mark.slow
@settings(max_examples=1000)
@given(damaged_tensors())
def test_damaged_tensors_raise_only_format_error(data: bytes) -> None:
    check_decoding(data)


def check_decoding(data: bytes) -> None:
    try:
        array = decode_tensor(data, max_bytes=1 << 16)
    except FormatError:
        return
    assert array.nbytes <= 1 << 16
