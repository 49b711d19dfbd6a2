"""Images and audio as files in a folder or a zip archive, with a table that lists them."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from tracklight.errors import UsageError
from tracklight.export.output import open_output, open_output_folder
from tracklight.export.tables import Column, Report, create_table, iter_values, key_columns
from tracklight.formats.file_names import make_file_name, make_unique, make_zip_time
from tracklight.formats.media_type import sniff
from tracklight.formats.values import Audio, Images
from tracklight.log import Values

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


class _Item(NamedTuple):
    """One file of a value, and its cells in the index."""

    data: bytes
    cells: list[Any]


#: Writes a file by its path in the output.
_Write = Callable[[str, float, bytes], None]


def export_images(
    values: Iterable[Values[Images]],
    out: str,
    index_format: str,
    report: Report,
    *,
    overwritten: bool = False,
) -> int:
    """Write every image as it was logged, and the index; return the number of images.

    ``out`` is a folder, which must be new or empty, or a file that ends in ``.zip``.
    """
    columns = [Column("width", "int"), Column("height", "int")]

    def split(value: Images) -> Iterator[_Item]:
        for data in value.encoded:
            yield _Item(data, list(_read_size(data) or (value.width or None, value.height or None)))

    return _export(values, out, index_format, report, columns, split, overwritten)


def export_audio(
    values: Iterable[Values[Audio]],
    out: str,
    index_format: str,
    report: Report,
    *,
    overwritten: bool = False,
) -> int:
    """Write every clip as it was logged; see `export_images`."""
    columns = [Column("sample_rate", "float"), Column("label", "string")]

    def split(value: Audio) -> Iterator[_Item]:
        for data, label in zip(value.clips, value.labels, strict=True):
            yield _Item(data, [value.sample_rate, label or None])

    return _export(values, out, index_format, report, columns, split, overwritten)


def _export(
    values: Iterable[Values[Any]],
    out: str,
    index_format: str,
    report: Report,
    columns: list[Column],
    split: Callable[[Any], Iterator[_Item]],
    overwritten: bool,
) -> int:
    index = io.BytesIO()
    about = [Column("index", "int"), Column("file", "string"), *columns]
    table = create_table(index, index_format, (*key_columns(overwritten), *about))
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
                    suffix = _find_suffix(item.data)
                    name = make_unique(f"{folder}/step-{step:08d}{which}.{suffix}", taken)
                    write(name, wall_time, item.data)
                    table.write([*keys, number, name, *item.cells])
                    count += 1
        table.close()
        write(index_name, -1.0, index.getvalue())
    return count


def _open_target(out: str) -> AbstractContextManager[_Write]:
    if out == "-":
        raise UsageError("images and audio are written to a folder or a .zip file, not to -")
    suffix = Path(out).suffix.lower()
    if suffix == ".zip":
        return _open_zip(out)
    if suffix in (".csv", ".json", ".jsonl", ".parquet", *(f".{it}" for it in _SUFFIXES.values())):
        raise UsageError(f'images and audio are written to a folder or a .zip file, not to "{out}"')
    return _open_folder(out)


@contextmanager
def _open_zip(out: str) -> Iterator[_Write]:
    with open_output(out) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        # Images are compressed already, so they are stored.
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
    """Return width and height as the image itself has them; what the log says may be wrong."""
    from PIL import Image

    try:
        with Image.open(io.BytesIO(data)) as image:
            width, height = image.size
            return width, height
    except Exception:  # a broken file makes Pillow raise anything
        return None


def _find_suffix(data: bytes) -> str:
    if data[:1024].lstrip().startswith(b"<") and b"<svg" in data[:4096]:
        return "svg"
    if data.startswith((b"II*\0", b"MM\0*")):
        return "tiff"
    return _SUFFIXES.get(sniff(data), "bin")
