"""Numbers that numpy has no type for: bfloat16, the 8-bit floats and the 4-bit integers.

Each function takes the stored bits and gives an array of the nearest wider type, losing nothing.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

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


def float8_widener(mantissa_bits: int, bias: int, specials: Specials) -> Callable[[Bits], Numbers]:
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
