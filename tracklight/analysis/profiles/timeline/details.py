"""Queries of the trace viewer: search, counters, flows, one event, and selected events.

Counters are values that change over time, as steps: those that the profiler recorded, the memory in
use of each allocator, and the length of the queue of each device, which is the work that was
launched but has not begun, as in Holistic Trace Analysis. An empty queue means that the device
waits for the host.

A flow leads from one event to another that it caused on a different track: from a launch on the
host to its kernel, or from a thread that hands over work to the one that takes it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Annotated, Literal, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from tracklight.analysis.profiles.attribution import (
    CORRELATION_KEYS,
    EventPairs,
    format_device,
    list_devices,
    mask_device,
    measure_device,
    measure_tracks,
    pair_handoffs,
    pair_launches,
)
from tracklight.analysis.profiles.memory import analyze_memory, has_allocator_events
from tracklight.analysis.profiles.steps import Steps
from tracklight.analysis.profiles.timeline import TextMatcher, Timeline, shorten_name
from tracklight.analysis.profiles.trace import Trace
from tracklight.errors import UsageError
from tracklight.types import Bool, Float64, Int32, Int64

_MAX_NAMES = 200
_MAX_HITS = 2_000
_MARK_COUNT = 1_000
_MAX_ARROWS = 1_000
_MAX_CHILDREN = 50
_MAX_LINKED = 20
_MAX_VALUE_LENGTH = 20_000
_MAX_SELECTED_NAMES = 500
_MAX_MARKS = 20_000


# ---- search


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
        Counter("recorded", counter.name, counter.times_ps, counter.values, counter.process)
        for counter in trace.counters
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


# ---- flows


class FlowArrows(msgspec.Struct):
    """Columns of the arrows to draw; ``count`` is the number of visible flows."""

    count: int
    source: Int32
    target: Int32
    source_track: Int32
    target_track: Int32
    source_lane: Int32
    target_lane: Int32
    source_ps: Float64
    """Start of the source event."""
    target_ps: Float64


def collect_flows(trace: Trace) -> EventPairs:
    """Return all flows of a trace, sorted by the start of the target."""
    launches, handoffs = pair_launches(trace), pair_handoffs(trace)
    source = np.concatenate([launches.source, handoffs.source])
    target = np.concatenate([launches.target, handoffs.target])
    order = np.argsort(trace.start_ps[target], kind="stable")
    return EventPairs(source[order], target[order])


def select_flow_arrows(
    timeline: Timeline, flows: EventPairs, start_ps: float, end_ps: float, tracks: list[int]
) -> FlowArrows:
    """Return the arrows between some tracks that cross a range of time.

    If there are too many, an evenly spaced sample of them is returned.
    """
    trace = timeline.trace
    is_shown = np.isin(np.arange(len(trace.tracks)), tracks)
    source_start, target_start = trace.start_ps[flows.source], trace.start_ps[flows.target]
    visible = np.flatnonzero(
        (np.minimum(source_start, target_start) < end_ps)
        & (np.maximum(source_start, target_start) >= start_ps)
        & is_shown[trace.track[flows.source]]
        & is_shown[trace.track[flows.target]]
    )
    sample = visible[:: max(1, -(-len(visible) // _MAX_ARROWS))]
    source, target = flows.source[sample], flows.target[sample]
    return FlowArrows(
        count=len(visible),
        source=source.astype(np.int32),
        target=target.astype(np.int32),
        source_track=trace.track[source],
        target_track=trace.track[target],
        source_lane=timeline.lane[source],
        target_lane=timeline.lane[target],
        source_ps=trace.start_ps[source].astype(np.float64),
        target_ps=trace.start_ps[target].astype(np.float64),
    )


# ---- one event


class EventRow(msgspec.Struct):
    event: int
    name: str
    track: int
    lane: int
    start_ps: float
    duration_ps: float


class EventArgument(msgspec.Struct):
    key: str
    value: int | float | str


class SameNameStats(msgspec.Struct):
    """How an event compares with all events of the same name."""

    count: int
    total_ps: float
    mean_ps: float
    min_ps: float
    max_ps: float
    index: int
    """Position of the event among them by start, from 0."""
    rank: int
    """How many took longer."""
    previous: int | None
    next: int | None
    longest: int


class EventDetails(msgspec.Struct):
    row: EventRow
    category: str
    self_ps: float
    arguments: list[EventArgument]
    stack: list[EventRow]
    """Enclosing events, outermost first."""
    children: list[NameRow]
    """Direct children by name."""
    incoming: list[EventRow]
    """Sources of flows to this event."""
    outgoing: list[EventRow]
    """Targets of flows from this event."""
    same_name: SameNameStats


def get_event_details(timeline: Timeline, flows: EventPairs, event: int) -> EventDetails:
    """Return everything known about an event.

    Raises:
        UsageError: The trace has no event of this number.
    """
    trace = timeline.trace
    if event >= len(trace):
        raise UsageError(
            "profile.no_event",
            "No event {event}: this capture has {events:,} events",
            event=event,
            events=len(trace),
        )
    incoming = flows.source[flows.target == event][:_MAX_LINKED]
    outgoing = flows.target[flows.source == event][:_MAX_LINKED]
    return EventDetails(
        row=_make_event_row(timeline, event),
        category=trace.categories[trace.category[event]],
        self_ps=float(timeline.self_ps[event]),
        arguments=[
            EventArgument(key, _shorten_value(value))
            for key, value in trace.get_args(event).items()
        ],
        stack=[
            _make_event_row(timeline, ancestor) for ancestor in _list_ancestors(timeline, event)
        ],
        children=_sum_children(timeline, event),
        incoming=[_make_event_row(timeline, item) for item in incoming.tolist()],
        outgoing=[_make_event_row(timeline, item) for item in outgoing.tolist()],
        same_name=_compare_same_name(timeline, event),
    )


def _make_event_row(timeline: Timeline, event: int) -> EventRow:
    trace = timeline.trace
    return EventRow(
        event=event,
        name=trace.names[trace.name[event]],
        track=int(trace.track[event]),
        lane=int(timeline.lane[event]),
        start_ps=float(trace.start_ps[event]),
        duration_ps=float(trace.duration_ps[event]),
    )


def _shorten_value(value: int | float | str) -> int | float | str:
    return value[:_MAX_VALUE_LENGTH] if isinstance(value, str) else value


def _list_ancestors(timeline: Timeline, event: int) -> list[int]:
    ancestors: list[int] = []
    while (event := int(timeline.parent[event])) >= 0:
        ancestors.append(event)
    return ancestors[::-1]


def _sum_children(timeline: Timeline, event: int) -> list[NameRow]:
    children = np.flatnonzero(timeline.parent == event)
    duration_ps = timeline.trace.duration_ps[children]
    return sum_by_name(timeline, children, duration_ps)[:_MAX_CHILDREN]


def _compare_same_name(timeline: Timeline, event: int) -> SameNameStats:
    trace = timeline.trace
    events = np.flatnonzero(trace.name == trace.name[event])
    events = events[np.argsort(trace.start_ps[events], kind="stable")]
    duration = trace.duration_ps[events]
    place = int(np.flatnonzero(events == event)[0])
    return SameNameStats(
        count=len(events),
        total_ps=float(duration.sum()),
        mean_ps=float(duration.mean()),
        min_ps=float(duration.min()),
        max_ps=float(duration.max()),
        index=place,
        rank=int((duration > trace.duration_ps[event]).sum()),
        previous=int(events[place - 1]) if place else None,
        next=int(events[place + 1]) if place + 1 < len(events) else None,
        longest=int(events[np.argmax(duration)]),
    )


# ---- a selected range of time


class SelectedName(msgspec.Struct):
    """Events of one name. In a range of time, ``total_ps`` and ``self_ps`` count only their part
    in it."""

    id: int
    text: str
    count: int
    total_ps: float
    self_ps: float
    min_ps: float
    max_ps: float
    longest: int


class SelectedTrack(msgspec.Struct):
    """For how much of the range at least one event of a track ran."""

    track: int
    count: int
    busy_ps: float


class SelectedDevice(msgspec.Struct):
    """For how much of the range at least one kernel or copy of a device ran."""

    name: str
    busy_ps: float
    idle_ps: float


class SelectionSummary(msgspec.Struct):
    count: int
    unique_names: int
    """Number of unique names, of which only the longest are listed."""
    names: list[SelectedName]
    tracks: list[SelectedTrack]
    devices: list[SelectedDevice]
    """The devices of the selected tracks, over all their streams."""


def summarize_selection(
    timeline: Timeline, start_ps: float, end_ps: float, tracks: list[int]
) -> SelectionSummary:
    """Sum up the events of some tracks in a range of time, by name and by track."""
    trace = timeline.trace
    is_selected = np.isin(np.arange(len(trace.tracks)), tracks)
    inside = (trace.start_ps < end_ps) & (trace.end_ps > start_ps)
    # Instant events have no extent that could overlap the range.
    inside |= (trace.duration_ps == 0) & (trace.start_ps >= start_ps) & (trace.start_ps < end_ps)
    events = np.flatnonzero(inside & is_selected[trace.track])
    duration = _clip_durations(timeline, events, start_ps, end_ps)
    self_ps = _get_self_ps(timeline, events, duration)
    return SelectionSummary(
        count=len(events),
        unique_names=len(np.unique(trace.name[events])),
        names=_sum_selected_names(timeline, events, duration, self_ps),
        tracks=_sum_selected_tracks(trace, events, int(start_ps), int(end_ps)),
        devices=list(_iter_selected_devices(trace, tracks, int(start_ps), int(end_ps))),
    )


def _clip_durations(timeline: Timeline, events: Int64, start_ps: float, end_ps: float) -> Int64:
    trace = timeline.trace
    start, duration = trace.start_ps[events], trace.duration_ps[events]
    low, high = np.maximum(start, int(start_ps)), np.minimum(start + duration, int(end_ps))
    clipped: Int64 = (high - low).clip(0)
    return clipped


def _sum_selected_names(
    timeline: Timeline, events: Int64, duration: Int64, self_ps: Int64
) -> list[SelectedName]:
    trace = timeline.trace
    ids, inverse, counts = np.unique(trace.name[events], return_inverse=True, return_counts=True)
    total = np.bincount(inverse, duration, len(ids))
    self_time = np.bincount(inverse, self_ps, len(ids))
    # Sorted by name and duration: the last event of each name is its longest.
    order = np.lexsort((trace.duration_ps[events], inverse))
    last = np.cumsum(counts) - 1
    first = last - counts + 1
    longest, shortest = events[order[last]], events[order[first]]
    return [
        SelectedName(
            id=int(ids[at]),
            text=shorten_name(trace.names[ids[at]]),
            count=int(counts[at]),
            total_ps=float(total[at]),
            self_ps=float(self_time[at]),
            min_ps=float(trace.duration_ps[shortest[at]]),
            max_ps=float(trace.duration_ps[longest[at]]),
            longest=int(longest[at]),
        )
        for at in np.argsort(-total, kind="stable")[:_MAX_SELECTED_NAMES].tolist()
    ]


def _get_self_ps(timeline: Timeline, events: Int64, duration: Int64) -> Int64:
    """Return the duration of each event in the range without its children."""
    self_ps = np.zeros(len(timeline.trace), np.int64)
    self_ps[events] = duration
    parent = timeline.parent[events]
    children = np.flatnonzero(parent >= 0)
    np.subtract.at(self_ps, parent[children], duration[children])
    return self_ps[events].clip(0)


def _sum_selected_tracks(
    trace: Trace, events: Int64, start_ps: int, end_ps: int
) -> list[SelectedTrack]:
    counts = np.bincount(trace.track[events], minlength=len(trace.tracks))
    busy = measure_tracks(trace, start_ps, end_ps)
    return [
        SelectedTrack(item, int(counts[item]), float(busy[item]))
        for item in np.flatnonzero(counts).tolist()
    ]


def _iter_selected_devices(
    trace: Trace, tracks: list[int], start_ps: int, end_ps: int
) -> Iterator[SelectedDevice]:
    selected = {trace.tracks[track].device for track in tracks}
    window = np.array([[start_ps, end_ps]], np.int64)
    for device in list_devices(trace):
        if device in selected:
            busy_ps = float(measure_device(trace, device, window)[0])
            idle_ps = max(end_ps - start_ps - busy_ps, 0.0)
            yield SelectedDevice(format_device(device), busy_ps, idle_ps)


# ---- selected events


class EventBox(msgspec.Struct):
    """A rectangle of the timeline: a range of time in neighboring lanes of a track."""

    start: Annotated[float, msgspec.Meta(ge=-(2.0**60), le=2.0**60)]
    end: Annotated[float, msgspec.Meta(ge=-(2.0**60), le=2.0**60)]
    track: Annotated[int, msgspec.Meta(ge=0, le=2_000_000_000)]
    first_lane: Annotated[int, msgspec.Meta(ge=0, le=2_000_000_000)]
    last_lane: Annotated[int, msgspec.Meta(ge=0, le=2_000_000_000)]


class EventSet(msgspec.Struct):
    """Selected events, with sums of their whole durations.

    The columns have a row per event, by start; of very many events, only the first.
    """

    count: int
    total_ps: float
    self_ps: float
    """Without the time of children, selected or not."""
    unique_names: int
    """Number of unique names, of which only the longest are listed."""
    names: list[SelectedName]
    event: Int32
    track: Int32
    lane: Int32
    start_ps: Float64
    duration_ps: Float64


def summarize_events(
    timeline: Timeline, events: Sequence[int], boxes: Sequence[EventBox] = ()
) -> EventSet:
    """Return the events of a selection, and sum them up by name.

    Args:
        timeline: The timeline.
        events: Numbers of events. They are added to those in the boxes, or removed if they are
            in a box already. Numbers that the trace does not have are ignored.
        boxes: Rectangles of the timeline. All events that they touch are selected.
    """
    trace = timeline.trace
    is_selected = np.zeros(len(trace), bool)
    for box in boxes:
        # Events are sorted by track.
        first, last = np.searchsorted(trace.track, [box.track, box.track + 1])
        within = slice(int(first), int(last))
        lane, start = timeline.lane[within], trace.start_ps[within]
        is_inside = (lane >= box.first_lane) & (lane <= box.last_lane)
        is_selected[within] |= is_inside & (start <= box.end) & (trace.end_ps[within] >= box.start)
    toggled = np.unique(np.array([*events], np.int64))
    toggled = toggled[toggled < len(trace)]
    is_selected[toggled] ^= True
    selected = np.flatnonzero(is_selected)
    selected = selected[np.argsort(trace.start_ps[selected], kind="stable")]
    duration, self_ps = trace.duration_ps[selected], timeline.self_ps[selected]
    marks = selected[:_MAX_MARKS]
    return EventSet(
        count=len(selected),
        total_ps=float(duration.sum()),
        self_ps=float(self_ps.sum()),
        unique_names=len(np.unique(trace.name[selected])),
        names=_sum_selected_names(timeline, selected, duration, self_ps),
        event=marks.astype(np.int32),
        track=trace.track[marks].astype(np.int32),
        lane=timeline.lane[marks].astype(np.int32),
        start_ps=trace.start_ps[marks].astype(np.float64),
        duration_ps=trace.duration_ps[marks].astype(np.float64),
    )
