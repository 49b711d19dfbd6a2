"""Makes what is shown of pictures: as they are, smaller, in tiles, or as numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracklight.analysis.media.values import ValueReader, ValueRequest
from tracklight.dashboards.images.header import ImageHeader, detect_format, read_header
from tracklight.dashboards.images.raster import (
    DecodedImage,
    LoggedImage,
    RasterCache,
    compute_tile_box,
    count_decoded_pixels,
    decode_image,
    encode_image,
    shrink_to_fit,
)
from tracklight.dashboards.images.schemas import (
    ImageInfo,
    ImageInfoResponse,
    ImageRequest,
    PixelsRequest,
    PixelsResponse,
    ThumbnailRequest,
    TileRequest,
)
from tracklight.errors import FormatError, LogError
from tracklight.plugin import Blob, Context, Problem
from tracklight.util.lru_cache import LruCache

_VALUES_BYTES = 16 << 20

_THUMBNAILS_BYTES = 16 << 20

#: Nobody looks at more pictures of one step, and each takes a while to tell of.
_MAX_DESCRIBED = 1000

_PHOTOS = frozenset({"JPEG", "WebP", "AVIF"})

_CacheKey = tuple[str | int, ...] | None


class ImageRenderer:
    """The pictures of a log; may be asked from any thread.

    However many are looked at, no more of them are held than the bytes here and in `Rasters`.
    """

    def __init__(self, context: Context) -> None:
        self._explain = context.describe_error
        self._reader = ValueReader(context, _VALUES_BYTES)
        self._rasters = RasterCache()
        self._thumbnails: LruCache[_CacheKey, Blob] = LruCache(max_bytes=_THUMBNAILS_BYTES)

    def read_images(self, ask: ValueRequest) -> tuple[bytes, ...]:
        """The files of a value."""
        from tracklight.formats.values import Images

        value = self._reader.read(ask)
        if not isinstance(value, Images):
            raise FormatError(f'"{ask.tag}" holds no pictures')
        return value.encoded

    def read_image(self, ask: ImageRequest) -> bytes:
        parts = self.read_images(ask)
        if ask.part >= len(parts):
            raise LogError(f"this value has {len(parts)} pictures, so there is no {ask.part}")
        return parts[ask.part]

    def describe(self, ask: ValueRequest) -> ImageInfoResponse:
        files = self.read_images(ask)
        first = enumerate(files[:_MAX_DESCRIBED])
        return ImageInfoResponse(
            len(files), [describe_image(n, file, self._explain) for n, file in first]
        )

    def render_original(self, ask: ImageRequest) -> Blob:
        file = self._open(ask)
        media_type = file.header.format.media_type
        if media_type:
            return _blob(ask, file.data, media_type)
        return _blob(ask, *encode_image(self._decode(ask).raster.to_display(), as_photo=False))

    def render_thumbnail(self, ask: ThumbnailRequest) -> Blob:
        key = _find_cache_key(ask, ask.size)
        found = self._thumbnails.find(key)
        if found is not None:
            return found
        file = self._open_still(ask)
        header = file.header
        if header.frames == 1 and header.format.media_type and max(header.display_size) <= ask.size:
            return _blob(ask, file.data, header.format.media_type)
        made = self._make_thumbnail(ask, file)
        if key is not None:
            self._thumbnails.put(key, made, len(made.content))
        return made

    def render_tile(self, ask: TileRequest) -> Blob:
        header, raster = self._decode(ask)
        box = compute_tile_box(header.display_size, ask.level, ask.x, ask.y)
        shown = raster.to_display(box) if ask.level == 0 else raster.get_level(ask.level).crop(box)
        return _blob(ask, *encode_image(shown, _is_photo(header)))

    def read_pixels(self, ask: PixelsRequest) -> PixelsResponse:
        header, raster = self._decode(ask)
        across, down = header.display_size
        if ask.x >= across or ask.y >= down:
            raise LogError(f"a picture of {across:,} x {down:,} has no pixel {ask.x:,}, {ask.y:,}")
        right, bottom = min(ask.x + ask.width, across), min(ask.y + ask.height, down)
        values = raster.read_values((ask.x, ask.y, right, bottom))
        return PixelsResponse(
            x=ask.x,
            y=ask.y,
            width=right - ask.x,
            height=bottom - ask.y,
            channels=list(raster.channels),
            bits=8 * values.dtype.itemsize,
            values=_to_column(values),
        )

    def _make_thumbnail(self, ask: ThumbnailRequest, file: LoggedImage) -> Blob:
        known = self._rasters.find(_find_cache_key(ask))
        with self._rasters.limit_decoding(count_decoded_pixels(file.header, ask.size)):
            raster = known.raster if known else decode_image(file.header, file.data, ask.size)
            small = shrink_to_fit(raster.to_display(), ask.size)
            return _blob(ask, *encode_image(small, _is_photo(file.header)))

    def _open(self, ask: ImageRequest) -> LoggedImage:
        data = self.read_image(ask)
        return LoggedImage(data, read_header(data))

    def _open_still(self, ask: ImageRequest) -> LoggedImage:
        file = self._open(ask)
        if file.header.format.is_video:
            raise FormatError("this is a video, of which no single pictures are given")
        return file

    def _decode(self, ask: ImageRequest) -> DecodedImage:
        key = _find_cache_key(ask)
        # A large picture is not even read again for each of its tiles.
        return self._rasters.find(key) or self._rasters.get(key, self._open_still(ask))


def _find_cache_key(ask: ImageRequest, *further: int) -> _CacheKey:
    """What a picture is kept under: none without a mark, as its place may come to hold another."""
    if ask.mark is None:
        return None
    return ask.run, ask.tag, ask.index, ask.mark, ask.part, *further


def _blob(ask: ValueRequest, content: bytes, media_type: str) -> Blob:
    return Blob(content, media_type, immutable=ask.mark is not None)


def _to_column(values: NDArray[Any]) -> NDArray[Any]:
    """Whole numbers travel in 32 bits if eight are not enough."""
    column = values.ravel()
    return column.astype(np.int32) if column.dtype.kind in "iu" and column.itemsize > 1 else column


def _is_photo(header: ImageHeader) -> bool:
    """Whether it was stored with losses anyway."""
    return header.format.name in _PHOTOS


def describe_image(part: int, data: bytes, explain: Callable[[Exception], Problem]) -> ImageInfo:
    """Whatever the bytes are."""
    try:
        header = read_header(data)
    except FormatError as error:
        return ImageInfo(part, detect_format(data).name, len(data), problem=explain(error).message)
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
    """Whether no browser should have to decode it at once."""
    return (
        header.pixels > _MAX_UNTILED_PIXELS
        or max(header.width, header.height) > _MAX_UNTILED_SIDE_PX
    )


#: Browsers decode a picture as a whole; one of more pixels, or a longer side, is shown in tiles.
_MAX_UNTILED_PIXELS = 16_000_000

_MAX_UNTILED_SIDE_PX = 4096
