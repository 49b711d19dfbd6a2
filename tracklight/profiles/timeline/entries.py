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
    longest: Int64
    """How long that one is."""
    events: Int32
    """How many are in it."""
    busy: Int64
    """How long all that is in it took together."""

    def take(self, which: Int64 | slice) -> Entries:
        return _make([column[which] for column in self])


def join(parts: list[Entries]) -> Entries:
    return _make([np.concatenate(columns) for columns in zip(*parts, strict=True)])


def _make(columns: list[Any]) -> Entries:
    return Entries(*columns)


def merge(entries: Entries, level: int) -> Entries:
    """Make one of neighbours in a row that are shorter than 2 ** level ps and begin in one cell.

    Cells begin at multiples of their size, so that whoever merges a part gets what is in the whole.
    """
    first = _find_groups(entries, level)
    if len(first) == len(entries.row):
        return entries
    sizes = np.diff(np.append(first, len(entries.row)))
    longest: Int64 = np.maximum.reduceat(entries.longest, first)
    # Written from the back, so that of two that are as long the first one stays.
    hits = np.flatnonzero(entries.longest == np.repeat(longest, sizes))[::-1]
    event = np.empty(len(first), np.int32)
    event[np.searchsorted(first, hits, "right") - 1] = entries.event[hits]
    return Entries(
        entries.row[first],
        entries.start[first],
        np.maximum.reduceat(entries.end, first),
        event,
        longest,
        np.add.reduceat(entries.events, first),
        np.add.reduceat(entries.busy, first),
    )


def _find_groups(entries: Entries, level: int) -> Int64:
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
