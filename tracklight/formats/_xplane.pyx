# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""The compiled half of reading profiles; `tracklight.formats.profiles.xplane` says what it does.

A line is walked through twice: once to count, so that every column is as long as it has to be, and
once to fill. The interpreter's lock is let go of meanwhile.
"""

from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport int64_t, uint8_t, uint64_t

import numpy as np

from tracklight.errors import FormatError

cdef extern from "wire.h" nogil:
    ctypedef struct tl_field:
        uint64_t number
        unsigned int type
        uint64_t value
        const uint8_t *start
        const uint8_t *end
    int tl_next(const uint8_t **at, const uint8_t *end, tl_field *field)

cdef enum:
    LINE_EVENTS = 4
    EVENT_METADATA = 1
    EVENT_OFFSET = 2
    EVENT_DURATION = 3
    EVENT_STATS = 4
    EVENT_OCCURRENCES = 5
    STAT_METADATA = 1
    VARINT = 0
    DELIMITED = 2


cdef struct Columns:
    int64_t *events  # metadata, offset, duration, occurrences, first stat; one after the other
    int64_t *stats  # metadata, kind, value or where it starts, size; one after the other
    int64_t *rest  # number, wire type, value or where it starts, size; one row a field
    int64_t event_count
    int64_t stat_count
    int64_t rest_count
    int64_t event_length  # of a column
    int64_t stat_length


def scan_line(const uint8_t[::1] data, int64_t start, int64_t end):
    cdef Columns columns = Columns(NULL, NULL, NULL, 0, 0, 0, 0, 0)
    cdef const uint8_t *bytes_ = &data[0] if data.shape[0] else NULL
    cdef int64_t[:, ::1] event_rows
    cdef int64_t[:, ::1] stat_rows
    cdef int64_t[:, ::1] rest_rows
    cdef int fine
    if not 0 <= start <= end <= data.shape[0]:
        raise ValueError("a line lies inside its file")
    with nogil:
        fine = walk(bytes_, start, end, &columns)
    # One more: its first stat is where the stats end, and no array is empty.
    events = np.zeros((5, columns.event_count + 1), np.int64)
    stats = np.zeros((4, columns.stat_count + 1), np.int64)
    rest = np.zeros((columns.rest_count + 1, 4), np.int64)
    event_rows, stat_rows, rest_rows = events, stats, rest
    columns = Columns(
        &event_rows[0, 0], &stat_rows[0, 0], &rest_rows[0, 0], 0, 0, 0,
        columns.event_count + 1, columns.stat_count + 1,
    )
    with nogil:
        fine = fine and walk(bytes_, start, end, &columns)
    if not fine:
        raise FormatError(f"the events between bytes {start} and {end} cannot be decoded")
    events[4, columns.event_count] = columns.stat_count
    return events.T, stats.T[:columns.stat_count], rest[:columns.rest_count]


def scan_fields(const uint8_t[::1] data, int64_t start, int64_t end):
    cdef const uint8_t *base = &data[0] if data.shape[0] else NULL
    cdef Columns columns = Columns(NULL, NULL, NULL, 0, 0, 0, 0, 0)
    cdef int64_t[:, ::1] rows
    cdef int fine
    if not 0 <= start <= end <= data.shape[0]:
        raise ValueError("a message lies inside its file")
    with nogil:
        fine = take_fields(base, start, end, &columns)
    found = np.zeros((columns.rest_count + 1, 4), np.int64)
    rows = found
    columns = Columns(NULL, NULL, &rows[0, 0], 0, 0, 0, 0, 0)
    with nogil:
        take_fields(base, start, end, &columns)
    return found[:columns.rest_count], bool(fine)


cdef int take_fields(const uint8_t *base, int64_t start, int64_t end, Columns *out) noexcept nogil:
    cdef const uint8_t *at = base + start
    cdef const uint8_t *stop = base + end
    cdef tl_field field
    while at < stop:
        if not tl_next(&at, stop, &field):
            return 0
        take_rest(base, &field, out)
    return 1


def scan_each(const uint8_t[::1] data, const int64_t[:, ::1] spans, uint64_t wanted):
    cdef const uint8_t *base = &data[0] if data.shape[0] else NULL
    cdef int64_t count
    cdef int64_t[:, ::1] rows
    with nogil:
        count = take_each(base, spans, wanted, NULL)
    if count < 0:
        raise FormatError("a message in it cannot be decoded")
    found = np.zeros((count + 1, 4), np.int64)
    rows = found
    with nogil:
        take_each(base, spans, wanted, &rows[0, 0])
    return found[:count]


cdef int64_t take_each(
    const uint8_t *base, const int64_t[:, ::1] spans, uint64_t wanted, int64_t *row
) noexcept nogil:
    """How many fields are wanted, put into rows if there are any; -1 where something is broken."""
    cdef const uint8_t *at
    cdef const uint8_t *stop
    cdef int64_t i, count = 0
    cdef tl_field field
    for i in range(spans.shape[0]):
        at = base + spans[i, 0]
        stop = at + spans[i, 1]
        while at < stop:
            if not tl_next(&at, stop, &field):
                return -1
            if field.type != DELIMITED or field.number > 63 or not wanted >> field.number & 1:
                continue
            if row:
                row[0], row[1] = i, <int64_t> field.number
                put_value(base, &field, row + 2)
                row += 4
            count += 1
    return count


def take_texts(const uint8_t[::1] data, const int64_t[::1] starts, const int64_t[::1] sizes):
    cdef const char *base = <const char *> &data[0] if data.shape[0] else NULL
    cdef int64_t i
    return [
        PyUnicode_DecodeUTF8(base + starts[i], sizes[i], "backslashreplace")
        for i in range(starts.shape[0])
    ]


def scan_names(const uint8_t[::1] data, const int64_t[:, ::1] spans):
    cdef const uint8_t *base = &data[0] if data.shape[0] else NULL
    cdef int64_t i, count = spans.shape[0]
    cdef int64_t[:, ::1] rows
    cdef int fine = 1
    found = np.zeros((count + 1, 5), np.int64)
    rows = found
    with nogil:
        for i in range(count):
            fine &= take_name(base, spans[i, 0], spans[i, 1], &rows[i, 0])
    if not fine:
        raise FormatError("a name in it cannot be decoded")
    return found[:count]


cdef int take_name(const uint8_t *base, int64_t start, int64_t size, int64_t *row) noexcept nogil:
    cdef const uint8_t *at = base + start
    cdef const uint8_t *stop = at + size
    cdef const uint8_t *inner
    cdef const uint8_t *inner_stop
    cdef tl_field field
    while at < stop:
        if not tl_next(&at, stop, &field):
            return 0
        if field.number == 1 and field.type == VARINT:
            row[0] = <int64_t> field.value
        elif field.number == 2 and field.type == DELIMITED:
            inner, inner_stop = field.start, field.end
            while inner < inner_stop:
                if not tl_next(&inner, inner_stop, &field):
                    return 0
                if field.type == DELIMITED and (field.number == 2 or field.number == 4):
                    put_value(base, &field, row + field.number - 1)
    return 1


cdef int walk(const uint8_t *base, int64_t start, int64_t end, Columns *out) noexcept nogil:
    cdef const uint8_t *at = base + start
    cdef const uint8_t *stop = base + end
    cdef tl_field field
    while at < stop:
        if not tl_next(&at, stop, &field):
            return 0
        if field.number == LINE_EVENTS and field.type == DELIMITED:
            if not take_event(base, field.start, field.end, out):
                return 0
        else:
            take_rest(base, &field, out)
    return 1


cdef void take_rest(const uint8_t *base, tl_field *field, Columns *out) noexcept nogil:
    cdef int64_t *row = out.rest + 4 * out.rest_count if out.rest else NULL
    out.rest_count += 1
    if row:
        row[0], row[1] = <int64_t> field.number, field.type
        put_value(base, field, row + 2)


cdef void put_value(const uint8_t *base, tl_field *field, int64_t *into) noexcept nogil:
    if field.type == DELIMITED:
        into[0] = field.start - base
        into[1] = field.end - field.start
    else:
        into[0] = <int64_t> field.value
        into[1] = 0


cdef int take_event(
    const uint8_t *base, const uint8_t *at, const uint8_t *stop, Columns *out
) noexcept nogil:
    cdef int64_t *row = out.events + out.event_count if out.events else NULL
    cdef int64_t length = out.event_length
    cdef tl_field field
    if row:
        row[4 * length] = out.stat_count
    out.event_count += 1
    while at < stop:
        if not tl_next(&at, stop, &field):
            return 0
        if field.number == EVENT_STATS and field.type == DELIMITED:
            if not take_stat(base, field.start, field.end, out):
                return 0
        elif row and field.type == VARINT:
            if field.number == EVENT_METADATA:
                row[0] = <int64_t> field.value
            elif field.number == EVENT_OFFSET:
                row[length] = <int64_t> field.value
            elif field.number == EVENT_DURATION:
                row[2 * length] = <int64_t> field.value
            elif field.number == EVENT_OCCURRENCES:
                row[3 * length] = <int64_t> field.value
    return 1


cdef int take_stat(
    const uint8_t *base, const uint8_t *at, const uint8_t *stop, Columns *out
) noexcept nogil:
    cdef int64_t *row = out.stats + out.stat_count if out.stats else NULL
    cdef int64_t length = out.stat_length
    cdef int64_t value[2]
    cdef tl_field field
    out.stat_count += 1
    if not row:
        return 1  # what is inside is looked at when it is taken
    while at < stop:
        if not tl_next(&at, stop, &field):
            return 0
        if field.number == STAT_METADATA and field.type == VARINT:
            row[0] = <int64_t> field.value
        elif field.number > 1 and field.number < 9:
            put_value(base, &field, value)
            row[length] = <int64_t> field.number
            row[2 * length], row[3 * length] = value[0], value[1]
    return 1
