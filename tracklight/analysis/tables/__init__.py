"""Data sets as columns: TFRecord, CSV, JSON lines, Parquet, and the tables of Python libraries.

`DataTable` is a set of `DataColumn` values (`columns`) of one length, with conversions for models.
`files` reads files, `objects` converts
tables of pandas, Arrow, Polars, NumPy and Hugging Face, `examples` decodes ``tf.Example`` messages
without TensorFlow.

What-If and its predictors build on this package. It must not import HTTP code or other parts of
`tracklight.analysis`. Start reading at `columns.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracklight.analysis.tables.columns import DataColumn, concat_columns, make_column
from tracklight.errors import Message, UsageError, import_optional, list_similar_names


class DataTable:
    """The rows of a data set, as columns.

    Attributes:
        columns: The columns by name. They must not be modified.
        problems: Messages about what could not be read, such as rows beyond a limit.

    Raises:
        UsageError: The columns have different lengths.
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
                    'column, or pass input="pandas" or input="dict"',
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
