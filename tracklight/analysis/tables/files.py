"""Read data sets from files: TFRecord, CSV, JSON lines and Parquet.

`read_files` reads one file or several with the same columns. Each format yields tables of some
thousand rows, so that limits on rows and memory apply while reading: a file of any size can be
opened, and the table says in `DataTable.problems` what was left out.
"""

from __future__ import annotations

import csv
import gzip
import io
import posixpath
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, BinaryIO

import msgspec
import numpy as np

from tracklight.analysis.tables import (
    ITEM_SEPARATOR,
    DataTable,
    check_column_names,
    concat_tables,
    convert_columns,
)
from tracklight.analysis.tables.columns import (
    DataColumn,
    make_column,
    make_number_column,
    make_string_column,
)
from tracklight.analysis.tables.examples import ExampleDecoder
from tracklight.analysis.tables.objects import from_arrow
from tracklight.errors import FormatError, LogError, Message, UsageError, import_optional
from tracklight.formats.tfrecord import (
    HEADER_BYTES,
    MAX_RECORD_BYTES,
    Compression,
    iter_record_blocks,
    masked_crc32c,
)
from tracklight.types import Int64
from tracklight.util.memory import format_bytes, get_memory_size

#: Suffixes of files that can be opened, for lists of files.
DATA_SUFFIXES = (
    ".csv",
    ".tsv",
    ".jsonl",
    ".ndjson",
    ".parquet",
    ".tfrecord",
    ".tfrecords",
    ".csv.gz",
    ".tsv.gz",
    ".jsonl.gz",
    ".tfrecord.gz",
    ".tfrecords.gz",
)

_CHUNK_ROWS = 50_000
_MAX_TABLE_BYTES = 4 << 30
_MISSING_TEXTS = frozenset({"", "NA", "N/A", "NaN", "nan", "null", "NULL", "None"})
#: Text fields of any length; the limit of the csv module is 128 KB.
_MAX_CELL_BYTES = 64 << 20


