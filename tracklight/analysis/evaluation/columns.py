"""Columns of a chunk of rows: NumPy arrays, or categories with a code for each row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracklight.errors import UsageError, list_similar_names

_MAX_INTEGER_RANGE = 1 << 20


@dataclass(frozen=True, eq=False)
class Categorical:
    """Distinct values as text and the code of each row; -1 is missing."""

    values: Sequence[str]
    codes: NDArray[Any]

    def __len__(self) -> int:
        return len(self.codes)


ColumnData = Categorical | NDArray[Any]


def get_column(columns: Mapping[str, ColumnData], name: str) -> ColumnData:
    """Return a column.

    Raises:
        UsageError: There is no such column; the message names the most similar one.
    """
    if name in columns:
        return columns[name]
    similar = list_similar_names(name, columns)
    hint = f'; did you mean "{similar[0]}"?' if similar else ""
    raise UsageError(f'no column "{name}"{hint}')


def format_value(value: Any) -> str:
    """Return the text of a slice value."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    return str(value)


def factorize(name: str, data: ColumnData, max_values: int) -> Categorical:
    """Convert a column to categories; NaN, None and NaT are missing.

    Raises:
        UsageError: The column has more than ``max_values`` distinct values, or is not
            one-dimensional.
    """
    if isinstance(data, Categorical):
        return data
    array = np.asarray(data)
    if array.ndim != 1:
        raise UsageError(f'column "{name}" must have one dimension, not {array.ndim}')
    if array.dtype.kind == "O":
        result = _factorize_objects(array)
    elif array.dtype.kind in "iub":
        result = _factorize_integers(array)
    else:
        result = _factorize_sorted(array)
    if len(result.values) > max_values:
        raise UsageError(
            "data.too_many_values",
            'column "{column}" has {count:,} distinct values; divide it into buckets to slice by '
            "it",
            column=name,
            count=len(result.values),
        )
    return result


def _factorize_objects(array: NDArray[Any]) -> Categorical:
    numbers: dict[Any, int] = {}
    try:
        codes = [
            -1 if is_missing(value) else numbers.setdefault(value, len(numbers)) for value in array
        ]
    except TypeError as error:
        raise UsageError(f"a slice value cannot be compared: {error}") from None
    return _merge_equal_texts([format_value(value) for value in numbers], np.array(codes, np.int64))


def _merge_equal_texts(texts: list[str], codes: NDArray[Any]) -> Categorical:
    """Give values with the same text, such as 1 and "1", the same code."""
    numbers: dict[str, int] = {}
    table = np.array([numbers.setdefault(text, len(numbers)) for text in texts] + [-1], np.int64)
    return Categorical(list(numbers), table[codes])


def _factorize_integers(array: NDArray[Any]) -> Categorical:
    if not len(array):
        return Categorical([], np.zeros(0, np.int64))
    if array.dtype.kind == "b":
        return Categorical(["False", "True"], array.astype(np.int64))
    low, high = int(array.min()), int(array.max())
    if high - low > _MAX_INTEGER_RANGE:
        return _factorize_sorted(array)
    offsets = array.astype(np.int64) - low
    used = np.zeros(high - low + 1, bool)
    used[offsets] = True
    present = np.flatnonzero(used)
    positions = np.zeros(len(used), np.int64)
    positions[present] = np.arange(len(present))
    return Categorical([str(value + low) for value in present.tolist()], positions[offsets])


def _factorize_sorted(array: NDArray[Any]) -> Categorical:
    missing = np.isnan(array) if array.dtype.kind in "fc" else None
    if array.dtype.kind in "mM":
        missing = np.isnat(array)
    values, codes = np.unique(array, return_inverse=True)
    codes = codes.reshape(-1)
    if missing is not None and missing.any():
        codes = np.where(missing, -1, codes)
    return Categorical([format_value(value) for value in values.tolist()], codes)


def is_missing(value: Any) -> bool:
    """Return whether a Python value is missing: None, NaN, NaT or pandas.NA."""
    if value is None:
        return True
    try:
        return bool(value != value)
    except TypeError:  # pandas.NA has no truth value
        return True
    except ValueError:  # an array
        return False
