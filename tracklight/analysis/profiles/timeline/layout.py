"""A trace laid out for viewing: lanes, nesting, tracks in display order, and a search index."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from zlib import crc32

import msgspec
import numpy as np
from numpy.typing import NDArray

from tracklight.analysis.profiles.attribution.utilization import measure_tracks
from tracklight.analysis.profiles.timeline.lanes import assign_lanes
from tracklight.analysis.profiles.timeline.pyramid import Entries, Pyramid
from tracklight.analysis.profiles.trace import FLOAT, TEXT, ArgTable, Trace, Track
from tracklight.types import Bool, Int32, Int64

_NUMBER = re.compile(r"\d+")
_MAIN_THREAD = re.compile(r"\b(main|python[\d.]*)\b", re.IGNORECASE)

#: Returns which of several texts match a query.
TextMatcher = Callable[[Sequence[str]], Bool]


class Timeline:
    """The layout of a trace. Expensive parts are computed when first used.

    Rows are lanes, numbered across all tracks.
    """

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.lane = assign_lanes(trace)
        bounds = np.searchsorted(trace.track, np.arange(len(trace.tracks) + 1)).tolist()
        lane_counts = [
            int(self.lane[first:last].max(initial=-1)) + 1 for first, last in pairwise(bounds)
        ]
        self.first_row: Int64 = np.append(0, np.cumsum(lane_counts, dtype=np.int64))
        """The first row of each track, and the number of rows."""

    @property
    def start_ps(self) -> int:
        return int(self.trace.start_ps.min()) if len(self.trace) else 0

    @cached_property
    def end_ps(self) -> int:
        return int(self.trace.end_ps.max()) if len(self.trace) else 0

    def get_rows(self, track: int) -> range:
        return range(int(self.first_row[track]), int(self.first_row[track + 1]))

    @cached_property
    def row(self) -> Int32:
        """The row of each event."""
        return (self.first_row[self.trace.track] + self.lane).astype(np.int32)

    @cached_property
    def order(self) -> Int32:
        """All events sorted by row and start."""
        # NumPy sorts 16-bit integers by radix, which is faster.
        row = self.row.astype(np.uint16) if self.first_row[-1] < 1 << 16 else self.row
        return np.argsort(row, kind="stable").astype(np.int32)

    @cached_property
    def pyramid(self) -> Pyramid:
        order, trace = self.order, self.trace
        start, duration = trace.start_ps[order], trace.duration_ps[order]
        finest = Entries(
            row=self.row[order],
            start=start,
            end=start + duration,
            event=order,
            longest_ps=duration,
            event_count=np.ones(len(order), np.int32),
            busy_ps=duration,
        )
        return Pyramid(finest, int(self.first_row[-1]))

    @cached_property
    def parent(self) -> Int32:
        """The event that encloses each event in the lane above, -1 for none."""
        parents = np.full(len(self.trace), -1, np.int32)
        bounds = np.searchsorted(self.row[self.order], np.arange(self.first_row[-1] + 1))
        for track in range(len(self.trace.tracks)):
            for row in self.get_rows(track)[1:]:
                above, events = (
                    self.order[bounds[each] : bounds[each + 1]] for each in (row - 1, row)
                )
                parents[events] = self._get_enclosing(above, events)
        return parents

    def _get_enclosing(self, above: Int32, events: Int32) -> Int32:
        start = self.trace.start_ps
        candidate = above[np.searchsorted(start[above], start[events], "right") - 1]
        end = start + self.trace.duration_ps
        return np.where(end[events] <= end[candidate], candidate, -1).astype(np.int32)

    @cached_property
    def self_ps(self) -> Int64:
        """Duration of each event without its children."""
        children = np.flatnonzero(self.parent >= 0)
        time = self.trace.duration_ps.copy()
        np.subtract.at(time, self.parent[children], self.trace.duration_ps[children])
        self_ps: Int64 = time.clip(0)
        return self_ps

    @cached_property
    def arg_index(self) -> ArgIndex:
        return ArgIndex(self.trace)

    @cached_property
    def name_hues(self) -> NDArray[np.uint8]:
        """A color number for each name, the same in every trace.

        Names that differ only in numbers, like those of steps and fusions, share one.
        """
        names = (_NUMBER.sub("", name) for name in self.trace.names)
        return np.array([crc32(name.encode()) & 0xFF for name in names], np.uint8)


class ArgIndex:
    """The arguments of all events as texts ``key=value``, each listed once."""

    def __init__(self, trace: Trace) -> None:
        self._count = len(trace)
        args = trace.args.take(np.lexsort((trace.args.bits, trace.args.kind, trace.args.key)))
        changes = (np.diff(args.key) != 0) | (np.diff(args.kind) != 0) | (np.diff(args.bits) != 0)
        is_first = np.append(np.ones(min(len(args.event), 1), bool), changes)
        self._event: Int64 = args.event
        self._text_index = np.cumsum(is_first) - 1
        self.texts = tuple(_iter_arg_texts(trace, args.take(is_first)))

    def match(self, matches: TextMatcher) -> Bool:
        """Return a mask of the events of which an argument matches."""
        mask = np.zeros(self._count, bool)
        mask[self._event[matches(self.texts)[self._text_index]]] = True
        return mask


def _iter_arg_texts(trace: Trace, args: ArgTable) -> Iterator[str]:
    floats = args.bits.view(np.float64).tolist()
    rows = zip(args.key.tolist(), args.kind.tolist(), args.bits.tolist(), floats, strict=True)
    for key, kind, bits, number in rows:
        value = trace.get_text(bits) if kind == TEXT else number if kind == FLOAT else bits
        yield f"{trace.arg_keys[key]}={value}".replace("\n", " ")


class TrackRow(msgspec.Struct):
    """A track in the viewer."""

    id: int
    process: str
    name: str
    is_device: bool
    is_main: bool
    lanes: int
    events: int
    busy_ps: float
    """For how long at least one event ran."""


def list_tracks(timeline: Timeline) -> list[TrackRow]:
    """List tracks with events: the main thread, then devices, then other threads by busy time."""
    trace = timeline.trace
    counts = np.bincount(trace.track, minlength=len(trace.tracks)).tolist()
    busy_ps = measure_tracks(trace, timeline.start_ps, timeline.end_ps)
    main = _get_main_track(trace.tracks, counts)
    rows = [
        TrackRow(
            id=number,
            process=track.process,
            name=track.name,
            is_device=track.is_device,
            is_main=number == main,
            lanes=len(timeline.get_rows(number)),
            events=counts[number],
            busy_ps=float(busy_ps[number]),
        )
        for number, track in enumerate(trace.tracks)
        if counts[number]
    ]
    return sorted(rows, key=lambda row: _get_sort_key(row, trace.tracks[row.id]))


def _get_main_track(tracks: tuple[Track, ...], counts: list[int]) -> int:
    """Return the thread with the most events, preferring those named "main" or "python"."""
    threads = [number for number, track in enumerate(tracks) if not track.is_device]
    named_main = [number for number in threads if _MAIN_THREAD.search(tracks[number].name)]
    return max(named_main or threads, key=counts.__getitem__, default=-1)


def _get_sort_key(row: TrackRow, track: Track) -> tuple[object, ...]:
    if row.is_main:
        return (0,)
    if row.is_device:
        return 1, row.process, track.id, row.id
    return 2, -row.busy_ps, row.id
