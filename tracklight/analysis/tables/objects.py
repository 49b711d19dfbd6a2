"""Create tables from objects of a program: pandas, Arrow, Polars, NumPy, Hugging Face datasets.

Nothing here imports one of these libraries unless an object of it was passed.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tracklight.analysis.tables import DataTable, check_column_names, make_table
from tracklight.analysis.tables.columns import (
    DataColumn,
    make_bytes_column,
    make_column,
    make_number_column,
    make_string_column,
)
from tracklight.analysis.tables.examples import is_example_object, read_example_objects
from tracklight.errors import UsageError, import_optional
from tracklight.types import Bool

#: The kind of table that was passed; a Python model gets the same kind.
TableKind = Literal["pandas", "numpy", "dict", "rows", "examples", "arrow", "polars", "table"]

#: Units of NumPy times that Python's types do not have; NumPy returns numbers instead.
_SUBMICROSECONDS = ("ns", "ps", "fs", "as")


def detect_table_kind(data: Any) -> TableKind:
    """Return what kind of table an object is.

    Raises:
        UsageError: It is none.
    """
    module = type(data).__module__.partition(".")[0]
    name = type(data).__name__
    if isinstance(data, DataTable):
        return "table"
    if isinstance(data, np.ndarray):
        return "numpy"
    if module == "pandas" and name == "DataFrame":
        return "pandas"
    if module == "pyarrow" and name in ("Table", "RecordBatch"):
        return "arrow"
    if module == "datasets" and name == "Dataset":
        return "arrow"
    if module == "polars" and name == "DataFrame":
        return "polars"
    if module == "datasets" and name == "DatasetDict":
        raise UsageError(
            "data.dataset_dict",
            'this is a DatasetDict; pass one of its splits, as in dataset["train"]',
        )
    if isinstance(data, Mapping):
        return "dict"
    if isinstance(data, Sequence) and not isinstance(data, (str, bytes)):
        if all(is_example_object(item) for item in data) and len(data):
            return "examples"
        if all(isinstance(item, Mapping) for item in data) or all(map(_is_row, data)):
            return "rows"
    raise UsageError(
        "data.not_a_table",
        "{module}.{name} is not a table; pass a pandas, Arrow or Polars table, a Hugging Face "
        "dataset, an array, a dictionary of columns, or a list of dictionaries or tf.Examples",
        module=module,
        name=name,
    )


def _is_row(item: Any) -> bool:
    is_list = isinstance(item, Sequence) and not isinstance(item, (str, bytes))
    return is_list or (isinstance(item, np.ndarray) and item.ndim > 0)


def to_table(data: Any, names: Sequence[str] | None = None) -> DataTable:
    """Create a table from any supported object.

    Args:
        data: The object; see `detect_table_kind`.
        names: The names of the columns of an array, or of rows that are lists.

    Raises:
        UsageError: The object is not a table, or its columns have different lengths.
    """
    if isinstance(data, (str, os.PathLike)):
        raise UsageError(
            "data.read_table_first", "read a file with tracklight.what_if.read_table(path) first"
        )
    kind = detect_table_kind(data)
    if kind == "table":
        table: DataTable = data
        return table
    if kind == "pandas":
        return from_pandas(data)
    if kind == "arrow":
        return from_arrow(_to_arrow_table(data))
    if kind == "polars":
        return from_arrow(data.to_arrow())
    if kind == "numpy":
        return from_array(data, names)
    if kind == "examples":
        return read_example_objects(data)
    if kind == "dict":
        return DataTable([_make_any_column(str(name), values) for name, values in data.items()])
    if len(data) and not isinstance(data[0], Mapping):
        return _from_lists(data, names)
    return make_table(data)


def from_array(array: np.ndarray[Any, Any], names: Sequence[str] | None = None) -> DataTable:
    """Create a table from an array: structured, or with one row per example.

    Columns are named ``feature_0``, ``feature_1`` and so on unless names are given. An array with
    three or more axes, such as images, is one column of lists.
    """
    if array.dtype.names:
        fields = [_make_any_column(name, array[name]) for name in array.dtype.names]
        return DataTable(fields)
    if array.ndim < 2:
        array = array.reshape(-1, 1)
    if array.ndim > 2:
        name = names[0] if names else "feature_0"
        return DataTable([_make_any_column(name, array.reshape(len(array), -1))])
    names = names or [f"feature_{number}" for number in range(array.shape[1])]
    if len(names) != array.shape[1]:
        raise UsageError(
            "data.column_names",
            "{names} names were given for {columns} columns",
            names=len(names),
            columns=array.shape[1],
        )
    check_column_names([str(name) for name in names])
    columns = [_make_any_column(str(n), array[:, i]) for i, n in enumerate(names)]
    return DataTable(columns, row_count=len(array))


def from_pandas(frame: Any) -> DataTable:
    """Create a table from a pandas data frame; the index is left out."""
    pd = import_optional("pandas", "a pandas table", "pandas")
    check_column_names([str(name) for name in frame.columns])
    return DataTable(
        [_from_series(pd, str(name), frame.iloc[:, i]) for i, name in enumerate(frame.columns)],
        row_count=len(frame),
    )


def _from_series(pd: Any, name: str, series: Any) -> DataColumn:
    dtype = series.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        categories = list(dtype.categories)
        if all(isinstance(category, str) for category in categories):
            codes = series.cat.codes.to_numpy().astype(np.int32)
            return DataColumn(name, "string", codes, categories)
        if series.hasnans and dtype.categories.dtype.kind in "iu":
            series = series.astype(pd.Int64Dtype())
        else:
            series = series.astype(dtype.categories.dtype)
        dtype = series.dtype
    if pd.api.types.is_datetime64_any_dtype(dtype):
        return make_string_column(
            name, (None if value is pd.NaT else value.isoformat() for value in series)
        )
    is_real = pd.api.types.is_numeric_dtype(dtype) and not pd.api.types.is_complex_dtype(dtype)
    if pd.api.types.is_bool_dtype(dtype) or is_real:
        missing = series.isna().to_numpy()
        if not missing.any():
            return make_number_column(name, series.to_numpy(_get_number_dtype(pd, dtype)))
        if pd.api.types.is_float_dtype(dtype):
            return make_number_column(name, series.to_numpy(np.float64, na_value=np.nan))
        filled = series.fillna(False if pd.api.types.is_bool_dtype(dtype) else 0)
        return make_number_column(name, filled.to_numpy(_get_number_dtype(pd, dtype)), missing)
    if isinstance(dtype, pd.StringDtype):
        codes, categories = pd.factorize(series)
        return DataColumn(name, "string", codes.astype(np.int32), [str(c) for c in categories])
    values = [None if _is_missing(value) else value for value in series]
    return make_column(name, values)


def _get_number_dtype(pd: Any, dtype: Any) -> type[np.generic]:
    if pd.api.types.is_bool_dtype(dtype):
        return np.bool_
    return np.float64 if pd.api.types.is_float_dtype(dtype) else np.int64


def _is_missing(value: Any) -> bool:
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, (float, complex)) and value != value


def _to_arrow_table(data: Any) -> Any:
    if type(data).__module__.startswith("datasets"):
        # A selection or shuffle of a dataset is a view, which has to be applied first.
        return data.with_format("arrow")[:] if len(data) else data.data.table
    if type(data).__name__ == "RecordBatch":
        pa = import_optional("pyarrow", "an Arrow table", "arrow")
        return pa.Table.from_batches([data])
    return data


def from_arrow(table: Any) -> DataTable:
    """Create a table from an Arrow table."""
    pa = import_optional("pyarrow", "an Arrow table", "arrow")
    check_column_names(table.column_names)
    columns = [_from_arrow_column(pa, name, table.column(name)) for name in table.column_names]
    return DataTable(columns, row_count=len(table))


def _from_arrow_column(pa: Any, name: str, column: Any) -> DataColumn:
    array = column.combine_chunks() if hasattr(column, "combine_chunks") else column
    if isinstance(array, pa.ChunkedArray):
        array = pa.concat_arrays(array.chunks) if array.num_chunks else pa.array([], array.type)
    kind = array.type
    if pa.types.is_dictionary(kind) and not pa.types.is_string(kind.value_type):
        array = array.dictionary_decode()
        kind = array.type
    if pa.types.is_struct(kind):
        # Hugging Face stores images as a struct of bytes and path.
        names = [kind.field(number).name for number in range(kind.num_fields)]
        if "bytes" in names:
            # Unlike `field`, `flatten` keeps which rows are missing.
            return _from_arrow_column(pa, name, array.flatten()[names.index("bytes")])
        return make_column(name, [None if row is None else str(row) for row in array.to_pylist()])
    missing: Bool = np.zeros(len(array), np.bool_)
    if array.null_count:
        missing = _to_numpy(pa, array.is_null())
    if pa.types.is_boolean(kind):
        return make_number_column(name, _to_numpy(pa, array, False), missing)
    if pa.types.is_integer(kind):
        return make_number_column(name, _to_numpy(pa, array, 0), missing)
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        # A cast imports pyarrow.compute, which takes longer than reading a small file.
        floats = array if pa.types.is_float64(kind) else array.cast(pa.float64())
        return make_number_column(name, _to_numpy(pa, floats, np.nan))
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_dictionary(kind):
        encoded = array if pa.types.is_dictionary(kind) else array.dictionary_encode()
        codes = _to_numpy(pa, encoded.indices, -1).astype(np.int32, copy=False)
        return DataColumn(name, "string", codes, encoded.dictionary.to_pylist())
    if pa.types.is_temporal(kind):
        array = array.cast(pa.string())
        return make_string_column(name, array.to_pylist())
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return make_bytes_column(name, array.to_pylist())
    if _is_number_list(pa, kind):
        return _from_arrow_lists(pa, name, array, missing)
    return make_column(name, array.to_pylist())


def _to_numpy(pa: Any, array: Any, missing: Any = None) -> NDArray[Any]:
    """Return an Arrow array of numbers or booleans, with a value for missing ones.

    Arrow's own ``to_numpy`` imports pandas, which takes half a second.
    """
    if array.null_count:
        array = array.fill_null(missing)
    if pa.types.is_boolean(array.type):
        return np.from_dlpack(array.cast(pa.uint8())).astype(np.bool_)
    return np.from_dlpack(array)


def _from_arrow_lists(pa: Any, name: str, array: Any, missing: Bool) -> DataColumn:
    """Create a column of lists of numbers without a Python object for each of them."""
    compute = import_optional("pyarrow.compute", "an Arrow table", "arrow")
    lengths = _to_numpy(pa, compute.list_value_length(array), 0)
    items = _from_arrow_column(pa, name, array.flatten())
    if items.missing is not None:
        items = replace(items, type="float", values=items.to_float64(), missing=None)
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return replace(items, offsets=offsets, missing=missing if missing.any() else None)


def _is_number_list(pa: Any, kind: Any) -> bool:
    """Return whether a type is lists of floats or integers."""
    types = pa.types
    is_list = types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)
    if not is_list:
        return False
    return bool(types.is_floating(kind.value_type) or types.is_integer(kind.value_type))


def _make_any_column(name: str, values: Any) -> DataColumn:
    if isinstance(values, np.ndarray) and values.dtype.kind in "biuf":
        if values.ndim == 1:
            return make_number_column(name, np.ascontiguousarray(values))
        flat = values.reshape(len(values), -1)
        items = make_number_column(name, flat.reshape(-1))
        offsets = np.arange(len(values) + 1) * flat.shape[1]
        return DataColumn(name, items.type, items.values, offsets=offsets)
    if isinstance(values, np.ndarray):
        if values.dtype.kind in "mM" and np.datetime_data(values.dtype)[0] in _SUBMICROSECONDS:
            values = values.astype(f"{values.dtype.kind}8[us]")
        values = values.tolist()
    elif type(values).__module__.partition(".")[0] == "pandas":
        pd = import_optional("pandas", "a pandas column", "pandas")
        return _from_series(pd, name, values)
    elif not isinstance(values, Sequence):
        values = list(values)
    return make_column(name, [None if _is_missing(value) else value for value in values])


def _from_lists(rows: Sequence[Any], names: Sequence[str] | None) -> DataTable:
    widths = {len(row) for row in rows}
    if len(widths) > 1:
        raise UsageError("data.row_lengths", "the rows have different numbers of values")
    width = widths.pop()
    names = names or [f"feature_{number}" for number in range(width)]
    if len(names) != width:
        raise UsageError(
            "data.value_names",
            "{names} names were given for rows of {values} values",
            names=len(names),
            values=width,
        )
    columns = zip(*rows, strict=True)
    return DataTable(
        [_make_any_column(str(n), list(c)) for n, c in zip(names, columns, strict=True)]
    )
