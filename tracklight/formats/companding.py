"""The 8-bit codes of telephony as numbers, by a table of all 256 (ITU-T G.711)."""

from __future__ import annotations

import numpy as np

from tracklight.types import Float32

_CODES = np.arange(256)


def mu_law_table() -> Float32:
    """What each code of mu-law stands for, in [-1, 1]."""
    code = ~_CODES & 0xFF
    exponent, mantissa = code >> 4 & 7, code & 15
    size = ((mantissa << 3) + 0x84 << exponent) - 0x84
    return _signed(size, code & 0x80 != 0)


def a_law_table() -> Float32:
    """What each code of A-law stands for, in [-1, 1]."""
    code = _CODES ^ 0x55
    exponent, mantissa = code >> 4 & 7, code & 15
    small = (mantissa << 4) + 8
    size = np.where(exponent == 0, small, small + 0x100 << np.maximum(exponent - 1, 0))
    return _signed(size, code & 0x80 == 0)


def _signed(size: np.ndarray, negative: np.ndarray) -> Float32:
    table: Float32 = (np.where(negative, -size, size) / 32768).astype(np.float32)
    return table
