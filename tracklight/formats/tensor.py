"""Convert between TensorProto messages and numpy arrays.

The elements of a TensorProto are stored in ``tensor_content``, as little-endian memory, or in a
repeated field of their type. The repeated field may have fewer elements than the tensor: the last
one is repeated, and a tensor without any is zero.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable
from enum import IntEnum
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tracklight.errors import FormatError, UsageError
from tracklight.formats import proto
from tracklight.formats.proto import Message, decode_text, read_varint
from tracklight.formats.tfrecord import BytesLike

#: The default limit on the memory of a decoded tensor.
MAX_TENSOR_BYTES = 1 << 30

#: The limit of numpy 1.
_MAX_DIMENSIONS = 32
_POINTER_BYTES = 8


class DType(IntEnum):
    """``TensorProto.dtype``. Reference types, which TensorFlow 1 used, are these plus 100."""

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


def decode_tensor(
    tensor: Message | BytesLike, *, max_bytes: int = MAX_TENSOR_BYTES
) -> NDArray[Any]:
    """Convert a TensorProto to an array.

    Args:
        tensor: The message, or its encoded bytes.
        max_bytes: Larger tensors are rejected before memory is allocated.

    Returns:
        An array, which may be read-only. bfloat16 and float8 are converted to float32, strings to
        an object array of bytes.

    Raises:
        FormatError: The message is invalid or the tensor is too large.
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
    """Convert an array, a number, a string or a nested list of them to a TensorProto.

    Raises:
        UsageError: The array has a type that a TensorProto cannot represent.

    Example:
        >>> decode_tensor(encode_tensor([[1, 2], [3, 4]])).shape
        (2, 2)
    """
    array = _as_array(value)
    shape = proto.TensorShapeProto(dim=[proto.Dim(size=size) for size in array.shape])
    if array.dtype == object:
        strings = [_as_bytes(item) for item in array.ravel()]
        return proto.TensorProto(dtype=DType.STRING, tensor_shape=shape, string_val=strings)
    dtype = _DTYPE_BY_NAME.get(array.dtype.name)
    if dtype is None:
        raise UsageError(
            f"cannot log an array of {array.dtype}; convert it to float64 or int64 first"
        )
    if array.dtype.kind in "iufc":
        array = array.astype(array.dtype.newbyteorder("<"), copy=False)
    return proto.TensorProto(dtype=dtype, tensor_shape=shape, tensor_content=array.tobytes())


def get_dtype(code: int) -> DType:
    """Return the dtype for ``TensorProto.dtype``.

    Raises:
        FormatError: The code is unknown, or tensors of the type have no values.
    """
    try:
        dtype = DType(code - 100 if code > 100 else code)
    except ValueError:
        raise FormatError(
            "log.tensor_unknown_dtype", "unknown tensor dtype {code}", code=code
        ) from None
    if dtype in (DType.RESOURCE, DType.VARIANT):
        raise FormatError(
            "log.tensor_no_values",
            "tensors of dtype {dtype} contain no values",
            dtype=dtype.name.lower(),
        )
    return dtype


def get_dtype_name(dtype: DType) -> str:
    """Return the name of a dtype in numpy or ml_dtypes, or else in TensorFlow."""
    return _NAME_BY_DTYPE.get(dtype, dtype.name.lower())


def get_shape(shape: Message) -> tuple[int, ...]:
    """Return the sizes in a TensorShapeProto.

    Raises:
        FormatError: The shape is unknown or has too many dimensions.
    """
    sizes = tuple(dim.size for dim in shape.dim)
    if shape.unknown_rank or any(size < 0 for size in sizes):
        raise FormatError("log.tensor_unknown_shape", "the shape of the tensor is unknown")
    if len(sizes) > _MAX_DIMENSIONS:
        raise FormatError(
            "log.tensor_dimensions",
            "the tensor has {dimensions} dimensions; at most {max_dimensions} are supported",
            dimensions=len(sizes),
            max_dimensions=_MAX_DIMENSIONS,
        )
    return sizes


def check_size(dtype: DType, shape: tuple[int, ...], max_bytes: int) -> None:
    """Raise FormatError if the array of a tensor would take more than ``max_bytes``."""
    layout = _LAYOUTS.get(dtype)
    if layout is None:
        item_bytes = _POINTER_BYTES
    else:
        item_bytes = max(np.dtype(layout.stored).itemsize, 4 if layout.widen else 0)
    # Ignore empty dimensions: numpy rejects shapes such as (0, 2**62) too.
    needed = item_bytes * math.prod(size for size in shape if size)
    if needed > max_bytes:
        raise FormatError(
            "log.tensor_too_large",
            "a tensor of shape {shape} takes {size} bytes, more than {limit}; "
            "pass a larger max_bytes to read it",
            shape=list(shape),
            size=needed,
            limit=max_bytes,
        )


