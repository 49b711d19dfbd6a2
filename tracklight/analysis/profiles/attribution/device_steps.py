"""Which step each device event belongs to, and how long steps last on the device.

The host runs ahead of the device: it launches the kernels of many steps before the first of them
has finished. So device events belong to the step in which they were launched, not to the one that
the host is in when they run. What links them is, in this order: the correlation id of the launch,
an annotation of the step on the device itself, the run of an XLA module, and only then the time.
"""

from __future__ import annotations

import numpy as np

from tracklight.analysis.profiles.arrays import locate_in_spans
from tracklight.analysis.profiles.attribution.launches import (
    CORRELATION_KEYS,
    EventPairs,
    pair_handoffs,
    pair_launches,
)
from tracklight.analysis.profiles.trace import Trace
from tracklight.types import Bool, Int64

_MAX_HANDOFFS = 4
_RUN_ID = "run_id"
#: A trailing step with less device work than this share of the step before it is incomplete.
_MIN_TRAILING_SHARE = 0.8


def attribute_device_events(
    trace: Trace, names: tuple[str, ...], spans: Int64, markers: Int64
) -> Int64:
    """Return the step of each device event; -1 for host events and events of no step.

    Args:
        trace: The trace.
        names: Names of the steps.
        spans: Start and end of each step on the host.
        markers: The events that mark the steps; may be empty.
    """
    steps = np.full(len(trace), -1, np.int64)
    is_work = trace.is_device_work
    if not is_work.any() or not len(spans):
        return steps
    if trace.on_device[markers].any():  # the device itself marks its steps
        steps[is_work] = locate_in_spans(spans, trace.start_ps[is_work])
        return steps
    # From the least to the most reliable source: later ones overwrite earlier ones.
    launches, launched = pair_launches(trace)
    by_time = is_work.copy()
    if len(launches):  # work whose launch was not recorded was launched before the capture began
        for key in CORRELATION_KEYS:
            by_time[trace.get_int_args(key)[0]] = False
    steps[by_time] = locate_in_spans(spans, trace.start_ps[by_time])
    for enclosing, enclosed in _iter_enclosed(trace, _find_module_steps(trace, spans, markers)):
        steps[enclosed] = enclosing
    for enclosing, enclosed in _iter_enclosed(trace, _find_annotation_steps(trace, names)):
        steps[enclosed] = enclosing
    times = _get_issue_times(trace, launches, markers)
    is_known = is_work[launched]
    steps[launched[is_known]] = locate_in_spans(spans, times[is_known])
    return steps


def extend_steps(trace: Trace, spans: Int64, device_steps: Int64) -> Int64:
    """Return the spans of steps, including the device work that they launched.

    A step ends when both the host and the device are done with it, and begins when the host begins
    it, but not before the previous one has ended.
    """
    events = np.flatnonzero(device_steps >= 0)
    if not len(events):
        return spans
    end = spans[:, 1].copy()
    np.maximum.at(end, device_steps[events], trace.end_ps[events])
    end = np.maximum.accumulate(end)
    start = spans[:, 0].copy()
    start[1:] = np.maximum(start[1:], end[:-1])
    # A span that ended before the next began still does, if the device had no part in it.
    return np.column_stack([start, np.maximum(start, end)])


def count_complete_steps(device_steps: Int64, count: int) -> int:
    """Return how many steps are left without those at the end that the capture cut off.

    The last steps launch nothing, or only a part, if the profiler stopped before the device.
    """
    events = np.bincount(device_steps[device_steps >= 0], minlength=count)
    if not events.any():
        return count
    while count > 1 and events[count - 1] < _MIN_TRAILING_SHARE * events[count - 2]:
        count -= 1
    return count


