"""Counters of the trace viewer: values that change over time, as steps.

These are the counters that the profiler recorded, the memory in use of each allocator, and the
length of the queue of each device: the work that was launched but has not begun, as in Holistic
Trace Analysis. An empty queue means that the device waits for the host.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

import msgspec
import numpy as np

from tracklight.analysis.profiles.attribution.launches import CORRELATION_KEYS, pair_launches
from tracklight.analysis.profiles.attribution.utilization import (
    format_device,
    list_devices,
    mask_device,
)
from tracklight.analysis.profiles.memory.allocators import analyze_memory, has_allocator_events
from tracklight.analysis.profiles.steps import Steps
from tracklight.analysis.profiles.trace import Trace
from tracklight.types import Float64, Int64

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
