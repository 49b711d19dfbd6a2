"""`DataColumn`: one feature of a data set, as arrays.

Numbers are one array. Strings are codes into a list of distinct values. Images and other bytes are
an array of objects. A column of lists keeps all items in one array and has row offsets; the
sequence features of ``tf.SequenceExample`` have one more level of offsets.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tracklight.errors import UsageError
from tracklight.types import Bool, Float64, Int64

ValueType = Literal["integer", "float", "boolean", "string", "image", "bytes"]

NUMERIC_TYPES = ("integer", "float", "boolean")
_BINARY_TYPES = ("image", "bytes")

#: The first bytes of image files: JPEG, PNG, GIF, BMP, TIFF; WebP is checked separately.
_IMAGE_SIGNATURES = (
    b"\xff\xd8\xff",
    b"\x89PNG\r\n\x1a\n",
    b"GIF8",
    b"BM",
    b"II*\x00",
    b"MM\x00*",
)


@dataclass(frozen=True, eq=False)
class DataColumn:
    """One column. The arrays must not be modified."""

    name: str
    type: ValueType
    values: NDArray[Any]
    """int64, float64 or bool; int32 codes for strings; objects for images and bytes. Lists of
    floats may be float32, as TFRecord files store them."""
    categories: Sequence[str] = ()
    """The distinct strings, in the order of their first row."""
    missing: Bool | None = None
    """Which rows have no value; None if all have one. NaN and the code -1 also mean missing."""
    offsets: Int64 | None = None
    """For lists: where the items of each row begin and end in ``values``."""
    step_offsets: Int64 | None = None
    """For sequences: ``offsets`` count steps, and these are the offsets of each step's items."""

    def __len__(self) -> int:
        return len(self.values if self.offsets is None else self.offsets) - (self.is_list)

    @property
    def is_numeric(self) -> bool:
        return self.type in NUMERIC_TYPES

    @property
    def is_list(self) -> bool:
        return self.offsets is not None

    @property
    def is_sequence(self) -> bool:
        return self.step_offsets is not None

    @property
    def size_bytes(self) -> int:
        """Approximate memory use."""
        arrays = (self.values, self.missing, self.offsets, self.step_offsets)
        size = sum(int(array.nbytes) for array in arrays if array is not None)
        size += sum(60 + len(text) for text in self.categories)
        if self.type in _BINARY_TYPES:
            size += sum(len(item) for item in self.values if item is not None)
        return size

    def select_missing(self) -> Bool:
        """Return which rows have no value."""
        if self.offsets is not None:
            empty: Bool = np.diff(self.offsets) == 0
            return empty if self.missing is None else self.missing | empty
        mask = _select_missing_items(self.values, self.type)
        return mask if self.missing is None else mask | self.missing

    def get_item_offsets(self) -> Int64:
        """Return where the items of each row begin and end in ``values``."""
        if self.offsets is None:
            return np.arange(len(self.values) + 1)
        return self.offsets if self.step_offsets is None else self.step_offsets[self.offsets]

    def find_list_length(self) -> int | None:
        """Return the number of items if it is the same in all rows, otherwise None."""
        lengths = np.diff(self.get_item_offsets())
        if not len(lengths) or (lengths != lengths[0]).any():
            return None
        return int(lengths[0])

    def get_value(self, row: int) -> Any:
        """Return the value of one row: a number, string, bytes, list, list of lists, or None."""
        if self.missing is not None and self.missing[row]:
            return None
        if self.offsets is None:
            return self._get_item(row)
        start, stop = int(self.offsets[row]), int(self.offsets[row + 1])
        if self.step_offsets is None:
            return [self._get_item(item) for item in range(start, stop)]
        bounds = self.step_offsets[start : stop + 1].tolist()
        return [
            [self._get_item(item) for item in range(first, last)]
            for first, last in pairwise(bounds)
        ]

    def _get_item(self, index: int) -> Any:
        item = self.values[index]
        if self.type == "string":
            return self.categories[item] if item >= 0 else None
        if self.type in _BINARY_TYPES:
            return item
        value = item.item()
        return None if isinstance(value, float) and math.isnan(value) else value

    def to_float64(self) -> Float64:
        """Return a column of single numbers as float64, with NaN for missing values.

        Raises:
            UsageError: The column has strings, bytes or lists.
        """
        if not self.is_numeric or self.is_list:
            raise UsageError(
                "data.not_numbers", '"{column}" is not a column of numbers', column=self.name
            )
        values = self.values.astype(np.float64)
        if self.missing is not None:
            values[self.missing] = np.nan
        return values

    def to_array(self) -> NDArray[Any]:
        """Return the values as an array for a model.

        Numbers are int64, bool or float64 (with NaN for missing values), everything else is
        objects. Lists of one length become an array with two axes.
        """
        length = self.find_list_length() if self.is_list and not self.is_sequence else None
        if length is not None and (self.missing is None or not self.missing.any()):
            items = replace(self, offsets=None, missing=None).to_array()
            return items.reshape(len(self), length)
        if self.is_list:
            return _to_objects([self.get_value(row) for row in range(len(self))])
        if self.is_numeric:
            return self.values if self.missing is None else self.to_float64()
        if self.type == "string":
            texts: NDArray[Any] = _to_objects([*self.categories, None])[self.values]
            return texts
        return self.values

    def take(self, rows: NDArray[Any] | Sequence[int]) -> DataColumn:
        """Return a column of some rows, which may be repeated."""
        index = np.asarray(rows)
        if index.dtype == np.bool_:
            index = np.flatnonzero(index)
        missing = None if self.missing is None else self.missing[index]
        if self.offsets is None:
            return replace(self, values=self.values[index], missing=missing)
        starts = self.offsets[:-1][index]
        lengths = self.offsets[1:][index] - starts
        length = int(lengths[0]) if len(lengths) else 0
        if not self.is_sequence and length and (lengths == length).all():
            # Without the index of each item, which may take more memory than the items.
            windows = np.lib.stride_tricks.sliding_window_view(self.values, length)
            values = windows[starts].reshape(-1)
            offsets = length * np.arange(len(index) + 1)
            return replace(self, values=values, missing=missing, offsets=offsets)
        items, offsets = gather_ranges(self.offsets, index)
        if self.step_offsets is None:
            return replace(self, values=self.values[items], missing=missing, offsets=offsets)
        items, step_offsets = gather_ranges(self.step_offsets, items)
        return replace(
            self,
            values=self.values[items],
            missing=missing,
            offsets=offsets,
            step_offsets=step_offsets,
        )

    def with_values(self, rows: NDArray[Any], values: Sequence[Any]) -> DataColumn:
        """Return a column in which some rows have other values.

        Raises:
            UsageError: A value does not have the type of the column.
        """
        new = make_column(self.name, [self.check_value(value) for value in values], like=self)
        if self.is_list and len(rows) == 1:
            row = int(rows[0])
            parts = [self._slice(0, row), new, self._slice(row + 1, len(self))]
            return concat_columns(parts)
        joined = concat_columns([self, new])
        index = np.arange(len(self))
        index[rows] = len(self) + np.arange(len(new))
        return joined.take(index)

    def _slice(self, start: int, stop: int) -> DataColumn:
        """Return consecutive rows of a column of lists; the items are not copied."""
        assert self.offsets is not None
        offsets = self.offsets[start : stop + 1]
        first, last = int(offsets[0]), int(offsets[-1])
        steps = self.step_offsets
        if steps is not None:
            steps = steps[first : last + 1]
            values = self.values[steps[0] : steps[-1]]
            steps = steps - steps[0]
        else:
            values = self.values[first:last]
        return replace(
            self,
            values=values,
            missing=None if self.missing is None else self.missing[start:stop],
            offsets=offsets - first,
            step_offsets=steps,
        )

    def with_constant(self, rows: slice | NDArray[Any], value: Any) -> DataColumn:
        """Return a column in which some rows have one other value."""
        index = np.arange(len(self))[rows] if isinstance(rows, slice) else rows
        if self.is_list or self.type in _BINARY_TYPES or value is None:
            return self.with_values(index, [value] * len(index))
        value = self.check_value(value)
        column = self
        if self.type == "string":
            if value not in self.categories:
                column = replace(self, categories=[*self.categories, value])
            value = list(column.categories).index(value)
        elif self.type == "integer" and isinstance(value, float):
            column = replace(self, type="float", values=self.to_float64(), missing=None)
        values = column.values.copy()
        values[rows] = value
        missing = column.missing
        if missing is not None:
            missing = missing.copy()
            missing[rows] = False
        return replace(column, values=values, missing=missing)

    def check_value(self, value: Any) -> Any:
        """Convert a value to the type of the column.

        Raises:
            UsageError: The value does not fit; the message names the column and the type.
        """
        if value is None:
            return None
        if self.is_list:
            if not isinstance(value, (list, tuple, np.ndarray)):
                raise UsageError(
                    "data.needs_list", '"{column}" needs a list of values', column=self.name
                )
            if self.is_sequence:
                return [[self._check_item(item) for item in step] for step in value]
            return [self._check_item(item) for item in value]
        return self._check_item(value)

    def _check_item(self, value: Any) -> Any:
        if isinstance(value, np.generic):
            value = value.item()
        if value is None:
            return None
        if self.type == "string":
            if isinstance(value, str):
                return value
            if isinstance(value, bytes):
                return value.decode("utf-8", "backslashreplace")
        elif self.type in _BINARY_TYPES:
            if isinstance(value, bytes):
                return value
        elif self.type == "boolean":
            if isinstance(value, (bool, int)) and value in (0, 1):
                return bool(value)
        elif isinstance(value, (int, float)):
            if self.type == "float":
                return float(value)
            return int(value) if float(value).is_integer() else float(value)
        article = "an" if self.type in ("integer", "image") else "a"
        raise UsageError(
            "data.wrong_value",
            '"{column}" needs {article} {type} value, not {value}',
            column=self.name,
            article=article,
            type=self.type,
            value=format_value(value),
        )


