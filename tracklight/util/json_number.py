"""NaN and infinities in JSON, which has no such numbers: they are encoded as strings."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: A finite number, or ``"NaN"``, ``"Infinity"`` or ``"-Infinity"``.
JsonNumber = float | str


def to_json_number(value: float) -> JsonNumber:
    """Replace NaN and infinities by strings that Python's float() and JavaScript's Number() parse.

    >>> to_json_number(0.5), to_json_number(float("-inf"))
    (0.5, '-Infinity')
    """
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def to_json_numbers(column: NDArray[Any]) -> list[Any]:
    """Convert a column like `to_json_number`, value by value."""
    values: list[Any] = column.tolist()
    for row in np.flatnonzero(~np.isfinite(column)).tolist():
        values[row] = to_json_number(values[row])
    return values
