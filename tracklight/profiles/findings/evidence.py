"""The very events that something was found out from, so that they can be looked at."""

from __future__ import annotations

import msgspec
import numpy as np

from tracklight.profiles.steps.steps import Steps
from tracklight.profiles.trace import Trace
from tracklight.types import Bool, Int64

_MOST = 20


class EvidenceRow(msgspec.Struct):
    """An event by its place in the trace."""

    event: int
    name: str
    track: str
    start_ps: int
    duration_ps: int


class Evidence(msgspec.Struct):
    """The longest of some events, and how to find all of them."""

    rows: list[EvidenceRow]
    events: int
    """How many there are."""
    query: str
    """Finds those of the name that took longest in all."""
    start_ps: int
    end_ps: int
    """The step with the longest of them."""


def gather(trace: Trace, mask: Bool, steps: Steps) -> Evidence:
    """Of the events that a mask is true of, those inside of steps."""
    events = np.flatnonzero(mask)
    events = events[find_step(steps, trace.start_ps[events]) >= 0]
    if not len(events):
        return Evidence([], 0, "", *_whole(steps))
    longest = events[np.argsort(-trace.duration_ps[events], kind="stable")][:_MOST]
    took = np.bincount(trace.name[events], trace.duration_ps[events].astype(float))
    query = f'"{trace.names[int(np.argmax(took))]}"'
    rows = [make_row(trace, event) for event in longest.tolist()]
    return Evidence(rows, len(events), query, *_around(steps, rows[0].start_ps))


def gather_gaps(trace: Trace, known: Bool, steps: Steps) -> Evidence:
    """The longest stretches of steps in which nothing was recorded, each after some event."""
    events = np.flatnonzero(known)
    events = events[np.argsort(trace.start_ps[events], kind="stable")]
    start, end = trace.start_ps[events], np.maximum.accumulate(trace.end_ps[events])
    last = _find_last(trace.end_ps[events], end)
    gap = start[1:] - end[:-1]
    inside = find_step(steps, end[:-1])
    inside = (inside >= 0) & (inside == find_step(steps, start[1:])) & (gap > 0)
    places = np.flatnonzero(inside)
    places = places[np.argsort(-gap[places], kind="stable")][:_MOST]
    rows = [
        EvidenceRow(
            event=(event := int(events[last[place]])),
            name=f"nothing, after {trace.names[trace.name[event]]}",
            track=_say_track(trace, event),
            start_ps=int(end[place]),
            duration_ps=int(gap[place]),
        )
        for place in places.tolist()
    ]
    window = _around(steps, rows[0].start_ps) if rows else _whole(steps)
    return Evidence(rows, int(inside.sum()), "", *window)


def find_step(steps: Steps, at_ps: Int64) -> Int64:
    """Which step each time is in; -1: in none."""
    which = np.searchsorted(steps.spans[:, 0], at_ps, "right") - 1
    if not len(steps.spans):
        return np.full(len(at_ps), -1, np.int64)
    return np.where((which >= 0) & (at_ps < steps.spans[which, 1]), which, -1)


def make_row(trace: Trace, event: int) -> EvidenceRow:
    return EvidenceRow(
        event,
        trace.names[trace.name[event]],
        _say_track(trace, event),
        int(trace.start_ps[event]),
        int(trace.duration_ps[event]),
    )


def _find_last(ends: Int64, reached: Int64) -> Int64:
    """Of each place the event up to there that ends last."""
    is_last = ends == reached
    return np.maximum.accumulate(np.where(is_last, np.arange(len(ends)), 0))


def _say_track(trace: Trace, event: int) -> str:
    track = trace.tracks[trace.track[event]]
    return f"{track.process} {track.name}".strip()


def _around(steps: Steps, at_ps: int) -> tuple[int, int]:
    which = int(find_step(steps, np.array([at_ps]))[0])
    start, end = steps.spans[which].tolist() if which >= 0 else _whole(steps)
    return int(start), int(end)


def _whole(steps: Steps) -> tuple[int, int]:
    return (int(steps.spans[0, 0]), int(steps.spans[-1, 1])) if len(steps.spans) else (0, 0)