def format_value(value: Any) -> str:
    """Return a value for an error message."""
    if isinstance(value, bytes):
        return f"{len(value)} bytes"
    text = f'"{value}"' if isinstance(value, str) else str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def gather_ranges(offsets: Int64, rows: NDArray[Any]) -> tuple[Int64, Int64]:
    """Return the indexes of the items of some rows one after the other, and the new offsets."""
    starts = offsets[:-1][rows]
    lengths = np.diff(offsets)[rows]
    new_offsets = make_offsets(lengths)
    items = np.repeat(starts - new_offsets[:-1], lengths) + np.arange(new_offsets[-1])
    return items, new_offsets


def make_offsets(lengths: Any) -> Int64:
    """Return where each list begins and ends, given their lengths."""
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


# ---- creating columns


def make_number_column(name: str, values: Any, missing: Bool | None = None) -> DataColumn:
    """Create a column of integers, floats or booleans from an array with one axis."""
    array = np.asarray(values)
    if missing is not None and not missing.any():
        missing = None
    if array.dtype.kind == "b":
        return DataColumn(name, "boolean", array, missing=missing)
    if array.dtype.kind in "iu" and (array.dtype != np.uint64 or not (array >> 63).any()):
        return DataColumn(name, "integer", array.astype(np.int64, copy=False), missing=missing)
    floats = array.astype(np.float64, copy=missing is not None)
    if missing is not None:
        floats[missing] = np.nan
    return DataColumn(name, "float", floats)


