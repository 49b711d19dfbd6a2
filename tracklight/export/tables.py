"""Tables that are written row by row: histograms, text, hyperparameters, indexes of files."""

from __future__ import annotations

import csv
import importlib
import io
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, BinaryIO, Literal, NamedTuple, Protocol

import msgspec
import numpy as np

from tracklight.errors import TracklightError, import_extra
from tracklight.formats.json_number import json_number
from tracklight.formats.values import Histogram
from tracklight.log import Values

#: Rows of one Parquet row group.
_BATCH_ROWS = 1 << 16

ColumnType = Literal["string", "int", "float", "bool", "floats"]

#: Receives one sentence for each value that cannot be read.
Report = Callable[[str], None]


class Column(NamedTuple):
    """A column of a table; ``floats`` holds an array in each row."""

    name: str
    type: ColumnType


class TableWriter(Protocol):
    """Writes rows in one format; call `close` after the last one."""

    def write(self, row: Sequence[Any]) -> None: ...

    def close(self) -> None: ...


_KEYS = (
    Column("run", "string"),
    Column("tag", "string"),
    Column("step", "int"),
    Column("wall_time", "float"),
)
_OVERWRITTEN = Column("overwritten", "bool")


def create_table(file: BinaryIO, format_name: str, columns: Sequence[Column]) -> TableWriter:
    return _WRITERS[format_name](file, columns)


def key_columns(overwritten: bool) -> tuple[Column, ...]:
    """The columns that every value has: where it stands in the log and when it was logged."""
    return (*_KEYS, _OVERWRITTEN) if overwritten else _KEYS


def export_text(
    values: Iterable[Values[Any]],
    file: BinaryIO,
    format_name: str,
    report: Report,
    *,
    overwritten: bool = False,
) -> None:
    """Write one row for each string. ``index`` counts the strings of one value."""
    columns = (*key_columns(overwritten), Column("index", "int"), Column("text", "string"))
    table = create_table(file, format_name, columns)
    for series in values:
        for keys, array in iter_values(series, report, overwritten):
            for index, text in enumerate(array.ravel().tolist()):
                table.write([*keys, index, text])
    table.close()


def export_histograms(
    values: Iterable[Values[Histogram]],
    file: BinaryIO,
    format_name: str,
    report: Report,
    *,
    overwritten: bool = False,
) -> None:
    """Write one row for each bucket; in JSON one object for each histogram, with arrays."""
    is_nested = format_name in ("json", "jsonl")
    kind: ColumnType = "floats" if is_nested else "float"
    buckets = [Column(name, kind) for name in ("left", "right", "count")]
    table = create_table(file, format_name, (*key_columns(overwritten), *buckets))
    for series in values:
        for keys, histogram in iter_values(series, report, overwritten):
            arrays = [histogram.edges_left, histogram.edges_right, histogram.counts]
            if is_nested:
                table.write([*keys, *arrays])
                continue
            for bucket in zip(*(array.tolist() for array in arrays), strict=True):
                table.write([*keys, *bucket])
    table.close()


def iter_values(
    series: Values[Any], report: Report, overwritten: bool
) -> Iterator[tuple[list[Any], Any]]:
    """Read the values of one tag, each after the cells of `key_columns`."""
    chosen = series if overwritten else series.current()
    for index in range(len(chosen)):
        keys = [series.run, series.tag, int(chosen.step[index]), float(chosen.wall_time[index])]
        if overwritten:
            keys.append(bool(chosen.overwritten[index]))
        try:
            value = chosen[index]
        except TracklightError as error:
            report(str(error))
            continue
        yield keys, value


class _Csv:
    """Numbers are written so that they read back as the same ones."""

    def __init__(self, file: BinaryIO, columns: Sequence[Column]) -> None:
        self._file = file
        self._text = io.StringIO()
        self._writer = csv.writer(self._text, lineterminator="\n")
        self._write_row([column.name for column in columns])

    def write(self, row: Sequence[Any]) -> None:
        self._write_row([_to_csv(cell) for cell in row])

    def _write_row(self, row: Sequence[Any]) -> None:
        self._writer.writerow(row)
        self._file.write(self._text.getvalue().encode("utf-8", "surrogateescape"))
        self._text.seek(0)
        self._text.truncate()

    def close(self) -> None:
        pass


class _JsonLines:
    """An object for each row, on a line of its own. Empty cells are left out."""

    _start = b""
    _between = b"\n"
    _end = b"\n"
    _empty = b""

    def __init__(self, file: BinaryIO, columns: Sequence[Column]) -> None:
        self._file = file
        self._names = [column.name for column in columns]
        self._is_empty = True

    def write(self, row: Sequence[Any]) -> None:
        cells = zip(self._names, row, strict=True)
        data = {name: _to_json(cell) for name, cell in cells if cell is not None}
        before = self._start if self._is_empty else self._between
        self._file.write(before + msgspec.json.encode(data))
        self._is_empty = False

    def close(self) -> None:
        self._file.write(self._empty if self._is_empty else self._end)


class _Json(_JsonLines):
    """The same in one array."""

    _start = b"[\n"
    _between = b",\n"
    _end = b"\n]\n"
    _empty = b"[]\n"


class _Parquet:
    def __init__(self, file: BinaryIO, columns: Sequence[Column]) -> None:
        parquet = import_extra("pyarrow.parquet", "export to Parquet", "parquet")
        pa = self._pa = importlib.import_module("pyarrow")
        types = {
            "string": pa.string(),
            "int": pa.int64(),
            "float": pa.float64(),
            "bool": pa.bool_(),
            "floats": pa.list_(pa.float64()),
        }
        self._schema = pa.schema([(column.name, types[column.type]) for column in columns])
        self._writer = parquet.ParquetWriter(file, self._schema)
        self._rows: list[Sequence[Any]] = []

    def write(self, row: Sequence[Any]) -> None:
        self._rows.append(row)
        if len(self._rows) >= _BATCH_ROWS:
            self._flush()

    def close(self) -> None:
        self._flush()
        self._writer.close()

    def _flush(self) -> None:
        if self._rows:
            cells = zip(*self._rows, strict=True)
            arrays = [
                self._pa.array(column, type=field.type)
                for column, field in zip(cells, self._schema, strict=True)
            ]
            self._writer.write_table(self._pa.Table.from_arrays(arrays, schema=self._schema))
        self._rows = []


_WRITERS: dict[str, Callable[[BinaryIO, Sequence[Column]], TableWriter]] = {
    "csv": _Csv,
    "json": _Json,
    "jsonl": _JsonLines,
    "parquet": _Parquet,
}


def _to_csv(cell: Any) -> Any:
    if isinstance(cell, bool):
        return "true" if cell else "false"
    return repr(cell) if isinstance(cell, float) else cell


def _to_json(cell: Any) -> Any:
    if isinstance(cell, np.ndarray):
        return [json_number(number) for number in cell.tolist()]
    return json_number(cell) if isinstance(cell, float) else cell
