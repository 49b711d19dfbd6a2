# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Compiled kernels for parsing protobuf messages into arrays, without holding the GIL.

`scan_fields`, `scan_messages` and `decode_texts` implement the functions of the same names in
`tracklight.formats.wire_format`; `scan_xline` and `scan_metadata_names` those in
`tracklight.formats.profiles.xplane`. The contracts are documented there.

Most functions parse a message twice: the first pass counts rows, the second fills arrays of exactly
that size.
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
    LENGTH_DELIMITED = 2


cdef struct Columns:
    # NULL while counting. Events and stats are stored column by column, other fields row by row.
    int64_t *events  # metadata id, offset, duration, occurrences, index of the first stat
    int64_t *stats  # metadata id, field number of the value, value or its offset, size
    int64_t *others  # field number, wire type, value or its offset, size
    int64_t event_count
    int64_t stat_count
    int64_t other_count
    int64_t event_length  # rows per column
    int64_t stat_length


def scan_xline(const uint8_t[::1] data, int64_t start, int64_t end):
    cdef Columns columns = Columns(NULL, NULL, NULL, 0, 0, 0, 0, 0)
    cdef const uint8_t *base = &data[0] if data.shape[0] else NULL
    cdef int64_t[:, ::1] event_rows
    cdef int64_t[:, ::1] stat_rows
    cdef int64_t[:, ::1] other_rows
    cdef int is_valid
    if not 0 <= start <= end <= data.shape[0]:
        raise ValueError("the line is outside of the data")
    with nogil:
        is_valid = scan_line_fields(base, start, end, &columns)
    # One more row than needed: arrays are never empty, and the last event row is a sentinel.
    events = np.zeros((5, columns.event_count + 1), np.int64)
    stats = np.zeros((4, columns.stat_count + 1), np.int64)
    others = np.zeros((columns.other_count + 1, 4), np.int64)
    event_rows, stat_rows, other_rows = events, stats, others
    columns = Columns(
        &event_rows[0, 0], &stat_rows[0, 0], &other_rows[0, 0], 0, 0, 0,
        columns.event_count + 1, columns.stat_count + 1,
    )
    with nogil:
        is_valid = is_valid and scan_line_fields(base, start, end, &columns)
    if not is_valid:
        raise FormatError(f"the events between bytes {start} and {end} cannot be decoded")
    events[4, columns.event_count] = columns.stat_count
    return events.T, stats.T[:columns.stat_count], others[:columns.other_count]


def scan_fields(const uint8_t[::1] data, int64_t start, int64_t end):
    cdef const uint8_t *base = &data[0] if data.shape[0] else NULL
    cdef Columns columns = Columns(NULL, NULL, NULL, 0, 0, 0, 0, 0)
    cdef int64_t[:, ::1] rows
    cdef int is_valid
    if not 0 <= start <= end <= data.shape[0]:
        raise ValueError("the message is outside of the data")
    with nogil:
        is_valid = add_fields(base, start, end, &columns)
    table = np.zeros((columns.other_count + 1, 4), np.int64)
    rows = table
    columns = Columns(NULL, NULL, &rows[0, 0], 0, 0, 0, 0, 0)
    with nogil:
        add_fields(base, start, end, &columns)
    return table[:columns.other_count], bool(is_valid)


cdef int add_fields(const uint8_t *base, int64_t start, int64_t end, Columns *out) noexcept nogil:
    cdef const uint8_t *at = base + start
    cdef const uint8_t *stop = base + end
    cdef tl_field field
    while at < stop:
        if not tl_next(&at, stop, &field):
            return 0
        add_other_field(base, &field, out)
    return 1


def scan_messages(const uint8_t[::1] data, const int64_t[:, ::1] spans, uint64_t wanted):
    cdef const uint8_t *base = &data[0] if data.shape[0] else NULL
    cdef int64_t count
    cdef int64_t[:, ::1] rows
    with nogil:
        count = add_wanted_fields(base, spans, wanted, NULL)
    if count < 0:
        raise FormatError("it contains a message that cannot be decoded")
    table = np.zeros((count + 1, 4), np.int64)
    rows = table
    with nogil:
        add_wanted_fields(base, spans, wanted, &rows[0, 0])
    return table[:count]


