# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""What can only be found one event after the other: what runs inside of what, and free lanes."""

from libc.stdint cimport INT64_MIN, int32_t, int64_t
from libc.stdlib cimport free, malloc

import numpy as np


def measure_inner(const int64_t[::1] start, const int64_t[::1] end):
    """How long others ran inside of each event; see ``nesting.measure_inner``."""
    if end.shape[0] != start.shape[0]:
        raise ValueError("events have as many ends as starts")
    taken = np.zeros(start.shape[0], np.int64)
    cdef int64_t[::1] out = taken
    # The place of each open event, the innermost last.
    cdef int64_t *stack = <int64_t *> malloc((start.shape[0] + 1) * sizeof(int64_t))
    if stack == NULL:
        raise MemoryError
    cdef int64_t at, around, depth = 0
    with nogil:
        for at in range(start.shape[0]):
            while depth > 0 and end[stack[depth - 1]] <= start[at]:
                depth -= 1
            if depth > 0:
                around = stack[depth - 1]
                out[around] += min(end[at], end[around]) - start[at]
            stack[depth] = at
            depth += 1
    free(stack)
    return taken


cdef struct Open:
    int64_t ended  # for certain, and
    int64_t softly  # less the hair by which clocks may be off
    int32_t lane


def find_free(
    const int64_t[::1] start, const int64_t[::1] end, const int64_t[::1] hair, int32_t most
):
    """Below what contains an event, the first lane that is free; see ``timeline.lanes``."""
    lanes = np.empty(start.shape[0], np.int32)
    cdef int32_t[::1] found = lanes
    # Each event is opened once, so that there are never more of them than events.
    cdef Open *stack = <Open *> malloc((start.shape[0] + 1) * sizeof(Open))
    cdef Open *busy = <Open *> malloc(most * sizeof(Open))
    if stack == NULL or busy == NULL:
        free(stack)
        free(busy)
        raise MemoryError
    with nogil:
        _fill(start, end, hair, most, found, stack, busy)
    free(stack)
    free(busy)
    return lanes


cdef void _fill(
    const int64_t[::1] start,
    const int64_t[::1] end,
    const int64_t[::1] hair,
    int32_t most,
    int32_t[::1] found,
    Open *stack,
    Open *busy,
) noexcept nogil:
    cdef int64_t at, late, depth = 0
    cdef int32_t lane
    cdef Open now
    for lane in range(most):
        busy[lane].ended = busy[lane].softly = INT64_MIN
    for at in range(start.shape[0]):
        late = start[at] + hair[at]
        while depth > 0 and stack[depth - 1].softly <= start[at] and stack[depth - 1].ended <= late:
            depth -= 1
        now.ended, now.softly = end[at], end[at] - hair[at]
        lane = _find_around(stack, depth, now.softly, most) + 1
        while lane < most - 1 and not (busy[lane].softly <= start[at] and busy[lane].ended <= late):
            lane += 1
        now.lane = found[at] = lane
        busy[lane] = stack[depth] = now
        depth += 1


cdef int32_t _find_around(Open *stack, int64_t depth, int64_t ended, int32_t most) noexcept nogil:
    """The lane of the innermost that ends no earlier, but never the last one; -1: none does."""
    while depth > 0:
        depth -= 1
        if stack[depth].ended >= ended:
            return min(stack[depth].lane, most - 2)
    return -1
