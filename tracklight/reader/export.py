"""Export scalars to CSV, JSON, JSON Lines and Parquet, and open output files.

Scalars are written series by series and column by column, so that logs of any size can be exported.
`export_values` has the exporters for other kinds of data. Output files are written to a temporary
file and appear under their name when they are complete.
"""

from __future__ import annotations

import csv
import importlib
import io
import os
import shutil
import stat
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import repeat
from pathlib import Path
from typing import Any, BinaryIO, Protocol

import msgspec
import numpy as np
from numpy.typing import NDArray

from tracklight.errors import TracklightError, UsageError, import_optional
from tracklight.types import Series
from tracklight.util.files import make_temporary_path, open_atomic, to_json_numbers
from tracklight.util.frames import CategoryColumn

__all__ = ["SERIES_WRITERS", "export_scalars", "open_output"]

#: The value of ``--format`` for each suffix of the output file.
_FORMATS_BY_SUFFIX = {
    ".csv": "csv",
    ".json": "json",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".pq": "parquet",
}

#: Rows that are formatted, or written to a row group, at a time.
_BATCH_ROWS = 1 << 17
_COLUMNS = ("step", "wall_time", "value", "overwritten")
FORMAT_NAMES = tuple(dict.fromkeys(_FORMATS_BY_SUFFIX.values()))


def resolve_format(path: str, format_name: str | None) -> str:
    """Return the given format, or else the one for the suffix of the file.

    Raises:
        UsageError: No format was given, and the suffix is unknown.
    """
    if format_name:
        return format_name
    suffix_format = _FORMATS_BY_SUFFIX.get(Path(path).suffix.lower())
    if suffix_format is None:
        suffixes = ", ".join(_FORMATS_BY_SUFFIX)
        raise UsageError(f'unknown format for "{path}"; use a suffix ({suffixes}) or --format')
    return suffix_format


@contextmanager
def open_output(path: str) -> Iterator[BinaryIO]:
    """Open an output file that appears when it is complete; ``-`` is standard output.

    Raises:
        TracklightError: The file cannot be written.
    """
    if path == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    target = Path(os.path.realpath(path))
    if target.exists() and not stat.S_ISREG(target.stat().st_mode):  # a pipe, or /dev/null
        with target.open("wb") as file:
            yield file
        return
    try:
        with open_atomic(target) as file:
            yield file
    except OSError as error:
        # Errors about other files, such as those of the log, are passed on.
        if error.errno is None or error.filename not in (None, str(target)):
            raise
        raise TracklightError(f'cannot write "{path}": {error.strerror}') from error


@contextmanager
def open_output_folder(path: str) -> Iterator[Path]:
    """Create an output folder that appears when it is complete.

    Raises:
        UsageError: The path exists and is not an empty directory.
    """
    target = Path(os.path.realpath(path))
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise UsageError(f'"{path}" already exists; choose a new or empty directory')
    temporary = make_temporary_path(target)
    temporary.mkdir()
    try:
        yield temporary
        if target.exists():
            target.rmdir()
        temporary.rename(target)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


class SeriesColumns(Protocol):
    """A series with an array attribute for each column that is written."""

    @property
    def run(self) -> str: ...

    @property
    def tag(self) -> str: ...

    def __len__(self) -> int: ...


class SeriesWriter(Protocol):
    """Writes series in one format; call `close` after the last one."""

    def write(self, series: SeriesColumns) -> None: ...

    def close(self) -> None: ...


def export_scalars(
    series: Iterable[Series],
    file: BinaryIO,
    format_name: str,
    *,
    overwritten: bool = False,
    on_progress: Callable[[int], None] = lambda points: None,
) -> None:
    """Write scalar series to a file.

    Args:
        series: The series to write.
        file: The output, see `open_output`.
        format_name: One of `SERIES_WRITERS`.
        overwritten: Whether to include overwritten points, marked in a column of that name.
        on_progress: Called after each series with its number of points.

    Raises:
        UsageError: The format is unknown.
        MissingDependencyError: The format is Parquet, and pyarrow is not installed.
    """
    if format_name not in SERIES_WRITERS:
        raise UsageError(f'unknown format "{format_name}"; use one of {", ".join(SERIES_WRITERS)}')
    writer = SERIES_WRITERS[format_name](file, _COLUMNS if overwritten else _COLUMNS[:-1])
    for one in series:
        writer.write(one if overwritten else one.without_overwritten())
        on_progress(len(one))
    writer.close()


class _CsvWriter:
    """One line per point. Numbers round-trip exactly."""

    def __init__(self, file: BinaryIO, columns: tuple[str, ...], run_column: str = "run") -> None:
        self._file = file
        self._columns = columns
        file.write((",".join((run_column, "tag", *columns)) + "\n").encode())

    def write(self, series: SeriesColumns) -> None:
        names = _quote(series.run, series.tag)
        for rows in _iter_rows(len(series)):
            cells = [_format_column(getattr(series, name)[rows]) for name in self._columns]
            lines = map(",".join, zip(repeat(names), *cells, strict=False))
            self._file.write(("\n".join(lines) + "\n").encode())

    def close(self) -> None:
        pass


