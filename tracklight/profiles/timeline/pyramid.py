"""All entries of a trace, finer and coarser, so that a look at any stretch costs what it shows."""

from __future__ import annotations

import numpy as np

from tracklight.profiles.timeline.entries import Entries, join, merge
from tracklight.types import Int64

#: Picoseconds of a cell are two to the power of a level; beyond this there is no time.
MOST_LEVELS = 60
_STEP = 2


class Pyramid:
    """The finest entries, and coarser ones wherever those are at most half as many.

    So all of them together are no more than twice the events, and what is asked for at a level in
    between is merged from at most a few times as many as are shown.
    """

    def __init__(self, finest: Entries, rows: int) -> None:
        self._rows = rows
        self._floors: list[tuple[int, Entries, Int64]] = [(0, finest, self._bounds(finest))]
        for level in range(_STEP, MOST_LEVELS, _STEP):
            below = self._floors[-1][1]
            coarser = merge(below, level)
            if len(coarser.row) <= len(below.row) // 2:
                self._floors.append((level, coarser, self._bounds(coarser)))
            if len(coarser.row) <= rows:
                break

    def look(self, level: int, start: int, end: int, rows: range) -> Entries:
        """The entries of some rows that are seen from ``start`` to ``end``, merged for a level."""
        _, entries, bounds = next(floor for floor in self._floors[::-1] if floor[0] <= level)
        seen = [self._find(entries, bounds, row, start, end) for row in rows]
        found = [entries.take(span) for span in seen if span.start < span.stop]
        return merge(_leave_out(join([entries.take(slice(0, 0)), *found]), start, level), level)

    def find_level(self, most: int) -> int:
        """The finest level that is known to have no more than so many entries."""
        levels = (level for level, entries, _ in self._floors if len(entries.row) <= most)
        return next(levels, MOST_LEVELS - 1)

    def _find(self, entries: Entries, bounds: Int64, row: int, start: int, end: int) -> slice:
        """As no two of a row overlap, their ends are as ordered as their starts."""
        first, last = int(bounds[row]), int(bounds[row + 1])
        since = int(np.searchsorted(entries.end[first:last], start, "right"))
        until = int(np.searchsorted(entries.start[first:last], end, "left"))
        # One without a length that stands right at the start ended there, and is seen.
        while since and entries.start[first + since - 1] >= start:
            since -= 1
        return slice(first + since, first + until)

    def _bounds(self, entries: Entries) -> Int64:
        return np.searchsorted(entries.row, np.arange(self._rows + 1))


def _leave_out(entries: Entries, start: int, level: int) -> Entries:
    """Leave out what began before and is too short to be seen: it was merged where it began."""
    is_seen = (entries.start >= start) | (entries.end - entries.start >= 1 << level)
    return entries if is_seen.all() else entries.take(np.flatnonzero(is_seen))
