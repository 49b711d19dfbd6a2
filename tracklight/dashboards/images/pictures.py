"""Makes what is shown of pictures: as they are, smaller, in tiles, or as numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracklight.dashboards.images.answers import AboutAnswer, PixelsAnswer, describe
from tracklight.dashboards.images.asks import PartAsk, PixelsAsk, ThumbnailAsk, TileAsk
from tracklight.dashboards.images.header import Header, read_header
from tracklight.dashboards.images.raster import count_decoded, decode, encode, shrink
from tracklight.dashboards.images.rasters import Decoded, File, Rasters
from tracklight.dashboards.images.tiles import find_tile
from tracklight.errors import FormatError, LogError
from tracklight.media.reader import Reader, ValueAsk
from tracklight.plugin import Blob, Context
from tracklight.util.lru_cache import LruCache

_VALUES_BYTES = 16 << 20
_THUMBNAILS_BYTES = 16 << 20

#: Nobody looks at more pictures of one step, and each takes a while to tell of.
_MOST_TOLD = 1000

_PHOTOS = frozenset({"JPEG", "WebP", "AVIF"})

_Key = tuple[str | int, ...] | None


class Pictures:
    """The pictures of a log; may be asked from any thread.

    However many are looked at, no more of them are held than the bytes here and in `Rasters`.
    """

    def __init__(self, context: Context) -> None:
        self._explain = context.explain
        self._reader = Reader(context, _VALUES_BYTES)
        self._rasters = Rasters()
        self._thumbnails: LruCache[_Key, Blob] = LruCache(max_bytes=_THUMBNAILS_BYTES)

    def read(self, ask: ValueAsk) -> tuple[bytes, ...]:
        """The files of a value."""
        from tracklight.formats.values import Images

        value = self._reader.read(ask)
        if not isinstance(value, Images):
            raise FormatError(f'"{ask.tag}" holds no pictures')
        return value.encoded

    def read_part(self, ask: PartAsk) -> bytes:
        parts = self.read(ask)
        if ask.part >= len(parts):
            raise LogError(f"this value has {len(parts)} pictures, so there is no {ask.part}")
        return parts[ask.part]

    def about(self, ask: ValueAsk) -> AboutAnswer:
        files = self.read(ask)
        first = enumerate(files[:_MOST_TOLD])
        return AboutAnswer(len(files), [describe(n, file, self._explain) for n, file in first])

    def picture(self, ask: PartAsk) -> Blob:
        file = self._open(ask)
        media_type = file.header.kind.media_type
        if media_type:
            return _blob(ask, file.data, media_type)
        return _blob(ask, *encode(self._decode(ask).raster.shown(), as_photo=False))

    def thumbnail(self, ask: ThumbnailAsk) -> Blob:
        key = _find_key(ask, ask.size)
        found = self._thumbnails.find(key)
        if found is not None:
            return found
        file = self._open_still(ask)
        header = file.header
        if header.frames == 1 and header.kind.media_type and max(header.shown_size) <= ask.size:
            return _blob(ask, file.data, header.kind.media_type)
        made = self._make_thumbnail(ask, file)
        if key is not None:
            self._thumbnails.put(key, made, len(made.content))
        return made

    def tile(self, ask: TileAsk) -> Blob:
        header, raster = self._decode(ask)
        box = find_tile(header.shown_size, ask.level, ask.x, ask.y)
        shown = raster.shown(box) if ask.level == 0 else raster.level(ask.level).crop(box)
        return _blob(ask, *encode(shown, _is_photo(header)))

    def pixels(self, ask: PixelsAsk) -> PixelsAnswer:
        header, raster = self._decode(ask)
        across, down = header.shown_size
        if ask.x >= across or ask.y >= down:
            raise LogError(f"a picture of {across:,} x {down:,} has no pixel {ask.x:,}, {ask.y:,}")
        right, bottom = min(ask.x + ask.width, across), min(ask.y + ask.height, down)
        values = raster.values((ask.x, ask.y, right, bottom))
        return PixelsAnswer(
            x=ask.x,
            y=ask.y,
            width=right - ask.x,
            height=bottom - ask.y,
            channels=list(raster.channels),
            bits=8 * values.dtype.itemsize,
            values=_to_column(values),
        )

    def _make_thumbnail(self, ask: ThumbnailAsk, file: File) -> Blob:
        known = self._rasters.find(_find_key(ask))
        with self._rasters.room_for(count_decoded(file.header, ask.size)):
            raster = known.raster if known else decode(file.header, file.data, ask.size)
            small = shrink(raster.shown(), ask.size)
            return _blob(ask, *encode(small, _is_photo(file.header)))

    def _open(self, ask: PartAsk) -> File:
        data = self.read_part(ask)
        return File(data, read_header(data))

    def _open_still(self, ask: PartAsk) -> File:
        file = self._open(ask)
        if file.header.kind.is_video:
            raise FormatError("this is a video, of which no single pictures are given")
        return file

    def _decode(self, ask: PartAsk) -> Decoded:
        key = _find_key(ask)
        # A large picture is not even read again for each of its tiles.
        return self._rasters.find(key) or self._rasters.get(key, self._open_still(ask))


def _find_key(ask: PartAsk, *further: int) -> _Key:
    """What a picture is kept under: none without a mark, as its place may come to hold another."""
    if ask.mark is None:
        return None
    return ask.run, ask.tag, ask.index, ask.mark, ask.part, *further


def _blob(ask: ValueAsk, content: bytes, media_type: str) -> Blob:
    return Blob(content, media_type, immutable=ask.mark is not None)


def _to_column(values: NDArray[Any]) -> NDArray[Any]:
    """Whole numbers travel in 32 bits if eight are not enough."""
    column = values.ravel()
    return column.astype(np.int32) if column.dtype.kind in "iu" and column.itemsize > 1 else column


def _is_photo(header: Header) -> bool:
    """Whether it was stored with losses anyway."""
    return header.kind.name in _PHOTOS
