"""Scalars as CSV, JSON or Parquet, series by series, so that a log may have any size."""

from __future__ import annotations

import csv
import importlib
import io
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import repeat
from typing import Any, BinaryIO, Protocol

import msgspec
import numpy as np
from numpy.typing import NDArray

from tracklight.errors import UsageError, import_extra
from tracklight.formats.json_number import json_numbers
from tracklight.types import Series

#: What is turned into text, or into a row group, at a time.
_ROWS = 1 << 17

_COLUMNS = ("step", "wall_time", "value", "overwritten")


class Rows(Protocol):
    """One series, or what was made of it: an attribute for each column that is written."""

    @property
    def run(self) -> str: ...

    @property
    def tag(self) -> str: ...

    def __len__(self) -> int: ...


class Writer(Protocol):
    """Writes series in one format; after the last one it is closed."""

    def write(self, series: Rows) -> None: ...

    def close(self) -> None: ...


def export_scalars(
    series: Iterable[Series],
    file: BinaryIO,
    format_name: str,
    *,
    overwritten: bool = False,
    tell: Callable[[int], None] = lambda points: None,
) -> None:
    """Write every series; ``tell`` hears of each how many points are done with it.

    Overwritten points are left out, or with ``overwritten`` marked by a column of that name.
    """
    if format_name not in FORMATS:
        raise UsageError(f'"{format_name}" is none of the formats {", ".join(FORMATS)}')
    writer = FORMATS[format_name](file, _COLUMNS if overwritten else _COLUMNS[:-1])
    for one in series:
        writer.write(one if overwritten else one.current())
        tell(len(one))
    writer.close()


class _Csv:
    """A line for each point. Numbers are written so that they read back as the same ones."""

    def __init__(self, file: BinaryIO, columns: tuple[str, ...]) -> None:
        self._file = file
        self._columns = columns
        file.write((",".join(("run", "tag", *columns)) + "\n").encode())

    def write(self, series: Rows) -> None:
        names = _quote(series.run, series.tag)
        for rows in _iter_rows(len(series)):
            cells = [_make_words(getattr(series, name)[rows]) for name in self._columns]
            lines = map(",".join, zip(repeat(names), *cells, strict=False))
            self._file.write(("\n".join(lines) + "\n").encode())

    def close(self) -> None:
        """The last line is written already."""


class _Json:
    """An array with an object for each series, in which each column is an array."""

    def __init__(self, file: BinaryIO, columns: tuple[str, ...]) -> None:
        self._file = file
        self._columns = columns
        self._before = b"[\n"

    def write(self, series: Rows) -> None:
        names = msgspec.json.encode({"run": series.run, "tag": series.tag})
        self._file.write(self._before + names[:-1])
        for name in self._columns:
            self._write_column(name, getattr(series, name))
        self._file.write(b"}")
        self._before = b",\n"

    def _write_column(self, name: str, column: NDArray[Any]) -> None:
        before = f',"{name}":['.encode()
        for rows in _iter_rows(len(column)):
            self._file.write(before + msgspec.json.encode(json_numbers(column[rows]))[1:-1])
            before = b","
        self._file.write(b"]" if before == b"," else before + b"]")

    def close(self) -> None:
        self._file.write(b"[]\n" if self._before == b"[\n" else b"\n]\n")


class _JsonLines:
    """An object for each point, on a line of its own."""

    def __init__(self, file: BinaryIO, columns: tuple[str, ...]) -> None:
        self._file = file
        self._columns = columns

    def write(self, series: Rows) -> None:
        names = {"run": series.run, "tag": series.tag}
        encoder = msgspec.json.Encoder()
        for rows in _iter_rows(len(series)):
            columns = [json_numbers(getattr(series, name)[rows]) for name in self._columns]
            points = zip(*columns, strict=True)
            lines = [names | dict(zip(self._columns, point, strict=True)) for point in points]
            self._file.write(encoder.encode_lines(lines))

    def close(self) -> None:
        """The last line is written already."""


class _Parquet:
    """A row group for each batch of points, in which run and tag are dictionary-encoded."""

    def __init__(self, file: BinaryIO, columns: tuple[str, ...]) -> None:
        pq = import_extra("pyarrow.parquet", "export to Parquet", "parquet")
        self._columns = columns
        self._pending: list[tuple[str, str, list[NDArray[Any]]]] = []
        self._rows = 0
        pa = self._pa = importlib.import_module("pyarrow")
        names = [(name, pa.dictionary(pa.int32(), pa.string())) for name in ("run", "tag")]
        numbers = [(column, pa.from_numpy_dtype(_kind_of(column))) for column in columns]
        self._writer = pq.ParquetWriter(file, pa.schema(names + numbers))

    def write(self, series: Rows) -> None:
        for rows in _iter_rows(len(series)):
            part = [getattr(series, name)[rows] for name in self._columns]
            self._pending.append((series.run, series.tag, part))
            self._rows += len(part[0])
            if self._rows >= _ROWS:
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


FORMATS: dict[str, Callable[[BinaryIO, tuple[str, ...]], Writer]] = {
    "csv": _Csv,
    "json": _Json,
    "jsonl": _JsonLines,
    "parquet": _Parquet,
}


def _iter_rows(length: int) -> Iterator[slice]:
    return (slice(start, start + _ROWS) for start in range(0, length, _ROWS))


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
