"""Decodes pictures, not too many at once, and keeps the last ones, within bounds."""

from __future__ import annotations

import os
import threading
from collections.abc import Hashable
from contextlib import AbstractContextManager
from typing import NamedTuple

from tracklight.dashboards.images.header import Header
from tracklight.dashboards.images.raster import Raster, decode
from tracklight.util.lru_cache import LruCache

_SMALL_BYTES = 48 << 20
#: A picture of more pixels is a large one.
_MOST_SMALL = 8_000_000
#: Two pictures of 10,000 x 10,000 pixels, so that they can be compared; not for long.
_LARGE_BYTES = 1200 << 20
_LARGE_IDLE_S = 60.0


class File(NamedTuple):
    """A picture as it was logged, and what it says of itself."""

    data: bytes
    header: Header


class Decoded(NamedTuple):
    """A picture with its pixels."""

    header: Header
    raster: Raster


class Rasters:
    """May be asked from any thread. Large pictures are decoded one at a time, and of the others
    no more at once than there are processors."""

    def __init__(self) -> None:
        self._small: LruCache[Hashable, Decoded] = LruCache(max_bytes=_SMALL_BYTES)
        self._large: LruCache[Hashable, Decoded] = LruCache(
            max_bytes=_LARGE_BYTES, idle_s=_LARGE_IDLE_S
        )
        self._room_for_small = threading.BoundedSemaphore(os.cpu_count() or 1)
        self._room_for_large = threading.Lock()

    def find(self, key: Hashable | None) -> Decoded | None:
        return self._small.find(key) or self._large.find(key)

    def get(self, key: Hashable | None, file: File) -> Decoded:
        """Kept under ``key`` if there is one."""
        with self.room_for(file.header.pixels):
            # Who waited for the room may have waited for this very picture.
            known = self.find(key)
            if known is not None:
                return known
            decoded = Decoded(file.header, decode(file.header, file.data))
            if key is not None:
                cache = self._large if file.header.pixels > _MOST_SMALL else self._small
                cache.put(key, decoded, decoded.raster.size_bytes)
            return decoded

    def room_for(self, pixels: int) -> AbstractContextManager[bool]:
        """To be held while so many pixels are decoded."""
        return self._room_for_large if pixels > _MOST_SMALL else self._room_for_small
