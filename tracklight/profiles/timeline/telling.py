"""All that is known of one event: what is said of it, and its place among the others."""

from __future__ import annotations

import msgspec
import numpy as np

from tracklight.errors import UsageError
from tracklight.profiles.timeline.flows import Flows
from tracklight.profiles.timeline.searching import NameRow, sum_names
from tracklight.profiles.timeline.timeline import Timeline
from tracklight.types import Int64

_MOST_CHILDREN = 50
_MOST_LINKED = 20
_LONGEST_VALUE = 20_000


class EventRow(msgspec.Struct):
    event: int
    name: str
    track: int
    lane: int
    start_ps: float
    duration_ps: float


class Argument(msgspec.Struct):
    key: str
    value: int | float | str


class Same(msgspec.Struct):
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


class Told(msgspec.Struct):
    row: EventRow
    category: str
    self_ps: float
    arguments: list[Argument]
    stack: list[EventRow]
    """What is around it, the outermost first."""
    children: list[NameRow]
    """What is directly inside of it, by name."""
    came_from: list[EventRow]
    led_to: list[EventRow]
    same: Same


def tell(timeline: Timeline, flows: Flows, event: int) -> Told:
    trace = timeline.trace
    if event >= len(trace):
        raise UsageError(f"there is no event {event}: this capture has {len(trace):,}")
    return Told(
        row_of(timeline, event),
        trace.categories[trace.category[event]],
        float(timeline.self_ps[event]),
        [Argument(key, _shorten(value)) for key, value in trace.tell(event).items()],
        [row_of(timeline, each) for each in _find_stack(timeline, event)],
        _sum_children(timeline, event),
        [row_of(timeline, each) for each in _pick(flows.source[flows.target == event])],
        [row_of(timeline, each) for each in _pick(flows.target[flows.source == event])],
        _compare(timeline, event),
    )


def row_of(timeline: Timeline, event: int) -> EventRow:
    trace = timeline.trace
    return EventRow(
        event,
        trace.names[trace.name[event]],
        int(trace.track[event]),
        int(timeline.lane[event]),
        float(trace.start_ps[event]),
        float(trace.duration_ps[event]),
    )


def _shorten(value: int | float | str) -> int | float | str:
    return value[:_LONGEST_VALUE] if isinstance(value, str) else value


def _pick(events: Int64) -> list[int]:
    return [int(event) for event in events[:_MOST_LINKED]]


def _find_stack(timeline: Timeline, event: int) -> list[int]:
    stack: list[int] = []
    while (event := int(timeline.parent[event])) >= 0:
        stack.append(event)
    return stack[::-1]


def _sum_children(timeline: Timeline, event: int) -> list[NameRow]:
    children = np.flatnonzero(timeline.parent == event)
    took = timeline.trace.duration_ps[children]
    return sum_names(timeline, children, took)[:_MOST_CHILDREN]


def _compare(timeline: Timeline, event: int) -> Same:
    trace = timeline.trace
    alike = np.flatnonzero(trace.name == trace.name[event])
    alike = alike[np.argsort(trace.start_ps[alike], kind="stable")]
    took = trace.duration_ps[alike]
    place = int(np.flatnonzero(alike == event)[0])
    return Same(
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
