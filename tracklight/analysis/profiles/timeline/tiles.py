"""What the trace viewer asks for: tiles of tracks, counters, and search results.

A tile is what the viewer draws of some tracks in a range of time, at one level of detail.

Counters are values that change over time, as steps: those that the profiler recorded, the memory in
use of each allocator, and the length of the queue of each device, which is the work that was
launched but has not begun, as in Holistic Trace Analysis. An empty queue means that the device
waits for the host.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from tracklight.analysis.profiles.arrays import unique_inverse
from tracklight.analysis.profiles.attribution import (
    CORRELATION_KEYS,
    format_device,
    list_devices,
    mask_device,
    pair_launches,
)
from tracklight.analysis.profiles.memory import analyze_memory, has_allocator_events
from tracklight.analysis.profiles.steps import Steps
from tracklight.analysis.profiles.timeline import (
    Entries,
    TextMatcher,
    Timeline,
    concat_entries,
)
from tracklight.analysis.profiles.trace import Trace
from tracklight.types import Bool, Float64, Int32, Int64

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


# ---- search

_MAX_NAMES = 200
_MAX_HITS = 2_000
_MARK_COUNT = 1_000


class NameRow(msgspec.Struct):
    """Events of one name."""

    id: int
    text: str
    count: int
    total_ps: float
    longest: int
    """The longest event."""


class SearchResult(msgspec.Struct):
    """The matching events: totals over all of them, and columns of one page."""

    count: int
    total_ps: float
    names: list[NameRow]
    """By total duration, longest first."""
    name_ids: Int32
    """All matching names."""
    matches: NDArray[np.uint8]
    """One bit per event of the trace if arguments were searched; empty otherwise."""
    offset: int
    """Number of matching events, by start, before the first one in the columns."""
    event: Int32
    track: Int32
    lane: Int32
    start: Float64
    duration: Float64
    marks: NDArray[np.uint8]
    """For each thousandth of the trace, whether it contains a match."""


def search_events(
    timeline: Timeline, matches: TextMatcher, offset: int = 0, *, include_args: bool = False
) -> SearchResult:
    """Return the events with a matching name, or with ``include_args`` a matching argument."""
    trace = timeline.trace
    name_matches = matches(trace.names)
    is_match = name_matches[trace.name]
    if include_args:
        is_match = is_match | timeline.arg_index.match(matches)
    events = np.flatnonzero(is_match)
    events = events[np.argsort(trace.start_ps[events], kind="stable")]
    page = events[offset : offset + _MAX_HITS]
    return SearchResult(
        count=len(events),
        total_ps=float(trace.duration_ps[events].sum()),
        names=sum_by_name(timeline, events, trace.duration_ps[events])[:_MAX_NAMES],
        name_ids=np.flatnonzero(name_matches).astype(np.int32),
        matches=np.packbits(is_match, bitorder="little") if include_args else np.empty(0, np.uint8),
        offset=offset,
        event=page.astype(np.int32),
        track=trace.track[page],
        lane=timeline.lane[page],
        start=trace.start_ps[page].astype(np.float64),
        duration=trace.duration_ps[page].astype(np.float64),
        marks=_make_marks(timeline, events),
    )


def sum_by_name(timeline: Timeline, events: Int64, duration_ps: Int64) -> list[NameRow]:
    """Group events by name, longest total duration first.

    Args:
        timeline: The timeline of the trace.
        events: Numbers of the events.
        duration_ps: How much of each event to count.
    """
    trace = timeline.trace
    ids, inverse, counts = np.unique(trace.name[events], return_inverse=True, return_counts=True)
    total = np.bincount(inverse, duration_ps.astype(np.float64), len(ids))
    by_duration = np.argsort(trace.duration_ps[events], kind="stable")
    longest = np.zeros(len(ids), np.int64)
    longest[inverse[by_duration]] = events[by_duration]
    columns = zip(ids.tolist(), counts.tolist(), total.tolist(), longest.tolist(), strict=True)
    rows = (NameRow(id, shorten_name(trace.names[id]), *rest) for id, *rest in columns)
    return sorted(rows, key=lambda row: -row.total_ps)


def _make_marks(timeline: Timeline, events: Int64) -> NDArray[np.uint8]:
    span = max(timeline.end_ps - timeline.start_ps, 1)
    position = (timeline.trace.start_ps[events] - timeline.start_ps) * (_MARK_COUNT / span)
    marks = np.zeros(_MARK_COUNT, np.uint8)
    marks[np.minimum(position.astype(np.int64), _MARK_COUNT - 1)] = 1
    return marks


def make_word_matcher(query: str) -> TextMatcher:
    """Return a matcher of texts that contain all words of a query, in any order and case.

    An asterisk matches anything. A query in quotation marks has to be the whole text.
    """
    predicate = _make_text_predicate(query)

    def match(texts: Sequence[str]) -> Bool:
        return np.array([predicate(text) for text in texts], bool)

    return match


def _make_text_predicate(query: str) -> Callable[[str], bool]:
    query = query.strip()
    if len(query) > 1 and query[0] == query[-1] == '"':
        return query[1:-1].__eq__
    words = query.lower().split()
    if not words:
        return lambda text: False
    if not any("*" in word for word in words):
        return lambda text: all(word in text.lower() for word in words)
    predicates = [_make_wildcard_predicate(word) for word in words]
    return lambda text: all(predicate(text.lower()) for predicate in predicates)


def _make_wildcard_predicate(word: str) -> Callable[[str], bool]:
    """Return whether the parts between asterisks follow each other, in a single pass."""
    parts = [part for part in re.split(r"\*+", word) if part]

    def contains(text: str) -> bool:
        position = 0
        for part in parts:
            position = text.find(part, position)
            if position < 0:
                return False
            position += len(part)
        return True

    return contains


# ---- counters

CounterKind = Literal["memory", "queue", "recorded"]


class Counter(NamedTuple):
    """A value that changes at some times.

    Before the first of them it is 0, or unknown if the profiler recorded the counter.
    """

    kind: CounterKind
    name: str
    """The allocator, the device, or the name of a recorded counter."""
    times_ps: Int64
    values: Int64 | Float64
    process: str = ""
    """The process or device of a recorded counter."""

    def measure_mean(self, end_ps: int) -> float:
        """Return the mean over time, from the first value to the end of the capture."""
        ends = np.append(self.times_ps[1:], max(end_ps, int(self.times_ps[-1])))
        weights = (ends - self.times_ps).astype(np.float64)
        if not weights.any():
            return float(self.values.mean())
        return float(np.average(self.values, weights=weights))


class CounterTrack(msgspec.Struct):
    """The part of a counter in a range of time.

    From each time to the next it had the value, or if there are too many changes, at most the
    value. ``peak`` is the highest value of the whole capture, ``low`` the lowest if it is negative
    and otherwise 0.
    """

    kind: CounterKind
    name: str
    process: str
    """The process or device of a recorded counter."""
    peak: float
    low: float
    times: Float64
    values: Float64


def has_counters(trace: Trace) -> bool:
    """Return whether a trace may have counters, without computing them."""
    has_launches = any(key in trace.arg_keys for key in CORRELATION_KEYS)
    has_queues = has_launches and bool(trace.on_device.any())
    return bool(trace.counters) or has_allocator_events(trace) or has_queues


def list_counters(trace: Trace, steps: Steps) -> list[Counter]:
    """Return the counters of a trace."""
    recorded = [
        Counter("recorded", each.name, each.times_ps, each.values, each.process)
        for each in trace.counters
    ]
    return [*_iter_memory(trace, steps), *_iter_queues(trace), *recorded]


def _iter_memory(trace: Trace, steps: Steps) -> Iterator[Counter]:
    if not has_allocator_events(trace):
        return
    for row in analyze_memory(trace, steps):
        times = np.array([event.time_ps for event in row.events], np.int64)
        values = np.array([event.in_use_bytes for event in row.events], np.int64)
        yield Counter("memory", row.name, times, values)


def _iter_queues(trace: Trace) -> Iterator[Counter]:
    source, target = pair_launches(trace)
    for device in list_devices(trace):
        is_own = mask_device(trace, device)[target]
        launched, begun = trace.start_ps[source[is_own]], trace.start_ps[target[is_own]]
        # A kernel that seems to begin before its launch, as clocks differ, was never queued.
        is_queued = launched < begun
        launched, begun = launched[is_queued], begun[is_queued]
        if len(launched):
            times = np.concatenate([launched, begun])
            change = np.repeat([1, -1], len(launched))
            order = np.argsort(times, kind="stable")
            yield Counter("queue", format_device(device), times[order], np.cumsum(change[order]))


def sample_counter(counter: Counter, start_ps: float, end_ps: float, cells: int) -> CounterTrack:
    """Return a counter in a range of time, with at most one value per cell and one before."""
    times, values = counter.times_ps, counter.values
    first, last = np.searchsorted(times, [start_ps, end_ps]).tolist()
    is_known = first > 0 or counter.kind != "recorded"
    before = float(values[first - 1]) if first else 0.0
    inside: Float64 = times[first:last].astype(np.float64)
    changes: Float64 = values[first:last].astype(np.float64)
    if len(inside) > cells:
        cell = ((inside - start_ps) * (cells / (end_ps - start_ps))).astype(np.int64)
        cell_first = np.flatnonzero(np.diff(cell, prepend=-1))
        # A cell begins with the last value of the one before.
        at_start = np.append(before if is_known else -np.inf, changes[cell_first[1:] - 1])
        highest = np.maximum(np.maximum.reduceat(changes, cell_first), at_start)
        # After a cell without a neighbor, the counter keeps its last value.
        at_end = changes[np.append(cell_first[1:], len(changes)) - 1]
        cell = cell[cell_first]
        is_alone = np.append(cell[1:], cells) > cell + 1
        cell = np.append(cell, cell[is_alone] + 1)
        order = np.argsort(cell, kind="stable")
        changes = np.append(highest, at_end[is_alone])[order]
        inside = start_ps + cell[order].astype(np.float64) * ((end_ps - start_ps) / cells)
    return CounterTrack(
        kind=counter.kind,
        name=counter.name,
        process=counter.process,
        peak=float(values.max(initial=0)),
        low=float(values.min(initial=0)),
        times=np.append(float(start_ps), inside) if is_known else inside,
        values=np.append(before, changes) if is_known else changes,
    )
