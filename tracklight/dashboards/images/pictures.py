"""Makes what is shown of pictures: as they are, smaller, in tiles, or as numbers."""

from __future__ import annotations

import os
import threading
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tracklight.dashboards.images.answers import (
    AboutAnswer,
    PixelsAnswer,
    describe,
)
from tracklight.dashboards.images.asks import PartAsk, PixelsAsk, ThumbnailAsk, TileAsk
from tracklight.dashboards.images.header import Header, read_header
from tracklight.dashboards.images.raster import Raster, decode, encode, shrink
from tracklight.dashboards.images.tiles import find_tile
from tracklight.errors import FormatError, LogError
from tracklight.media.reader import Reader, ValueAsk
from tracklight.media.shelf import Shelf
from tracklight.plugin import Blob, Context

_VALUES_BYTES = 16 << 20
_THUMBNAILS_BYTES = 16 << 20
_SMALL_BYTES = 32 << 20
#: A picture of more pixels is a large one.
_MOST_SMALL = 4_000_000
#: Two pictures of 10,000 x 10,000 pixels, so that they can be compared; not for long.
_LARGE_BYTES = 1200 << 20
_LARGE_IDLE_S = 60.0

_PHOTOS = frozenset({"JPEG", "WebP", "AVIF"})

_Key = tuple[str, str, int, int | None, int]


class File(NamedTuple):
    """A picture as it was logged, and what it says of itself."""

    data: bytes
    header: Header


class Pictures:
    """The pictures of a log; may be asked from any thread.

    However many are looked at, it holds no more than the bytes above. Large ones are decoded one
    at a time, and of the others no more at once than there are processors.
    """

    def __init__(self, context: Context) -> None:
        self._explain = context.explain
        self._reader = Reader(context, _VALUES_BYTES)
        self._thumbnails: Shelf[tuple[_Key, int], Blob] = Shelf(_THUMBNAILS_BYTES)
        self._small: Shelf[_Key, Raster] = Shelf(_SMALL_BYTES)
        self._large: Shelf[_Key, Raster] = Shelf(_LARGE_BYTES, _LARGE_IDLE_S)
        self._room_for_small = threading.BoundedSemaphore(os.cpu_count() or 1)
        self._room_for_large = threading.Lock()

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
        parts = enumerate(self.read(ask))
        return AboutAnswer([describe(part, data, self._explain) for part, data in parts])

    def picture(self, ask: PartAsk) -> Blob:
        file = self._open(ask)
        kind = file.header.kind
        if kind.media_type:
            return _blob(ask, file.data, kind.media_type)
        return _blob(ask, *encode(self._decode(ask, file).shown(), as_photo=False))

    def thumbnail(self, ask: ThumbnailAsk) -> Blob:
        key = (_key(ask), ask.size)
        found = self._thumbnails.find(key)
        if found is not None:
            return found
        file = self._open_raster(ask)
        header = file.header
        if header.frames == 1 and header.kind.media_type and max(header.shown_size) <= ask.size:
            return _blob(ask, file.data, header.kind.media_type)
        made = self._make_thumbnail(ask, file)
        self._thumbnails.keep(key, made, len(made.content))
        return made

    def tile(self, ask: TileAsk) -> Blob:
        file = self._open_raster(ask)
        box = find_tile(file.header.shown_size, ask.level, ask.x, ask.y)
        raster = self._decode(ask, file)
        shown = raster.shown(box) if ask.level == 0 else raster.level(ask.level).crop(box)
        return _blob(ask, *encode(shown, _is_photo(file)))

    def pixels(self, ask: PixelsAsk) -> PixelsAnswer:
        file = self._open_raster(ask)
        across, down = file.header.shown_size
        if ask.x >= across or ask.y >= down:
            raise LogError(f"a picture of {across:,} x {down:,} has no pixel {ask.x:,}, {ask.y:,}")
        right, bottom = min(ask.x + ask.width, across), min(ask.y + ask.height, down)
        raster = self._decode(ask, file)
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
        found = self._find(ask, file)
        with self._room_for(file):
            shown = (found or decode(file.header, file.data, ask.size)).shown()
            return _blob(ask, *encode(shrink(shown, ask.size), _is_photo(file)))

    def _open(self, ask: PartAsk) -> File:
        data = self.read_part(ask)
        return File(data, read_header(data))

    def _open_raster(self, ask: PartAsk) -> File:
        file = self._open(ask)
        if file.header.kind.is_video:
            raise FormatError("this is a video, of which no single pictures are given")
        return file

    def _find(self, ask: PartAsk, file: File) -> Raster | None:
        return self._shelf(file).find(_key(ask))

    def _decode(self, ask: PartAsk, file: File) -> Raster:
        found = self._find(ask, file)
        if found is not None:
            return found
        with self._room_for(file):
            # Who waited for the room may have waited for this very picture.
            found = self._find(ask, file)
            if found is None:
                found = decode(file.header, file.data)
                self._shelf(file).keep(_key(ask), found, found.size_bytes)
            return found

    def _shelf(self, file: File) -> Shelf[_Key, Raster]:
        return self._large if _is_large(file) else self._small

    def _room_for(self, file: File) -> AbstractContextManager[bool]:
        return self._room_for_large if _is_large(file) else self._room_for_small


def _key(ask: PartAsk) -> _Key:
    return ask.run, ask.tag, ask.index, ask.mark, ask.part


def _blob(ask: ValueAsk, content: bytes, media_type: str) -> Blob:
    return Blob(content, media_type, immutable=ask.mark is not None)


def _to_column(values: NDArray[Any]) -> NDArray[Any]:
    """Whole numbers travel in 32 bits if eight are not enough."""
    column = values.ravel()
    return column.astype(np.int32) if column.dtype.kind in "iu" and column.itemsize > 1 else column


def _is_large(file: File) -> bool:
    return file.header.width * file.header.height > _MOST_SMALL


def _is_photo(file: File) -> bool:
    """Whether it was stored with losses anyway."""
    return file.header.kind.name in _PHOTOS
