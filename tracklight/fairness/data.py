"""Read columns of tables in chunks: pandas, Arrow, Polars, NumPy and Parquet files."""

from __future__ import annotations

import glob
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tracklight.analysis.evaluation.filters import Categorical, ColumnData, format_value
from tracklight.errors import FormatError, UsageError, import_optional, list_similar_names

#: Rows of a chunk. A chunk of a few columns takes some ten megabytes.
CHUNK_ROWS = 1 << 19


class DataSource(Protocol):
    """A table from which some columns are read in chunks."""

    @property
    def rows(self) -> int | None:
        """Number of rows; None if it is not known before reading."""

    @property
    def names(self) -> Sequence[str]:
        """Names of all columns."""

    @property
    def is_repeatable(self) -> bool:
        """Whether the rows can be read more than once."""

    def iter_chunks(self, names: Sequence[str]) -> Iterator[dict[str, ColumnData]]:
        """Yield chunks of these columns."""


def open_source(data: Any) -> DataSource:
    """Return access to a table, mapping of arrays, or Parquet files.

    Raises:
        UsageError: The type is not supported, or a file does not exist.
    """
    if isinstance(data, str | os.PathLike):
        return ParquetSource(_list_parquet_files(os.fspath(data)))
    if isinstance(data, Sequence) and data and all(isinstance(p, str | Path) for p in data):
        files = [file for path in data for file in _list_parquet_files(os.fspath(path))]
        return ParquetSource(files)
    if isinstance(data, Mapping):
        return ArraySource({str(name): to_array(values) for name, values in data.items()})
    if isinstance(data, np.ndarray):
        if data.dtype.names is None:
            raise UsageError("an array needs named fields; pass a dict of arrays instead")
        return ArraySource({name: data[name] for name in data.dtype.names})
    package = type(data).__module__.partition(".")[0]
    if package == "pandas" and hasattr(data, "iloc"):
        return PandasSource(data)
    if package == "polars":
        return PolarsSource(data.collect() if hasattr(data, "collect") else data)
    if package == "pyarrow":
        return ArrowSource(data)
    if hasattr(data, "to_pandas"):
        return PandasSource(data.to_pandas())
    raise UsageError(
        f"cannot read {type(data).__name__}; pass a pandas, Arrow or Polars table, a dict of "
        "arrays, or the path of a Parquet file"
    )


def get_data_path(data: Any) -> str:
    """Return the absolute path or pattern of Parquet files; empty if it is unknown."""
    if not isinstance(data, str | os.PathLike):
        return ""
    path = os.path.abspath(os.path.expanduser(os.fspath(data)))
    if not os.path.isdir(path):
        return path
    files = _list_parquet_files(path)
    if len(files) == 1:
        return files[0]
    # A pattern does not descend into subfolders.
    is_flat = all(os.path.dirname(file) == path for file in files)
    return os.path.join(path, "*.parquet") if is_flat else ""


def check_columns(source: DataSource, names: Sequence[str]) -> None:
    """Raise `UsageError` for a column that the table does not have."""
    for name in names:
        if name not in source.names:
            similar = list_similar_names(name, source.names)
            hint = f'; did you mean "{similar[0]}"?' if similar else ""
            raise UsageError(f'no column "{name}"{hint}')


def stack_scores(name: str, column: ColumnData) -> NDArray[Any]:
    """Return a column of scores as numbers; a column of lists becomes a matrix."""
    if isinstance(column, Categorical) or column.dtype.kind not in "fiubO":
        raise UsageError(f'"{name}" is text; predictions must be numbers')
    if column.dtype.kind == "O":
        try:
            return np.array([np.asarray(row, np.float64) for row in column])
        except (TypeError, ValueError):
            raise UsageError(
                f'"{name}" is not numeric; predictions are numbers or lists of numbers'
            ) from None
    return column


