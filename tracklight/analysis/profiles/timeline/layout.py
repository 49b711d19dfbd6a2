"""What is said of events, each thing once, so that it can be looked through."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from zlib import crc32

import msgspec
import numpy as np
from numpy.typing import NDArray

from tracklight.analysis.profiles.timeline.lanes import assign_lanes
from tracklight.analysis.profiles.timeline.pyramid import Entries, Pyramid
from tracklight.analysis.profiles.trace import FLOAT, TEXT, ArgTable, Trace, Track
from tracklight.types import Bool, Float64, Int32, Int64

#: Of each text whether it is what somebody looks for.
TextMatcher = Callable[[Sequence[str]], Bool]


class ArgIndex:
    """The arguments of all events as texts, ``key=value`` on one line, none of them twice."""

    def __init__(self, trace: Trace) -> None:
        self._count = len(trace)
        said = trace.args.take(np.lexsort((trace.args.bits, trace.args.kind, trace.args.key)))
        changes = (np.diff(said.key) != 0) | (np.diff(said.kind) != 0) | (np.diff(said.bits) != 0)
        is_first = np.append(np.ones(min(len(said.event), 1), bool), changes)
        self._event: Int64 = said.event
        self._text_index = np.cumsum(is_first) - 1
        self.texts = tuple(_iter_arg_texts(trace, said.take(is_first)))

    def match(self, matches: TextMatcher) -> Bool:
        """Of each event whether one of its arguments fits."""
        found = np.zeros(self._count, bool)
        found[self._event[matches(self.texts)[self._text_index]]] = True
        return found


def _iter_arg_texts(trace: Trace, said: ArgTable) -> Iterator[str]:
    reals = said.bits.view(np.float64).tolist()
    rows = zip(said.key.tolist(), said.kind.tolist(), said.bits.tolist(), reals, strict=True)
    for key, kind, bits, real in rows:
        value = trace.get_text(bits) if kind == TEXT else real if kind == FLOAT else bits
        yield f"{trace.arg_keys[key]}={value}".replace("\n", " ")


# A trace laid out: its tracks in lanes, who stands inside whom, and the pyramid over all that.

_NUMBER = re.compile(r"\d+")


class Timeline:
    """What is put together once for a trace; what few ask for, when they do."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.lane = assign_lanes(trace)
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

    def get_rows(self, track: int) -> range:
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
            for row in self.get_rows(track)[1:]:
                above, mine = (
                    self.order[bounds[each] : bounds[each + 1]] for each in (row - 1, row)
                )
                parents[mine] = self._get_enclosing(above, mine)
        return parents

    def _get_enclosing(self, above: Int32, mine: Int32) -> Int32:
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
    def arg_index(self) -> ArgIndex:
        return ArgIndex(self.trace)

    @cached_property
    def name_hues(self) -> NDArray[np.uint8]:
        """A number for the colour of each name, the same in every trace.

        Names that differ only in numbers, as those of steps and fusions do, share one.
        """
        names = (_NUMBER.sub("", name) for name in self.trace.names)
        return np.array([crc32(name.encode()) & 0xFF for name in names], np.uint8)


# The tracks in the order in which somebody wants to see them.

_MAIN_THREAD = re.compile(r"\b(main|python[\d.]*)\b", re.IGNORECASE)


class TrackRow(msgspec.Struct):
    id: int
    process: str
    name: str
    is_device: bool
    is_main: bool
    lanes: int
    events: int
    busy_ps: float
    """How long anything went on in it."""


def list_tracks(timeline: Timeline) -> list[TrackRow]:
    """The main thread, then devices, then other threads, the busiest first.

    Tracks in which nothing happened are left out.
    """
    trace = timeline.trace
    counts = np.bincount(trace.track, minlength=len(trace.tracks)).tolist()
    busy = measure_busy_ps(timeline)
    main = _get_main_track(trace.tracks, counts)
    rows = [
        TrackRow(
            at,
            track.process,
            track.name,
            track.is_device,
            at == main,
            len(timeline.get_rows(at)),
            counts[at],
            float(busy[at]),
        )
        for at, track in enumerate(trace.tracks)
        if counts[at]
    ]
    return sorted(rows, key=lambda row: _get_sort_key(row, trace.tracks[row.id]))


def measure_busy_ps(timeline: Timeline) -> Float64:
    """How long each track did something: as long as its topmost events."""
    trace = timeline.trace
    top = timeline.lane == 0
    weights = trace.duration_ps[top].astype(np.float64)
    busy: Float64 = np.bincount(trace.track[top], weights, len(trace.tracks)).astype(np.float64)
    return busy


def _get_main_track(tracks: tuple[Track, ...], counts: list[int]) -> int:
    """The thread with the most events, of those that are called so if any is."""
    hosts = [at for at, track in enumerate(tracks) if not track.is_device]
    called = [at for at in hosts if _MAIN_THREAD.search(tracks[at].name)]
    return max(called or hosts, key=counts.__getitem__, default=-1)


def _get_sort_key(row: TrackRow, track: Track) -> tuple[object, ...]:
    if row.is_main:
        return (0,)
    if row.is_device:
        return 1, row.process, track.id, row.id
    return 2, -row.busy_ps, row.id
