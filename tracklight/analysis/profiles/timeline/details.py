"""Who brought about what elsewhere: a call of the host and its kernel, a thread and the next."""

from __future__ import annotations

from typing import NamedTuple

import msgspec
import numpy as np

from tracklight.analysis.profiles.timeline.layout import Timeline
from tracklight.analysis.profiles.timeline.search import NameRow, sum_by_name
from tracklight.analysis.profiles.timeline.tiles import shorten_name
from tracklight.analysis.profiles.trace import Trace
from tracklight.errors import UsageError
from tracklight.types import Bool, Float64, Int32, Int64

#: What PyTorch, and what TensorFlow and JAX call the number that a launch and its kernel share.
_CORRELATION_KEYS = ("correlation", "correlation_id")

#: More arrows than these cannot be followed by any eye.
_MAX_ARROWS = 1_000


class Flows(NamedTuple):
    """Pairs of events, by the start of the second one."""

    source: Int64
    target: Int64


class FlowArrows(msgspec.Struct):
    """Arrows that are seen; ``count`` is how many there would be."""

    count: int
    source: Int32
    target: Int32
    source_track: Int32
    target_track: Int32
    source_lane: Int32
    target_lane: Int32
    source_ps: Float64
    """When what it leads from began."""
    target_ps: Float64


def collect_flows(trace: Trace) -> Flows:
    pairs = [*(_pair_launches(trace, key) for key in _CORRELATION_KEYS), _pair_handoffs(trace)]
    source = np.concatenate([pair[0] for pair in pairs])
    target = np.concatenate([pair[1] for pair in pairs])
    order = np.argsort(trace.start_ps[target], kind="stable")
    return Flows(source[order], target[order])


def _pair_launches(trace: Trace, key: str) -> tuple[Int64, Int64]:
    events, numbers = trace.get_int_args(key)
    on_device = trace.on_device[events]
    return _pair(events, numbers, ~on_device, on_device)


def _pair_handoffs(trace: Trace) -> tuple[Int64, Int64]:
    """From the thread that hands work on to the one that takes it, where only one could."""
    given, gives = _get_contexts(trace, "_pt", "_p")
    taken, takes = _get_contexts(trace, "_ct", "_c")
    contexts, which = np.unique(np.concatenate([gives, takes]), axis=0, return_inverse=True)
    which = which.reshape(-1)
    events = np.concatenate([given, taken])
    is_giver = np.arange(len(events)) < len(given)
    givers = np.bincount(which[is_giver], minlength=len(contexts))
    sure = givers[which] == 1
    return _pair(events[sure], which[sure], is_giver[sure], ~is_giver[sure])


def _get_contexts(trace: Trace, kind: str, number: str) -> tuple[Int64, Int64]:
    """Events that say both, and rows of what they say."""
    kinds, numbers = trace.get_int_args(kind), trace.get_int_args(number)
    events, at, also_at = np.intersect1d(kinds[0], numbers[0], return_indices=True)
    return events, np.column_stack([kinds[1][at], numbers[1][also_at]])


def _pair(events: Int64, numbers: Int64, gives: Bool, takes: Bool) -> tuple[Int64, Int64]:
    """Each that takes with the first that gives the same number."""
    sources, source_numbers = events[gives], numbers[gives]
    targets, target_numbers = events[takes], numbers[takes]
    if not len(sources):
        return sources, targets[:0]
    order = np.argsort(source_numbers, kind="stable")
    sources, source_numbers = sources[order], source_numbers[order]
    at = np.minimum(np.searchsorted(source_numbers, target_numbers), len(sources) - 1)
    met = (source_numbers[at] == target_numbers) & (sources[at] != targets)
    return sources[at[met]], targets[met]