class _JsonWriter:
    """One array with an object per series, in which each column is an array."""

    def __init__(self, file: BinaryIO, columns: tuple[str, ...], run_column: str = "run") -> None:
        self._file = file
        self._columns = columns
        self._run_column = run_column
        self._before = b"[\n"

    def write(self, series: SeriesColumns) -> None:
        names = msgspec.json.encode({self._run_column: series.run, "tag": series.tag})
        self._file.write(self._before + names[:-1])
        for name in self._columns:
            self._write_column(name, getattr(series, name))
        self._file.write(b"}")
        self._before = b",\n"

    def _write_column(self, name: str, column: NDArray[Any]) -> None:
        before = f',"{name}":['.encode()
        for rows in _iter_rows(len(column)):
            self._file.write(before + msgspec.json.encode(to_json_numbers(column[rows]))[1:-1])
            before = b","
        self._file.write(b"]" if before == b"," else before + b"]")

    def close(self) -> None:
        self._file.write(b"[]\n" if self._before == b"[\n" else b"\n]\n")


class _JsonLinesWriter:
    """One object per point and line."""

    def __init__(self, file: BinaryIO, columns: tuple[str, ...], run_column: str = "run") -> None:
        self._file = file
        self._columns = columns
        self._run_column = run_column

    def write(self, series: SeriesColumns) -> None:
        names = {self._run_column: series.run, "tag": series.tag}
        encoder = msgspec.json.Encoder()
        for rows in _iter_rows(len(series)):
            columns = [to_json_numbers(getattr(series, name)[rows]) for name in self._columns]
            points = zip(*columns, strict=True)
            lines = [names | dict(zip(self._columns, point, strict=True)) for point in points]
            self._file.write(encoder.encode_lines(lines))

    def close(self) -> None:
        pass


class _ParquetWriter:
    """One row group per batch of points; run and tag are dictionary-encoded."""

    def __init__(self, file: BinaryIO, columns: tuple[str, ...], run_column: str = "run") -> None:
        pq = import_optional("pyarrow.parquet", "export to Parquet", "parquet")
        self._columns = columns
        self._run_column = run_column
        self._pending: list[tuple[str, str, list[NDArray[Any]]]] = []
        self._rows = 0
        pa = self._pa = importlib.import_module("pyarrow")
        names = [(name, pa.dictionary(pa.int32(), pa.string())) for name in (run_column, "tag")]
        numbers = [(column, pa.from_numpy_dtype(_dtype_of(column))) for column in columns]
        self._writer = pq.ParquetWriter(file, pa.schema(names + numbers))

    def write(self, series: SeriesColumns) -> None:
        for rows in _iter_rows(len(series)):
            part = [getattr(series, name)[rows] for name in self._columns]
            self._pending.append((series.run, series.tag, part))
            self._rows += len(part[0])
            if self._rows >= _BATCH_ROWS:
                self._flush()

    def close(self) -> None:
        self._flush()
        self._writer.close()

    def _flush(self) -> None:
        if self._pending:
            self._writer.write_table(self._make_table())
        self._pending, self._rows = [], 0

    def _make_table(self) -> Any:
        runs, tags, parts = zip(*self._pending, strict=True)
        lengths = [len(part[0]) for part in parts]
        table = {
            self._run_column: self._repeat(runs, lengths),
            "tag": self._repeat(tags, lengths),
        }
        for name, column in zip(self._columns, zip(*parts, strict=True), strict=True):
            table[name] = np.concatenate(column).astype(_dtype_of(name), copy=False)
        return self._pa.table(table)

    def _repeat(self, names: Sequence[str], lengths: Sequence[int]) -> Any:
        column = CategoryColumn.repeat(names, lengths)
        return self._pa.DictionaryArray.from_arrays(
            column.codes, self._pa.array(column.to_unicode(), self._pa.string())
        )


def _dtype_of(column: str) -> type[np.generic]:
    """Values are always float64: a tag may hold integers in one run and floats in another."""
    types = {"step": np.int64, "overwritten": np.bool_, "runs": np.int32}
    return types.get(column, np.float64)


#: Writers get the file, the names of the columns with numbers, and the name of the column of runs.
SERIES_WRITERS: dict[str, Callable[..., SeriesWriter]] = {
    "csv": _CsvWriter,
    "json": _JsonWriter,
    "jsonl": _JsonLinesWriter,
    "parquet": _ParquetWriter,
}


def _iter_rows(length: int) -> Iterator[slice]:
    return (slice(start, start + _BATCH_ROWS) for start in range(0, length, _BATCH_ROWS))


def _quote(*names: str) -> str:
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(names)
    return line.getvalue()


def _format_column(column: NDArray[Any]) -> list[str]:
    if column.dtype == bool:
        return [("false", "true")[flag] for flag in column.tolist()]
    if not np.isfinite(column).all():
        return list(map(repr, column.tolist()))
    # Five times as fast as calling repr for each number, with the same digits.
    return msgspec.json.encode(column.tolist()).decode()[1:-1].split(",")
