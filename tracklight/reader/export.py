"""Output files that appear when they are complete, and the format that their name implies."""

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
from tracklight.util.files import make_temporary_path, open_atomic
from tracklight.util.json_number import to_json_numbers

__all__ = ["SERIES_WRITERS", "export_scalars", "open_output"]

#: By suffix of the output file. The values are what ``--format`` takes.
_FORMATS_BY_SUFFIX = {
    ".csv": "csv",
    ".json": "json",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".pq": "parquet",
}

FORMAT_NAMES = tuple(dict.fromkeys(_FORMATS_BY_SUFFIX.values()))


def resolve_format(path: str, format_name: str | None) -> str:
    """Return the format that was given, or the one that the suffix of the file implies."""
    if format_name:
        return format_name
    found = _FORMATS_BY_SUFFIX.get(Path(path).suffix.lower())
    if found is None:
        suffixes = ", ".join(_FORMATS_BY_SUFFIX)
        raise UsageError(
            f'the format of "{path}" is not clear; use a suffix ({suffixes}) or --format'
        )
    return found


@contextmanager
def open_output(path: str) -> Iterator[BinaryIO]:
    """Open a file that appears under its name when it is complete; ``-`` is standard output."""
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
        # An error about another file, such as one of the log, is not ours to explain.
        if error.errno is None or error.filename not in (None, str(target)):
            raise
        raise TracklightError(f'cannot write "{path}": {error.strerror}') from error


@contextmanager
def open_output_folder(path: str) -> Iterator[Path]:
    """Make a folder that appears under its name when it is complete."""
    target = Path(os.path.realpath(path))
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise UsageError(f'"{path}" exists already; give a directory that is new or empty')
    part = make_temporary_path(target)
    part.mkdir()
    try:
        yield part
        if target.exists():
            target.rmdir()
        part.rename(target)
    finally:
        shutil.rmtree(part, ignore_errors=True)


# Scalars as CSV, JSON or Parquet, series by series, so that a log may have any size.

#: What is turned into text, or into a row group, at a time.
_BATCH_ROWS = 1 << 17

_COLUMNS = ("step", "wall_time", "value", "overwritten")


class SeriesColumns(Protocol):
    """One series, or what was made of it: an attribute for each column that is written."""

    @property
    def run(self) -> str: ...

    @property
    def tag(self) -> str: ...

    def __len__(self) -> int: ...


class SeriesWriter(Protocol):
    """Writes series in one format; after the last one it is closed."""

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
    """Write every series; ``tell`` hears of each how many points are done with it.

    Overwritten points are left out, or with ``overwritten`` marked by a column of that name.
    """
    if format_name not in SERIES_WRITERS:
        raise UsageError(f'"{format_name}" is none of the formats {", ".join(SERIES_WRITERS)}')
    writer = SERIES_WRITERS[format_name](file, _COLUMNS if overwritten else _COLUMNS[:-1])
    for one in series:
        writer.write(one if overwritten else one.without_overwritten())
        on_progress(len(one))
    writer.close()


class _CsvWriter:
    """A line for each point. Numbers are written so that they read back as the same ones."""

    def __init__(self, file: BinaryIO, columns: tuple[str, ...]) -> None:
        self._file = file
        self._columns = columns
        file.write((",".join(("run", "tag", *columns)) + "\n").encode())

    def write(self, series: SeriesColumns) -> None:
        names = _quote(series.run, series.tag)
        for rows in _iter_rows(len(series)):
            cells = [_make_words(getattr(series, name)[rows]) for name in self._columns]
            lines = map(",".join, zip(repeat(names), *cells, strict=False))
            self._file.write(("\n".join(lines) + "\n").encode())

    def close(self) -> None:
        """The last line is written already."""


class _JsonWriter:
    """An array with an object for each series, in which each column is an array."""

    def __init__(self, file: BinaryIO, columns: tuple[str, ...]) -> None:
        self._file = file
        self._columns = columns
        self._before = b"[\n"

    def write(self, series: SeriesColumns) -> None:
        names = msgspec.json.encode({"run": series.run, "tag": series.tag})
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
    """An object for each point, on a line of its own."""

    def __init__(self, file: BinaryIO, columns: tuple[str, ...]) -> None:
        self._file = file
        self._columns = columns

    def write(self, series: SeriesColumns) -> None:
        names = {"run": series.run, "tag": series.tag}
        encoder = msgspec.json.Encoder()
        for rows in _iter_rows(len(series)):
            columns = [to_json_numbers(getattr(series, name)[rows]) for name in self._columns]
            points = zip(*columns, strict=True)
            lines = [names | dict(zip(self._columns, point, strict=True)) for point in points]
            self._file.write(encoder.encode_lines(lines))

    def close(self) -> None:
        """The last line is written already."""


class _ParquetWriter:
    """A row group for each batch of points, in which run and tag are dictionary-encoded."""

    def __init__(self, file: BinaryIO, columns: tuple[str, ...]) -> None:
        pq = import_optional("pyarrow.parquet", "export to Parquet", "parquet")
        self._columns = columns
        self._pending: list[tuple[str, str, list[NDArray[Any]]]] = []
        self._rows = 0
        pa = self._pa = importlib.import_module("pyarrow")
        names = [(name, pa.dictionary(pa.int32(), pa.string())) for name in ("run", "tag")]
        numbers = [(column, pa.from_numpy_dtype(_kind_of(column))) for column in columns]
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
        table = {"run": self._repeat(runs, lengths), "tag": self._repeat(tags, lengths)}
        for name, column in zip(self._columns, zip(*parts, strict=True), strict=True):
            table[name] = np.concatenate(column).astype(_kind_of(name), copy=False)
        return self._pa.table(table)

    def _repeat(self, names: Sequence[str], lengths: Sequence[int]) -> Any:
        """Each name once, and for each row which of them it has."""
        known = {name: at for at, name in enumerate(dict.fromkeys(names))}
        codes = np.repeat(np.array([known[name] for name in names], np.int32), lengths)
        return self._pa.DictionaryArray.from_arrays(codes, self._pa.array(list(known)))


def _kind_of(column: str) -> type[np.generic]:
    """All values are floating point: in one log a tag may be integers here and not there."""
    return {"step": np.int64, "overwritten": np.bool_}.get(column, np.float64)


SERIES_WRITERS: dict[str, Callable[[BinaryIO, tuple[str, ...]], SeriesWriter]] = {
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


def _make_words(column: NDArray[Any]) -> list[str]:
    if column.dtype == bool:
        return [("false", "true")[mark] for mark in column.tolist()]
    if not np.isfinite(column).all():
        return list(map(repr, column.tolist()))
    # Five times as fast as one repr after the other, and as exact.
    return msgspec.json.encode(column.tolist()).decode()[1:-1].split(",")


# Writing what a log holds to files of other formats.
#
# `scalars` writes points column by column, so that a log of any size can be exported. `tables`
# writes histograms and text, and any other table, row by row. `media` writes images and audio as
# files with an index table. `output` has what all of them share: the atomic output file, and the
# choice of the format.
