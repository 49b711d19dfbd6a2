"""Details that the trace viewer shows: one event, selected events or a range of time, and flows.

A flow leads from one event to another that it caused on a different track: from a launch on the
host to its kernel, or from a thread that hands over work to the one that takes it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated

import msgspec
import numpy as np

from tracklight.analysis.profiles.attribution import (
    EventPairs,
    format_device,
    list_devices,
    measure_device,
    measure_tracks,
    pair_handoffs,
    pair_launches,
)
from tracklight.analysis.profiles.timeline import Timeline
from tracklight.analysis.profiles.timeline.tiles import NameRow, shorten_name, sum_by_name
from tracklight.analysis.profiles.trace import Trace
from tracklight.errors import UsageError
from tracklight.types import Float64, Int32, Int64

_MAX_ARROWS = 1_000
_MAX_CHILDREN = 50
_MAX_LINKED = 20
_MAX_VALUE_LENGTH = 20_000
_MAX_SELECTED_NAMES = 500
_MAX_MARKS = 20_000


# --- Flows ---------------------------------------------------------------------------------------


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


# --- One event -----------------------------------------------------------------------------------


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
        stack=[_make_event_row(timeline, each) for each in _list_ancestors(timeline, event)],
        children=_sum_children(timeline, event),
        incoming=[_make_event_row(timeline, each) for each in incoming.tolist()],
        outgoing=[_make_event_row(timeline, each) for each in outgoing.tolist()],
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


# --- A selected range of time --------------------------------------------------------------------


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
        SelectedTrack(each, int(counts[each]), float(busy[each]))
        for each in np.flatnonzero(counts).tolist()
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


# --- Selected events -----------------------------------------------------------------------------


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