def make_missing_column(name: str, value_type: ValueType, row_count: int) -> DataColumn:
    """Create a column of single values in which all rows are missing."""
    if value_type == "string":
        return DataColumn(name, value_type, np.full(row_count, -1, np.int32))
    if value_type in _BINARY_TYPES:
        return DataColumn(name, value_type, np.full(row_count, None, object))
    if value_type == "float":
        return DataColumn(name, value_type, np.full(row_count, np.nan))
    dtype = np.bool_ if value_type == "boolean" else np.int64
    missing = np.ones(row_count, np.bool_)
    return DataColumn(name, value_type, np.zeros(row_count, dtype), missing=missing)


def make_string_column(name: str, values: Iterable[str | None]) -> DataColumn:
    """Create a column of strings; None is a missing value."""
    codes, categories = encode_strings(values)
    return DataColumn(name, "string", codes, categories)


def encode_strings(values: Iterable[str | None]) -> tuple[NDArray[np.int32], list[str]]:
    """Return the code of each string, -1 for None, and the distinct strings."""
    numbers_by_text: dict[str | None, int] = {None: -1}
    codes = np.array(
        [numbers_by_text.setdefault(value, len(numbers_by_text) - 1) for value in values], np.int32
    )
    return codes, [text for text in numbers_by_text if text is not None]


