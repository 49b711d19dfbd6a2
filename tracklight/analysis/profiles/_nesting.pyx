# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Compiled loops over events and intervals that cannot be vectorized, or not efficiently."""

from libc.stdint cimport INT64_MIN, int32_t, int64_t, uint8_t, uint64_t
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


def merge_sorted(const int64_t[::1] start, const int64_t[::1] end):
    """Return the union of intervals; see ``arrays.merge_spans``.

    None if they are not sorted by start.
    """
    if end.shape[0] != start.shape[0]:
        raise ValueError("start and end must have the same length")
    rows = np.empty((start.shape[0] + 1, 2), np.int64)
    cdef int64_t[:, ::1] out = rows
    cdef int64_t at, previous = INT64_MIN, last = -1
    cdef bint is_sorted = True
    with nogil:
        for at in range(start.shape[0]):
            if end[at] <= start[at]:
                continue
            if start[at] < previous:
                is_sorted = False
                break
            previous = start[at]
            if last >= 0 and previous <= out[last, 1]:
                if end[at] > out[last, 1]:
                    out[last, 1] = end[at]
            else:
                last += 1
                out[last, 0], out[last, 1] = previous, end[at]
    return rows[:last + 1].copy() if is_sorted else None


def intersect_sorted(const int64_t[:, ::1] one, const int64_t[:, ::1] other):
    """Return the parts of an interval set in another; see ``arrays.split_intervals``."""
    rows = np.empty((one.shape[0] + other.shape[0] + 1, 2), np.int64)
    cdef int64_t[:, ::1] out = rows
    cdef int64_t at = 0, other_at = 0, count = 0, start, end
    if one.shape[1] != 2 or other.shape[1] != 2:
        raise ValueError("intervals must have two columns")
    with nogil:
        while at < one.shape[0] and other_at < other.shape[0]:
            start = max(one[at, 0], other[other_at, 0])
            end = min(one[at, 1], other[other_at, 1])
            if start < end:
                out[count, 0], out[count, 1] = start, end
                count += 1
            if one[at, 1] < other[other_at, 1]:
                at += 1
            else:
                other_at += 1
    return rows[:count].copy()


def locate_times(const int64_t[:, ::1] spans, const int64_t[::1] times):
    """Return the span that contains each time; see ``arrays.locate_in_spans``."""
    if spans.shape[1] != 2:
        raise ValueError("spans must have two columns")
    located = np.empty(times.shape[0], np.int64)
    cdef int64_t[::1] out = located
    cdef int64_t at = -1, i, low, high, middle, time, count = spans.shape[0]
    with nogil:
        for i in range(times.shape[0]):
            time = times[i]
            # Times mostly ascend, so that the span is the one of the time before or the next.
            if at + 1 < count and spans[at + 1, 0] <= time:
                at += 1
            if (at >= 0 and spans[at, 0] > time) or (
                at + 1 < count and spans[at + 1, 0] <= time
            ):
                low, high = -1, count - 1
                while low < high:
                    middle = (low + high + 1) // 2
                    if spans[middle, 0] <= time:
                        low = middle
                    else:
                        high = middle - 1
                at = low
            out[i] = at if at >= 0 and time < spans[at, 1] else -1
    return located


def sum_by_index(const int32_t[::1] index, const int64_t[::1] values, int64_t count):
    """Return the sum of the values of each index; see ``arrays.sum_by_index``."""
    if index.shape[0] != values.shape[0]:
        raise ValueError("index and values must have the same length")
    sums = np.zeros(count + 1, np.int64)
    cdef int64_t[::1] out = sums
    cdef int64_t at
    cdef bint is_valid = True
    with nogil:
        for at in range(index.shape[0]):
            if index[at] < 0 or index[at] >= count:
                is_valid = False
                break
            out[index[at]] += values[at]
    if not is_valid:
        raise IndexError("an index is out of range")
    return sums[:count]


def compute_merge_levels(
    const int32_t[::1] row, const int64_t[::1] start, const int64_t[::1] end, uint8_t max_level
):
    """Return from which level on neighbors are merged; see ``timeline.compute_merge_levels``."""
    cdef int64_t count = row.shape[0]
    if start.shape[0] != count or end.shape[0] != count:
        raise ValueError("all columns must have the same length")
    levels = np.empty(max(count - 1, 0), np.uint8)
    cdef uint8_t[::1] out = levels
    cdef int64_t at
    cdef uint64_t bits
    cdef uint8_t level
    with nogil:
        for at in range(count - 1):
            bits = <uint64_t> (
                (start[at] ^ start[at + 1]) | (end[at] - start[at]) | (end[at + 1] - start[at + 1])
            )
            level = _count_bits(bits)
            out[at] = level if level < max_level and row[at] == row[at + 1] else max_level
    return levels


cdef uint8_t _count_bits(uint64_t value) noexcept nogil:
    """Return how many bits a number has without leading zeros."""
    cdef uint8_t bits = 0, width = 32
    while width:
        if value >> width:
            value >>= width
            bits += width
        width >>= 1
    return bits + <uint8_t> value


cdef struct OpenLane:
    int64_t end  # of the last event of the lane
    int64_t latest_end  # of all events that have reached the lane
    int64_t tolerant_end  # likewise, less the tolerance of each


def assign_nested_lanes(
    const int64_t[::1] start,
    const int64_t[::1] end,
    const int64_t[::1] tolerance,
    int32_t max_lanes,
):
    """Return the depth of each event, None if some only overlap; see ``timeline.assign_nested_lanes``."""
    lanes = np.empty(start.shape[0], np.int32)
    cdef int32_t[::1] out = lanes
    cdef OpenLane *open = <OpenLane *> malloc(max_lanes * sizeof(OpenLane))
    if open == NULL:
        raise MemoryError
    cdef bint is_nested
    with nogil:
        is_nested = _assign_nested(start, end, tolerance, max_lanes, out, open)
    free(open)
    return lanes if is_nested else None


cdef bint _assign_nested(
    const int64_t[::1] start,
    const int64_t[::1] end,
    const int64_t[::1] tolerance,
    int32_t max_lanes,
    int32_t[::1] out,
    OpenLane *open,
) noexcept nogil:
    cdef int64_t event, tolerant_end
    cdef int32_t lane, used = 0
    cdef bint is_free
    for event in range(start.shape[0]):
        tolerant_end = end[event] - tolerance[event]
        lane = 0
        while lane < max_lanes - 1:
            if lane == used:
                open[lane].latest_end = open[lane].tolerant_end = INT64_MIN
                used += 1
            is_free = open[lane].latest_end <= start[event] or (
                open[lane].tolerant_end <= start[event]
                and open[lane].latest_end <= start[event] + tolerance[event]
            )
            open[lane].latest_end = max(open[lane].latest_end, end[event])
            open[lane].tolerant_end = max(open[lane].tolerant_end, tolerant_end)
            if is_free:
                open[lane].end = end[event]
                break
            if tolerant_end > open[lane].end:
                return False
            lane += 1
        out[event] = lane
    return True


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
    """Return the first free lane below the enclosing event; see ``timeline.assign_free_lanes``."""
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
