"""Downloads of logged images, as files or zip archives, and the static export."""

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

_STATIC_SIZE: ThumbnailSize = 512
_MAX_STATIC_PARTS = 16
_MAX_STATIC_ANIMATION_BYTES = 1 << 20
#: Thumbnails above this size are recompressed.
_MAX_STATIC_LOSSLESS_BYTES = 64 << 10

#: Returns the files of a value.
ReadValue = Callable[[ValueRequest], tuple[bytes, ...]]


def make_file(request: ImageRequest, step: int, data: bytes, image_count: int) -> Blob:
    """Return a logged file as a download that browsers never display."""
    part = _make_part_name(step, request.part, image_count, data)
    name = f"{make_file_name(request.run)}-{make_file_name(request.tag)}-{part}"
    filename = name.replace("/", "-")
    return Blob(data, "application/octet-stream", filename, immutable=request.mark is not None)


def make_archive(context: Context, request: ArchiveRequest, read: ReadValue) -> Stream:
    """Stream a zip archive; values that cannot be read are listed in ``not-read.txt``."""
    series = list_steps(context, StepsRequest([request.tag], request.run or None)).series
    selection = [(steps, _select_steps(steps, request)) for steps in series]
    if not any(rows for _, rows in selection):
        raise LogError(f'no images of "{request.tag}" in the requested runs and steps')
    name = make_file_name(request.tag).replace("/", "-")
    return Stream(_iter_zip(_iter_files(selection, read)), "application/zip", f"{name}.zip")


def _select_steps(steps: SeriesSteps, request: ArchiveRequest) -> list[int]:
    first = -np.inf if request.first is None else request.first
    last = np.inf if request.last is None else request.last
    in_range = (steps.step >= first) & (steps.step <= last)
    return list(map(int, np.flatnonzero(in_range)))


def _iter_files(
    selection: list[tuple[SeriesSteps, list[int]]], read: ReadValue
) -> Iterator[tuple[str, float, bytes]]:
    """Yield name, wall time and contents of each file."""
    errors = []
    for steps, rows in selection:
        folder = f"{make_file_name(steps.run)}/{make_file_name(steps.tag)}"
        for row in rows:
            step, wall_time = int(steps.step[row]), float(steps.wall_time[row])
            request = ValueRequest(
                steps.run, steps.tag, int(steps.index[row]), int(steps.mark[row])
            )
            try:
                parts = read(request)
            except TracklightError as error:
                errors.append(f"{folder} step {step}: {error}\n")
                continue
            for part, data in enumerate(parts):
                yield f"{folder}/{_make_part_name(step, part, len(parts), data)}", wall_time, data
    if errors:
        yield "not-read.txt", time.time(), "".join(errors).encode()


def _iter_zip(files: Iterator[tuple[str, float, bytes]]) -> Iterator[bytes]:
    """Encode files as a zip archive. They are stored, because images are compressed already."""
    import zipfile  # only needed for downloads

    sink = _Sink()
    taken: set[str] = set()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_STORED) as archive:
        for name, wall_time, data in files:
            info = zipfile.ZipInfo(make_unique_name(name, taken), make_zip_time(wall_time))
            archive.writestr(info, data)
            yield sink.take()
    yield sink.take()


class _Sink(io.RawIOBase):
    """Buffers written bytes until `take`. It is not seekable, so that the archive is streamed."""

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


def _make_part_name(step: int, part: int, image_count: int, data: bytes) -> str:
    number = f"-{part}" if image_count > 1 else ""
    return f"step-{step:08d}{number}.{detect_format(data).suffix}"


def export_value(renderer: ImageRenderer, request: ValueRequest) -> Iterator[tuple[str, object]]:
    """Yield the responses that a static export has for a value: thumbnails and small animations."""
    info = renderer.describe(request)
    yield value_path("about", request), info
    for part in info.parts[:_MAX_STATIC_PARTS]:
        if part.problem is None:
            yield from _export_image(renderer, request, part)


def _export_image(
    renderer: ImageRenderer, request: ValueRequest, part: ImageInfo
) -> Iterator[tuple[str, object]]:
    key = request.run, request.tag, request.index, request.mark, part.part
    if not part.video:
        try:
            thumbnail = renderer.render_thumbnail(ThumbnailRequest(*key, size=_STATIC_SIZE))
        except FormatError:  # other images of the value may be readable
            return
        is_exact = max(part.width, part.height) <= _STATIC_SIZE
        path = value_path("thumbnail", request, part=part.part, size=_STATIC_SIZE)
        yield path, thumbnail if is_exact else _compress(thumbnail)
    is_animated = part.video or part.frames > 1
    if is_animated and part.bytes <= _MAX_STATIC_ANIMATION_BYTES:
        yield (
            value_path("picture", request, part=part.part),
            renderer.render_original(ImageRequest(*key)),
        )


def _compress(thumbnail: Blob) -> Blob:
    """Compress large thumbnails lossily; they were scaled, so no pixel is exact anyway."""
    if len(thumbnail.content) <= _MAX_STATIC_LOSSLESS_BYTES:
        return thumbnail
    return Blob(*encode_webp(thumbnail.content), immutable=thumbnail.immutable)
