"""Numbers that numpy has no type for: bfloat16, the 8-bit floats and the 4-bit integers.

Each function takes the stored bits and gives an array of the nearest wider type, losing nothing.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable
from enum import IntEnum
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tracklight.errors import FormatError, UsageError
from tracklight.formats import proto
from tracklight.formats.proto import Message
from tracklight.formats.tfrecord import BytesLike
from tracklight.formats.wire_format import read_varint

Bits: TypeAlias = NDArray[Any]

Numbers: TypeAlias = NDArray[Any]

#: How a float8 format spends its codes. ``ieee``: the highest exponent is infinity and NaN.
#: ``fn``: no infinity, NaN only where all bits but the sign are set. ``fnuz``: no infinity and no
#: negative zero, whose code is the only NaN.
Specials = Literal["ieee", "fn", "fnuz"]


def widen_bool(bits: Bits) -> Numbers:
    # A byte of 2 is true, but numpy would go wrong on it if it were only viewed as a bool.
    return np.not_equal(bits, 0)


def widen_half(bits: Bits) -> Numbers:
    return bits.view("<f2")


def widen_bfloat16(bits: Bits) -> Numbers:
    return (bits.astype("<u4") << 16).view("<f4")


def widen_int4(bits: Bits) -> Numbers:
    # Shifting up and back again copies the sign bit into the upper half of the byte.
    return np.right_shift(np.left_shift(bits, 4).view(np.int8), 4)


def widen_uint4(bits: Bits) -> Numbers:
    return np.bitwise_and(bits, 0x0F)


def make_float8_widener(
    mantissa_bits: int, bias: int, specials: Specials
) -> Callable[[Bits], Numbers]:
    """A function that widens the float8 format described."""

    def widen(bits: Bits) -> Numbers:
        return np.take(_make_float8_table(mantissa_bits, bias, specials), bits)

    return widen


@functools.cache
def _make_float8_table(mantissa_bits: int, bias: int, specials: Specials) -> Numbers:
    """The value of each of the 256 codes."""
    code = np.arange(256)
    exponent = (code & 0x7F) >> mantissa_bits
    fraction = (code & (1 << mantissa_bits) - 1) / (1 << mantissa_bits)
    normal = exponent > 0
    size = np.ldexp(fraction + normal, np.where(normal, exponent, 1) - bias)
    value: Numbers = np.where(code < 0x80, size, -size).astype(np.float32)
    if specials == "fnuz":
        value[0x80] = np.nan
    elif specials == "fn":
        value[[0x7F, 0xFF]] = np.nan
    else:
        highest = exponent == exponent.max()
        value[highest] = np.where(fraction[highest] > 0, np.nan, np.inf * np.sign(value[highest]))
    return value


# TensorProto to numpy array and back, for every dtype that a log can hold.
#
# A tensor's numbers stand either in ``tensor_content``, as little-endian memory, or in the repeated
# field of their type. There may be fewer of the latter than elements: the last one is then repeated,
# and none at all means zeros.

MAX_TENSOR_BYTES = 1 << 30

#: As many as numpy 1 allows.
_MAX_DIMS = 32

_POINTER_BYTES = 8


class DType(IntEnum):
    """``TensorProto.dtype``; 100 is added to it for a reference to such a tensor."""

    FLOAT = 1
    DOUBLE = 2
    INT32 = 3
    UINT8 = 4
    INT16 = 5
    INT8 = 6
    STRING = 7
    COMPLEX64 = 8
    INT64 = 9
    BOOL = 10
    QINT8 = 11
    QUINT8 = 12
    QINT32 = 13
    BFLOAT16 = 14
    QINT16 = 15
    QUINT16 = 16
    UINT16 = 17
    COMPLEX128 = 18
    HALF = 19
    RESOURCE = 20
    VARIANT = 21
    UINT32 = 22
    UINT64 = 23
    FLOAT8_E5M2 = 24
    FLOAT8_E4M3FN = 25
    FLOAT8_E4M3FNUZ = 26
    FLOAT8_E4M3B11FNUZ = 27
    FLOAT8_E5M2FNUZ = 28
    INT4 = 29
    UINT4 = 30


class _Layout(NamedTuple):
    """Where the numbers of a dtype stand and what they look like there."""

    stored: str  # numpy's name for an element of tensor_content
    field: str  # the repeated field that may hold them instead
    widen: Callable[[NDArray[Any]], NDArray[Any]] | None = None


_LAYOUTS = {
    DType.FLOAT: _Layout("<f4", "float_val"),
    DType.DOUBLE: _Layout("<f8", "double_val"),
    DType.INT32: _Layout("<i4", "int_val"),
    DType.UINT8: _Layout("u1", "int_val"),
    DType.INT16: _Layout("<i2", "int_val"),
    DType.INT8: _Layout("i1", "int_val"),
    DType.COMPLEX64: _Layout("<c8", "scomplex_val"),
    DType.INT64: _Layout("<i8", "int64_val"),
    DType.BOOL: _Layout("u1", "bool_val", widen_bool),
    DType.QINT8: _Layout("i1", "int_val"),
    DType.QUINT8: _Layout("u1", "int_val"),
    DType.QINT32: _Layout("<i4", "int_val"),
    DType.BFLOAT16: _Layout("<u2", "half_val", widen_bfloat16),
    DType.QINT16: _Layout("<i2", "int_val"),
    DType.QUINT16: _Layout("<u2", "int_val"),
    DType.UINT16: _Layout("<u2", "int_val"),
    DType.COMPLEX128: _Layout("<c16", "dcomplex_val"),
    DType.HALF: _Layout("<u2", "half_val", widen_half),
    DType.UINT32: _Layout("<u4", "uint32_val"),
    DType.UINT64: _Layout("<u8", "uint64_val"),
    DType.FLOAT8_E5M2: _Layout("u1", "float8_val", make_float8_widener(2, 15, "ieee")),
    DType.FLOAT8_E4M3FN: _Layout("u1", "float8_val", make_float8_widener(3, 7, "fn")),
    DType.FLOAT8_E4M3FNUZ: _Layout("u1", "float8_val", make_float8_widener(3, 8, "fnuz")),
    DType.FLOAT8_E4M3B11FNUZ: _Layout("u1", "float8_val", make_float8_widener(3, 11, "fnuz")),
    DType.FLOAT8_E5M2FNUZ: _Layout("u1", "float8_val", make_float8_widener(2, 16, "fnuz")),
    DType.INT4: _Layout("u1", "int_val", widen_int4),
    DType.UINT4: _Layout("u1", "int_val", widen_uint4),
}

_FIELD_TYPES = {
    "float_val": "<f4",
    "double_val": "<f8",
    "int_val": "<i4",
    "scomplex_val": "<f4",
    "int64_val": "<i8",
    "bool_val": "?",
    "dcomplex_val": "<f8",
    "half_val": "<i4",
    "uint32_val": "<u4",
    "uint64_val": "<u8",
}

#: What numpy, and ml_dtypes for the narrow ones, call the dtypes that can be written.
_DTYPE_BY_NAME = {
    "float32": DType.FLOAT,
    "float64": DType.DOUBLE,
    "float16": DType.HALF,
    "bool": DType.BOOL,
    **{
        dtype.name.lower(): dtype
        for dtype in _LAYOUTS
        if dtype.name.startswith(("INT", "UINT", "COMPLEX", "BFLOAT", "FLOAT8"))
    },
}

_NAME_BY_DTYPE = {dtype: name for name, dtype in _DTYPE_BY_NAME.items()}


def get_dtype_name(dtype: DType) -> str:
    """What numpy and ml_dtypes call a dtype, or TensorFlow where they have none such."""
    return _NAME_BY_DTYPE.get(dtype, dtype.name.lower())


def decode_tensor(
    tensor: Message | BytesLike, *, max_bytes: int = MAX_TENSOR_BYTES
) -> NDArray[Any]:
    """The array that a TensorProto, or its bytes, stands for.

    bfloat16 and float8 come out as float32, strings as an object array of bytes. The array may be
    read-only. What would take more than ``max_bytes`` is refused before any memory is taken.
    """
    if isinstance(tensor, (bytes, bytearray, memoryview)):
        tensor = proto.parse("TensorProto", tensor)
    dtype = get_dtype(tensor.dtype)
    shape = get_shape(tensor.tensor_shape)
    check_size(dtype, shape, max_bytes)
    if dtype == DType.STRING:
        return _decode_strings(tensor, math.prod(shape)).reshape(shape)
    numbers = _decode_numbers(tensor, _LAYOUTS[dtype], math.prod(shape))
    return widen(dtype, numbers).reshape(shape)


def encode_tensor(value: ArrayLike) -> Message:
    """The TensorProto that holds an array, a number, a text or a (nested) list of them."""
    array = _as_array(value)
    shape = proto.TensorShapeProto(dim=[proto.Dim(size=size) for size in array.shape])
    if array.dtype == object:
        texts = [_as_bytes(text) for text in array.ravel()]
        return proto.TensorProto(dtype=DType.STRING, tensor_shape=shape, string_val=texts)
    dtype = _DTYPE_BY_NAME.get(array.dtype.name)
    if dtype is None:
        raise UsageError(
            f"a log cannot hold an array of {array.dtype}; convert it to float64 or int64 first"
        )
    if array.dtype.kind in "iufc":
        array = array.astype(array.dtype.newbyteorder("<"), copy=False)
    return proto.TensorProto(dtype=dtype, tensor_shape=shape, tensor_content=array.tobytes())


def get_dtype(code: int) -> DType:
    """The dtype of that number; raises FormatError where there can be no values of it."""
    try:
        dtype = DType(code - 100 if code > 100 else code)
    except ValueError:
        raise FormatError(f"a tensor of unknown dtype {code}") from None
    if dtype in (DType.RESOURCE, DType.VARIANT):
        raise FormatError(f"a tensor of dtype {dtype.name.lower()}, which holds no values")
    return dtype


def get_shape(shape: Message) -> tuple[int, ...]:
    """The sizes that a TensorShapeProto tells."""
    sizes = tuple(dim.size for dim in shape.dim)
    if shape.unknown_rank or any(size < 0 for size in sizes):
        raise FormatError("a tensor that does not tell its shape")
    if len(sizes) > _MAX_DIMS:
        raise FormatError(f"a tensor of {len(sizes)} dimensions, where {_MAX_DIMS} are the most")
    return sizes


def check_size(dtype: DType, shape: tuple[int, ...], max_bytes: int) -> None:
    """Refuse a tensor whose array would take more memory than that."""
    layout = _LAYOUTS.get(dtype)
    if layout is None:
        item_bytes = _POINTER_BYTES
    else:
        item_bytes = max(np.dtype(layout.stored).itemsize, 4 if layout.widen else 0)
    # Empty dimensions are passed over, as numpy refuses shapes like (0, 2**62) all the same.
    needed = item_bytes * math.prod(size for size in shape if size)
    if needed > max_bytes:
        raise FormatError(
            f"a tensor of shape {list(shape)} takes {needed} bytes, more than {max_bytes}; "
            "pass a larger max_bytes to read it"
        )


def get_storage_dtype(dtype: DType) -> np.dtype[Any]:
    """What an element looks like in memory; bits where numpy has no type for it."""
    return np.dtype(_LAYOUTS[dtype].stored)


def widen(dtype: DType, stored: NDArray[Any]) -> NDArray[Any]:
    """The numbers that elements as they are stored stand for."""
    widener = _LAYOUTS[dtype].widen
    return stored if widener is None else widener(stored)


def _decode_numbers(tensor: Message, layout: _Layout, count: int) -> NDArray[Any]:
    stored = np.dtype(layout.stored)
    content = tensor.tensor_content
    if not content:
        return _repeat_last(_read_field(tensor, layout.field, stored, count), count)
    if len(content) != count * stored.itemsize:
        raise FormatError(
            f"a tensor of {count} elements of {stored.itemsize} bytes with {len(content)} bytes"
        )
    return np.frombuffer(content, stored)


def _read_field(tensor: Message, field: str, stored: np.dtype[Any], count: int) -> NDArray[Any]:
    """The numbers in a typed field, but no more than ``count``."""
    values = getattr(tensor, field)
    if isinstance(values, bytes):
        return np.frombuffer(values, stored)[:count]
    parts = 2 if stored.kind == "c" else 1
    if len(values) % parts:
        raise FormatError("a tensor of complex numbers whose last one has no imaginary part")
    wanted = min(len(values), count * parts)
    numbers = np.fromiter(itertools.islice(values, wanted), _FIELD_TYPES[field], wanted)
    return numbers.view(stored) if parts == 2 else numbers.astype(stored, copy=False)


def _repeat_last(values: NDArray[Any], count: int) -> NDArray[Any]:
    if len(values) == count:
        return values
    filled = np.zeros(count, values.dtype)
    if len(values):
        filled[: len(values)] = values
        filled[len(values) :] = values[-1]
    return filled


def _decode_strings(tensor: Message, count: int) -> NDArray[np.object_]:
    if tensor.tensor_content:
        texts = _split_strings(tensor.tensor_content, count)
    else:
        texts = list(tensor.string_val[:count])
    last = texts[-1] if texts else b""
    array = np.full(count, last, dtype=object)
    array[: len(texts)] = texts
    return array


def _split_strings(content: bytes, count: int) -> list[bytes]:
    """Strings in ``tensor_content``: the length of each as a varint, then all of their bytes."""
    lengths = []
    at = 0
    for _ in range(count):
        length, at = read_varint(content, at, len(content))
        lengths.append(length)
    if at + sum(lengths) != len(content):
        raise FormatError(f"a tensor of {count} strings whose lengths do not add up")
    ends = itertools.accumulate(lengths, initial=at)
    return [content[start:end] for start, end in itertools.pairwise(ends)]


def _as_array(value: ArrayLike) -> NDArray[Any]:
    array = np.asarray(value)
    if array.dtype.kind in "SU" and not isinstance(value, np.ndarray):
        # numpy cuts trailing NUL bytes off its own strings, but keeps Python's as they are.
        return np.asarray(value, dtype=object)
    return array.astype(object) if array.dtype.kind in "SUT" else array


def _as_bytes(text: object) -> bytes:
    if isinstance(text, str):
        return text.encode("utf-8", "surrogateescape")
    if isinstance(text, bytes):
        return text
    raise UsageError(f"a log cannot hold a {type(text).__name__} in an array of text")
