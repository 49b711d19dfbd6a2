"""Who brought about what elsewhere: a call of the host and its kernel, a thread and the next."""

from __future__ import annotations

from typing import NamedTuple

import msgspec
import numpy as np

from tracklight.profiles.timeline.timeline import Timeline
from tracklight.profiles.trace import Trace
from tracklight.types import Bool, Float64, Int32, Int64

#: What PyTorch, and what TensorFlow and JAX call the number that a launch and its kernel share.
_LAUNCHES = ("correlation", "correlation_id")
#: More arrows than these cannot be followed by any eye.
_MOST_SHOWN = 1_000


class Flows(NamedTuple):
    """Pairs of events, by the start of the second one."""

    source: Int64
    target: Int64


class Arrows(msgspec.Struct):
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


def find_flows(trace: Trace) -> Flows:
    pairs = [*(_find_launches(trace, key) for key in _LAUNCHES), _find_handed_on(trace)]
    source = np.concatenate([pair[0] for pair in pairs])
    target = np.concatenate([pair[1] for pair in pairs])
    order = np.argsort(trace.start_ps[target], kind="stable")
    return Flows(source[order], target[order])


def _find_launches(trace: Trace, key: str) -> tuple[Int64, Int64]:
    events, numbers = trace.find_numbers(key)
    on_device = trace.on_device[events]
    return _pair(events, numbers, ~on_device, on_device)


def _find_handed_on(trace: Trace) -> tuple[Int64, Int64]:
    """From the thread that hands work on to the one that takes it, where only one could."""
    given, gives = _find_contexts(trace, "_pt", "_p")
    taken, takes = _find_contexts(trace, "_ct", "_c")
    contexts, which = np.unique(np.concatenate([gives, takes]), axis=0, return_inverse=True)
    which = which.reshape(-1)
    events = np.concatenate([given, taken])
    is_giver = np.arange(len(events)) < len(given)
    givers = np.bincount(which[is_giver], minlength=len(contexts))
    sure = givers[which] == 1
    return _pair(events[sure], which[sure], is_giver[sure], ~is_giver[sure])


def _find_contexts(trace: Trace, kind: str, number: str) -> tuple[Int64, Int64]:
    """Events that say both, and rows of what they say."""
    kinds, numbers = trace.find_numbers(kind), trace.find_numbers(number)
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


def show_arrows(
    timeline: Timeline, flows: Flows, start_ps: float, end_ps: float, tracks: list[int]
) -> Arrows:
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
    picked = seen[:: max(1, -(-len(seen) // _MOST_SHOWN))]
    source, target = flows.source[picked], flows.target[picked]
    return Arrows(
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
