"""Export the data of a log: tables as CSV, JSON, JSON Lines and Parquet, and media as files.

Scalars are written series by series and column by column, and all other tables row by row, so that
logs of any size can be exported. Images and audio are written as they were logged, to a folder or a
zip archive, with a table that lists them. Values that cannot be decoded are reported and left out.
Output files are written to a temporary file and appear under their name when they are complete.
"""

from __future__ import annotations

import csv
import importlib
import io
import os
import shutil
import stat
import sys
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from itertools import repeat
from pathlib import Path
from typing import Any, BinaryIO, Literal, NamedTuple, Protocol

import msgspec
import numpy as np
from numpy.typing import NDArray

from tracklight.errors import TracklightError, UsageError, import_optional
from tracklight.formats.media import sniff_media_type
from tracklight.formats.values import Audio, Histogram, Images
from tracklight.reader.tables import Values
from tracklight.types import Series
from tracklight.util.files import (
    make_file_name,
    make_temporary_path,
    make_unique_name,
    make_zip_time,
    open_atomic,
    to_json_number,
    to_json_numbers,
)
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
    for item in series:
        writer.write(item if overwritten else item.without_overwritten())
        on_progress(len(item))
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


# ---- histograms, text, images and audio

#: Rows of one Parquet row group.
_GROUP_ROWS = 1 << 16

ColumnType = Literal["string", "int", "float", "bool", "floats"]

#: Called with a message for each value that cannot be read.
ReportError = Callable[[str], None]


class ExportColumn(NamedTuple):
    """A column of a table; the type ``floats`` holds an array in each row."""

    name: str
    type: ColumnType


class TableWriter(Protocol):
    """Writes rows in one format; call `close` after the last one."""

    def write(self, row: Sequence[Any]) -> None: ...

    def close(self) -> None: ...


_KEYS = (
    ExportColumn("run", "string"),
    ExportColumn("tag", "string"),
    ExportColumn("step", "int"),
    ExportColumn("wall_time", "float"),
)

_OVERWRITTEN = ExportColumn("overwritten", "bool")


def create_table_writer(
    file: BinaryIO, format_name: str, columns: Sequence[ExportColumn]
) -> TableWriter:
    return _WRITERS[format_name](file, columns)


def list_key_columns(overwritten: bool) -> tuple[ExportColumn, ...]:
    """Return the columns that all tables have: run, tag, step and wall time."""
    return (*_KEYS, _OVERWRITTEN) if overwritten else _KEYS


def export_text(
    values: Iterable[Values[Any]],
    file: BinaryIO,
    format_name: str,
    report: ReportError,
    *,
    overwritten: bool = False,
) -> None:
    """Write one row per string; ``index`` is the position in the logged array of strings."""
    columns = (
        *list_key_columns(overwritten),
        ExportColumn("index", "int"),
        ExportColumn("text", "string"),
    )
    table = create_table_writer(file, format_name, columns)
    for series in values:
        for keys, array in iter_values(series, report, overwritten):
            for index, text in enumerate(array.ravel().tolist()):
                table.write([*keys, index, text])
    table.close()


def export_histograms(
    values: Iterable[Values[Histogram]],
    file: BinaryIO,
    format_name: str,
    report: ReportError,
    *,
    overwritten: bool = False,
) -> None:
    """Write one row per bucket, or in JSON one object per histogram with arrays."""
    is_nested = format_name in ("json", "jsonl")
    kind: ColumnType = "floats" if is_nested else "float"
    buckets = [ExportColumn(name, kind) for name in ("left", "right", "count")]
    table = create_table_writer(file, format_name, (*list_key_columns(overwritten), *buckets))
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
    series: Values[Any], report: ReportError, overwritten: bool
) -> Iterator[tuple[list[Any], Any]]:
    """Yield the key cells (see `list_key_columns`) and the value of each row of a tag."""
    selected = series if overwritten else series.without_overwritten()
    for index in range(len(selected)):
        keys = [series.run, series.tag, int(selected.step[index]), float(selected.wall_time[index])]
        if overwritten:
            keys.append(bool(selected.overwritten[index]))
        try:
            value = selected[index]
        except TracklightError as error:
            report(str(error))
            continue
        yield keys, value


class _CsvTable:
    """Numbers round-trip exactly."""

    def __init__(self, file: BinaryIO, columns: Sequence[ExportColumn]) -> None:
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


class _JsonLinesTable:
    """One object per row and line. Empty cells are omitted."""

    _start = b""
    _between = b"\n"
    _end = b"\n"
    _empty = b""

    def __init__(self, file: BinaryIO, columns: Sequence[ExportColumn]) -> None:
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


class _JsonTable(_JsonLinesTable):
    """The same objects in one array."""

    _start = b"[\n"
    _between = b",\n"
    _end = b"\n]\n"
    _empty = b"[]\n"


class _ParquetTable:
    def __init__(self, file: BinaryIO, columns: Sequence[ExportColumn]) -> None:
        parquet = import_optional("pyarrow.parquet", "export to Parquet", "parquet")
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
        if len(self._rows) >= _GROUP_ROWS:
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


_WRITERS: dict[str, Callable[[BinaryIO, Sequence[ExportColumn]], TableWriter]] = {
    "csv": _CsvTable,
    "json": _JsonTable,
    "jsonl": _JsonLinesTable,
    "parquet": _ParquetTable,
}


def _to_csv(cell: Any) -> Any:
    if isinstance(cell, bool):
        return "true" if cell else "false"
    return repr(cell) if isinstance(cell, float) else cell


