"""Which values a copy of a board carries where there are too many."""

from __future__ import annotations

import numpy as np

from tracklight.types import Int64

#: So many values of a series go into a copy.
MOST_COPIED = 30
#: So many bytes of one dashboard's values do, before they are packed.
MOST_COPIED_BYTES = 12 << 20


def thin(count: int, most: int = MOST_COPIED) -> Int64:
    """Positions of at most ``most`` of ``count`` values, evenly spread: the first and the last are
    among them, and of one alone it is the last."""
    if count <= most:
        return np.arange(count)
    if most < 2:
        return np.arange(count - most, count)
    return np.rint(np.linspace(0, count - 1, most)).astype(np.int64)


class Budget:
    """Bytes for some series, of which each may use as much as is left for it if all are to get
    the same; what one leaves over is for those that come after it."""

    def __init__(self, series: int, limit_bytes: int = MOST_COPIED_BYTES) -> None:
        self._series_left = series
        self.left_bytes = limit_bytes

    def next_share(self) -> int:
        """How many bytes the next series may use."""
        share = self.left_bytes // max(self._series_left, 1)
        self._series_left -= 1
        return share

    def spend(self, size_bytes: int) -> bool:
        """Take bytes away if there are so many left."""
        if size_bytes > self.left_bytes:
            return False
        self.left_bytes -= size_bytes
        return True
