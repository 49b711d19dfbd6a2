"""Export histograms and text as tables, and images and audio as files.

Tables are written row by row in any of the formats of `export`. Images and audio are written as
they were logged, to a folder or a zip archive, with a table that lists them. Values that cannot be
decoded are reported and left out.
"""

from __future__ import annotations

import csv
import importlib
import io
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Literal, NamedTuple, Protocol

import msgspec
import numpy as np

from tracklight.errors import TracklightError, UsageError, import_optional
from tracklight.formats.media import sniff_media_type
from tracklight.formats.values import Audio, Histogram, Images
from tracklight.reader.export import open_output, open_output_folder
from tracklight.reader.tables import Values
from tracklight.util.files import make_file_name, make_unique_name, make_zip_time, to_json_number

#: Rows of one Parquet row group.
_BATCH_ROWS = 1 << 16

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
    if suffix in (".csv", ".json", ".jsonl", ".parquet", *(f".{it}" for it in _SUFFIXES.values())):
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
