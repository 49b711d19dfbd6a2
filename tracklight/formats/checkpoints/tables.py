"""Vectors as text: a line for each, numbers between tabs, and maybe its label before them."""

from __future__ import annotations

import contextlib
import csv
import importlib
import io
import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from tracklight.errors import FormatError, MissingDependencyError, UsageError
from tracklight.formats.checkpoints.tensor_file import (
    MAX_ARRAY_BYTES,
    LabelColumns,
    TensorInfo,
    check_array_size,
    get_file_size,
    read_array,
)
from tracklight.types import Float32


class TsvFile:
    """A ``.tsv`` file of vectors; it is read whole when somebody first looks at it."""

    def __init__(self, file: BinaryIO, name: str) -> None:
        self._name = name
        labels, self._vectors = read_tsv_vectors(file)
        self.labels: LabelColumns = {"label": labels} if labels else {}

    def list_tensors(self) -> Sequence[TensorInfo]:
        return [TensorInfo(self._name, self._name, "float32", self._vectors.shape)]

    def read(self, key: str) -> NDArray[Any]:
        if key != self._name:
            raise UsageError(f'the file has no tensor "{key}"')
        return self._vectors


def read_tsv_vectors(file: BinaryIO, max_bytes: int = MAX_ARRAY_BYTES) -> tuple[list[str], Float32]:
    """The labels, if any, and the vectors of a text of tab-separated numbers.

    A line is a vector. Lines with nothing in them are passed over.
    """
    if get_file_size(file) > max_bytes:
        raise FormatError(f"a text of more than {max_bytes >> 20} MiB, the most that is read")
    try:
        with _as_text(file) as lines:
            return _parse_tsv(lines)
    except UnicodeDecodeError:
        raise FormatError(
            "a file of vectors that is no text; raw numbers need a tensor_shape that fits them"
        ) from None
    except ValueError:
        with _as_text(file) as lines:
            raise FormatError(_explain_tsv_error(lines)) from None


def read_raw_vectors(file: BinaryIO, shape: Sequence[int]) -> Float32:
    """Vectors as the memory of float32 numbers."""
    rows, columns = shape if len(shape) == 2 else (0, 0)
    size, there = check_array_size([rows, columns], 4), get_file_size(file)
    if not size or size != there:
        raise FormatError(
            f"a file of {there} bytes, where tensor_shape {list(shape)} makes {size} of them"
        )
    return read_array(file, 0, np.dtype("<f4"), (rows, columns))


@contextlib.contextmanager
def _as_text(file: BinaryIO) -> Iterator[Iterator[str]]:
    file.seek(0)
    text = io.TextIOWrapper(file, "utf-8")
    try:
        yield text
    finally:
        text.detach()  # or the file would be closed along with it


def _parse_tsv(lines: Iterator[str]) -> tuple[list[str], Float32]:
    lines = filter(str.strip, lines)
    first = next(lines, None)
    if first is None:
        raise FormatError("a file of vectors with nothing in it")
    lines = itertools.chain([first], lines)
    if is_number(first.split("\t")[0]):
        return [], _parse_numbers(lines)
    rows = [line.partition("\t") for line in lines]
    if not all(row[2].strip() for row in rows):
        raise ValueError("a label without numbers")
    return [row[0] for row in rows], _parse_numbers(row[2] for row in rows)


def _parse_numbers(lines: Iterable[str]) -> Float32:
    return np.loadtxt(lines, np.float32, comments=None, delimiter="\t", ndmin=2)


def _explain_tsv_error(lines: Iterable[str]) -> str:
    """What is wrong with the first line that is not like the one before."""
    width = 0
    for number, line in enumerate(lines, 1):
        cells = line.rstrip("\r\n").split("\t")
        if not line.strip():
            continue
        if width and len(cells) != width:
            return f"line {number} has {len(cells)} cells between tabs, those before {width}"
        width = len(cells)
        for cell in cells[1:] or cells:
            if not is_number(cell):
                return f'line {number} has "{cell:.40}" where a number is wanted'
    return "the first cell of some lines is a number and of others it is not"