def get_storage_dtype(dtype: DType) -> np.dtype[Any]:
    """Return the numpy type of stored elements; unsigned integers where numpy has no such type."""
    return np.dtype(_LAYOUTS[dtype].stored)


def widen(dtype: DType, stored: NDArray[Any]) -> NDArray[Any]:
    """Convert stored elements to a type that numpy has, without loss."""
    widener = _LAYOUTS[dtype].widen
    return stored if widener is None else widener(stored)


def _decode_numbers(tensor: Message, layout: _Layout, count: int) -> NDArray[Any]:
    stored = np.dtype(layout.stored)
    content = tensor.tensor_content
    if not content:
        return _repeat_last(_read_field(tensor, layout.field, stored, count), count)
    if len(content) != count * stored.itemsize:
        raise FormatError(
            "log.tensor_size",
            "the tensor has {size} bytes for {count} elements of {itemsize} bytes",
            size=len(content),
            count=count,
            itemsize=stored.itemsize,
        )
    return np.frombuffer(content, stored)


def _read_field(tensor: Message, field: str, stored: np.dtype[Any], count: int) -> NDArray[Any]:
    """Return at most ``count`` elements of a repeated field."""
    values = getattr(tensor, field)
    if isinstance(values, bytes):
        return np.frombuffer(values, stored)[:count]
    parts = 2 if stored.kind == "c" else 1
    if len(values) % parts:
        raise FormatError(
            "log.tensor_complex", "the last complex number of the tensor has no imaginary part"
        )
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
        strings = _split_strings(tensor.tensor_content, count)
    else:
        strings = list(tensor.string_val[:count])
    last = strings[-1] if strings else b""
    array = np.full(count, last, dtype=object)
    array[: len(strings)] = strings
    return array


def _split_strings(content: bytes, count: int) -> list[bytes]:
    """Split ``tensor_content``: the length of each string as a varint, then all of their bytes."""
    lengths = []
    offset = 0
    for _ in range(count):
        length, offset = read_varint(content, offset, len(content))
        lengths.append(length)
    if offset + sum(lengths) != len(content):
        raise FormatError(
            "log.tensor_strings",
            "the lengths of the {count} strings of the tensor do not add up",
            count=count,
        )
    ends = itertools.accumulate(lengths, initial=offset)
    return [content[start:end] for start, end in itertools.pairwise(ends)]


def _as_array(value: ArrayLike) -> NDArray[Any]:
    array = np.asarray(value)
    if array.dtype.kind in "SU" and not isinstance(value, np.ndarray):
        # numpy strips trailing NUL bytes from its own strings, but not from Python's.
        return np.asarray(value, dtype=object)
    return array.astype(object) if array.dtype.kind in "SUT" else array


def _as_bytes(item: object) -> bytes:
    if isinstance(item, str):
        return item.encode("utf-8", "surrogateescape")
    if isinstance(item, bytes):
        return item
    raise UsageError(f"cannot log a {type(item).__name__} in an array of strings")


# Elements that numpy has no type for. Each function converts bits to the nearest wider type.


def _widen_bool(bits: NDArray[Any]) -> NDArray[Any]:
    # Any nonzero byte is true, but numpy misbehaves if a byte such as 2 is viewed as a bool.
    booleans: NDArray[Any] = np.not_equal(bits, 0)
    return booleans


def _widen_half(bits: NDArray[Any]) -> NDArray[Any]:
    return bits.view("<f2")


def _widen_bfloat16(bits: NDArray[Any]) -> NDArray[Any]:
    return (bits.astype("<u4") << 16).view("<f4")


def _widen_int4(bits: NDArray[Any]) -> NDArray[Any]:
    # Shifting left and right extends the sign.
    numbers: NDArray[Any] = np.right_shift(np.left_shift(bits, 4).view(np.int8), 4)
    return numbers


def _widen_uint4(bits: NDArray[Any]) -> NDArray[Any]:
    numbers: NDArray[Any] = np.bitwise_and(bits, 0x0F)
    return numbers


#: Which codes of a float8 format are special. ``ieee``: the highest exponent means infinity and
#: NaN. ``fn``: no infinity; NaN has all bits but the sign set. ``fnuz``: no infinity and no
#: negative zero, whose code means NaN.
_Specials = Literal["ieee", "fn", "fnuz"]


def _make_float8_widener(
    mantissa_bits: int, bias: int, specials: _Specials
) -> Callable[[NDArray[Any]], NDArray[Any]]:
    def widen_float8(bits: NDArray[Any]) -> NDArray[Any]:
        return np.take(_make_float8_table(mantissa_bits, bias, specials), bits)

    return widen_float8


