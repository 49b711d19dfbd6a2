"""Files that contain tensors: checkpoints, arrays and tables of vectors.

Every format is read without the framework that wrote it, and without running code from the file.
The readers implement the `tensor_file.TensorFile` protocol. `open_tensor_file` chooses a reader by
the name of the file; `tf_checkpoint` is separate, because TensorFlow checkpoints consist of several
files.

Tables with one row per vector (TSV, CSV, Parquet and raw float32) are read here. In CSV and Parquet
files, some columns are vectors and the others are labels. Columns of lists are vectors. If there
are none, all columns of floating-point numbers, or else all columns of integers, form one vector
per row.

Used by `tracklight.analysis.embeddings`. May import what `tracklight.formats` may import.
"""

from __future__ import annotations

import contextlib
import csv
import importlib
import io
import itertools
import posixpath
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from tracklight.errors import FormatError, Message, MissingDependencyError, UsageError
from tracklight.formats.checkpoints.tensor_file import (
    MAX_ARRAY_BYTES,
    Hdf5File,
    LabelColumns,
    NpyFile,
    NpzFile,
    SafetensorsFile,
    TensorFile,
    TensorInfo,
    check_array_size,
    get_file_size,
    open_keras_archive,
    read_array,
)
from tracklight.formats.checkpoints.torch_file import TorchFile
from tracklight.types import Float32

# ---- tables of vectors


class TsvFile:
    """A ``.tsv`` file of vectors, optionally with a label at the beginning of each line."""

    def __init__(self, file: BinaryIO, name: str) -> None:
        self._name = name
        labels, self._vectors = read_tsv_vectors(file)
        self.labels: LabelColumns = {"label": labels} if labels else {}

    def list_tensors(self) -> Sequence[TensorInfo]:
        return [TensorInfo(self._name, self._name, "float32", self._vectors.shape)]

    def read(self, key: str) -> NDArray[Any]:
        if key != self._name:
            raise UsageError("files.no_tensor", 'no tensor "{key}" in the file', key=key)
        return self._vectors


def read_tsv_vectors(file: BinaryIO, max_bytes: int = MAX_ARRAY_BYTES) -> tuple[list[str], Float32]:
    """Read lines of tab-separated numbers; empty lines are skipped.

    Returns:
        The labels, which may be empty, and the vectors.

    Raises:
        FormatError: The file is not such a text, or too large.
    """
    if get_file_size(file) > max_bytes:
        raise FormatError(
            "files.text_too_large",
            "the text is larger than the limit of {limit_mib} MiB",
            limit_mib=max_bytes >> 20,
        )
    try:
        with _as_text(file) as lines:
            return _parse_tsv(lines)
    except UnicodeDecodeError:
        raise FormatError(
            "files.vectors_not_text",
            "the file of vectors is not text; raw float32 files need a matching tensor_shape",
        ) from None
    except ValueError:
        with _as_text(file) as lines:
            raise FormatError(_explain_tsv_error(lines)) from None


def read_raw_vectors(file: BinaryIO, shape: Sequence[int]) -> Float32:
    """Read vectors that are stored as raw float32; raises FormatError if the shape does not fit."""
    rows, columns = shape if len(shape) == 2 else (0, 0)
    expected, actual = check_array_size([rows, columns], 4), get_file_size(file)
    if not expected or expected != actual:
        raise FormatError(
            "files.vectors_size",
            "the file has {actual} bytes, but tensor_shape {shape} needs {expected}",
            actual=actual,
            shape=list(shape),
            expected=expected,
        )
    return read_array(file, 0, np.dtype("<f4"), (rows, columns))


@contextlib.contextmanager
def _as_text(file: BinaryIO) -> Iterator[Iterator[str]]:
    file.seek(0)
    text = io.TextIOWrapper(file, "utf-8")
    try:
        yield text
    finally:
        text.detach()  # do not close the file


def _parse_tsv(lines: Iterator[str]) -> tuple[list[str], Float32]:
    lines = filter(str.strip, lines)
    first = next(lines, None)
    if first is None:
        raise FormatError("files.vectors_empty", "the file of vectors is empty")
    lines = itertools.chain([first], lines)
    if is_number(first.split("\t")[0]):
        return [], _parse_numbers(lines)
    rows = [line.partition("\t") for line in lines]
    if not all(row[2].strip() for row in rows):
        raise ValueError("a label has no numbers")
    return [row[0] for row in rows], _parse_numbers(row[2] for row in rows)


