"""Puts the events of each track into lanes, so that none lies on another.

Where events nest, the lane is the depth. Those that only reach into each other, as copies and
kernels of one stream do, take the next lane that is free.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from tracklight.analysis.profiles.arrays import NATIVE
from tracklight.analysis.profiles.trace import Trace
from tracklight.types import Bool, Int32, Int64

#: What is nested deeper shares the last one: no screen is so high, and no trace may take forever.
MAX_LANES = 250


#: Clocks are read one after the other, so neighbours overlap by a hair: by no more than this, and
#: than a thousandth of either.
_MAX_OVERLAP_PS = 10_000_000
_MAX_OVERLAP_DIVISOR = 1_000


def assign_lanes(trace: Trace) -> Int32:
    """The lane of each event, counted from the top of its track."""
    lanes = np.zeros(len(trace), np.int32)
    bounds = np.searchsorted(trace.track, np.arange(len(trace.tracks) + 1)).tolist()
    for first, last in pairwise(bounds):
        start, took = trace.start_ps[first:last], trace.duration_ps[first:last]
        hair = np.minimum(took // _MAX_OVERLAP_DIVISOR, _MAX_OVERLAP_PS)
        nested = _assign_nested(start, start + took, hair)
        lanes[first:last] = _assign_free(start, start + took, hair) if nested is None else nested
    return lanes


def _assign_nested(start: Int64, end: Int64, hair: Int64) -> Int32 | None:
    """The lanes of events that all nest, one lane at a time; None where some do not."""
    lanes = np.full(len(start), MAX_LANES - 1, np.int32)
    left = np.arange(len(start))
    for lane in range(MAX_LANES - 1):
        if not len(left):
            break
        is_free = _starts_after_others(start[left], end[left], hair[left])
        free = left[is_free]
        around = end[free][np.cumsum(is_free) - 1]
        if (end[left] - hair[left] > around).any():
            return None
        lanes[free] = lane
        left = left[~is_free]
    return lanes


def _starts_after_others(start: Int64, end: Int64, hair: Int64) -> Bool:
    """Of each event, whether it begins when all before it have ended, but for a hair."""
    latest = np.maximum.accumulate(end)[:-1]
    softly = np.maximum.accumulate(end - hair)[:-1]
    goes_on = (softly <= start[1:]) & (latest <= start[1:] + hair[1:])
    return np.append(True, goes_on | (latest <= start[1:]))


def _assign_free(start: Int64, end: Int64, hair: Int64) -> Int32:
    """The same one event at a time: below what contains it, the first lane that is free."""
    if NATIVE is not None:
        found: Int32 = NATIVE.find_free(start, end, hair, MAX_LANES)
        return found
    return np.array(list(_iter_free_python(start, end, hair)), np.int32)


def _iter_free_python(start: Int64, end: Int64, hair: Int64) -> Iterator[int]:
    open_: list[tuple[int, int, int]] = []
    busy_until = [(-(1 << 62), -(1 << 62))] * MAX_LANES
    for began, ended, slack in zip(start.tolist(), end.tolist(), hair.tolist(), strict=True):
        late = began + slack
        while open_ and open_[-1][1] <= began and open_[-1][0] <= late:
            open_.pop()
        lane = _get_enclosing_lane(open_, ended - slack) + 1 if open_ else 0
        while lane < MAX_LANES - 1 and not (
            busy_until[lane][1] <= began and busy_until[lane][0] <= late
        ):
            lane += 1
        busy_until[lane] = ended, ended - slack
        open_.append((ended, ended - slack, lane))
        yield lane


def _get_enclosing_lane(open_: list[tuple[int, int, int]], ended: int) -> int:
    """The lane of the innermost that ends no earlier, but never the last one; -1: none does."""
    for last, _, lane in reversed(open_):
        if last >= ended:
            return min(lane, MAX_LANES - 2)
    return -1
