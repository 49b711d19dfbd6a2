"""Durations in words, for sentences that the page and the command line show.

`formatMs` in ``web/src/base/format.ts`` formats the same way.
"""

from __future__ import annotations

from math import floor, log10

_DIGITS = 3


def format_ms(ms: float) -> str:
    """Return a duration in the unit that reads best: ``3.7 s``, ``49.2 ms``, ``38.4 µs``."""
    size = abs(ms)
    if size >= 1000:
        return f"{_format(ms / 1000)} s"
    if size >= 0.1 or size == 0:
        return f"{_format(ms)} ms"
    if size >= 1e-4:
        return f"{_format(ms * 1000)} \N{MICRO SIGN}s"
    return f"{_format(ms * 1e6)} ns"


def _format(value: float) -> str:
    """Round to three significant digits, without an exponent."""
    if value == 0:
        return "0"
    decimals = _DIGITS - 1 - floor(log10(abs(value)))
    text = f"{round(value, max(decimals, 0)):.{max(decimals, 0)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
