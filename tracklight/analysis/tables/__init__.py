"""Data sets as columns: TFRecord, CSV, JSON lines, Parquet, and the tables of Python libraries.

`DataTable` is a set of `DataColumn` values (`columns`) of one length, with conversions for models.
`convert_columns` gives columns the types that a user has chosen instead of the inferred ones.
`files` reads files, `objects` converts tables of pandas, Arrow, Polars, NumPy and Hugging Face,
`examples` decodes ``tf.Example`` messages without TensorFlow.

What-If and its predictors build on this package. It must not import HTTP code or other parts of
`tracklight.analysis`. Start reading at `columns.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracklight.analysis.tables.columns import (
    DataColumn,
    concat_columns,
    format_value,
    is_image,
    make_column,
    make_list_column,
    make_number_column,
    make_string_column,
)
from tracklight.errors import (
    FormatError,
    Message,
    UsageError,
    import_optional,
    list_similar_names,
)


class DataTable:
    """The rows of a data set, as columns; `read_table` returns one.

    Args:
        columns: The columns.
        row_count: The number of rows of a table without columns.
        problems: Messages about what could not be read, such as rows beyond a limit.

    Attributes:
        columns: The columns by name. They must not be modified.

    Raises:
        UsageError: The columns have different lengths.

    Example:
        >>> table = tracklight.what_if.read_table("people.csv")
        >>> len(table), table.names
        (32561, ('age', 'income'))
    """

    def __init__(
        self,
        columns: Iterable[DataColumn],
        *,
        row_count: int | None = None,
        problems: Sequence[Message] = (),
    ) -> None:
        self.columns = {column.name: column for column in columns}
        self.messages = tuple(problems)
        lengths = {len(column) for column in self.columns.values()}
        if len(lengths) > 1:
            raise UsageError(
                "data.column_lengths", "the columns of the data have different lengths"
            )
        self.row_count = lengths.pop() if lengths else row_count or 0

    @property
    def problems(self) -> tuple[str, ...]:
        """What could not be read, one sentence each."""
        return tuple(str(message) for message in self.messages)

    def __len__(self) -> int:
        return self.row_count

    def __contains__(self, name: object) -> bool:
        return name in self.columns

    def __repr__(self) -> str:
        return f"<DataTable of {self.row_count:,} rows: {', '.join(list(self.columns)[:10])}>"

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(self.columns)

    @property
    def size_bytes(self) -> int:
        """Approximate memory use."""
        return sum(column.size_bytes for column in self.columns.values())

    def get_column(self, name: str) -> DataColumn:
        """Return a column.

        Raises:
            UsageError: There is no such column; the message names the most similar one.
        """
        try:
            return self.columns[name]
        except KeyError:
            similar = list_similar_names(name, self.columns)
            if similar:
                raise UsageError(
                    "data.no_column_similar",
                    'the data have no column "{column}"; did you mean "{similar}"?',
                    column=name,
                    similar=similar[0],
                ) from None
            raise UsageError(
                "data.no_column", 'the data have no column "{column}"', column=name
            ) from None

    def get_row(self, row: int) -> dict[str, Any]:
        """Return the values of one row by column.

        Raises:
            UsageError: There is no such row.
        """
        self.check_row(row)
        return {name: column.get_value(row) for name, column in self.columns.items()}

    def check_row(self, row: int) -> None:
        """Check the number of a row.

        Raises:
            UsageError: There is no such row.
        """
        if not 0 <= row < self.row_count:
            raise UsageError(
                "data.no_row",
                "the data have no row {row}; rows are 0 to {last}",
                row=row,
                last=self.row_count - 1,
            )

    def take(self, rows: NDArray[Any] | Sequence[int]) -> DataTable:
        """Return a table of some rows, which may be repeated. All rows are not copied."""
        index = np.asarray(rows)
        if index.dtype == np.bool_:
            index = np.flatnonzero(index)
        columns: Iterable[DataColumn] = self.columns.values()
        if len(index) != self.row_count or not np.array_equal(index, np.arange(self.row_count)):
            columns = [column.take(index) for column in columns]
        return DataTable(columns, row_count=len(index))

    def select(self, names: Iterable[str]) -> DataTable:
        """Return a table of some columns.

        Raises:
            UsageError: There is no such column; the message names the most similar one.
        """
        columns = [self.get_column(name) for name in names]
        return DataTable(columns, row_count=self.row_count)

    def without(self, names: Iterable[str]) -> DataTable:
        """Return a table without some columns."""
        dropped = set(names)
        columns = [column for name, column in self.columns.items() if name not in dropped]
        return DataTable(columns, row_count=self.row_count, problems=self.messages)

    def with_columns(self, columns: Iterable[DataColumn]) -> DataTable:
        """Return a table with more columns; those of the same name are replaced."""
        merged = {**self.columns, **{column.name: column for column in columns}}
        return DataTable(merged.values(), row_count=self.row_count, problems=self.messages)

    def with_row_values(self, row: int, values: Mapping[str, Any]) -> DataTable:
        """Return a table in which one row has other values.

        Raises:
            UsageError: There is no such row or column, or a value has the wrong type.
        """
        self.check_row(row)
        index = np.array([row])
        return self.with_columns(
            self.get_column(name).with_values(index, [value]) for name, value in values.items()
        )

    def append(self, other: DataTable) -> DataTable:
        """Return a table with the rows of another table, which has the same columns, added.

        Raises:
            UsageError: The other table lacks a column, or has one whose type cannot be joined.
        """
        columns = [
            concat_columns([column, other.get_column(name)])
            for name, column in self.columns.items()
        ]
        return DataTable(columns, problems=self.messages)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the columns as arrays; see `DataColumn.to_array`."""
        return {name: column.to_array() for name, column in self.columns.items()}

    def to_rows(self) -> list[dict[str, Any]]:
        """Return a dictionary per row; missing values are None."""
        columns = {}
        for name, column in self.columns.items():
            if column.is_list or column.missing is not None or column.type == "float":
                columns[name] = [column.get_value(row) for row in range(self.row_count)]
            else:
                columns[name] = column.to_array().tolist()
        names = tuple(columns)
        if not names:
            return [{} for _ in range(self.row_count)]
        rows = zip(*columns.values(), strict=True)
        return [dict(zip(names, row, strict=True)) for row in rows]

    def to_matrix(self) -> NDArray[Any]:
        """Return the columns as an array with two axes.

        Raises:
            UsageError: A column has strings, bytes or lists of different lengths.
        """
        parts = []
        for name, column in self.columns.items():
            array = column.to_array()
            if not column.is_numeric or array.dtype == object:
                raise UsageError(
                    "data.no_numbers",
                    '"{column}" has no numbers; the model needs an array of numbers. Encode the '
                    "column, choose features without it, or let a function call the model",
                    column=name,
                )
            parts.append(array if array.ndim == 2 else array[:, None])
        return np.concatenate(parts, axis=1) if parts else np.empty((self.row_count, 0))

    def to_pandas(self) -> Any:
        """Return a pandas data frame.

        Raises:
            MissingDependencyError: pandas is not installed.
        """
        pd = import_optional("pandas", "a pandas table", "pandas")
        arrays = {}
        for name, column in self.columns.items():
            array = column.to_array()
            arrays[name] = list(array) if array.ndim == 2 else array
        return pd.DataFrame(arrays, columns=list(self.columns), index=pd.RangeIndex(self.row_count))


def check_column_names(
    names: Sequence[str], error: type[UsageError] | type[FormatError] = UsageError
) -> None:
    """Raise an error if two columns have the same name."""
    duplicates = {name for name in names if names.count(name) > 1}
    if duplicates:
        message = Message.format(
            "data.duplicate_column", 'two columns are named "{column}"', column=min(duplicates)
        )
        raise error(message)


def make_table(rows: Sequence[Mapping[str, Any]]) -> DataTable:
    """Create a table from dictionaries; a key that a row does not have is a missing value."""
    names = dict.fromkeys(name for row in rows for name in row)
    columns = [make_column(str(name), [row.get(name) for row in rows]) for name in names]
    return DataTable(columns, row_count=len(rows))


def concat_tables(tables: Sequence[DataTable]) -> DataTable:
    """Join tables with the same columns."""
    if len(tables) == 1:
        return tables[0]
    first = tables[0]
    columns = [concat_columns([table.get_column(name) for table in tables]) for name in first.names]
    return DataTable(columns, row_count=sum(len(table) for table in tables))


# ---- types that a user has chosen

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
            ``image`` or ``bytes``. Items of lists get the type, too. ``string[]`` and others
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
