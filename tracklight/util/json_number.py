"""Numbers as JSON can hold them: what it has no word for is ``"NaN"`` or ``"Infinity"``."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: A number of JSON, or the name of one that it has no word for.
JsonNumber = float | str


def to_json_number(value: float) -> JsonNumber:
    """Python's ``float()`` and JavaScript's ``Number()`` both read the strings back."""
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def to_json_numbers(column: NDArray[Any]) -> list[Any]:
    cells: list[Any] = column.tolist()
    for at in np.flatnonzero(~np.isfinite(column)).tolist():
        cells[at] = to_json_number(cells[at])
    return cells
