"""The data behind the trace viewer: layout, levels of detail, search and details of events.

A `Timeline` lays out a trace once: events in lanes, tracks in display order, a search index. No two
events of a lane overlap. The lane of a nested event is its depth. Events that overlap without
nesting, as copies and kernels of one stream do, get the next free lane.

Levels of detail keep the cost of a query proportional to what it returns. An entry is what the
viewer draws as one box: an event, or several neighbors that are too short to be distinguished at a
level. At level ``n``, a cell is ``2 ** n`` picoseconds wide.

A tile is what the viewer draws of some tracks in a range of time, at one level of detail. `details`
answers all other queries about a timeline.

May import `analysis.profiles` (its base and `trace`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple
from zlib import crc32

import msgspec
import numpy as np
from numpy.typing import NDArray

from tracklight.analysis.profiles import NATIVE, unique_inverse
from tracklight.analysis.profiles.attribution import measure_tracks
from tracklight.analysis.profiles.trace import FLOAT, TEXT, ArgTable, Trace, Track
from tracklight.types import Bool, Float64, Int32, Int64

# ---- levels of detail

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
        visible = [entries.take(element) for element in slices if element.start < element.stop]
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


# ---- lanes

#: Deeper events share the last lane. This bounds the height of a track and the time to lay it out.
MAX_LANES = 250

# Start and end are read from the clock one after the other, so neighbors may overlap slightly: by
# at most this time, and by at most a thousandth of either event.
_MAX_OVERLAP_PS = 10_000_000
_MAX_OVERLAP_DIVISOR = 1_000


def assign_lanes(trace: Trace) -> Int32:
    """Return the lane of each event, counted from the top of its track."""
    lanes = np.zeros(len(trace), np.int32)
    bounds = np.searchsorted(trace.track, np.arange(len(trace.tracks) + 1)).tolist()
    for first, last in pairwise(bounds):
        start, duration = trace.start_ps[first:last], trace.duration_ps[first:last]
        end = start + duration
        tolerance = np.minimum(duration // _MAX_OVERLAP_DIVISOR, _MAX_OVERLAP_PS)
        nested = assign_nested_lanes(start, end, tolerance)
        lanes[first:last] = assign_free_lanes(start, end, tolerance) if nested is None else nested
    return lanes


def assign_nested_lanes(start: Int64, end: Int64, tolerance: Int64) -> Int32 | None:
    """Return lanes if all events nest; None if some only overlap."""
    if NATIVE is not None:
        lanes: Int32 | None = NATIVE.assign_nested_lanes(start, end, tolerance, MAX_LANES)
        return lanes
    return assign_nested_lanes_in_numpy(start, end, tolerance)


def assign_nested_lanes_in_numpy(start: Int64, end: Int64, tolerance: Int64) -> Int32 | None:
    """NumPy version of ``_nesting.assign_nested_lanes``, filling one lane at a time."""
    lanes = np.full(len(start), MAX_LANES - 1, np.int32)
    remaining = np.arange(len(start))
    for lane in range(MAX_LANES - 1):
        if not len(remaining):
            break
        is_free = _starts_after_others(start[remaining], end[remaining], tolerance[remaining])
        free = remaining[is_free]
        enclosing_end = end[free][np.cumsum(is_free) - 1]
        if (end[remaining] - tolerance[remaining] > enclosing_end).any():
            return None
        lanes[free] = lane
        remaining = remaining[~is_free]
    return lanes


def _starts_after_others(start: Int64, end: Int64, tolerance: Int64) -> Bool:
    """Return whether each event starts after all previous ones have ended, within the tolerance."""
    latest_end = np.maximum.accumulate(end)[:-1]
    tolerant_end = np.maximum.accumulate(end - tolerance)[:-1]
    is_after = latest_end <= start[1:]
    is_almost_after = (tolerant_end <= start[1:]) & (latest_end <= start[1:] + tolerance[1:])
    return np.append(True, is_almost_after | is_after)


def assign_free_lanes(start: Int64, end: Int64, tolerance: Int64) -> Int32:
    """Return the first free lane below the enclosing event, event by event."""
    if NATIVE is not None:
        lanes: Int32 = NATIVE.assign_free_lanes(start, end, tolerance, MAX_LANES)
        return lanes
    return assign_free_lanes_python(start, end, tolerance)


def assign_free_lanes_python(start: Int64, end: Int64, tolerance: Int64) -> Int32:
    """Python version of ``_nesting.assign_free_lanes``."""
    return np.array(list(_iter_free_lanes(start, end, tolerance)), np.int32)


def _iter_free_lanes(start: Int64, end: Int64, tolerance: Int64) -> Iterator[int]:
    stack: list[tuple[int, int, int]] = []
    """Open events, innermost last: end, end less the tolerance, and lane."""
    last = [(-(1 << 62), -(1 << 62))] * MAX_LANES
    """End of the last event of each lane, with and without the tolerance."""
    events = zip(start.tolist(), end.tolist(), tolerance.tolist(), strict=True)
    for event_start, event_end, event_tolerance in events:
        tolerant_start = event_start + event_tolerance
        while stack and stack[-1][1] <= event_start and stack[-1][0] <= tolerant_start:
            stack.pop()
        tolerant_end = event_end - event_tolerance
        lane = _get_enclosing_lane(stack, tolerant_end) + 1 if stack else 0
        while lane < MAX_LANES - 1 and not (
            last[lane][1] <= event_start and last[lane][0] <= tolerant_start
        ):
            lane += 1
        last[lane] = event_end, tolerant_end
        stack.append((event_end, tolerant_end, lane))
        yield lane


def _get_enclosing_lane(stack: list[tuple[int, int, int]], end: int) -> int:
    """Return the lane of the innermost event that ends no earlier, -1 for none.

    Never the last lane, so that there is one below it.
    """
    for event_end, _, lane in reversed(stack):
        if event_end >= end:
            return min(lane, MAX_LANES - 2)
    return -1


# ---- the layout

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
                    self.order[bounds[item] : bounds[item + 1]] for item in (row - 1, row)
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


# ---- tiles

#: A tile is ``2 ** TILE_BITS`` cells wide.
TILE_BITS = 10
#: Entries of at least this many cells have room for a label.
_MIN_LABEL_CELLS = 12
_MAX_NAME_LENGTH = 200
#: In a static export, one can zoom in at most ``2 ** _MAX_ZOOM_BITS`` times.
_MAX_ZOOM_BITS = 6
_MAX_TIME_PS = 1 << 61

UInt8 = NDArray[np.uint8]


class NameTable(msgspec.Struct):
    """Names by their id."""

    ids: Int32
    texts: list[str]


class Tiles(msgspec.Struct):
    """Columns of the visible entries, sorted by tile, track, lane and start."""

    ends: Int32
    """Where the entries of each track end: all tracks of the first tile, then of the next."""
    lane: UInt8
    start: Float64
    duration: Float64
    event: Int32
    """The longest event of the entry."""
    count: Int32
    name: Int32
    hue: UInt8
    busy: UInt8
    """Share of the time in which an event ran, from 0 to 255."""
    names: NameTable
    """Names of the entries that are wide enough for a label."""


def make_tiles(timeline: Timeline, level: int, tiles: range, tracks: list[int]) -> Tiles:
    """Return the entries of some tracks in some tiles of a level."""
    width = 1 << (level + TILE_BITS)
    spans = [(_clip_time(tile * width), _clip_time((tile + 1) * width)) for tile in tiles]
    parts = [
        timeline.pyramid.query(level, *span, timeline.get_rows(track))
        for span in spans
        for track in tracks
    ]
    ends = np.cumsum([len(part.row) for part in parts], dtype=np.int32)
    empty = timeline.pyramid.query(level, 0, 0, range(0))
    return _make_columns(timeline, ends, concat_entries([empty, *parts]), level)


def choose_level(timeline: Timeline, max_entries: int) -> tuple[int, range]:
    """Return the finest level with at most ``max_entries`` in all its tiles, and those tiles."""
    min_level = _get_screen_level(timeline) - _MAX_ZOOM_BITS
    level = max(timeline.pyramid.get_level(max_entries), min_level)
    width = 1 << (level + TILE_BITS)
    return level, range(timeline.start_ps // width, timeline.end_ps // width + 1)


def make_name_table(timeline: Timeline, ids: Iterable[int]) -> NameTable:
    ids = list(ids)
    texts = [shorten_name(timeline.trace.names[id]) for id in ids]
    return NameTable(np.array(ids, np.int32), texts)


def shorten_name(name: str) -> str:
    """Truncate a name. Kernels that are C++ templates have names of several kilobytes."""
    if len(name) <= _MAX_NAME_LENGTH:
        return name
    return f"{name[:_MAX_NAME_LENGTH]}\N{HORIZONTAL ELLIPSIS}"


def _get_screen_level(timeline: Timeline) -> int:
    """Return the level at which the whole trace is about as wide as a screen."""
    return max(0, (timeline.end_ps - timeline.start_ps).bit_length() - TILE_BITS - 1)


def _clip_time(time_ps: int) -> int:
    return max(-_MAX_TIME_PS, min(time_ps, _MAX_TIME_PS))


def _make_columns(timeline: Timeline, ends: Int32, entries: Entries, level: int) -> Tiles:
    trace = timeline.trace
    name, duration = trace.name[entries.event], entries.end - entries.start
    has_label = (entries.event_count == 1) & (duration >= _MIN_LABEL_CELLS << level)
    return Tiles(
        ends=ends,
        lane=timeline.lane[entries.event].astype(np.uint8),
        start=entries.start.astype(np.float64),
        duration=duration.astype(np.float64),
        event=entries.event,
        count=entries.event_count,
        name=name,
        hue=timeline.name_hues[name],
        busy=_get_busy_share(entries),
        names=make_name_table(timeline, unique_inverse(name[has_label])[0].tolist()),
    )


def _get_busy_share(entries: Entries) -> UInt8:
    span = np.maximum(entries.end - entries.start, 1)
    share: UInt8 = np.minimum(255 * (entries.busy_ps / span), 255).astype(np.uint8)
    return share
