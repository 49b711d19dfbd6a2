# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Compiled loops over nested events that cannot be vectorized."""

from libc.stdint cimport INT64_MIN, int32_t, int64_t
from libc.stdlib cimport free, malloc

import numpy as np


def compute_child_time(const int64_t[::1] start, const int64_t[::1] end):
    """Return the time of the direct children of each event; see ``arrays.compute_child_time``."""
    if end.shape[0] != start.shape[0]:
        raise ValueError("start and end must have the same length")
    child_time = np.zeros(start.shape[0], np.int64)
    cdef int64_t[::1] out = child_time
    # Numbers of the open events, innermost last.
    cdef int64_t *stack = <int64_t *> malloc((start.shape[0] + 1) * sizeof(int64_t))
    if stack == NULL:
        raise MemoryError
    cdef int64_t event, parent, depth = 0
    with nogil:
        for event in range(start.shape[0]):
            while depth > 0 and end[stack[depth - 1]] <= start[event]:
                depth -= 1
            if depth > 0:
                parent = stack[depth - 1]
                out[parent] += min(end[event], end[parent]) - start[event]
            stack[depth] = event
            depth += 1
    free(stack)
    return child_time


def compute_callers(const int64_t[::1] start, const int64_t[::1] end):
    """Return the caller and the depth of each event; see ``arrays.compute_callers``."""
    if end.shape[0] != start.shape[0]:
        raise ValueError("start and end must have the same length")
    callers = np.empty(start.shape[0], np.int64)
    depths = np.empty(start.shape[0], np.int32)
    cdef int64_t[::1] out = callers
    cdef int32_t[::1] out_depth = depths
    cdef int64_t *stack = <int64_t *> malloc((start.shape[0] + 1) * sizeof(int64_t))
    if stack == NULL:
        raise MemoryError
    cdef int64_t event, depth = 0
    with nogil:
        for event in range(start.shape[0]):
            while depth > 0 and end[stack[depth - 1]] <= start[event]:
                depth -= 1
            out[event] = stack[depth - 1] if depth > 0 else -1
            out_depth[event] = depth
            stack[depth] = event
            depth += 1
    free(stack)
    return callers, depths


cdef struct LaneEvent:
    int64_t end
    int64_t tolerant_end  # end less the tolerance for imprecise clocks
    int32_t lane


def assign_free_lanes(
    const int64_t[::1] start,
    const int64_t[::1] end,
    const int64_t[::1] tolerance,
    int32_t max_lanes,
):
    """Return the first free lane below the enclosing event; see ``timeline.lanes``."""
    lanes = np.empty(start.shape[0], np.int32)
    cdef int32_t[::1] out = lanes
    # Each event is pushed once, so the stack never holds more than all events.
    cdef LaneEvent *stack = <LaneEvent *> malloc((start.shape[0] + 1) * sizeof(LaneEvent))
    cdef LaneEvent *last = <LaneEvent *> malloc(max_lanes * sizeof(LaneEvent))
    if stack == NULL or last == NULL:
        free(stack)
        free(last)
        raise MemoryError
    with nogil:
        _assign(start, end, tolerance, max_lanes, out, stack, last)
    free(stack)
    free(last)
    return lanes


cdef void _assign(
    const int64_t[::1] start,
    const int64_t[::1] end,
    const int64_t[::1] tolerance,
    int32_t max_lanes,
    int32_t[::1] out,
    LaneEvent *stack,
    LaneEvent *last,
) noexcept nogil:
    """Fill ``out``. ``stack`` holds the open events, ``last`` the last event of each lane."""
    cdef int64_t event, tolerant_start, depth = 0
    cdef int32_t lane
    cdef LaneEvent current
    for lane in range(max_lanes):
        last[lane].end = last[lane].tolerant_end = INT64_MIN
    for event in range(start.shape[0]):
        tolerant_start = start[event] + tolerance[event]
        while (
            depth > 0
            and stack[depth - 1].tolerant_end <= start[event]
            and stack[depth - 1].end <= tolerant_start
        ):
            depth -= 1
        current.end, current.tolerant_end = end[event], end[event] - tolerance[event]
        lane = _get_enclosing_lane(stack, depth, current.tolerant_end, max_lanes) + 1
        while lane < max_lanes - 1 and not (
            last[lane].tolerant_end <= start[event] and last[lane].end <= tolerant_start
        ):
            lane += 1
        current.lane = out[event] = lane
        last[lane] = stack[depth] = current
        depth += 1


cdef int32_t _get_enclosing_lane(
    LaneEvent *stack, int64_t depth, int64_t end, int32_t max_lanes
) noexcept nogil:
    """Return the lane of the innermost event that ends no earlier, -1 for none.

    Never the last lane, so that there is one below it.
    """
    while depth > 0:
        depth -= 1
        if stack[depth].end >= end:
            return min(stack[depth].lane, max_lanes - 2)
    return -1