@dataclass(frozen=True)
class ReadLimits:
    """How much of a data set to read."""

    max_rows: int = 1_000_000
    sampling_ratio: float = 1.0
    """Each row is read with this probability."""
    max_bytes: int = field(default_factory=lambda: min(_MAX_TABLE_BYTES, get_memory_size() // 4))
    """Limit on the memory of the table; by default 4 GiB, or a quarter of the machine's memory."""
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 < self.sampling_ratio <= 1:
            raise UsageError(
                "data.sampling_ratio", "the sampling ratio must be above 0 and at most 1"
            )
        if self.max_rows < 1:
            raise UsageError("data.max_rows", "the maximum number of rows must be at least 1")


DEFAULT_LIMITS = ReadLimits()


class _RowLimiter:
    """Choose the rows to read and report when a limit is reached."""

    def __init__(self, limits: ReadLimits) -> None:
        self._limits = limits
        self._random = np.random.default_rng(limits.seed)
        self._row_count = 0
        self._size_bytes = 0
        self.is_full = False
        self.problem: Message | None = None

    @property
    def max_record_bytes(self) -> int:
        """The size of a record that is larger than all rows may be."""
        return min(MAX_RECORD_BYTES, self._limits.max_bytes)

    def choose(self, count: int) -> Int64:
        """Return the indexes of the rows to read among the next ``count`` rows."""
        rows = np.arange(count)
        if self._limits.sampling_ratio < 1:
            rows = rows[self._random.random(count) < self._limits.sampling_ratio]
        remaining = self._limits.max_rows - self._row_count
        if len(rows) > remaining:
            rows = rows[:remaining]
            self.is_full = True
            self.problem = Message.format(
                "data.row_limit",
                "only the first {rows:,} rows were read; raise the maximum number of rows to read "
                "more",
                rows=self._limits.max_rows,
            )
        self._row_count += len(rows)
        return rows

    def count_bytes(self, size_bytes: int) -> None:
        """Count memory, and stop when the limit is reached."""
        self._size_bytes += size_bytes
        if self._size_bytes > self._limits.max_bytes:
            self.is_full = True
            self.problem = Message.format(
                "data.memory_limit",
                "only the first {rows:,} rows were read, because they take {size} of memory; "
                "sample fewer rows",
                rows=self._row_count,
                size=format_bytes(self._limits.max_bytes),
            )


def read_files(
    paths: Sequence[str],
    open_file: Callable[[str], BinaryIO],
    limits: ReadLimits = DEFAULT_LIMITS,
    types: Mapping[str, str] | None = None,
) -> DataTable:
    """Read data files with the same columns into one table.

    The format is recognized by suffix: ``.csv``, ``.tsv``, ``.jsonl``, ``.ndjson``, ``.parquet``;
    anything else must be TFRecord. CSV, JSON lines and TFRecord may be compressed.

    Args:
        paths: The files.
        open_file: Opens a file for reading, or raises LogError.
        limits: How much to read.
        types: The types of columns, instead of the inferred ones; see `convert_columns`.

    Raises:
        FormatError: A file does not have the format of its suffix.
        LogError: A file does not exist or cannot be read.
        MissingDependencyError: Parquet files need pyarrow.

    Example:
        >>> table = read_files(["census.csv"], lambda path: open(path, "rb"))
        >>> table.get_column("age").type
        'integer'
    """
    if not paths:
        raise UsageError("data.no_file", "no file was given")
    limiter = _RowLimiter(limits)
    tables = []
    for path in paths:
        try:
            with open_file(path) as stream:
                tables.append(_read_file(path, stream, limiter, types or {}))
        except FormatError as error:
            raise FormatError(
                "data.cannot_read", 'cannot read "{path}": {error}', path=path, error=error
            ) from None
        except OSError as error:
            raise LogError(
                "data.cannot_read",
                'cannot read "{path}": {error}',
                path=path,
                error=error.strerror or error,
            ) from None
        if limiter.is_full:
            break
    joined = _join_files(paths, tables)
    named = zip(_name_unnamed(joined.names), joined.columns.values(), strict=True)
    columns = [replace(column, name=name) for name, column in named]
    joined = DataTable(columns, row_count=len(joined))
    joined = convert_columns(joined, types)
    problems = [problem for table in tables for problem in table.messages]
    problems += [limiter.problem] if limiter.problem else []
    return DataTable(joined.columns.values(), row_count=len(joined), problems=problems)


def _name_unnamed(names: Sequence[str]) -> list[str]:
    """Return names also for columns without one, such as the index that pandas writes."""
    return [name or f"Unnamed: {number}" for number, name in enumerate(names)]


def _join_files(paths: Sequence[str], tables: Sequence[DataTable]) -> DataTable:
    for path, table in zip(paths[1:], tables[1:], strict=False):
        if set(table.names) != set(tables[0].names):
            raise FormatError(
                "data.other_columns",
                '"{path}" does not have the same columns as "{first}"',
                path=path,
                first=paths[0],
            )
    try:
        return concat_tables(tables)
    except UsageError as error:
        raise FormatError(
            "data.files_differ", "the files do not fit together: {error}", error=error
        ) from None


def _read_file(
    path: str, stream: BinaryIO, limiter: _RowLimiter, types: Mapping[str, str]
) -> DataTable:
    name = posixpath.basename(path.replace("\\", "/")).lower()
    suffix = posixpath.splitext(name.removesuffix(".gz"))[1]
    if suffix in (".csv", ".tsv"):
        return _read_csv(_unzip(stream), "\t" if suffix == ".tsv" else ",", limiter, types)
    if suffix in (".jsonl", ".ndjson"):
        return _read_json_lines(_unzip(stream), limiter)
    if suffix == ".parquet":
        return _read_parquet(stream, limiter)
    return _read_tfrecord(stream, limiter)


def _unzip(stream: BinaryIO) -> BinaryIO:
    is_gzip = stream.read(2) == b"\x1f\x8b"
    stream.seek(0)
    return gzip.GzipFile(fileobj=stream) if is_gzip else stream  # type: ignore[return-value]


# ---- TFRecord


def _read_tfrecord(stream: BinaryIO, limiter: _RowLimiter) -> DataTable:
    compression = find_compression(stream)
    decoder = ExampleDecoder()
    problem: Message | None = None
    try:
        for data, spans in iter_record_blocks(
            stream, compression=compression, max_record_bytes=limiter.max_record_bytes
        ):
            rows = limiter.choose(len(spans))
            before = decoder.size_bytes
            decoder.add(data, spans[rows])
            limiter.count_bytes(decoder.size_bytes - before)
            if limiter.is_full:
                break
    except FormatError as error:
        if not decoder.row_count:
            raise
        problem = Message.format(
            "data.stopped",
            "reading stopped after {records:,} records: {error}",
            records=decoder.row_count,
            error=error,
        )
    table = decoder.finish()
    problems = [*table.messages, *([problem] if problem else [])]
    return DataTable(table.columns.values(), row_count=len(table), problems=problems)


def find_compression(stream: BinaryIO) -> Compression | None:
    """Return how a TFRecord file is compressed. The stream is left at its beginning.

    Raises:
        FormatError: It is not a TFRecord file.
    """
    start = stream.read(HEADER_BYTES)
    stream.seek(0)
    if not start:
        raise FormatError("data.empty_file", "the file is empty")
    if _is_record_header(start):
        return None
    if start[:2] == b"\x1f\x8b":
        return "gzip"
    try:
        decompressor = zlib.decompressobj()
        head = decompressor.decompress(stream.read(4096), HEADER_BYTES)
        stream.seek(0)
        if _is_record_header(head):
            return "zlib"
    except zlib.error:
        stream.seek(0)
    raise FormatError(
        "data.not_tfrecord",
        "it is not a TFRecord file; other formats need a suffix such as .csv, .jsonl or .parquet",
    )


def _is_record_header(head: bytes) -> bool:
    crc = int.from_bytes(head[8:HEADER_BYTES], "little")
    return len(head) == HEADER_BYTES and masked_crc32c(head[:8]) == crc


# ---- CSV


def _read_csv(
    stream: BinaryIO, separator: str, limiter: _RowLimiter, types: Mapping[str, str]
) -> DataTable:
    text = io.TextIOWrapper(stream, encoding="utf-8-sig", errors="backslashreplace", newline="")
    csv.field_size_limit(_MAX_CELL_BYTES)
    reader = csv.reader(text, delimiter=separator, skipinitialspace=True)
    try:
        names = _read_header(reader)
        builders = [_TextColumnBuilder(name) for name in names]
        problems = _CsvProblems(len(names))
        for chunk in _iter_chunks(reader):
            rows = limiter.choose(len(chunk))
            lines = chunk if len(rows) == len(chunk) else [chunk[row] for row in rows.tolist()]
            if any(len(line) != len(names) for line in lines):
                lines = [problems.fit(line) for line in lines]
            for builder, cells in zip(builders, zip(*lines, strict=True), strict=bool(lines)):
                builder.add(cells)
                limiter.count_bytes(9 * len(cells))
            if limiter.is_full:
                break
    except (csv.Error, EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise FormatError("data.damaged", "it is damaged: {error}", error=error) from None
    finally:
        text.detach()  # the caller closes the file
    columns = [builder.finish(keep_text=name in types) for name, builder in
               zip(names, builders, strict=True)]  # fmt: skip
    row_count = len(columns[0]) if columns else 0
    messages = [*problems.list_messages(), *_list_text_lists(columns, types)]
    return DataTable(columns, row_count=row_count, problems=messages)


def _list_text_lists(columns: Sequence[DataColumn], types: Mapping[str, str]) -> list[Message]:
    """Say which texts look like lists. They stay texts, as only numbers are certainly lists."""
    found = [
        column.name
        for column in columns
        if column.type == "string"
        and column.name not in types
        and 2 * sum(ITEM_SEPARATOR in text for text in column.categories) > len(column.categories)
    ]
    return [
        Message.format(
            "data.text_lists",
            '"{column}" has texts with "|"; give it the type "string[]" to read lists',
            column=name,
        )
        for name in found
    ]


def _read_header(reader: Iterator[list[str]]) -> list[str]:
    names = next(reader, None)
    if not names:
        raise FormatError(
            "data.empty_table",
            "the file is empty; the first line must have the names of the columns",
        )
    if "\0" in "".join(names):
        raise FormatError("data.not_text", "it is not a text file")
    names = _name_unnamed(names)
    check_column_names(names, FormatError)
    return names


def _iter_chunks(rows: Iterator[list[str]]) -> Iterator[list[list[str]]]:
    chunk: list[list[str]] = []
    for row in rows:
        if row:  # an empty line
            chunk.append(row)
        if len(chunk) == _CHUNK_ROWS:
            yield chunk
            chunk = []
    if chunk:
        yield chunk


class _CsvProblems:
    """Fit lines with too few or too many cells, and count them."""

    def __init__(self, column_count: int) -> None:
        self._column_count = column_count
        self._line_count = 0

    def fit(self, line: list[str]) -> list[str]:
        if len(line) != self._column_count:
            self._line_count += 1
            line = (line + [""] * self._column_count)[: self._column_count]
        return line

    def list_messages(self) -> list[Message]:
        if not self._line_count:
            return []
        return [
            Message.format(
                "data.cell_count",
                "{lines:,} lines do not have {cells} cells; missing cells are empty, additional "
                "cells are ignored",
                lines=self._line_count,
                cells=self._column_count,
            )
        ]


class _TextColumnBuilder:
    """Collect the cells of a column. Repeated cells share one string."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._codes: list[np.ndarray[Any, Any]] = []
        self._numbers: dict[str, int] = {}

    def add(self, cells: Sequence[str]) -> None:
        numbers = self._numbers
        codes = [numbers.setdefault(cell, len(numbers)) for cell in cells]
        self._codes.append(np.array(codes, np.int32))

    def finish(self, keep_text: bool = False) -> DataColumn:
        codes = np.concatenate(self._codes) if self._codes else np.empty(0, np.int32)
        return parse_text_column(self._name, codes, list(self._numbers), keep_text)


def parse_text_column(
    name: str, codes: np.ndarray[Any, Any], texts: Sequence[str], keep_text: bool = False
) -> DataColumn:
    """Infer the type of a column of text cells, and convert it, unless it stays text.

    A column is numeric if all its cells are numbers or missing, boolean if all are ``true`` or
    ``false``, and a list of numbers if all cells are numbers separated by ``|``.
    """
    stripped = [text.strip() for text in texts]
    is_missing = np.array([text in _MISSING_TEXTS for text in stripped], np.bool_)
    present = [text for text, missing in zip(stripped, is_missing, strict=True) if not missing]
    missing_rows = is_missing[codes] if len(codes) else np.empty(0, np.bool_)
    numbers = None if keep_text else _parse_numbers(present)
    if keep_text:
        present = []
    elif numbers is None and present and {text.lower() for text in present} <= {"true", "false"}:
        numbers = np.array([text.lower() == "true" for text in present], np.bool_)
    if numbers is not None and present:
        by_text = np.zeros(len(texts), numbers.dtype)
        by_text[~is_missing] = numbers
        return make_number_column(name, by_text[codes], missing_rows)
    lists = [text.split("|") for text in present]
    if (
        any(len(items) > 1 for items in lists)
        and _parse_numbers([item for items in lists for item in items]) is not None
    ):
        parsed = iter(lists)
        values = [None if missing else next(parsed) for missing in is_missing]
        as_floats = [None if items is None else [float(i) for i in items] for items in values]
        return make_column(name, [as_floats[code] for code in codes.tolist()])
    values_by_text = [None if missing else text
                      for text, missing in zip(texts, is_missing, strict=True)]  # fmt: skip
    return make_string_column(name, (values_by_text[code] for code in codes.tolist()))


def _parse_numbers(texts: Sequence[str]) -> np.ndarray[Any, Any] | None:
    try:
        # "1_000" is a number in Python and in no data file.
        if any("_" in text for text in texts):
            return None
        try:
            return np.array([int(text) for text in texts], np.int64)
        except (ValueError, OverflowError):
            return np.array([float(text) for text in texts], np.float64)
    except ValueError:
        return None


# ---- JSON lines


def _read_json_lines(stream: BinaryIO, limiter: _RowLimiter) -> DataTable:
    decode = msgspec.json.Decoder(dict[str, Any]).decode
    tables: list[dict[str, list[Any]]] = []
    counts: list[int] = []
    for first_line, lines in _iter_lines(stream):
        rows = []
        for index in limiter.choose(len(lines)).tolist():
            try:
                rows.append(_flatten(decode(lines[index])))
            except (msgspec.DecodeError, RecursionError) as error:
                raise FormatError(
                    "data.invalid_line",
                    "line {line} is not valid: {error}",
                    line=first_line + index,
                    error=error,
                ) from None
        names = dict.fromkeys(name for row in rows for name in row)
        tables.append({name: [row.get(name) for row in rows] for name in names})
        counts.append(len(rows))
        limiter.count_bytes(sum(len(line) for line in lines))
        if limiter.is_full:
            break
    names = dict.fromkeys(name for table in tables for name in table)
    columns = []
    for name in names:
        values: list[Any] = []
        for table, count in zip(tables, counts, strict=True):
            values += table.pop(name, [None] * count)
        columns.append(make_column(name, values))
    return DataTable(columns, row_count=sum(counts))


def _iter_lines(stream: BinaryIO) -> Iterator[tuple[int, list[bytes]]]:
    lines: list[bytes] = []
    number = 0
    try:
        for number, line in enumerate(stream, 1):
            if line.strip():
                lines.append(line)
            if len(lines) == _CHUNK_ROWS:
                yield number - len(lines) + 1, lines
                lines = []
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise FormatError("data.damaged", "it is damaged: {error}", error=error) from None
    if lines:
        yield number - len(lines) + 1, lines


def _flatten(row: dict[str, Any]) -> dict[str, Any]:
    """Replace nested objects by columns such as ``user.age``."""
    if not any(isinstance(value, dict) for value in row.values()):
        return row
    flat: dict[str, Any] = {}
    for name, value in row.items():
        if isinstance(value, dict):
            flat.update({f"{name}.{key}": item for key, item in _flatten(value).items()})
        else:
            flat[name] = value
    return flat


# ---- Parquet


def _read_parquet(stream: BinaryIO, limiter: _RowLimiter) -> DataTable:
    pa = import_optional("pyarrow", "a Parquet file", "parquet")
    parquet = import_optional("pyarrow.parquet", "a Parquet file", "parquet")
    try:
        schema = parquet.ParquetFile(stream).schema_arrow
        check_column_names(schema.names, FormatError)
        # Texts stay the numbers that the file has for them.
        texts = [field.name for field in schema if pa.types.is_string(field.type)]
        file = parquet.ParquetFile(stream, read_dictionary=texts)
        batches = []
        for batch in file.iter_batches(batch_size=_CHUNK_ROWS):
            rows = limiter.choose(len(batch))
            batches.append(batch if len(rows) == len(batch) else batch.take(pa.array(rows)))
            limiter.count_bytes(batch.nbytes)
            if limiter.is_full:
                break
        return from_arrow(pa.Table.from_batches(batches, schema=file.schema_arrow))
    except (pa.ArrowException, OSError) as error:
        raise FormatError(
            "data.damaged", "it is damaged: {error}", error=str(error).splitlines()[0]
        ) from None
