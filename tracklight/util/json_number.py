"""Convert numbers for JSON, which cannot represent NaN and infinity.

They are sent as the strings ``"NaN"``, ``"Infinity"`` and ``"-Infinity"``, which ``float()`` in
Python and ``Number()`` in JavaScript convert back.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: A finite number, or one of the strings above.
JsonNumber = float | str


def to_json_number(value: float) -> JsonNumber:
    """Return the number, or a string if it is not finite.

    Example:
        >>> to_json_number(float("inf"))
        'Infinity'
    """
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def to_json_numbers(column: NDArray[Any]) -> list[Any]:
    """Apply `to_json_number` to an array."""
    cells: list[Any] = column.tolist()
    for index in np.flatnonzero(~np.isfinite(column)).tolist():
        cells[index] = to_json_number(cells[index])
    return cells
