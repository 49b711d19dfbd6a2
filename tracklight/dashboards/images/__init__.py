"""The Images dashboard: the images and videos of every step.

`header` detects the format of a logged file and reads its header, and `raster` decodes and encodes
pixels. This module builds responses, downloads and the static export from both. Start reading at
`Images`, the last class.
"""

from __future__ import annotations

import io
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Annotated, Any, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from tracklight.analysis.media import (
    SeriesSteps,
    StepsRequest,
    StepsResponse,
    ValueReader,
    ValueRequest,
    export_values,
    has_fingerprint,
    list_steps,
    value_path,
)
from tracklight.dashboards.images.header import ImageHeader, detect_format, read_header
from tracklight.dashboards.images.raster import (
    DecodedImage,
    LoggedImage,
    RasterCache,
    compute_tile_box,
    count_decoded_pixels,
    decode_image,
    encode_image,
    encode_webp,
    shrink_to_fit,
)
from tracklight.errors import FormatError, LogError, TracklightError
from tracklight.plugin import Blob, Context, Dashboard, Problem, Route, Stream
from tracklight.types import Float32, Int32
from tracklight.util.files import make_file_name, make_unique_name, make_zip_time
from tracklight.util.memory import LruCache

# ---- requests and responses

_NonNegative = Annotated[int, msgspec.Meta(ge=0)]

#: Side of the region whose pixel values can be requested.
_PixelCount = Annotated[int, msgspec.Meta(ge=1, le=64)]

ThumbnailSize = Literal[64, 128, 256, 512, 1024, 2048]


class ImageRequest(ValueRequest):
    """One image of a value, which may hold several."""

    part: _NonNegative = 0


class ThumbnailRequest(ImageRequest):
    """An image scaled to fit into a square of ``size`` pixels."""

    size: ThumbnailSize = 256


class TileRequest(ImageRequest):
    """A tile of an image that was halved ``level`` times; ``x`` and ``y`` count tiles."""

    level: _NonNegative = 0
    x: _NonNegative = 0
    y: _NonNegative = 0


class PixelsRequest(ImageRequest):
    """A rectangle of pixels."""

    x: _NonNegative = 0
    y: _NonNegative = 0
    width: _PixelCount = 1
    height: _PixelCount = 1


class ArchiveRequest(msgspec.Struct):
    """The images of a tag between two steps; without runs, of all runs that have the tag."""

    tag: str
    runs: list[str] = []
    first_step: int | None = None
    last_step: int | None = None


class ImageInfo(msgspec.Struct):
    """One image of a value; ``problem`` says why it cannot be shown.

    ``width`` and ``height`` are those of the displayed image, 0 if unknown. ``media_type`` is the
    type that the ``picture`` route returns. ``frames`` and ``duration_ms`` describe one loop of an
    animation. A ``tiled`` image is too large for a browser to decode at once.
    """

    part: int
    format: str
    bytes: int
    media_type: str = ""
    width: int = 0
    height: int = 0
    mode: str = ""
    channels: int = 0
    bits: int = 0
    frames: int = 1
    duration_ms: int = 0
    video: bool = False
    tiled: bool = False
    problem: Problem | None = None


class ImageInfoResponse(msgspec.Struct):
    """The first 1,000 images of a value; ``total`` is the number of all of them."""

    total: int
    parts: list[ImageInfo]


class PixelsResponse(msgspec.Struct):
    """Pixel values as stored in the file, row by row with interleaved channels.

    The rectangle is the requested one, clipped to the image.
    """

    x: int
    y: int
    width: int
    height: int
    channels: list[str]
    bits: int
    values: NDArray[np.uint8] | Int32 | Float32


# ---- rendering

_VALUES_BYTES = 16 << 20
_THUMBNAILS_BYTES = 16 << 20
#: Images of one value that are described; each takes a while.
_MAX_DESCRIBED_IMAGES = 1000
#: Lossy formats.
_PHOTOS = frozenset({"JPEG", "WebP", "AVIF"})
#: Larger images are shown in tiles, because browsers decode an image as a whole.
_MAX_UNTILED_PIXELS = 16_000_000
_MAX_UNTILED_SIDE_PX = 4096

_CacheKey = tuple[str | int, ...] | None


