"""What is drawn: events, and many that are too short to be told apart as one."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tracklight.types import Int32, Int64


class Entries(NamedTuple):
    """Columns ordered by row, then by start; those of one row never overlap."""

    row: Int32
    start: Int64
    end: Int64
    event: Int32
    """The longest one that is in it."""
    longest_ps: Int64
    """How long that one is."""
    event_count: Int32
    """How many are in it."""
    busy_ps: Int64
    """How long all that is in it took together."""

    def take(self, which: Int64 | slice) -> Entries:
        return _make_entries([column[which] for column in self])


def concat_entries(parts: list[Entries]) -> Entries:
    return _make_entries([np.concatenate(columns) for columns in zip(*parts, strict=True)])


def _make_entries(columns: list[Any]) -> Entries:
    return Entries(*columns)


def merge_entries(entries: Entries, level: int) -> Entries:
    """Make one of neighbours in a row that are shorter than 2 ** level ps and begin in one cell.

    Cells begin at multiples of their size, so that whoever merges a part gets what is in the whole.
    """
    first = _get_group_starts(entries, level)
    if len(first) == len(entries.row):
        return entries
    sizes = np.diff(np.append(first, len(entries.row)))
    longest: Int64 = np.maximum.reduceat(entries.longest_ps, first)
    # Written from the back, so that of two that are as long the first one stays.
    hits = np.flatnonzero(entries.longest_ps == np.repeat(longest, sizes))[::-1]
    event = np.empty(len(first), np.int32)
    event[np.searchsorted(first, hits, "right") - 1] = entries.event[hits]
    return Entries(
        entries.row[first],
        entries.start[first],
        np.maximum.reduceat(entries.end, first),
        event,
        longest,
        np.add.reduceat(entries.event_count, first),
        np.add.reduceat(entries.busy_ps, first),
    )


def _get_group_starts(entries: Entries, level: int) -> Int64:
    """Where each group begins; whatever is long enough to be seen is one by itself."""
    if not len(entries.row):
        return np.empty(0, np.int64)
    is_long = entries.end - entries.start >= 1 << level
    cell = entries.start >> level
    begins = np.ones(len(cell), bool)
    begins[1:] = (
        is_long[1:] | is_long[:-1] | (cell[1:] != cell[:-1]) | (entries.row[1:] != entries.row[:-1])
    )
    return np.flatnonzero(begins)


# All entries of a trace, finer and coarser, so that a look at any stretch costs what it shows.

#: Picoseconds of a cell are two to the power of a level; beyond this there is no time.
MAX_LEVELS = 60

_LEVEL_STEP = 2


class Pyramid:
    """The finest entries, and coarser ones wherever those are at most half as many.

    So all of them together are no more than twice the events, and what is asked for at a level in
    between is merged from at most a few times as many as are shown.
    """

    def __init__(self, finest: Entries, rows: int) -> None:
        self._rows = rows
        self._levels: list[tuple[int, Entries, Int64]] = [(0, finest, self._bounds(finest))]
        for level in range(_LEVEL_STEP, MAX_LEVELS, _LEVEL_STEP):
            below = self._levels[-1][1]
            coarser = merge_entries(below, level)
            if len(coarser.row) <= len(below.row) // 2:
                self._levels.append((level, coarser, self._bounds(coarser)))
            if len(coarser.row) <= rows:
                break

    def query(self, level: int, start: int, end: int, rows: range) -> Entries:
        """The entries of some rows that are seen from ``start`` to ``end``, merged for a level."""
        _, entries, bounds = next(floor for floor in self._levels[::-1] if floor[0] <= level)
        seen = [self._get_visible_slice(entries, bounds, row, start, end) for row in rows]
        found = [entries.take(span) for span in seen if span.start < span.stop]
        return merge_entries(
            _drop_hidden(concat_entries([entries.take(slice(0, 0)), *found]), start, level), level
        )

    def get_level(self, max_entries: int) -> int:
        """The finest level that is known to have no more than so many entries."""
        levels = (level for level, entries, _ in self._levels if len(entries.row) <= max_entries)
        return next(levels, MAX_LEVELS - 1)

    def _get_visible_slice(
        self, entries: Entries, bounds: Int64, row: int, start: int, end: int
    ) -> slice:
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


def _drop_hidden(entries: Entries, start: int, level: int) -> Entries:
    """Leave out what began before and is too short to be seen: it was merged where it began."""
    is_seen = (entries.start >= start) | (entries.end - entries.start >= 1 << level)
    return entries if is_seen.all() else entries.take(np.flatnonzero(is_seen))