def make_bytes_column(name: str, values: Sequence[bytes | None]) -> DataColumn:
    """Create a column of strings, images or other bytes, depending on the content of all values."""
    numbers_by_value: dict[bytes | None, int] = {None: -1}
    codes = [numbers_by_value.setdefault(item, len(numbers_by_value) - 1) for item in values]
    distinct = [value for value in numbers_by_value if value is not None]
    return make_coded_bytes_column(name, np.array(codes, np.int32), distinct)


def make_coded_bytes_column(
    name: str, codes: NDArray[np.int32], distinct: Sequence[bytes]
) -> DataColumn:
    """Create a column of strings, images or other bytes from codes, -1 for missing values."""
    value_type = infer_bytes_type(distinct)
    if value_type == "string":
        return DataColumn(name, value_type, codes, [value.decode() for value in distinct])
    return DataColumn(name, value_type, _to_objects([*distinct, None])[codes])


def infer_bytes_type(values: Iterable[bytes | None]) -> Literal["string", "image", "bytes"]:
    """Return the type of a column of bytes: images by signature, strings if all are UTF-8."""
    present = [value for value in values if value]
    if present and all(is_image(value) for value in present):
        return "image"
    try:
        for value in present:
            if b"\0" in value:
                return "bytes"
            value.decode()
    except UnicodeDecodeError:
        return "bytes"
    return "string"


def is_image(data: bytes) -> bool:
    """Return whether bytes begin like an image file."""
    if data[:2] == b"BM":  # also the beginning of many texts
        return len(data) > 26 and data[6:10] == b"\0\0\0\0"
    return data.startswith(_IMAGE_SIGNATURES) or (data[:4] == b"RIFF" and data[8:12] == b"WEBP")


def make_list_column(
    name: str, items: DataColumn, lengths: NDArray[Any], missing: Bool | None = None
) -> DataColumn:
    """Create a column of lists from a column of all items and the length of each list.

    If all rows have exactly one item, the result is a column of single values. Missing rows have
    no items; they do not make a column of single values a column of lists.
    """
    if missing is not None and not missing.any():
        missing = None
    present = lengths if missing is None else lengths[~missing]
    if len(present) and (present == 1).all():
        if missing is None:
            return replace(items, name=name)
        return replace(_spread(items, missing), name=name)
    return replace(items, name=name, offsets=make_offsets(lengths), missing=missing)


def _spread(items: DataColumn, missing: Bool) -> DataColumn:
    """Put the items of a column into the rows that are not missing."""
    row_count = len(missing)
    if items.type == "string":
        values: NDArray[Any] = np.full(row_count, -1, np.int32)
    elif items.type in _BINARY_TYPES:
        values = np.full(row_count, None, object)
    else:
        values = np.zeros(row_count, items.values.dtype)
    values[~missing] = items.values
    if items.type == "float":
        values[missing] = np.nan
    keep_mask = items.type in ("integer", "boolean")
    return replace(items, values=values, missing=missing if keep_mask else None)