def _parse_numbers(lines: Iterable[str]) -> Float32:
    return np.loadtxt(lines, np.float32, comments=None, delimiter="\t", ndmin=2)


def _explain_tsv_error(lines: Iterable[str]) -> Message:
    """Describe what is wrong with the first invalid line."""
    width = 0
    for number, line in enumerate(lines, 1):
        cells = line.rstrip("\r\n").split("\t")
        if not line.strip():
            continue
        if width and len(cells) != width:
            return Message.format(
                "files.tsv_width",
                "line {line} has {cells} tab-separated cells instead of {width}",
                line=number,
                cells=len(cells),
                width=width,
            )
        width = len(cells)
        for cell in cells[1:] or cells:
            if not is_number(cell):
                return Message.format(
                    "files.tsv_number",
                    'line {line} has "{cell:.40}" instead of a number',
                    line=number,
                    cell=cell[:40],
                )
    return Message("files.tsv_mixed", "only some of the lines begin with a number")


def is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


class TableFile:
    """The vectors of a table, and its other columns as ``labels``."""

    def __init__(self, vectors: dict[str, NDArray[Any]], labels: LabelColumns) -> None:
        if not vectors:
            raise FormatError("files.table_no_numbers", "the table has no column of numbers")
        self._vectors = vectors
        self.labels = labels

    def list_tensors(self) -> Sequence[TensorInfo]:
        return [
            TensorInfo(key, key, array.dtype.name, array.shape)
            for key, array in self._vectors.items()
        ]

    def read(self, key: str) -> NDArray[Any]:
        if key not in self._vectors:
            raise UsageError("files.table_no_vectors", 'no vectors "{key}" in the table', key=key)
        return self._vectors[key]


def open_csv(file: BinaryIO, name: str) -> TableFile:
    """Open a CSV file, separated by comma, semicolon or tab, with or without a header."""
    if get_file_size(file) > MAX_ARRAY_BYTES:
        raise FormatError(
            "files.table_over_limit",
            "the table is larger than the limit of {limit_mib} MiB",
            limit_mib=MAX_ARRAY_BYTES >> 20,
        )
    with contextlib.closing(_iter_csv_rows(file)) as rows:
        first = next(rows, None)
        if not first:
            raise FormatError("files.table_empty", "the table is empty")
        has_header = not any(is_number(cell) for cell in first)
        names = make_column_names(first if has_header else [""] * len(first))
        columns: list[list[str]] = [[] if has_header else [cell] for cell in first]
        for number, row in enumerate(rows, 2):
            if len(row) != len(names):
                raise FormatError(
                    "files.table_cells",
                    "line {number} has {actual} cells instead of {expected}",
                    number=number,
                    actual=len(row),
                    expected=len(names),
                )
            for column, cell in zip(columns, row, strict=True):
                column.append(cell)
    return _split_columns(dict(zip(names, columns, strict=True)), name, has_header)


def make_column_names(cells: Sequence[str]) -> list[str]:
    """Return a unique name for each column."""
    names: list[str] = []
    for number, cell in enumerate(cells, 1):
        names.append(cell if cell and cell not in names else f"{cell or 'column'} {number}")
    return names


def _iter_csv_rows(file: BinaryIO) -> Generator[list[str], None, None]:
    file.seek(0)
    text = io.TextIOWrapper(file, "utf-8-sig", newline="")
    try:
        first = text.readline()
        delimiter = max(",;\t", key=first.count)
        yield from csv.reader([first], delimiter=delimiter)
        yield from (row for row in csv.reader(text, delimiter=delimiter) if row)
    except (UnicodeDecodeError, csv.Error) as error:
        raise FormatError(
            "files.table_invalid_csv", "the table is not valid CSV: {error}", error=error
        ) from None
    finally:
        text.detach()


def _split_columns(columns: LabelColumns, name: str, has_header: bool) -> TableFile:
    numeric = [key for key, cells in columns.items() if all(map(_is_number_or_empty, cells))]
    floats = [key for key in numeric if not all(map(_is_integer_or_empty, columns[key]))]
    vector_columns = (floats or numeric) if has_header else numeric
    labels = {key: cells for key, cells in columns.items() if key not in vector_columns}
    if not vector_columns or not columns[vector_columns[0]]:
        return TableFile({}, labels)
    vectors = np.array(
        [[float(cell.strip() or "nan") for cell in columns[key]] for key in vector_columns],
        np.float32,
    )
    return TableFile({name: np.ascontiguousarray(vectors.T)}, labels)