cdef int64_t add_wanted_fields(
    const uint8_t *base, const int64_t[:, ::1] spans, uint64_t wanted, int64_t *row
) noexcept nogil:
    """Count the wanted fields and store them if `row` is not NULL; -1 if a message is damaged."""
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
            if field.type != LENGTH_DELIMITED or field.number > 63:
                continue
            if not wanted >> field.number & 1:
                continue
            if row:
                row[0], row[1] = i, <int64_t> field.number
                set_value(base, &field, row + 2)
                row += 4
            count += 1
    return count


def decode_texts(const uint8_t[::1] data, const int64_t[::1] starts, const int64_t[::1] sizes):
    cdef const char *base = <const char *> &data[0] if data.shape[0] else NULL
    cdef int64_t i
    return [
        PyUnicode_DecodeUTF8(base + starts[i], sizes[i], "backslashreplace")
        for i in range(starts.shape[0])
    ]


def scan_metadata_names(const uint8_t[::1] data, const int64_t[:, ::1] spans):
    cdef const uint8_t *base = &data[0] if data.shape[0] else NULL
    cdef int64_t i, count = spans.shape[0]
    cdef int64_t[:, ::1] rows
    cdef int is_valid = 1
    table = np.zeros((count + 1, 5), np.int64)
    rows = table
    with nogil:
        for i in range(count):
            is_valid &= parse_name(base, spans[i, 0], spans[i, 1], &rows[i, 0])
    if not is_valid:
        raise FormatError("it contains a name that cannot be decoded")
    return table[:count]


cdef int parse_name(const uint8_t *base, int64_t start, int64_t size, int64_t *row) noexcept nogil:
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
        elif field.number == 2 and field.type == LENGTH_DELIMITED:
            inner, inner_stop = field.start, field.end
            while inner < inner_stop:
                if not tl_next(&inner, inner_stop, &field):
                    return 0
                if field.type == LENGTH_DELIMITED and (field.number == 2 or field.number == 4):
                    set_value(base, &field, row + field.number - 1)
    return 1


cdef int scan_line_fields(
    const uint8_t *base, int64_t start, int64_t end, Columns *out
) noexcept nogil:
    cdef const uint8_t *at = base + start
    cdef const uint8_t *stop = base + end
    cdef tl_field field
    while at < stop:
        if not tl_next(&at, stop, &field):
            return 0
        if field.number == LINE_EVENTS and field.type == LENGTH_DELIMITED:
            if not add_event(base, field.start, field.end, out):
                return 0
        else:
            add_other_field(base, &field, out)
    return 1


cdef void add_other_field(const uint8_t *base, tl_field *field, Columns *out) noexcept nogil:
    cdef int64_t *row = out.others + 4 * out.other_count if out.others else NULL
    out.other_count += 1
    if row:
        row[0], row[1] = <int64_t> field.number, field.type
        set_value(base, field, row + 2)


cdef void set_value(const uint8_t *base, tl_field *field, int64_t *into) noexcept nogil:
    if field.type == LENGTH_DELIMITED:
        into[0] = field.start - base
        into[1] = field.end - field.start
    else:
        into[0] = <int64_t> field.value
        into[1] = 0


cdef int add_event(
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
        if field.number == EVENT_STATS and field.type == LENGTH_DELIMITED:
            if not add_stat(base, field.start, field.end, out):
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


cdef int add_stat(
    const uint8_t *base, const uint8_t *at, const uint8_t *stop, Columns *out
) noexcept nogil:
    cdef int64_t *row = out.stats + out.stat_count if out.stats else NULL
    cdef int64_t length = out.stat_length
    cdef int64_t value[2]
    cdef tl_field field
    out.stat_count += 1
    if not row:
        return 1  # the second pass checks the content
    while at < stop:
        if not tl_next(&at, stop, &field):
            return 0
        if field.number == STAT_METADATA and field.type == VARINT:
            row[0] = <int64_t> field.value
        elif field.number > 1 and field.number < 9:
            set_value(base, &field, value)
            row[length] = <int64_t> field.number
            row[2 * length], row[3 * length] = value[0], value[1]
    return 1
