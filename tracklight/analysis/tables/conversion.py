"""Convert columns to types that a user has chosen instead of the inferred ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from tracklight.analysis.tables import DataTable
from tracklight.analysis.tables.columns import (
    DataColumn,
    format_value,
    is_image,
    make_column,
    make_list_column,
    make_number_column,
    make_string_column,
)
from tracklight.errors import UsageError

#: Types that a column can be given: that of its values, or of the items of its lists.
COLUMN_TYPES = ("integer", "float", "boolean", "string", "image", "bytes")
#: Follows a type: texts are divided into lists of it.
LIST_SUFFIX = "[]"
#: Divides the items of lists in texts.
ITEM_SEPARATOR = "|"
_BOOLEANS = {"true": True, "false": False, "1": True, "0": False, "1.0": True, "0.0": False}


def convert_columns(table: DataTable, types: Mapping[str, str] | None) -> DataTable:
    """Return a table in which some columns have another type.

    Args:
        table: The data.
        types: The type of columns by name: ``integer``, ``float``, ``boolean``, ``string``,
            ``image`` or ``bytes``. Items of lists get the type, too. ``string[]`` and the like
            divide texts such as ``red|green`` into lists.

    Raises:
        UsageError: There is no such column or type, or a value cannot be converted.
    """
    if not types:
        return table
    converted = [convert_column(table.get_column(name), kind) for name, kind in types.items()]
    return table.with_columns(converted)


def convert_column(column: DataColumn, kind: str) -> DataColumn:
    """Return a column with another type; see `convert_columns`."""
    item_type = kind.removesuffix(LIST_SUFFIX)
    if item_type not in COLUMN_TYPES:
        raise UsageError(
            "data.no_type",
            '"{type}" is not a type; use one of {known}, or with [] for lists in texts',
            type=kind,
            known=", ".join(COLUMN_TYPES),
        )
    if kind.endswith(LIST_SUFFIX) and not column.is_list:
        column = _divide(column)
    if not column.is_list:
        return _convert_items(column, item_type)
    items = replace(column, offsets=None, step_offsets=None, missing=None)
    found = _convert_items(items, item_type)
    if found.missing is not None:  # the mask of lists is for rows
        found = replace(found, type="float", values=found.to_float64())
    return replace(
        found, offsets=column.offsets, step_offsets=column.step_offsets, missing=column.missing
    )


def _divide(column: DataColumn) -> DataColumn:
    """Divide texts into lists."""
    if column.type != "string":
        raise _make_error(column, "list of texts", None)
    lists = [text.split(ITEM_SEPARATOR) for text in column.categories]
    rows = [None if code < 0 else lists[code] for code in column.values.tolist()]
    items = make_string_column(column.name, (item for row in rows if row for item in row))
    lengths = np.array([len(row or ()) for row in rows], np.int64)
    missing = column.values < 0
    divided = make_list_column(column.name, items, lengths, missing)
    return divided if divided.is_list else _wrap(divided)


def _wrap(column: DataColumn) -> DataColumn:
    """Return lists of one item each."""
    missing = column.select_missing()
    kept = replace(column, missing=None).take(~missing)
    offsets = np.concatenate([[0], np.cumsum(~missing)])
    return replace(kept, offsets=offsets, missing=missing if missing.any() else None)


def _convert_items(column: DataColumn, kind: str) -> DataColumn:
    if column.type == kind:
        return column
    if column.is_numeric and kind in ("integer", "float", "boolean"):
        return _convert_numbers(column, kind)
    values: list[Any]
    if column.type == "string":
        parsed = [_convert_text(column, text, kind) for text in column.categories]
        values = [*parsed, None]
        rows = [values[code] for code in column.values.tolist()]
        return make_column(column.name, rows) if kind != "image" else _make_binary(column, rows)
    if column.is_numeric:
        if kind != "string":
            raise _make_error(column, kind, column.get_value(0) if len(column) else None)
        texts = [_format_number(column.get_value(row)) for row in range(len(column))]
        return make_string_column(column.name, texts)
    rows = column.values.tolist()
    if kind == "string":
        return make_string_column(column.name, [_decode(column, value) for value in rows])
    if kind not in ("image", "bytes"):
        raise _make_error(column, kind, next((value for value in rows if value), None))
    if kind == "image":
        return _make_binary(column, rows)
    return replace(column, type="bytes")


def _convert_numbers(column: DataColumn, kind: str) -> DataColumn:
    numbers = column.to_float64()
    missing = np.isnan(numbers)
    checks: dict[str, Callable[[Any], Any]] = {
        "integer": lambda values: np.isfinite(values) & (values == np.round(values)),
        "boolean": lambda values: (values == 0) | (values == 1),
        "float": lambda values: np.ones(len(values), np.bool_),
    }
    fits = checks[kind](numbers) | missing
    if not fits.all():
        raise _make_error(column, kind, column.get_value(int(np.argmin(fits))))
    if kind == "float":
        return make_number_column(column.name, numbers)
    if kind == "integer" and column.type == "integer":
        return column
    filled = np.where(missing, 0, numbers)
    return make_number_column(
        column.name, filled.astype(np.bool_ if kind == "boolean" else np.int64), missing
    )


def _convert_text(column: DataColumn, text: str, kind: str) -> Any:
    stripped = text.strip()
    try:
        if kind == "boolean":
            return _BOOLEANS[stripped.lower()]
        if kind == "integer":
            return int(stripped)
        if kind == "float":
            return float(stripped)
    except (KeyError, ValueError):
        raise _make_error(column, kind, text) from None
    return text.encode()


def _make_binary(column: DataColumn, rows: list[Any]) -> DataColumn:
    for value in rows:
        if value is not None and not is_image(value):
            raise _make_error(column, "image", value)
    values = np.empty(len(rows), object)
    values[:] = rows
    return DataColumn(column.name, "image", values)


def _decode(column: DataColumn, value: bytes | None) -> str | None:
    try:
        return None if value is None else value.decode()
    except UnicodeDecodeError:
        raise _make_error(column, "string", value) from None


def _format_number(value: Any) -> str | None:
    return None if value is None else str(value)


def _make_error(column: DataColumn, kind: str, value: Any) -> UsageError:
    return UsageError(
        "data.cannot_convert",
        '"{column}" cannot have the type {type}, because of the value {value}',
        column=column.name,
        type=kind,
        value=format_value(value),
    )
