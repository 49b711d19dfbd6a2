"""Puts the events of each track into lanes, so that none lies on another.

Where events nest, the lane is the depth. Those that only reach into each other, as copies and
kernels of one stream do, take the next lane that is free.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from tracklight.profiles.trace import Trace
from tracklight.types import Int32, Int64

#: What is nested deeper shares the last one: no screen is so high, and no trace may take forever.
MOST_LANES = 250


def find_lanes(trace: Trace) -> Int32:
    """The lane of each event, counted from the top of its track."""
    lanes = np.zeros(len(trace), np.int32)
    ends = trace.end_ps
    bounds = np.searchsorted(trace.track, np.arange(len(trace.tracks) + 1)).tolist()
    for first, last in pairwise(bounds):
        start, end = trace.start_ps[first:last], ends[first:last]
        nested = _find_nested(start, end)
        lanes[first:last] = _find_free(start, end) if nested is None else nested
    return lanes


def _find_nested(start: Int64, end: Int64) -> Int32 | None:
    """The lanes of events that all nest, one lane at a time; None where some do not."""
    lanes = np.full(len(start), MOST_LANES - 1, np.int32)
    left = np.arange(len(start))
    for lane in range(MOST_LANES - 1):
        if not len(left):
            break
        latest = np.maximum.accumulate(end[left])
        is_free = np.append(True, start[left[1:]] >= latest[:-1])
        free = left[is_free]
        around = end[free][np.cumsum(is_free) - 1]
        if (end[left] > around).any():
            return None
        lanes[free] = lane
        left = left[~is_free]
    return lanes


def _find_free(start: Int64, end: Int64) -> list[int]:
    """The same one event at a time: below what contains it, the first lane that is free."""
    lanes: list[int] = []
    open_: list[tuple[int, int]] = []
    busy_until = [-(1 << 62)] * MOST_LANES
    for began, ended in zip(start.tolist(), end.tolist(), strict=True):
        while open_ and open_[-1][0] <= began:
            open_.pop()
        lane = _find_around(open_, ended) + 1 if open_ else 0
        while busy_until[lane] > began and lane < MOST_LANES - 1:
            lane += 1
        busy_until[lane] = ended
        open_.append((ended, lane))
        lanes.append(lane)
    return lanes


def _find_around(open_: list[tuple[int, int]], ended: int) -> int:
    """The lane of the innermost that ends no earlier, but never the last one; -1: none does."""
    for last, lane in reversed(open_):
        if last >= ended:
            return min(lane, MOST_LANES - 2)
    return -1
