"""What went on in a stretch of time: by name, and in each track."""

from __future__ import annotations

import msgspec
import numpy as np

from tracklight.profiles.timeline.tiles import shorten
from tracklight.profiles.timeline.timeline import Timeline
from tracklight.types import Int64

_MOST_NAMES = 500


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


class Selected(msgspec.Struct):
    count: int
    unlike: int
    """How many names there are; of very many only the first are told."""
    names: list[SelectedName]
    tracks: list[SelectedTrack]


def sum_selection(
    timeline: Timeline, start_ps: float, end_ps: float, tracks: list[int]
) -> Selected:
    trace = timeline.trace
    chosen = np.isin(np.arange(len(trace.tracks)), tracks)
    inside = (trace.start_ps < end_ps) & (trace.end_ps > start_ps)
    # What has no length is in it where it stands.
    inside |= (trace.duration_ps == 0) & (trace.start_ps >= start_ps) & (trace.start_ps < end_ps)
    events = np.flatnonzero(inside & chosen[trace.track])
    took = _clip(timeline, events, start_ps, end_ps)
    unlike = len(np.unique(trace.name[events]))
    names = _sum_names(timeline, events, took)
    return Selected(len(events), unlike, names, _sum_tracks(timeline, events, took))


def _clip(timeline: Timeline, events: Int64, start_ps: float, end_ps: float) -> Int64:
    trace = timeline.trace
    start, duration = trace.start_ps[events], trace.duration_ps[events]
    low, high = np.maximum(start, int(start_ps)), np.minimum(start + duration, int(end_ps))
    took: Int64 = (high - low).clip(0)
    return took


def _sum_names(timeline: Timeline, events: Int64, took: Int64) -> list[SelectedName]:
    trace = timeline.trace
    ids, which, counts = np.unique(trace.name[events], return_inverse=True, return_counts=True)
    total, own = (
        np.bincount(which, each, len(ids)) for each in (took, _own(timeline, events, took))
    )
    order = np.lexsort((trace.duration_ps[events], which))
    last = np.cumsum(counts) - 1
    first = last - counts + 1
    longest, shortest = events[order[last]], events[order[first]]
    return [
        SelectedName(
            int(ids[at]),
            shorten(trace.names[ids[at]]),
            int(counts[at]),
            float(total[at]),
            float(own[at]),
            float(trace.duration_ps[shortest[at]]),
            float(trace.duration_ps[longest[at]]),
            int(longest[at]),
        )
        for at in np.argsort(-total, kind="stable")[:_MOST_NAMES].tolist()
    ]


def _own(timeline: Timeline, events: Int64, took: Int64) -> Int64:
    """How long each was in the stretch without those inside of it."""
    own = np.zeros(len(timeline.trace), np.int64)
    own[events] = took
    parent = timeline.parent[events]
    inner = np.flatnonzero(parent >= 0)
    np.subtract.at(own, parent[inner], took[inner])
    return own[events].clip(0)


def _sum_tracks(timeline: Timeline, events: Int64, took: Int64) -> list[SelectedTrack]:
    trace = timeline.trace
    track = trace.track[events]
    counts = np.bincount(track, minlength=len(trace.tracks))
    top = timeline.lane[events] == 0
    busy = np.bincount(track[top], took[top].astype(np.float64), len(trace.tracks))
    return [
        SelectedTrack(each, int(counts[each]), float(busy[each]))
        for each in np.flatnonzero(counts).tolist()
    ]