def _to_json(cell: Any) -> Any:
    if isinstance(cell, np.ndarray):
        return [to_json_number(number) for number in cell.tolist()]
    return to_json_number(cell) if isinstance(cell, float) else cell


#: File suffix for each media type.
_SUFFIXES = {
    "image/png": "png",
    "image/jpeg": "jpg",
    "image/gif": "gif",
    "image/webp": "webp",
    "image/avif": "avif",
    "image/bmp": "bmp",
    "video/mp4": "mp4",
    "video/webm": "webm",
    "audio/wav": "wav",
    "audio/mpeg": "mp3",
    "audio/aac": "aac",
    "audio/flac": "flac",
    "audio/ogg": "ogg",
    "audio/mp4": "m4a",
}


class _MediaFile(NamedTuple):
    """One file of a value, and its cells in the index table."""

    data: bytes
    cells: list[Any]


#: Writes a file, given its path in the output, wall time and contents.
_Write = Callable[[str, float, bytes], None]


def export_images(
    values: Iterable[Values[Images]],
    out: str,
    index_format: str,
    report: ReportError,
    *,
    overwritten: bool = False,
) -> int:
    """Write every image as it was logged, and an index table.

    Args:
        values: The images of each tag.
        out: A new or empty folder, or a file that ends in ``.zip``.
        index_format: Format of the index table, see `resolve_format`.
        report: Called for each value that cannot be read.
        overwritten: Whether to include overwritten values, marked in the index.

    Returns:
        The number of images.
    """
    columns = [ExportColumn("width", "int"), ExportColumn("height", "int")]

    def split(value: Images) -> Iterator[_MediaFile]:
        for data in value.encoded:
            yield _MediaFile(
                data, list(_read_size(data) or (value.width or None, value.height or None))
            )

    return _export_media(values, out, index_format, report, columns, split, overwritten)


def export_audio(
    values: Iterable[Values[Audio]],
    out: str,
    index_format: str,
    report: ReportError,
    *,
    overwritten: bool = False,
) -> int:
    """Write every audio clip as it was logged; see `export_images`."""
    columns = [ExportColumn("sample_rate", "float"), ExportColumn("label", "string")]

    def split(value: Audio) -> Iterator[_MediaFile]:
        for data, label in zip(value.clips, value.labels, strict=True):
            yield _MediaFile(data, [value.sample_rate, label or None])

    return _export_media(values, out, index_format, report, columns, split, overwritten)


def _export_media(
    values: Iterable[Values[Any]],
    out: str,
    index_format: str,
    report: ReportError,
    columns: list[ExportColumn],
    split: Callable[[Any], Iterator[_MediaFile]],
    overwritten: bool,
) -> int:
    index = io.BytesIO()
    file_columns = [ExportColumn("index", "int"), ExportColumn("file", "string"), *columns]
    table = create_table_writer(
        index, index_format, (*list_key_columns(overwritten), *file_columns)
    )
    index_name = f"index.{index_format}"
    taken = {index_name}
    count = 0
    with _open_target(out) as write:
        for series in values:
            folder = f"{make_file_name(series.run)}/{make_file_name(series.tag)}"
            for keys, value in iter_values(series, report, overwritten):
                items = list(split(value))
                step, wall_time = keys[2], keys[3]
                for number, item in enumerate(items):
                    which = f"-{number}" if len(items) > 1 else ""
                    suffix = _detect_suffix(item.data)
                    name = make_unique_name(f"{folder}/step-{step:08d}{which}.{suffix}", taken)
                    write(name, wall_time, item.data)
                    table.write([*keys, number, name, *item.cells])
                    count += 1
        table.close()
        write(index_name, -1.0, index.getvalue())
    return count


def _open_target(out: str) -> AbstractContextManager[_Write]:
    if out == "-":
        raise UsageError(
            "images and audio are exported to a folder or a .zip file, not to standard output"
        )
    suffix = Path(out).suffix.lower()
    if suffix == ".zip":
        return _open_zip(out)
    if suffix in (
        ".csv",
        ".json",
        ".jsonl",
        ".parquet",
        *(f".{item}" for item in _SUFFIXES.values()),
    ):
        raise UsageError(
            f'images and audio are exported to a folder or a .zip file, not to "{out}"'
        )
    return _open_folder(out)


@contextmanager
def _open_zip(out: str) -> Iterator[_Write]:
    with open_output(out) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        # Media files are compressed already.
        yield lambda name, wall_time, data: archive.writestr(
            zipfile.ZipInfo(name, make_zip_time(wall_time)), data
        )


@contextmanager
def _open_folder(out: str) -> Iterator[_Write]:
    with open_output_folder(out) as folder:

        def write(name: str, wall_time: float, data: bytes) -> None:
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)

        yield write


def _read_size(data: bytes) -> tuple[int, int] | None:
    """Read width and height from the image itself, because those in the log may be wrong."""
    from PIL import Image

    try:
        with Image.open(io.BytesIO(data)) as image:
            width, height = image.size
            return width, height
    except Exception:  # Pillow may raise anything on corrupt files
        return None


def _detect_suffix(data: bytes) -> str:
    if data[:1024].lstrip().startswith(b"<") and b"<svg" in data[:4096]:
        return "svg"
    if data.startswith((b"II*\0", b"MM\0*")):
        return "tiff"
    return _SUFFIXES.get(sniff_media_type(data), "bin")
