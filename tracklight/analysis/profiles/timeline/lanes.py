"""Assign the events of each track to lanes, so that no two events of a lane overlap.

The lane of a nested event is its depth. Events that overlap without nesting, as copies and kernels
of one stream do, get the next free lane.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from tracklight.analysis.profiles.arrays import NATIVE
from tracklight.analysis.profiles.trace import Trace
from tracklight.types import Bool, Int32, Int64

#: Deeper events share the last lane. This bounds the height of a track and the time to lay it out.
MAX_LANES = 250

# Start and end are read from the clock one after the other, so neighbors may overlap slightly: by
# at most this time, and by at most a thousandth of either event.
_MAX_OVERLAP_PS = 10_000_000
_MAX_OVERLAP_DIVISOR = 1_000


def assign_lanes(trace: Trace) -> Int32:
    """Return the lane of each event, counted from the top of its track."""
    lanes = np.zeros(len(trace), np.int32)
    bounds = np.searchsorted(trace.track, np.arange(len(trace.tracks) + 1)).tolist()
    for first, last in pairwise(bounds):
        start, duration = trace.start_ps[first:last], trace.duration_ps[first:last]
        end = start + duration
        tolerance = np.minimum(duration // _MAX_OVERLAP_DIVISOR, _MAX_OVERLAP_PS)
        nested = assign_nested_lanes(start, end, tolerance)
        lanes[first:last] = assign_free_lanes(start, end, tolerance) if nested is None else nested
    return lanes


def assign_nested_lanes(start: Int64, end: Int64, tolerance: Int64) -> Int32 | None:
    """Return lanes if all events nest; None if some only overlap."""
    if NATIVE is not None:
        lanes: Int32 | None = NATIVE.assign_nested_lanes(start, end, tolerance, MAX_LANES)
        return lanes
    return assign_nested_lanes_in_numpy(start, end, tolerance)


def assign_nested_lanes_in_numpy(start: Int64, end: Int64, tolerance: Int64) -> Int32 | None:
    """NumPy version of ``_nesting.assign_nested_lanes``, filling one lane at a time."""
    lanes = np.full(len(start), MAX_LANES - 1, np.int32)
    remaining = np.arange(len(start))
    for lane in range(MAX_LANES - 1):
        if not len(remaining):
            break
        is_free = _starts_after_others(start[remaining], end[remaining], tolerance[remaining])
        free = remaining[is_free]
        enclosing_end = end[free][np.cumsum(is_free) - 1]
        if (end[remaining] - tolerance[remaining] > enclosing_end).any():
            return None
        lanes[free] = lane
        remaining = remaining[~is_free]
    return lanes


def _starts_after_others(start: Int64, end: Int64, tolerance: Int64) -> Bool:
    """Return whether each event starts after all previous ones have ended, within the tolerance."""
    latest_end = np.maximum.accumulate(end)[:-1]
    tolerant_end = np.maximum.accumulate(end - tolerance)[:-1]
    is_after = latest_end <= start[1:]
    is_almost_after = (tolerant_end <= start[1:]) & (latest_end <= start[1:] + tolerance[1:])
    return np.append(True, is_almost_after | is_after)


def assign_free_lanes(start: Int64, end: Int64, tolerance: Int64) -> Int32:
    """Return the first free lane below the enclosing event, event by event."""
    if NATIVE is not None:
        lanes: Int32 = NATIVE.assign_free_lanes(start, end, tolerance, MAX_LANES)
        return lanes
    return assign_free_lanes_python(start, end, tolerance)


def assign_free_lanes_python(start: Int64, end: Int64, tolerance: Int64) -> Int32:
    """Python version of ``_nesting.assign_free_lanes``."""
    return np.array(list(_iter_free_lanes(start, end, tolerance)), np.int32)


def _iter_free_lanes(start: Int64, end: Int64, tolerance: Int64) -> Iterator[int]:
    stack: list[tuple[int, int, int]] = []
    """Open events, innermost last: end, end less the tolerance, and lane."""
    last = [(-(1 << 62), -(1 << 62))] * MAX_LANES
    """End of the last event of each lane, with and without the tolerance."""
    events = zip(start.tolist(), end.tolist(), tolerance.tolist(), strict=True)
    for event_start, event_end, event_tolerance in events:
        tolerant_start = event_start + event_tolerance
        while stack and stack[-1][1] <= event_start and stack[-1][0] <= tolerant_start:
            stack.pop()
        tolerant_end = event_end - event_tolerance
        lane = _get_enclosing_lane(stack, tolerant_end) + 1 if stack else 0
        while lane < MAX_LANES - 1 and not (
            last[lane][1] <= event_start and last[lane][0] <= tolerant_start
        ):
            lane += 1
        last[lane] = event_end, tolerant_end
        stack.append((event_end, tolerant_end, lane))
        yield lane


def _get_enclosing_lane(stack: list[tuple[int, int, int]], end: int) -> int:
    """Return the lane of the innermost event that ends no earlier, -1 for none.

    Never the last lane, so that there is one below it.
    """
    for event_end, _, lane in reversed(stack):
        if event_end >= end:
            return min(lane, MAX_LANES - 2)
    return -1
