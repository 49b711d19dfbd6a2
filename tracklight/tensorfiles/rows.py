"""Tables with a row for each point: CSV and Parquet. Some columns are vectors, the others labels.

Where a column holds lists, those are vectors. Else all columns of fractions together are one
vector a row, or all columns of whole numbers where there are none.
"""

from __future__ import annotations

import csv
import importlib
import io
from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from tracklight.errors import FormatError, MissingExtra, UsageError
from tracklight.tensorfiles.model import MAX_BYTES, Labels, TensorInfo, check_bytes
from tracklight.tensorfiles.place import measure
from tracklight.tensorfiles.text import is_number


class RowFile:
    """The vectors of a table, and its other columns as ``labels``."""

    def __init__(self, vectors: dict[str, NDArray[Any]], labels: Labels) -> None:
        if not vectors:
            raise FormatError("a table without a column of numbers")
        self._vectors = vectors
        self.labels = labels

    def tensors(self) -> Sequence[TensorInfo]:
        return [
            TensorInfo(key, key, array.dtype.name, array.shape)
            for key, array in self._vectors.items()
        ]

    def read(self, key: str) -> NDArray[Any]:
        if key not in self._vectors:
            raise UsageError(f'the table has no vectors "{key}"')
        return self._vectors[key]


def open_csv(file: BinaryIO, name: str) -> RowFile:
    """A table of comma- or semicolon-separated cells, with or without names above them."""
    if measure(file) > MAX_BYTES:
        raise FormatError(f"a table of more than {MAX_BYTES >> 20} MiB, the most that is read")
    rows = _iter_csv_rows(file)
    first = next(rows, None)
    if not first:
        raise FormatError("a table with nothing in it")
    has_names = not any(is_number(cell) for cell in first)
    names = name_columns(first if has_names else [""] * len(first))
    columns: list[list[str]] = [[] if has_names else [cell] for cell in first]
    for number, row in enumerate(rows, 2):
        if len(row) != len(names):
            raise FormatError(f"line {number} has {len(row)} cells, those before {len(names)}")
        for column, cell in zip(columns, row, strict=True):
            column.append(cell)
    return _sort_columns(dict(zip(names, columns, strict=True)), name, has_names)


def name_columns(cells: Sequence[str]) -> list[str]:
    """A name for each column, and none twice."""
    names: list[str] = []
    for place, cell in enumerate(cells, 1):
        names.append(cell if cell and cell not in names else f"{cell or 'column'} {place}")
    return names


def _iter_csv_rows(file: BinaryIO) -> Iterator[list[str]]:
    file.seek(0)
    text = io.TextIOWrapper(file, "utf-8-sig", newline="")
    try:
        first = text.readline()
        delimiter = max(",;\t", key=first.count)
        yield from csv.reader([first], delimiter=delimiter)
        yield from (row for row in csv.reader(text, delimiter=delimiter) if row)
    except (UnicodeDecodeError, csv.Error) as error:
        raise FormatError(f"a table that is no text of cells: {error}") from None
    finally:
        text.detach()


def _sort_columns(columns: Labels, name: str, has_names: bool) -> RowFile:
    numeric = [key for key, cells in columns.items() if all(map(_is_cell_number, cells))]
    fractions = [key for key in numeric if not all(map(_is_whole, columns[key]))]
    chosen = (fractions or numeric) if has_names else numeric
    labels = {key: cells for key, cells in columns.items() if key not in chosen}
    if not chosen or not columns[chosen[0]]:
        return RowFile({}, labels)
    vectors = np.array(
        [[float(cell.strip() or "nan") for cell in columns[key]] for key in chosen], np.float32
    )
    return RowFile({name: np.ascontiguousarray(vectors.T)}, labels)


def _is_cell_number(cell: str) -> bool:
    return not cell.strip() or is_number(cell)


def _is_whole(cell: str) -> bool:
    return cell.strip().lstrip("+-").isdigit() or not cell.strip()


def open_parquet(file: BinaryIO, name: str) -> RowFile:
    """A Parquet table, by way of Arrow."""
    try:
        parquet = importlib.import_module("pyarrow.parquet")
    except ImportError:
        raise MissingExtra("reading a Parquet file", "projector") from None
    try:
        source = parquet.ParquetFile(file)
        size = sum(
            source.metadata.row_group(place).total_byte_size
            for place in range(source.metadata.num_row_groups)
        )
        check_bytes([size], 1)
        table = source.read()
    except (OSError, ValueError, RuntimeError, NotImplementedError) as error:
        raise FormatError(f"a Parquet file that cannot be read: {error}") from None
    return _sort_arrow(table, name)


def _sort_arrow(table: Any, name: str) -> RowFile:
    types = importlib.import_module("pyarrow.types")
    kinds = {column: table.schema.field(column).type for column in table.column_names}
    lists = [column for column, kind in kinds.items() if _is_vector(types, kind)]
    fractions = [column for column, kind in kinds.items() if types.is_floating(kind)]
    whole = [column for column, kind in kinds.items() if types.is_integer(kind)]
    flat = [] if lists else fractions or whole
    vectors = {column: _stack_lists(table.column(column), column) for column in lists}
    if flat and table.num_rows:
        columns = [table.column(column).to_numpy() for column in flat]
        vectors[name] = np.stack(columns, axis=1).astype(np.float32)
    labels = {
        column: ["" if cell is None else str(cell) for cell in table.column(column).to_pylist()]
        for column in kinds
        if column not in (*lists, *flat)
    }
    return RowFile(vectors, labels)


def _is_vector(types: Any, kind: Any) -> bool:
    if not (types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)):
        return False
    return bool(types.is_floating(kind.value_type) or types.is_integer(kind.value_type))


def _stack_lists(column: Any, name: str) -> NDArray[Any]:
    whole = column.combine_chunks()
    lengths = set(whole.value_lengths().to_pylist()) if len(whole) else set()
    if len(lengths) != 1 or None in lengths:
        raise FormatError(f'the lists of the column "{name}" are not all of one length')
    numbers: NDArray[Any] = whole.flatten().to_numpy(zero_copy_only=False)
    return numbers.reshape(len(whole), -1)