@functools.cache
def _make_float8_table(mantissa_bits: int, bias: int, specials: _Specials) -> NDArray[Any]:
    """Return the value of each of the 256 codes."""
    code = np.arange(256)
    exponent = (code & 0x7F) >> mantissa_bits
    fraction = (code & (1 << mantissa_bits) - 1) / (1 << mantissa_bits)
    is_normal = exponent > 0
    magnitude = np.ldexp(fraction + is_normal, np.where(is_normal, exponent, 1) - bias)
    value: NDArray[Any] = np.where(code < 0x80, magnitude, -magnitude).astype(np.float32)
    if specials == "fnuz":
        value[0x80] = np.nan
    elif specials == "fn":
        value[[0x7F, 0xFF]] = np.nan
    else:
        highest = exponent == exponent.max()
        value[highest] = np.where(fraction[highest] > 0, np.nan, np.inf * np.sign(value[highest]))
    return value


class _Layout(NamedTuple):
    """How the elements of a dtype are stored."""

    stored: str
    """The numpy type of an element of ``tensor_content``."""
    field: str
    """The repeated field that may contain the elements instead."""
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
    DType.BOOL: _Layout("u1", "bool_val", _widen_bool),
    DType.QINT8: _Layout("i1", "int_val"),
    DType.QUINT8: _Layout("u1", "int_val"),
    DType.QINT32: _Layout("<i4", "int_val"),
    DType.BFLOAT16: _Layout("<u2", "half_val", _widen_bfloat16),
    DType.QINT16: _Layout("<i2", "int_val"),
    DType.QUINT16: _Layout("<u2", "int_val"),
    DType.UINT16: _Layout("<u2", "int_val"),
    DType.COMPLEX128: _Layout("<c16", "dcomplex_val"),
    DType.HALF: _Layout("<u2", "half_val", _widen_half),
    DType.UINT32: _Layout("<u4", "uint32_val"),
    DType.UINT64: _Layout("<u8", "uint64_val"),
    DType.FLOAT8_E5M2: _Layout("u1", "float8_val", _make_float8_widener(2, 15, "ieee")),
    DType.FLOAT8_E4M3FN: _Layout("u1", "float8_val", _make_float8_widener(3, 7, "fn")),
    DType.FLOAT8_E4M3FNUZ: _Layout("u1", "float8_val", _make_float8_widener(3, 8, "fnuz")),
    DType.FLOAT8_E4M3B11FNUZ: _Layout("u1", "float8_val", _make_float8_widener(3, 11, "fnuz")),
    DType.FLOAT8_E5M2FNUZ: _Layout("u1", "float8_val", _make_float8_widener(2, 16, "fnuz")),
    DType.INT4: _Layout("u1", "int_val", _widen_int4),
    DType.UINT4: _Layout("u1", "int_val", _widen_uint4),
}

#: The numpy types of repeated fields.
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

#: The dtypes that can be encoded, by their names in numpy or ml_dtypes.
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


# ---- text

#: Larger tensors are summarized.
MAX_FULL_ELEMENTS = 64
#: Number of first elements in a summary.
_FIRST_ELEMENTS = 6
_MAX_TEXT_CHARS = 200


def format_elements(array: NDArray[Any]) -> str:
    """Return all elements as nested lists, or statistics and the first elements.

    >>> format_elements(np.array([[1, 2], [3, 4]]))
    '[[1, 2], [3, 4]]'
    """
    if array.size <= MAX_FULL_ELEMENTS:
        return _format_nested(array)
    first = ", ".join(_format_element(item) for item in array.reshape(-1)[:_FIRST_ELEMENTS])
    return f"{_summarize(array)}[{first}, \N{HORIZONTAL ELLIPSIS}]"


def _format_nested(array: NDArray[Any]) -> str:
    if array.ndim == 0:
        return _format_element(array[()])
    return f"[{', '.join(_format_nested(np.asarray(row)) for row in array)}]"


def _format_element(item: Any) -> str:
    if isinstance(item, (bytes, str)):
        text = decode_text(item) if isinstance(item, bytes) else item
        is_long = len(text) > _MAX_TEXT_CHARS
        return f'"{text[:_MAX_TEXT_CHARS]}{"…" if is_long else ""}"'
    return str(item).removesuffix(".0")


def _summarize(array: NDArray[Any]) -> str:
    """Return the range, mean and standard deviation; empty for text and complex numbers."""
    if array.dtype.kind not in "biuf":
        return ""
    numbers = array.astype(np.float64)
    finite = numbers[np.isfinite(numbers)]
    if not len(finite):
        return "(all NaN or Inf) "
    statistics = [
        f"min {finite.min():.4g}",
        f"max {finite.max():.4g}",
        f"mean {finite.mean():.4g}",
        f"std {finite.std():.4g}",
    ]
    if len(finite) < array.size:
        statistics.append(f"{array.size - len(finite):,} NaN/Inf")
    return f"({', '.join(statistics)}) "