def is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


# Tables with a row for each point: CSV and Parquet. Some columns are vectors, the others labels.
#
# Where a column holds lists, those are vectors. Else all columns of fractions together are one
# vector a row, or all columns of whole numbers where there are none.


class TableFile:
    """The vectors of a table, and its other columns as ``labels``."""

    def __init__(self, vectors: dict[str, NDArray[Any]], labels: LabelColumns) -> None:
        if not vectors:
            raise FormatError("a table without a column of numbers")
        self._vectors = vectors
        self.labels = labels

    def list_tensors(self) -> Sequence[TensorInfo]:
        return [
            TensorInfo(key, key, array.dtype.name, array.shape)
            for key, array in self._vectors.items()
        ]

    def read(self, key: str) -> NDArray[Any]:
        if key not in self._vectors:
            raise UsageError(f'the table has no vectors "{key}"')
        return self._vectors[key]


def open_csv(file: BinaryIO, name: str) -> TableFile:
    """A table of comma- or semicolon-separated cells, with or without names above them."""
    if get_file_size(file) > MAX_ARRAY_BYTES:
        raise FormatError(
            f"a table of more than {MAX_ARRAY_BYTES >> 20} MiB, the most that is read"
        )
    rows = _iter_csv_rows(file)
    first = next(rows, None)
    if not first:
        raise FormatError("a table with nothing in it")
    has_names = not any(is_number(cell) for cell in first)
    names = make_column_names(first if has_names else [""] * len(first))
    columns: list[list[str]] = [[] if has_names else [cell] for cell in first]
    for number, row in enumerate(rows, 2):
        if len(row) != len(names):
            raise FormatError(f"line {number} has {len(row)} cells, those before {len(names)}")
        for column, cell in zip(columns, row, strict=True):
            column.append(cell)
    return _sort_columns(dict(zip(names, columns, strict=True)), name, has_names)


def make_column_names(cells: Sequence[str]) -> list[str]:
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


def _sort_columns(columns: LabelColumns, name: str, has_names: bool) -> TableFile:
    numeric = [key for key, cells in columns.items() if all(map(_is_cell_number, cells))]
    fractions = [key for key in numeric if not all(map(_is_whole, columns[key]))]
    chosen = (fractions or numeric) if has_names else numeric
    labels = {key: cells for key, cells in columns.items() if key not in chosen}
    if not chosen or not columns[chosen[0]]:
        return TableFile({}, labels)
    vectors = np.array(
        [[float(cell.strip() or "nan") for cell in columns[key]] for key in chosen], np.float32
    )
    return TableFile({name: np.ascontiguousarray(vectors.T)}, labels)


def _is_cell_number(cell: str) -> bool:
    return not cell.strip() or is_number(cell)


def _is_whole(cell: str) -> bool:
    return cell.strip().lstrip("+-").isdigit() or not cell.strip()


def open_parquet(file: BinaryIO, name: str) -> TableFile:
    """A Parquet table, by way of Arrow."""
    try:
        parquet = importlib.import_module("pyarrow.parquet")
    except ImportError:
        raise MissingDependencyError("reading a Parquet file", "projector") from None
    try:
        source = parquet.ParquetFile(file)
        size = sum(
            source.metadata.row_group(place).total_byte_size
            for place in range(source.metadata.num_row_groups)
        )
        check_array_size([size], 1)
        table = source.read()
    except (OSError, ValueError, RuntimeError, NotImplementedError) as error:
        raise FormatError(f"a Parquet file that cannot be read: {error}") from None
    return _sort_arrow(table, name)


def _sort_arrow(table: Any, name: str) -> TableFile:
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
    return TableFile(vectors, labels)


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
