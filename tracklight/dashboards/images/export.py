"""Pictures as they were logged, for keeping: one as a file, or many in an archive."""

from __future__ import annotations

import io
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tracklight.analysis.media.static_export import value_path
from tracklight.analysis.media.values import SeriesSteps, StepsRequest, ValueRequest, list_steps
from tracklight.dashboards.images.header import detect_format
from tracklight.dashboards.images.raster import encode_webp
from tracklight.dashboards.images.rendering import ImageRenderer
from tracklight.dashboards.images.schemas import (
    ArchiveRequest,
    ImageInfo,
    ImageRequest,
    ThumbnailRequest,
    ThumbnailSize,
)
from tracklight.errors import FormatError, LogError, TracklightError
from tracklight.plugin import Blob, Context, Stream
from tracklight.util.file_names import make_file_name, make_unique_name, make_zip_time

ReadValue = Callable[[ValueRequest], tuple[bytes, ...]]


def make_file(ask: ImageRequest, step: int, data: bytes, of: int) -> Blob:
    """One picture, whatever it is, to be saved and never to be shown."""
    part = _name_part(step, ask.part, of, data)
    name = f"{make_file_name(ask.run)}-{make_file_name(ask.tag)}-{part}"
    filename = name.replace("/", "-")
    return Blob(data, "application/octet-stream", filename, immutable=ask.mark is not None)


def make_archive(context: Context, ask: ArchiveRequest, read: ReadValue) -> Stream:
    """A zip archive, made while it is sent; what cannot be read is named in a file of its own."""
    listed = list_steps(context, StepsRequest([ask.tag], ask.run or None)).series
    chosen = [(steps, _select_steps(steps, ask)) for steps in listed]
    if not any(len(places) for _, places in chosen):
        raise LogError(f'there are no pictures of "{ask.tag}" that were asked for')
    name = make_file_name(ask.tag).replace("/", "-")
    return Stream(_iter_zip(_iter_files(chosen, read)), "application/zip", f"{name}.zip")


def _select_steps(steps: SeriesSteps, ask: ArchiveRequest) -> list[int]:
    first = -np.inf if ask.first is None else ask.first
    last = np.inf if ask.last is None else ask.last
    inside = (steps.step >= first) & (steps.step <= last)
    return list(map(int, np.flatnonzero(inside)))


def _iter_files(
    chosen: list[tuple[SeriesSteps, list[int]]], read: ReadValue
) -> Iterator[tuple[str, float, bytes]]:
    """Name, time and contents of each."""
    unread = []
    for steps, places in chosen:
        folder = f"{make_file_name(steps.run)}/{make_file_name(steps.tag)}"
        for place in places:
            step, wall_time = int(steps.step[place]), float(steps.wall_time[place])
            ask = ValueRequest(
                steps.run, steps.tag, int(steps.index[place]), int(steps.mark[place])
            )
            try:
                parts = read(ask)
            except TracklightError as error:
                unread.append(f"{folder} step {step}: {error}\n")
                continue
            for part, data in enumerate(parts):
                yield f"{folder}/{_name_part(step, part, len(parts), data)}", wall_time, data
    if unread:
        yield "not-read.txt", time.time(), "".join(unread).encode()


def _iter_zip(files: Iterator[tuple[str, float, bytes]]) -> Iterator[bytes]:
    """Pictures are compressed by themselves, so they are stored as they are."""
    # Only who downloads has to load this.
    import zipfile

    sink = _Sink()
    taken: set[str] = set()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_STORED) as archive:
        for name, wall_time, data in files:
            info = zipfile.ZipInfo(make_unique_name(name, taken), make_zip_time(wall_time))
            archive.writestr(info, data)
            yield sink.take()
    yield sink.take()


class _Sink(io.RawIOBase):
    """Takes what is written until it is taken away; it cannot be sought in, so that the archive
    is written from its begin to its end."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._parts.append(bytes(data))
        return len(self._parts[-1])

    def take(self) -> bytes:
        taken, self._parts = b"".join(self._parts), []
        return taken


def _name_part(step: int, part: int, of: int, data: bytes) -> str:
    which = f"-{part}" if of > 1 else ""
    return f"step-{step:08d}{which}.{detect_format(data).suffix}"


# What a copy of a board carries of one value.

_SIZE: ThumbnailSize = 512

_MAX_PARTS = 16

_LARGEST_ANIMATION_BYTES = 1 << 20

_HEAVY_BYTES = 64 << 10


def export_value(pictures: ImageRenderer, ask: ValueRequest) -> Iterator[tuple[str, object]]:
    """Thumbnails of its pictures, and animations that are not too large."""
    about = pictures.describe(ask)
    yield value_path("about", ask), about
    for part in about.parts[:_MAX_PARTS]:
        if part.problem is None:
            yield from _export_image(pictures, ask, part)


def _export_image(
    pictures: ImageRenderer, ask: ValueRequest, part: ImageInfo
) -> Iterator[tuple[str, object]]:
    name = ask.run, ask.tag, ask.index, ask.mark, part.part
    if not part.video:
        try:
            thumbnail = pictures.render_thumbnail(ThumbnailRequest(*name, size=_SIZE))
        except FormatError:  # the others may be fine
            return
        is_exact = max(part.width, part.height) <= _SIZE
        path = value_path("thumbnail", ask, part=part.part, size=_SIZE)
        yield path, thumbnail if is_exact else _compress(thumbnail)
    moves = part.video or part.frames > 1
    if moves and part.bytes <= _LARGEST_ANIMATION_BYTES:
        yield (
            value_path("picture", ask, part=part.part),
            pictures.render_original(ImageRequest(*name)),
        )


def _compress(thumbnail: Blob) -> Blob:
    """Of a picture that was made smaller no pixel is as it was: what is heavy may lose a little."""
    if len(thumbnail.content) <= _HEAVY_BYTES:
        return thumbnail
    return Blob(*encode_webp(thumbnail.content), immutable=thumbnail.immutable)
