"""A trace laid out: its tracks in lanes, who stands inside whom, and the pyramid over all that."""

from __future__ import annotations

import re
from functools import cached_property
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from tracklight.profiles.timeline.entries import Entries
from tracklight.profiles.timeline.lanes import find_lanes
from tracklight.profiles.timeline.pyramid import Pyramid
from tracklight.profiles.timeline.sayings import Sayings
from tracklight.profiles.trace import Trace
from tracklight.types import Int32, Int64

_NUMBER = re.compile(r"\d+")


class Timeline:
    """What is put together once for a trace; what few ask for, when they do."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.lane = find_lanes(trace)
        lanes = np.zeros(len(trace.tracks), np.int64)
        np.maximum.at(lanes, trace.track, self.lane + 1)
        self.first_row: Int64 = np.append(0, np.cumsum(lanes))
        """Rows are numbered through all tracks; a track has those up to the first of the next."""

    @property
    def start_ps(self) -> int:
        return int(self.trace.start_ps.min()) if len(self.trace) else 0

    @cached_property
    def end_ps(self) -> int:
        return int(self.trace.end_ps.max()) if len(self.trace) else 0

    def rows_of(self, track: int) -> range:
        return range(int(self.first_row[track]), int(self.first_row[track + 1]))

    @cached_property
    def row(self) -> Int32:
        return (self.first_row[self.trace.track] + self.lane).astype(np.int32)

    @cached_property
    def order(self) -> Int32:
        """All events by row, then by start."""
        return np.argsort(self.row, kind="stable").astype(np.int32)

    @cached_property
    def pyramid(self) -> Pyramid:
        order, trace = self.order, self.trace
        duration = trace.duration_ps[order]
        start = trace.start_ps[order]
        ones = np.ones(len(order), np.int32)
        finest = Entries(self.row[order], start, start + duration, order, duration, ones, duration)
        return Pyramid(finest, int(self.first_row[-1]))

    @cached_property
    def parent(self) -> Int32:
        """The event around each one, -1 where there is none."""
        parents = np.full(len(self.trace), -1, np.int32)
        bounds = np.searchsorted(self.row[self.order], np.arange(self.first_row[-1] + 1))
        for track in range(len(self.trace.tracks)):
            for row in self.rows_of(track)[1:]:
                above, mine = (
                    self.order[bounds[each] : bounds[each + 1]] for each in (row - 1, row)
                )
                parents[mine] = self._find_around(above, mine)
        return parents

    def _find_around(self, above: Int32, mine: Int32) -> Int32:
        start = self.trace.start_ps
        around = above[np.searchsorted(start[above], start[mine], "right") - 1]
        end = start + self.trace.duration_ps
        return np.where(end[mine] <= end[around], around, -1).astype(np.int32)

    @cached_property
    def self_ps(self) -> Int64:
        """How long each event took without those inside of it."""
        inner = np.flatnonzero(self.parent >= 0)
        took = self.trace.duration_ps.copy()
        np.subtract.at(took, self.parent[inner], self.trace.duration_ps[inner])
        left: Int64 = took.clip(0)
        return left

    @cached_property
    def sayings(self) -> Sayings:
        return Sayings(self.trace)

    @cached_property
    def hues(self) -> NDArray[np.uint8]:
        """A number for the colour of each name, the same in every trace.

        Names that differ only in numbers, as those of steps and fusions do, share one.
        """
        names = (_NUMBER.sub("", name) for name in self.trace.names)
        return np.array([crc32(name.encode()) & 0xFF for name in names], np.uint8)