class ImageRenderer:
    """Renders the images of a log. Thread-safe.

    Memory is bounded by the sizes of the caches, here and in `RasterCache`.
    """

    def __init__(self, context: Context) -> None:
        self._describe_error = context.describe_error
        self._reader = ValueReader(context, _VALUES_BYTES)
        self._rasters = RasterCache()
        self._thumbnails: LruCache[_CacheKey, Blob] = LruCache(max_bytes=_THUMBNAILS_BYTES)

    def read_images(self, request: ValueRequest) -> tuple[bytes, ...]:
        """Return the files of a value.

        Raises:
            FormatError: The value holds no images.
        """
        from tracklight.formats.values import Images

        value = self._reader.read(request)
        if not isinstance(value, Images):
            raise FormatError("images.no_images", '"{tag}" holds no images', tag=request.tag)
        return value.encoded

    def read_image(self, request: ImageRequest) -> bytes:
        parts = self.read_images(request)
        if request.part >= len(parts):
            raise LogError(
                "images.no_image",
                "there is no image {part}: the value has {parts} images",
                part=request.part,
                parts=len(parts),
            )
        return parts[request.part]

    def describe(self, request: ValueRequest) -> ImageInfoResponse:
        files = self.read_images(request)
        described = enumerate(files[:_MAX_DESCRIBED_IMAGES])
        parts = [describe_image(part, data, self._describe_error) for part, data in described]
        return ImageInfoResponse(len(files), parts)

    def render_original(self, request: ImageRequest) -> Blob:
        file = self._open(request)
        media_type = file.header.format.media_type
        if media_type:
            return _blob(request, file.data, media_type)
        return _blob(
            request, *encode_image(self._decode(request).raster.to_display(), as_photo=False)
        )

    def render_thumbnail(self, request: ThumbnailRequest) -> Blob:
        key = _make_cache_key(request, request.size)
        cached = self._thumbnails.find(key)
        if cached is not None:
            return cached
        file = self._open_still(request)
        header = file.header
        if (
            header.frames == 1
            and header.format.media_type
            and max(header.display_size) <= request.size
        ):
            return _blob(request, file.data, header.format.media_type)
        thumbnail = self._make_thumbnail(request, file)
        if key is not None:
            self._thumbnails.put(key, thumbnail, len(thumbnail.content))
        return thumbnail

    def render_tile(self, request: TileRequest) -> Blob:
        header, raster = self._decode(request)
        box = compute_tile_box(header.display_size, request.level, request.x, request.y)
        tile = (
            raster.to_display(box)
            if request.level == 0
            else raster.get_level(request.level).crop(box)
        )
        return _blob(request, *encode_image(tile, _is_photo(header)))

    def read_pixels(self, request: PixelsRequest) -> PixelsResponse:
        header, raster = self._decode(request)
        width, height = header.display_size
        if request.x >= width or request.y >= height:
            raise LogError(
                "images.no_pixel",
                "no pixel {x:,}, {y:,} in an image of {width:,} x {height:,}",
                x=request.x,
                y=request.y,
                width=width,
                height=height,
            )
        right, bottom = (
            min(request.x + request.width, width),
            min(request.y + request.height, height),
        )
        values = raster.read_values((request.x, request.y, right, bottom))
        return PixelsResponse(
            x=request.x,
            y=request.y,
            width=right - request.x,
            height=bottom - request.y,
            channels=list(raster.channels),
            bits=8 * values.dtype.itemsize,
            values=_to_column(values),
        )

    def _make_thumbnail(self, request: ThumbnailRequest, file: LoggedImage) -> Blob:
        cached = self._rasters.find(_make_cache_key(request))
        with self._rasters.limit_decoding(count_decoded_pixels(file.header, request.size)):
            raster = cached.raster if cached else decode_image(file.header, file.data, request.size)
            small = shrink_to_fit(raster.to_display(), request.size)
            return _blob(request, *encode_image(small, _is_photo(file.header)))

    def _open(self, request: ImageRequest) -> LoggedImage:
        data = self.read_image(request)
        return LoggedImage(data, read_header(data))

    def _open_still(self, request: ImageRequest) -> LoggedImage:
        file = self._open(request)
        if file.header.format.is_video:
            raise FormatError("images.video", "videos have no thumbnails and no pixel values")
        return file

    def _decode(self, request: ImageRequest) -> DecodedImage:
        key = _make_cache_key(request)
        # Look in the cache first, so that a large image is not read again for each tile.
        return self._rasters.find(key) or self._rasters.get(key, self._open_still(request))


def _make_cache_key(request: ImageRequest, *options: int) -> _CacheKey:
    """Return the cache key; None without a fingerprint, because the file may change."""
    if request.fingerprint is None:
        return None
    return request.run, request.tag, request.index, request.fingerprint, request.part, *options


def _blob(request: ValueRequest, content: bytes, media_type: str) -> Blob:
    return Blob(content, media_type, immutable=request.fingerprint is not None)


def _to_column(values: NDArray[Any]) -> NDArray[Any]:
    """Flatten pixel values; integers wider than 8 bits are sent as int32."""
    column = values.ravel()
    return column.astype(np.int32) if column.dtype.kind in "iu" and column.itemsize > 1 else column


def _is_photo(header: ImageHeader) -> bool:
    """Return whether the format is lossy, so that lossy re-encoding is acceptable."""
    return header.format.name in _PHOTOS