def _find_annotation_steps(trace: Trace, names: tuple[str, ...]) -> tuple[Int64, Int64]:
    """Return annotations on a device that are named after a step, and their steps."""
    number = {name: at for at, name in enumerate(names)}
    if len(number) < len(names):  # names do not identify steps
        return np.empty(0, np.int64), np.empty(0, np.int64)
    step_of_name = np.array([number.get(name, -1) for name in trace.names], np.int64)
    is_match = trace.on_device & trace.is_annotation & (step_of_name[trace.name] >= 0)
    events = np.flatnonzero(is_match)
    return events, step_of_name[trace.name[events]]


def _find_module_steps(trace: Trace, spans: Int64, markers: Int64) -> tuple[Int64, Int64]:
    """Return runs of XLA modules on a device, and the steps that started them."""
    events, ids = trace.get_int_args(_RUN_ID)
    on_device = trace.on_device[events]
    host_events = events[~on_device]
    times = _get_issue_times(trace, host_events, markers)
    step_of_id = dict(
        zip(ids[~on_device].tolist(), locate_in_spans(spans, times).tolist(), strict=True)
    )
    steps = np.array([step_of_id.get(id, -1) for id in ids[on_device].tolist()], np.int64)
    return events[on_device][steps >= 0], steps[steps >= 0]


def _iter_enclosed(trace: Trace, found: tuple[Int64, Int64]) -> list[tuple[Int64, Int64]]:
    """Return, per device, the steps of work that starts during one of the found events."""
    events, steps = found
    pairs = []
    device_of_track = np.array([track.device for track in trace.tracks], object)
    for device in dict.fromkeys(device_of_track[trace.track[events]].tolist()):
        is_device = (device_of_track == device)[trace.track]
        own = is_device[events]
        order = np.argsort(trace.start_ps[events[own]], kind="stable")
        enclosing, enclosing_steps = events[own][order], steps[own][order]
        work = np.flatnonzero(is_device & trace.is_device_work)
        spans = np.column_stack([trace.start_ps[enclosing], trace.end_ps[enclosing]])
        at = locate_in_spans(spans, trace.start_ps[work])
        pairs.append((enclosing_steps[at[at >= 0]], work[at >= 0]))
    return pairs


def _get_issue_times(trace: Trace, events: Int64, markers: Int64) -> Int64:
    """Return when the thread that marks the steps issued each host event.

    Other threads may be late: an event of theirs counts from when the work was handed to them.
    """
    times: Int64 = trace.start_ps[events].copy()
    is_main = np.zeros(len(trace.tracks), bool)
    is_main[trace.track[markers]] = True
    current, waiting = events.copy(), np.flatnonzero(~is_main[trace.track[events]])
    if not len(waiting) or not is_main.any():
        return times
    producer_of = _HandoffIndex(trace)
    for _ in range(_MAX_HANDOFFS):
        if not len(waiting):
            break
        producers = producer_of.find(current[waiting])
        waiting, producers = waiting[producers >= 0], producers[producers >= 0]
        current[waiting] = producers
        times[waiting] = trace.start_ps[producers]
        waiting = waiting[~is_main[trace.track[producers]]]
    return times


class _HandoffIndex:
    """Find the event of another thread that handed over the work that an event is part of."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        pairs: EventPairs = pair_handoffs(trace)
        is_host: Bool = ~(trace.on_device[pairs.source] | trace.on_device[pairs.target])
        is_other = trace.track[pairs.source] != trace.track[pairs.target]
        source, target = pairs.source[is_host & is_other], pairs.target[is_host & is_other]
        order = np.argsort(target, kind="stable")  # by track, then by start
        self._source, self._target = source[order], target[order]

    def find(self, events: Int64) -> Int64:
        """Return the producer of the last handoff around each event, -1 for none."""
        trace, target = self._trace, self._target
        if not len(target):
            return np.full(len(events), -1, np.int64)
        at = np.searchsorted(target, events, "right") - 1
        consumer = target[np.maximum(at, 0)]
        is_around = (
            (at >= 0)
            & (trace.track[consumer] == trace.track[events])
            & (trace.end_ps[consumer] >= trace.start_ps[events])
        )
        return np.where(is_around, self._source[np.maximum(at, 0)], -1)