def _is_number_or_empty(cell: str) -> bool:
    return not cell.strip() or is_number(cell)


def _is_integer_or_empty(cell: str) -> bool:
    return cell.strip().lstrip("+-").isdigit() or not cell.strip()


def open_parquet(file: BinaryIO, name: str) -> TableFile:
    """Open a Parquet file; raises MissingDependencyError without pyarrow."""
    try:
        parquet = importlib.import_module("pyarrow.parquet")
    except ImportError:
        raise MissingDependencyError("reading a Parquet file", "projector") from None
    try:
        source = parquet.ParquetFile(file)
        size = sum(
            source.metadata.row_group(index).total_byte_size
            for index in range(source.metadata.num_row_groups)
        )
        check_array_size([size], 1)
        table = source.read()
    except (OSError, ValueError, RuntimeError, NotImplementedError) as error:
        raise FormatError(
            "files.parquet_unreadable", "the Parquet file cannot be read: {error}", error=error
        ) from None
    return _split_arrow_columns(table, name)


def _split_arrow_columns(table: Any, name: str) -> TableFile:
    types = importlib.import_module("pyarrow.types")
    kinds = {column: table.schema.field(column).type for column in table.column_names}
    lists = [column for column, kind in kinds.items() if _is_vector(types, kind)]
    floats = [column for column, kind in kinds.items() if types.is_floating(kind)]
    integers = [column for column, kind in kinds.items() if types.is_integer(kind)]
    flat = [] if lists else floats or integers
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
        raise FormatError(
            "files.list_lengths",
            'the lists of the column "{name}" have different lengths',
            name=name,
        )
    numbers: NDArray[Any] = whole.flatten().to_numpy(zero_copy_only=False)
    return numbers.reshape(len(whole), -1)


# ---- the choice of a reader

_ZIP_MAGIC = b"PK\x03\x04"
_LEGACY_TORCH_MAGIC = b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19."

#: Opens a file; the second argument is its name without the suffix.
Opener = Callable[[BinaryIO, str], TensorFile]


def open_tensor_file(file: BinaryIO, name: str) -> TensorFile:
    """Open a tensor file. It must stay open while tensors are read.

    Args:
        file: The open file.
        name: Its name or path, whose suffix determines the format.

    Raises:
        FormatError: The suffix is unknown, or the file cannot be read.
    """
    stem, opener = _get_opener(posixpath.basename(name))
    try:
        return opener(file, stem)
    except FormatError as error:
        raise FormatError(
            "files.unreadable", '"{name}" cannot be read: {error}', name=name, error=error
        ) from None


def open_tensor_bytes(data: bytes, name: str) -> TensorFile:
    """Open a tensor file from its content, such as an uploaded file."""
    return open_tensor_file(io.BytesIO(data), name)


def _get_opener(name: str) -> tuple[str, Opener]:
    """Return the name without its suffix, and the opener for the suffix."""
    lower = name.lower()
    for suffix, opener in _OPENERS.items():
        if lower.endswith(suffix):
            return name[: -len(suffix)], opener
    known = ", ".join(suffix for suffix in _OPENERS if suffix != ".weights.h5")
    raise FormatError(
        "files.unknown_type",
        '"{name}" has an unknown file type; supported are {known}',
        name=name,
        known=known,
    )


def _open_torch(file: BinaryIO, name: str) -> TensorFile:
    file.seek(0)
    head = file.read(len(_LEGACY_TORCH_MAGIC))
    if head == _LEGACY_TORCH_MAGIC:
        raise FormatError(
            "files.old_torch",
            "it was saved by PyTorch before 1.6; load it in a newer version "
            "and save its state_dict again",
        )
    if not head.startswith(_ZIP_MAGIC):
        raise FormatError("files.not_torch", "it was not written by torch.save, or is incomplete")
    return TorchFile(file, name)


_OPENERS: dict[str, Opener] = {
    ".npy": NpyFile,
    ".npz": lambda file, name: NpzFile(file),
    ".safetensors": lambda file, name: SafetensorsFile(file),
    **dict.fromkeys((".pt", ".pth", ".ckpt", ".bin"), _open_torch),
    **dict.fromkeys((".weights.h5", ".h5", ".hdf5"), lambda file, name: Hdf5File(file)),
    ".keras": lambda file, name: open_keras_archive(file),
    ".tsv": TsvFile,
    ".csv": open_csv,
    ".parquet": open_parquet,
}