class ArraySource:
    """A mapping of arrays."""

    is_repeatable = True

    def __init__(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        self._arrays = dict(arrays)
        lengths = {len(array) for array in self._arrays.values()}
        if len(lengths) > 1:
            raise UsageError(
                "the columns have different lengths: "
                + ", ".join(f"{name} {len(array):,}" for name, array in self._arrays.items())
            )
        self._rows = lengths.pop() if lengths else 0

    @property
    def rows(self) -> int:
        return self._rows

    @property
    def names(self) -> Sequence[str]:
        return list(self._arrays)

    def iter_chunks(self, names: Sequence[str]) -> Iterator[dict[str, ColumnData]]:
        for start in range(0, self._rows, CHUNK_ROWS):
            yield {name: self._arrays[name][start : start + CHUNK_ROWS] for name in names}


class PandasSource:
    """A pandas data frame."""

    is_repeatable = True

    def __init__(self, frame: Any) -> None:
        self._frame = frame
        self._names = [str(name) for name in frame.columns]

    @property
    def rows(self) -> int:
        return len(self._frame)

    @property
    def names(self) -> Sequence[str]:
        return self._names

    def iter_chunks(self, names: Sequence[str]) -> Iterator[dict[str, ColumnData]]:
        for start in range(0, len(self._frame), CHUNK_ROWS):
            part = self._frame.iloc[start : start + CHUNK_ROWS]
            yield {name: self._convert(part.iloc[:, self._names.index(name)]) for name in names}

    def _convert(self, series: Any) -> ColumnData:
        pd = sys.modules["pandas"]
        if isinstance(series.dtype, pd.CategoricalDtype):
            labels = [format_value(value) for value in series.cat.categories.tolist()]
            return Categorical(labels, series.cat.codes.to_numpy())
        if pd.api.types.is_bool_dtype(series.dtype) and series.hasnans:
            return _make_booleans(series.to_numpy(np.float64, na_value=-1))
        if pd.api.types.is_bool_dtype(series.dtype) or pd.api.types.is_numeric_dtype(series.dtype):
            if series.isna().any() or series.dtype.kind == "O":
                return np.asarray(series.to_numpy(np.float64, na_value=np.nan))
            return np.asarray(series.to_numpy())
        if pd.api.types.is_datetime64_any_dtype(series.dtype):
            return np.asarray(series.to_numpy("datetime64[us]"))
        array = series.to_numpy()
        if len(array) and isinstance(array[0], list | tuple | np.ndarray):
            return np.asarray(array)
        codes, values = pd.factorize(series)
        return Categorical([format_value(value) for value in values.tolist()], codes)


class PolarsSource:
    """A Polars data frame."""

    is_repeatable = True

    def __init__(self, frame: Any) -> None:
        self._frame = frame

    @property
    def rows(self) -> int:
        return int(self._frame.height)

    @property
    def names(self) -> Sequence[str]:
        return list(self._frame.columns)

    def iter_chunks(self, names: Sequence[str]) -> Iterator[dict[str, ColumnData]]:
        for start in range(0, self._frame.height, CHUNK_ROWS):
            part = self._frame[start : start + CHUNK_ROWS]
            yield {name: self._convert(part[name]) for name in names}

    def _convert(self, series: Any) -> ColumnData:
        pl = sys.modules["polars"]
        if series.dtype.is_numeric():
            if series.null_count() or series.dtype.is_decimal():
                series = series.cast(pl.Float64)
            return np.asarray(series.to_numpy())
        if series.dtype == pl.Boolean:
            if series.null_count():
                return _make_booleans(series.cast(pl.Int8).fill_null(-1).to_numpy())
            return np.asarray(series.to_numpy())
        if series.dtype.is_nested():
            return to_objects(series.to_list())
        if series.dtype.is_temporal():
            return np.asarray(series.to_numpy())
        text = series.cast(pl.String)
        values = text.drop_nulls().unique(maintain_order=True)
        codes = text.cast(pl.Enum(values)).to_physical().cast(pl.Int64).fill_null(-1)
        return Categorical(values.to_list(), codes.to_numpy())


def _make_booleans(codes: NDArray[Any]) -> Categorical:
    """Return a column of booleans with missing values, which have the code -1."""
    return Categorical(["False", "True"], codes.astype(np.int64))


class ArrowSource:
    """An Arrow table, record batch or record batch reader."""

    def __init__(self, table: Any) -> None:
        self._table = table

    @property
    def rows(self) -> int | None:
        rows = getattr(self._table, "num_rows", None)
        return None if rows is None else int(rows)

    @property
    def is_repeatable(self) -> bool:
        return hasattr(self._table, "num_rows") or hasattr(self._table, "scanner")

    @property
    def names(self) -> Sequence[str]:
        return list(self._table.schema.names)

    def iter_chunks(self, names: Sequence[str]) -> Iterator[dict[str, ColumnData]]:
        if hasattr(self._table, "to_batches"):
            options: dict[str, Any] = {}
            if hasattr(self._table, "num_rows"):
                options = {"max_chunksize": CHUNK_ROWS}
            if hasattr(self._table, "scanner"):  # a data set
                options = {"columns": list(names), "batch_size": CHUNK_ROWS}
            batches = self._table.to_batches(**options)
        elif hasattr(self._table, "num_rows"):
            batches = [self._table]
        else:
            batches = iter(self._table)
        for batch in batches:
            yield {name: convert_arrow(batch.column(name)) for name in names}


def convert_arrow(column: Any) -> ColumnData:
    """Return an Arrow array as a NumPy array or categories."""
    pa = import_optional("pyarrow", "reading Arrow tables", "arrow")
    types = pa.types
    kind = column.type
    if types.is_dictionary(kind):
        values = [format_value(value) for value in column.dictionary.to_pylist()]
        codes = column.indices.fill_null(-1).to_numpy(zero_copy_only=False)
        return Categorical(values, codes)
    if types.is_string(kind) or types.is_large_string(kind) or types.is_binary(kind):
        return convert_arrow(column.dictionary_encode())
    if types.is_decimal(kind):
        column = column.cast(pa.float64())
    if types.is_boolean(kind) and column.null_count:
        codes = column.cast(pa.int8()).fill_null(-1)
        return _make_booleans(codes.to_numpy(zero_copy_only=False))
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        return _convert_lists(column)
    if types.is_null(kind):
        return Categorical([], np.full(len(column), -1))
    array = column.to_numpy(zero_copy_only=False)
    return convert_arrow(column.cast(pa.string())) if array.dtype.kind == "O" else array


def _convert_lists(column: Any) -> NDArray[Any]:
    if len(column) and not column.null_count:
        lengths = column.value_lengths().to_numpy(zero_copy_only=False)
        if (lengths == lengths[0]).all():
            flat = column.flatten().to_numpy(zero_copy_only=False)
            return np.asarray(flat.reshape(len(column), -1))
    return to_objects(column.to_pylist())


class ParquetSource:
    """Parquet files, read in batches; memory does not depend on their size."""

    is_repeatable = True

    def __init__(self, paths: Sequence[str]) -> None:
        self._parquet = import_optional("pyarrow.parquet", "reading Parquet files", "parquet")
        self._arrow = import_optional("pyarrow", "reading Parquet files", "parquet")
        self._paths = list(paths)
        first = self._open(self._paths[0])
        self._names = list(first.schema_arrow.names)
        types = self._arrow.types
        self._text = [
            field.name
            for field in first.schema_arrow
            if types.is_string(field.type) or types.is_large_string(field.type)
        ]
        self._rows = sum(int(self._open(path).metadata.num_rows) for path in self._paths)

    @property
    def rows(self) -> int:
        return self._rows

    @property
    def names(self) -> Sequence[str]:
        return self._names

    def _open(self, path: str, **options: Any) -> Any:
        try:
            return self._parquet.ParquetFile(path, **options)
        except (self._arrow.ArrowException, OSError) as error:
            raise _unreadable(path, error) from None

    def iter_chunks(self, names: Sequence[str]) -> Iterator[dict[str, ColumnData]]:
        text = [name for name in names if name in self._text]
        for path in self._paths:
            present = self._open(path).schema_arrow.names
            missing = [name for name in names if name not in present]
            if missing:
                raise UsageError(f'"{path}" has no column "{missing[0]}"')
            file = self._open(path, read_dictionary=text)
            try:
                for batch in file.iter_batches(CHUNK_ROWS, columns=list(dict.fromkeys(names))):
                    yield {name: convert_arrow(batch.column(name)) for name in names}
            except (self._arrow.ArrowException, OSError) as error:
                raise _unreadable(path, error) from None


def _unreadable(path: str, error: Exception) -> FormatError:
    reason = str(error).strip().partition("\n")[0].rstrip(".")
    return FormatError(f'cannot read "{path}" as Parquet: {reason}')


def _list_parquet_files(path: str) -> list[str]:
    path = os.path.expanduser(path)
    if os.path.isdir(path):
        files = sorted(str(file) for file in Path(path).rglob("*.parquet"))
        if not files:
            raise UsageError(f'no Parquet file in "{path}"')
        return files
    if glob.has_magic(path) and not os.path.exists(path):
        files = sorted(glob.glob(path))
        if not files:
            raise UsageError(f'no file matches "{path}"')
        return files
    if not os.path.exists(path):
        raise UsageError(f'no file "{path}"')
    return [path]


def to_array(values: Any) -> NDArray[Any]:
    """Return a list, array, tensor or column of a table as a NumPy array."""
    if isinstance(values, np.ndarray):
        return values
    if hasattr(values, "detach"):  # a PyTorch tensor
        values = values.detach().cpu()
    try:
        array = np.asarray(values)
    except ValueError:  # lists of different lengths
        return to_objects(list(values))
    if (
        array.dtype.kind == "U"
        and isinstance(values, list | tuple)
        and any(not isinstance(value, str) for value in values)
    ):
        array = np.array(values, object)
    return array


def to_objects(values: Sequence[Any]) -> NDArray[Any]:
    """Return an array of Python objects, which may be lists."""
    array = np.empty(len(values), object)
    array[:] = values
    return array
