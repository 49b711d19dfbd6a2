"""Format the elements of a tensor as text: small tensors in full, large ones as statistics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracklight.formats.wire_format import decode_text

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
        return "all NaN or Inf: "
    statistics = [
        f"min {finite.min():.4g}",
        f"max {finite.max():.4g}",
        f"mean {finite.mean():.4g}",
        f"std {finite.std():.4g}",
        *_count_nonfinite(array.size - len(finite)),
    ]
    return f"{', '.join(statistics)}: "


def _count_nonfinite(count: int) -> Sequence[str]:
    return [f"{count:,} NaN/Inf"] if count else []