def describe_image(
    part: int, data: bytes, describe_error: Callable[[Exception], Problem]
) -> ImageInfo:
    """Describe the bytes of an image, whether they are valid or not."""
    try:
        header = read_header(data)
    except FormatError as error:
        return ImageInfo(part, detect_format(data).name, len(data), problem=describe_error(error))
    width, height = header.display_size
    return ImageInfo(
        part=part,
        format=header.format.name,
        bytes=len(data),
        media_type=header.format.media_type or "image/png",
        width=width,
        height=height,
        mode=header.mode,
        channels=header.channels,
        bits=header.bits,
        frames=max(header.frames, 1),
        duration_ms=header.duration_ms,
        video=header.format.is_video,
        tiled=_needs_tiles(header),
    )


def _needs_tiles(header: ImageHeader) -> bool:
    """Return whether the image is too large for a browser to decode at once."""
    return (
        header.pixels > _MAX_UNTILED_PIXELS
        or max(header.width, header.height) > _MAX_UNTILED_SIDE_PX
    )


# ---- downloads and static export

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
    return Blob(
        data, "application/octet-stream", filename, immutable=request.fingerprint is not None
    )


def make_archive(context: Context, request: ArchiveRequest, read: ReadValue) -> Stream:
    """Stream a zip archive; values that cannot be read are listed in ``not-read.txt``."""
    series = list_steps(context, StepsRequest([request.tag], request.runs or None)).series
    selection = [(steps, _select_steps(steps, request)) for steps in series]
    if not any(rows for _, rows in selection):
        raise LogError(
            "images.none_requested",
            'no images of "{tag}" in the requested runs and steps',
            tag=request.tag,
        )
    name = make_file_name(request.tag).replace("/", "-")
    return Stream(_iter_zip(_iter_files(selection, read)), "application/zip", f"{name}.zip")


def _select_steps(steps: SeriesSteps, request: ArchiveRequest) -> list[int]:
    first = -np.inf if request.first_step is None else request.first_step
    last = np.inf if request.last_step is None else request.last_step
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
                steps.run, steps.tag, int(steps.index[row]), int(steps.fingerprint[row])
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
    key = request.run, request.tag, request.index, request.fingerprint, part.part
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


# ---- the dashboard


class Images(Dashboard):
    """Routes of the dashboard. Images are read from the log on request."""

    name = "images"
    title = "Images"
    plugins = ("images",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._renderer = ImageRenderer(context)

    def routes(self) -> Sequence[Route]:
        return [
            Route("steps", StepsRequest, self.steps),
            Route("about", ValueRequest, self.about, "GET", immutable=has_fingerprint),
            Route("picture", ImageRequest, self.picture, "GET"),
            Route("thumbnail", ThumbnailRequest, self.thumbnail, "GET"),
            Route("tile", TileRequest, self.tile, "GET"),
            Route("pixels", PixelsRequest, self.pixels, "GET", immutable=has_fingerprint),
            Route("file", ImageRequest, self.file, "GET"),
            Route("archive", ArchiveRequest, self.archive),
            Route("archive", ArchiveRequest, self.archive, "GET"),
        ]

    def export_static(self, runs: Sequence[str]) -> Iterator[tuple[str, object]]:
        return export_values(
            self.context, self.plugins, runs, lambda request: export_value(self._renderer, request)
        )

    def steps(self, request: StepsRequest) -> StepsResponse:
        """Return the steps at which images of some tags were logged, for each run."""
        return list_steps(self.context, request)

    def about(self, request: ValueRequest) -> ImageInfoResponse:
        """Describe the images of a value, and why some cannot be shown."""
        return self._renderer.describe(request)

    def picture(self, request: ImageRequest) -> Blob:
        """Return an image or video as logged, or as PNG if browsers cannot show its format."""
        return self._renderer.render_original(request)

    def thumbnail(self, request: ThumbnailRequest) -> Blob:
        """Return an image that fits into a square; small images are returned as logged."""
        return self._renderer.render_thumbnail(request)

    def tile(self, request: TileRequest) -> Blob:
        """Return a tile of 512 x 512 pixels of an image, at full size or halved several times."""
        return self._renderer.render_tile(request)

    def pixels(self, request: PixelsRequest) -> PixelsResponse:
        """Return the exact values of a few pixels."""
        return self._renderer.read_pixels(request)

    def file(self, request: ImageRequest) -> Blob:
        """Return a logged file as a download, even if it cannot be shown."""
        data = self._renderer.read_image(request)
        step = int(self.context.log.locate(request.run, request.tag).step[request.index])
        return make_file(request, step, data, len(self._renderer.read_images(request)))

    def archive(self, request: ArchiveRequest) -> Stream:
        """Return the images of a tag, optionally of some runs and steps, as a zip archive."""
        return make_archive(self.context, request, self._renderer.read_images)