def select_flow_arrows(
    timeline: Timeline, flows: Flows, start_ps: float, end_ps: float, tracks: list[int]
) -> FlowArrows:
    """The arrows that cross a stretch of time between some tracks, spread over all of them."""
    trace = timeline.trace
    shown = np.isin(np.arange(len(trace.tracks)), tracks)
    began, came = trace.start_ps[flows.source], trace.start_ps[flows.target]
    seen = np.flatnonzero(
        (np.minimum(began, came) < end_ps)
        & (np.maximum(began, came) >= start_ps)
        & shown[trace.track[flows.source]]
        & shown[trace.track[flows.target]]
    )
    picked = seen[:: max(1, -(-len(seen) // _MAX_ARROWS))]
    source, target = flows.source[picked], flows.target[picked]
    return FlowArrows(
        len(seen),
        source.astype(np.int32),
        target.astype(np.int32),
        trace.track[source],
        trace.track[target],
        timeline.lane[source],
        timeline.lane[target],
        trace.start_ps[source].astype(np.float64),
        trace.start_ps[target].astype(np.float64),
    )


# All that is known of one event: what is said of it, and its place among the others.

_MAX_CHILDREN = 50

_MAX_LINKED = 20

_MAX_VALUE_LENGTH = 20_000


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
    """The event among those of the same name."""

    count: int
    total_ps: float
    mean_ps: float
    min_ps: float
    max_ps: float
    place: int
    """Which one of them it is, by their starts, counted from 0."""
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
    """What is around it, the outermost first."""
    children: list[NameRow]
    """What is directly inside of it, by name."""
    came_from: list[EventRow]
    led_to: list[EventRow]
    same: SameNameStats


def get_event_details(timeline: Timeline, flows: Flows, event: int) -> EventDetails:
    trace = timeline.trace
    if event >= len(trace):
        raise UsageError(f"there is no event {event}: this capture has {len(trace):,}")
    return EventDetails(
        make_event_row(timeline, event),
        trace.categories[trace.category[event]],
        float(timeline.self_ps[event]),
        [EventArgument(key, _shorten_value(value)) for key, value in trace.get_args(event).items()],
        [make_event_row(timeline, each) for each in _list_ancestors(timeline, event)],
        _sum_children(timeline, event),
        [
            make_event_row(timeline, each)
            for each in _limit_linked(flows.source[flows.target == event])
        ],
        [
            make_event_row(timeline, each)
            for each in _limit_linked(flows.target[flows.source == event])
        ],
        _compare_same_name(timeline, event),
    )


def make_event_row(timeline: Timeline, event: int) -> EventRow:
    trace = timeline.trace
    return EventRow(
        event,
        trace.names[trace.name[event]],
        int(trace.track[event]),
        int(timeline.lane[event]),
        float(trace.start_ps[event]),
        float(trace.duration_ps[event]),
    )


def _shorten_value(value: int | float | str) -> int | float | str:
    return value[:_MAX_VALUE_LENGTH] if isinstance(value, str) else value


def _limit_linked(events: Int64) -> list[int]:
    return [int(event) for event in events[:_MAX_LINKED]]


def _list_ancestors(timeline: Timeline, event: int) -> list[int]:
    stack: list[int] = []
    while (event := int(timeline.parent[event])) >= 0:
        stack.append(event)
    return stack[::-1]


def _sum_children(timeline: Timeline, event: int) -> list[NameRow]:
    children = np.flatnonzero(timeline.parent == event)
    took = timeline.trace.duration_ps[children]
    return sum_by_name(timeline, children, took)[:_MAX_CHILDREN]


def _compare_same_name(timeline: Timeline, event: int) -> SameNameStats:
    trace = timeline.trace
    alike = np.flatnonzero(trace.name == trace.name[event])
    alike = alike[np.argsort(trace.start_ps[alike], kind="stable")]
    took = trace.duration_ps[alike]
    place = int(np.flatnonzero(alike == event)[0])
    return SameNameStats(
        count=len(alike),
        total_ps=float(took.sum()),
        mean_ps=float(took.mean()),
        min_ps=float(took.min()),
        max_ps=float(took.max()),
        place=place,
        rank=int((took > trace.duration_ps[event]).sum()),
        previous=int(alike[place - 1]) if place else None,
        next=int(alike[place + 1]) if place + 1 < len(alike) else None,
        longest=int(alike[np.argmax(took)]),
    )


# What went on in a stretch of time: by name, and in each track.

_MAX_SELECTED_NAMES = 500


class SelectedName(msgspec.Struct):
    """Events of one name, as far as they lie in the stretch."""

    id: int
    text: str
    count: int
    total_ps: float
    self_ps: float
    min_ps: float
    max_ps: float
    longest: int


class SelectedTrack(msgspec.Struct):
    track: int
    count: int
    busy_ps: float


class SelectionSummary(msgspec.Struct):
    count: int
    unlike: int
    """How many names there are; of very many only the first are told."""
    names: list[SelectedName]
    tracks: list[SelectedTrack]


def summarize_selection(
    timeline: Timeline, start_ps: float, end_ps: float, tracks: list[int]
) -> SelectionSummary:
    trace = timeline.trace
    chosen = np.isin(np.arange(len(trace.tracks)), tracks)
    inside = (trace.start_ps < end_ps) & (trace.end_ps > start_ps)
    # What has no length is in it where it stands.
    inside |= (trace.duration_ps == 0) & (trace.start_ps >= start_ps) & (trace.start_ps < end_ps)
    events = np.flatnonzero(inside & chosen[trace.track])
    took = _clip_durations(timeline, events, start_ps, end_ps)
    unlike = len(np.unique(trace.name[events]))
    names = _sum_selected_names(timeline, events, took)
    return SelectionSummary(
        len(events), unlike, names, _sum_selected_tracks(timeline, events, took)
    )


def _clip_durations(timeline: Timeline, events: Int64, start_ps: float, end_ps: float) -> Int64:
    trace = timeline.trace
    start, duration = trace.start_ps[events], trace.duration_ps[events]
    low, high = np.maximum(start, int(start_ps)), np.minimum(start + duration, int(end_ps))
    took: Int64 = (high - low).clip(0)
    return took


def _sum_selected_names(timeline: Timeline, events: Int64, took: Int64) -> list[SelectedName]:
    trace = timeline.trace
    ids, which, counts = np.unique(trace.name[events], return_inverse=True, return_counts=True)
    total, own = (
        np.bincount(which, each, len(ids)) for each in (took, _get_self_ps(timeline, events, took))
    )
    order = np.lexsort((trace.duration_ps[events], which))
    last = np.cumsum(counts) - 1
    first = last - counts + 1
    longest, shortest = events[order[last]], events[order[first]]
    return [
        SelectedName(
            int(ids[at]),
            shorten_name(trace.names[ids[at]]),
            int(counts[at]),
            float(total[at]),
            float(own[at]),
            float(trace.duration_ps[shortest[at]]),
            float(trace.duration_ps[longest[at]]),
            int(longest[at]),
        )
        for at in np.argsort(-total, kind="stable")[:_MAX_SELECTED_NAMES].tolist()
    ]


def _get_self_ps(timeline: Timeline, events: Int64, took: Int64) -> Int64:
    """How long each was in the stretch without those inside of it."""
    own = np.zeros(len(timeline.trace), np.int64)
    own[events] = took
    parent = timeline.parent[events]
    inner = np.flatnonzero(parent >= 0)
    np.subtract.at(own, parent[inner], took[inner])
    return own[events].clip(0)


def _sum_selected_tracks(timeline: Timeline, events: Int64, took: Int64) -> list[SelectedTrack]:
    trace = timeline.trace
    track = trace.track[events]
    counts = np.bincount(track, minlength=len(trace.tracks))
    top = timeline.lane[events] == 0
    busy = np.bincount(track[top], took[top].astype(np.float64), len(trace.tracks))
    return [
        SelectedTrack(each, int(counts[each]), float(busy[each]))
        for each in np.flatnonzero(counts).tolist()
    ]