def make_column(name: str, values: Sequence[Any], like: DataColumn | None = None) -> DataColumn:
    """Create a column from Python values; the type is inferred from all of them.

    Args:
        name: The name of the column.
        values: Numbers, booleans, strings, bytes, lists or arrays of these, or None.
        like: Use the type of this column if the values fit it.
    """
    if like is not None and like.is_sequence:
        return _make_sequence_column(name, values, like)
    has_lists = any(isinstance(value, (list, tuple, np.ndarray)) for value in values)
    if not has_lists and (like is None or not like.is_list):
        return _make_scalar_column(name, values, like)
    if any(isinstance(item, (list, tuple, np.ndarray)) for row in values if _is_list(row)
           for item in row):  # fmt: skip
        return _make_sequence_column(name, values, like)
    rows = [_to_list(value) for value in values]
    missing = np.array([value is None for value in values], np.bool_)
    lengths = np.array([len(row) for row in rows], np.int64)
    items = _make_items(name, [item for row in rows for item in row], like)
    return replace(items, offsets=make_offsets(lengths), missing=missing if missing.any() else None)


def _make_sequence_column(name: str, values: Sequence[Any], like: DataColumn | None) -> DataColumn:
    steps = [[_to_list(step) for step in _to_list(row)] for row in values]
    flat = [item for row in steps for step in row for item in step]
    items = _make_items(name, flat, like)
    missing = np.array([value is None for value in values], np.bool_)
    return replace(
        items,
        offsets=make_offsets([len(row) for row in steps]),
        step_offsets=make_offsets([len(step) for row in steps for step in row]),
        missing=missing if missing.any() else None,
    )


def _make_items(name: str, values: Sequence[Any], like: DataColumn | None) -> DataColumn:
    """Create the column of all items of lists; missing numbers are NaN, as the mask is for rows."""
    items = _make_scalar_column(name, values, like)
    if items.missing is None:
        return items
    return replace(items, type="float", values=items.to_float64(), missing=None)


def _make_scalar_column(name: str, values: Sequence[Any], like: DataColumn | None) -> DataColumn:
    if not values and like is not None:
        return replace(like, name=name, values=like.values[:0], missing=None, offsets=None,
                       step_offsets=None)  # fmt: skip
    if any(_is_nan(value) for value in values):
        values = [None if _is_nan(value) else value for value in values]
    present = [value for value in values if value is not None]
    if not present and like is not None:
        nothing = [None] * len(values)
        if like.type == "string":
            return make_string_column(name, nothing)
        if like.type in _BINARY_TYPES:
            return DataColumn(name, like.type, _to_objects(nothing))
        mask = np.ones(len(values), np.bool_)
        return make_number_column(name, np.zeros(len(values), like.values.dtype), mask)
    if present and all(isinstance(value, (bool, np.bool_)) for value in present):
        return _make_numbers(name, values, np.bool_)
    if all(isinstance(value, numbers.Integral) for value in present) and present:
        if all(-(2**63) <= value < 2**63 for value in present):
            is_float = like is not None and like.type == "float"
            return _make_numbers(name, values, np.float64 if is_float else np.int64)
    if all(isinstance(value, numbers.Real) for value in present):
        return _make_numbers(name, values, np.float64)
    if all(isinstance(value, (bytes, bytearray)) for value in present):
        data = [None if value is None else bytes(value) for value in values]
        if like is not None and like.type in _BINARY_TYPES:
            return DataColumn(name, like.type, _to_objects(data))
        return make_bytes_column(name, data)
    return make_string_column(name, (None if value is None else str(value) for value in values))


def _make_numbers(name: str, values: Sequence[Any], dtype: type[np.generic]) -> DataColumn:
    missing = np.array([value is None for value in values], np.bool_)
    if missing.any():
        values = [0 if value is None else value for value in values]
    return make_number_column(name, np.array(values, dtype), missing)


