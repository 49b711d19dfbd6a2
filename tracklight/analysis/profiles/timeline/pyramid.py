"""Levels of detail of a timeline, so that the cost of a query depends on what it returns.

An entry is what the viewer draws as one box: an event, or several neighbors that are too short to
be distinguished at a level. At level ``n``, a cell is ``2 ** n`` picoseconds wide.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tracklight.analysis.profiles.arrays import NATIVE
from tracklight.types import Int32, Int64

#: Cells of higher levels would be longer than any trace.
MAX_LEVELS = 60
_LEVEL_STEP = 2


class Entries(NamedTuple):
    """Columns of entries, sorted by row and start. Entries of one row never overlap."""

    row: Int32
    start: Int64
    end: Int64
    event: Int32
    """The longest event of the entry."""
    longest_ps: Int64
    """Duration of that event."""
    event_count: Int32
    busy_ps: Int64
    """Total duration of the events of the entry."""

    def take(self, rows: Int64 | slice) -> Entries:
        return _make_entries([column[rows] for column in self])


def concat_entries(parts: list[Entries]) -> Entries:
    return _make_entries([np.concatenate(columns) for columns in zip(*parts, strict=True)])


def _make_entries(columns: list[Any]) -> Entries:
    return Entries(*columns)


def _merge_entries(entries: Entries, level: int) -> Entries:
    """Merge neighbors of a row that are shorter than a cell and start in the same cell.

    Cells start at multiples of their width, so merging a part of the entries gives the same result
    as merging all of them.
    """
    return _merge_groups(entries, _get_group_starts(entries, level))


def _merge_groups(entries: Entries, first: Int64) -> Entries:
    """Merge groups of neighbors, given the first entry of each group."""
    if len(first) == len(entries.row):
        return entries
    group = np.repeat(np.arange(len(first)), np.diff(np.append(first, len(entries.row))))
    longest: Int64 = np.maximum.reduceat(entries.longest_ps, first)
    # Assigned in reverse, so that the first of several equally long events wins.
    candidates = np.flatnonzero(entries.longest_ps == longest[group])[::-1]
    event = np.empty(len(first), np.int32)
    event[group[candidates]] = entries.event[candidates]
    return Entries(
        row=entries.row[first],
        start=entries.start[first],
        end=np.maximum.reduceat(entries.end, first),
        event=event,
        longest_ps=longest,
        event_count=np.add.reduceat(entries.event_count, first),
        busy_ps=np.add.reduceat(entries.busy_ps, first),
    )


def _get_group_starts(entries: Entries, level: int) -> Int64:
    """Return the first entry of each group to merge. Entries longer than a cell stay alone."""
    if not len(entries.row):
        return np.empty(0, np.int64)
    is_long = entries.end - entries.start >= 1 << level
    cell = entries.start >> level
    is_first = np.ones(len(cell), bool)
    is_first[1:] = (
        is_long[1:] | is_long[:-1] | (cell[1:] != cell[:-1]) | (entries.row[1:] != entries.row[:-1])
    )
    return np.flatnonzero(is_first)


def compute_merge_levels(entries: Entries) -> NDArray[np.uint8]:
    """Return the level from which on each entry is merged with the next, `MAX_LEVELS` for never.

    From that level on, both are shorter than a cell and start in the same cell. Merged entries
    are no longer than a cell of the next level either, so this remains true of their neighbors.
    """
    if NATIVE is not None:
        levels: NDArray[np.uint8] = NATIVE.compute_merge_levels(
            entries.row, entries.start, entries.end, MAX_LEVELS
        )
        return levels
    return compute_merge_levels_in_numpy(entries)


def compute_merge_levels_in_numpy(entries: Entries) -> NDArray[np.uint8]:
    """NumPy version of ``_nesting.compute_merge_levels``."""
    length = entries.end - entries.start
    bits = entries.start[1:] ^ entries.start[:-1] | length[1:] | length[:-1]
    # Halves of 32 bits are exact as floats, of which the exponent is the number of bits.
    upper, lower = bits >> 32, bits & 0xFFFF_FFFF
    levels = np.where(upper > 0, np.frexp(upper)[1] + 32, np.frexp(lower)[1])
    is_never = (entries.row[1:] != entries.row[:-1]) | (bits < 0) | (levels > MAX_LEVELS)
    return np.where(is_never, MAX_LEVELS, levels).astype(np.uint8)


class Pyramid:
    """Entries at several levels, kept wherever a level has at most half as many as the one below.

    So all levels together hold at most twice as many entries as there are events, and a query at a
    level in between merges at most a few times as many entries as it returns.

    Args:
        finest: One entry per event.
        rows: Number of rows.
    """

    def __init__(self, finest: Entries, rows: int) -> None:
        self._rows = rows
        self._levels: list[tuple[int, Entries, Int64]] = [(0, finest, self._get_row_bounds(finest))]
        merge_levels = compute_merge_levels(finest)
        merged = np.cumsum(np.bincount(merge_levels, minlength=MAX_LEVELS + 1))
        for level in range(_LEVEL_STEP, MAX_LEVELS, _LEVEL_STEP):
            finer, count = self._levels[-1][1], len(finest.row) - int(merged[level])
            if count <= len(finer.row) // 2:
                is_first = np.append(np.ones(min(len(finer.row), 1), bool), merge_levels > level)
                coarser = _merge_groups(finer, np.flatnonzero(is_first))
                self._levels.append((level, coarser, self._get_row_bounds(coarser)))
                merge_levels = merge_levels[merge_levels > level]
            if count <= rows:
                break

    def query(self, level: int, start: int, end: int, rows: range) -> Entries:
        """Return the entries of some rows that are visible from ``start`` to ``end``."""
        _, entries, bounds = next(item for item in reversed(self._levels) if item[0] <= level)
        slices = (self._get_visible_slice(entries, bounds, row, start, end) for row in rows)
        visible = [entries.take(each) for each in slices if each.start < each.stop]
        joined = concat_entries([entries.take(slice(0, 0)), *visible])
        return _merge_entries(_drop_hidden(joined, start, level), level)

    def get_level(self, max_entries: int) -> int:
        """Return the finest stored level with at most this many entries."""
        levels = (level for level, entries, _ in self._levels if len(entries.row) <= max_entries)
        return next(levels, MAX_LEVELS - 1)

    def _get_visible_slice(
        self, entries: Entries, bounds: Int64, row: int, start: int, end: int
    ) -> slice:
        # Entries of a row do not overlap, so their ends are sorted as well.
        first, last = int(bounds[row]), int(bounds[row + 1])
        visible_from = int(np.searchsorted(entries.end[first:last], start, "right"))
        visible_to = int(np.searchsorted(entries.start[first:last], end, "left"))
        # Entries without a duration right at the start are visible.
        while visible_from and entries.start[first + visible_from - 1] >= start:
            visible_from -= 1
        return slice(first + visible_from, first + visible_to)

    def _get_row_bounds(self, entries: Entries) -> Int64:
        return np.searchsorted(entries.row, np.arange(self._rows + 1))


def _drop_hidden(entries: Entries, start: int, level: int) -> Entries:
    """Drop short entries that start before the range: they are part of an entry before it."""
    is_visible = (entries.start >= start) | (entries.end - entries.start >= 1 << level)
    return entries if is_visible.all() else entries.take(np.flatnonzero(is_visible))