def concat_columns(columns: Sequence[DataColumn]) -> DataColumn:
    """Join columns of the same feature. Integers become floats if one of the columns has floats.

    Floats have the precision of the first column, so that an edit does not double their memory.

    Raises:
        UsageError: The columns have types that cannot be joined.
    """
    first = columns[0]
    if len(columns) == 1:
        return first
    types = {column.type for column in columns}
    has_lists = any(column.is_list for column in columns)
    if has_lists:
        columns = [column if column.is_list else _to_list_column(column) for column in columns]
    missing = None
    if any(column.missing is not None for column in columns):
        missing = np.concatenate(
            [_zeros(len(column)) if column.missing is None else column.missing
             for column in columns]
        )  # fmt: skip
    value_type, values, categories = _join_items(first.name, columns, types)
    joined = DataColumn(first.name, value_type, values, categories, missing)
    if value_type == "float" and missing is not None and not has_lists:
        values = joined.to_float64()
        joined = replace(joined, values=values, missing=None)
    if not has_lists:
        return joined
    offsets = _join_offsets([column.offsets for column in columns])
    if not any(column.is_sequence for column in columns):
        return replace(joined, offsets=offsets)
    if not all(column.is_sequence for column in columns):
        raise UsageError(
            "data.lists_and_sequences",
            '"{column}" has lists in some rows and sequences in others',
            column=first.name,
        )
    steps = _join_offsets([column.step_offsets for column in columns])
    return replace(joined, offsets=offsets, step_offsets=steps)


def _join_items(
    name: str, columns: Sequence[DataColumn], types: set[ValueType]
) -> tuple[ValueType, NDArray[Any], Sequence[str]]:
    arrays = [column.values for column in columns]
    if types == {"string"}:
        if len({id(column.categories) for column in columns}) == 1:
            return "string", np.concatenate(arrays), columns[0].categories
        numbers_by_text: dict[str, int] = {}
        recoded = []
        for column in columns:
            table = [
                numbers_by_text.setdefault(text, len(numbers_by_text)) for text in column.categories
            ]
            recoded.append(np.array([*table, -1], np.int32)[column.values])
        return "string", np.concatenate(recoded), list(numbers_by_text)
    if len(types) == 1:
        joined = np.concatenate(arrays, dtype=arrays[0].dtype, casting="same_kind")
        return columns[0].type, joined, ()
    if types <= {"integer", "float", "boolean"}:
        value_type: ValueType = "float" if "float" in types else "integer"
        dtype = np.float64 if value_type == "float" else np.int64
        return value_type, np.concatenate([array.astype(dtype) for array in arrays]), ()
    if types <= {"image", "bytes"}:
        return "bytes", np.concatenate(arrays), ()
    if types <= {"image", "bytes", "string"}:
        return "bytes", np.concatenate([_to_binary(column) for column in columns]), ()
    raise UsageError(
        "data.mixed_types",
        '"{column}" has values of different types: {types}',
        column=name,
        types=", ".join(sorted(types)),
    )


def _to_binary(column: DataColumn) -> NDArray[Any]:
    if column.type != "string":
        return column.values
    encoded = [text.encode() for text in column.categories]
    binary: NDArray[Any] = _to_objects([*encoded, None])[column.values]
    return binary


def _to_list_column(column: DataColumn) -> DataColumn:
    missing = column.select_missing()
    return replace(
        replace(column, missing=None).take(~missing),
        offsets=make_offsets((~missing).astype(np.int64)),
        missing=missing if missing.any() else None,
    )


def _join_offsets(offsets: Sequence[Int64 | None]) -> Int64:
    lengths = [np.diff(offset) for offset in offsets if offset is not None]
    return make_offsets(np.concatenate(lengths))


def _zeros(count: int) -> Bool:
    return np.zeros(count, np.bool_)


def _select_missing_items(values: NDArray[Any], value_type: ValueType) -> Bool:
    if value_type in ("float", "string"):
        mask: Bool = np.isnan(values) if value_type == "float" else values < 0
        return mask
    if value_type in _BINARY_TYPES:
        return np.array([value is None for value in values], np.bool_)
    return _zeros(len(values))


def _is_nan(value: Any) -> bool:
    return isinstance(value, (float, np.floating)) and bool(value != value)


def _is_list(value: Any) -> bool:
    return isinstance(value, (list, tuple, np.ndarray))


def _to_list(value: Any) -> list[Any]:
    if value is None:
        return []
    if isinstance(value, np.ndarray):
        return list(value.tolist())
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _to_objects(values: Sequence[Any]) -> NDArray[Any]:
    array = np.empty(len(values), object)
    array[:] = values
    return array
