# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Compiled kernels for parsing protobuf messages into arrays, without holding the GIL.

`scan_fields`, `scan_messages` and `decode_texts` implement the functions of the same names in
`tracklight.formats.proto`; `scan_xline` and `scan_metadata_names` those in
`tracklight.formats.profiles.xplane`. The contracts are documented there.

Most functions parse a message twice: the first pass counts rows, the second fills arrays of exactly
that size. The stats of a line are counted only if there are more of them than usual.
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

cdef extern from "xline.h" nogil:
    enum:
        TL_INVALID
        TL_DECODED
        TL_FULL
    ctypedef struct tl_xline:
        int64_t *id
        int64_t *offset
        int64_t *duration
        int64_t *first_stat
        int64_t *key
        int64_t *field
        int64_t *value
        int64_t *size
        int64_t event_count
        int64_t stat_count
        int64_t stat_capacity
    int tl_count_events(const uint8_t *p, const uint8_t *end, int64_t *events, int64_t *others)
    int tl_count_stats(const uint8_t *p, const uint8_t *end, int64_t *stats)
    int tl_decode_events(
        const uint8_t *base, const uint8_t *p, const uint8_t *end, tl_xline *out
    )

cdef enum:
    LINE_EVENTS = 4
    VARINT = 0
    LENGTH_DELIMITED = 2
    # Few stats are shorter. Rows that are not used take no memory.
    USUAL_STAT_BYTES = 8


cdef struct Columns:
    int64_t *others  # NULL while counting; field number, wire type, value or its offset, size
    int64_t other_count


def scan_xline(const uint8_t[::1] data, int64_t start, int64_t end):
    cdef const uint8_t *base = &data[0] if data.shape[0] else NULL
    cdef int64_t[:, ::1] event_columns
    cdef int64_t[:, ::1] stat_columns
    cdef int64_t[:, ::1] other_rows
    cdef int64_t event_count = 0, stat_count, other_count = 0
    cdef int status
    cdef tl_xline line
    if not 0 <= start <= end <= data.shape[0]:
        raise ValueError("the line is outside of the data")
    with nogil:
        status = tl_count_events(base + start, base + end, &event_count, &other_count)
    stat_count = (end - start) // USUAL_STAT_BYTES
    # One more row than needed: arrays are never empty, and the last event row is a sentinel.
    events = np.empty((4, event_count + 1), np.int64)
    others = np.empty((other_count + 1, 4), np.int64)
    event_columns, other_rows = events, others
    while status == TL_DECODED:
        stats = np.empty((4, stat_count + 1), np.int64)
        stat_columns = stats
        line = tl_xline(
            &event_columns[0, 0], &event_columns[1, 0], &event_columns[2, 0], &event_columns[3, 0],
            &stat_columns[0, 0], &stat_columns[1, 0], &stat_columns[2, 0], &stat_columns[3, 0],
            0, 0, stat_count,
        )
        with nogil:
            status = tl_decode_events(base, base + start, base + end, &line)
        if status != TL_FULL:
            break
        status = tl_count_stats(base + start, base + end, &stat_count)
    if status != TL_DECODED:
        raise FormatError(f"the events between bytes {start} and {end} cannot be decoded")
    events[:, event_count] = 0
    events[3, event_count] = line.stat_count
    add_line_fields(base, start, end, &other_rows[0, 0])
    return events.T, stats.T[:line.stat_count], others[:other_count]


cdef void add_line_fields(
    const uint8_t *base, int64_t start, int64_t end, int64_t *rows
) noexcept nogil:
    """Store the fields of a line other than its events."""
    cdef Columns columns = Columns(rows, 0)
    cdef const uint8_t *at = base + start
    cdef const uint8_t *stop = base + end
    cdef tl_field field
    while at < stop and tl_next(&at, stop, &field):
        if field.number != LINE_EVENTS or field.type != LENGTH_DELIMITED:
            add_other_field(base, &field, &columns)


def scan_fields(const uint8_t[::1] data, int64_t start, int64_t end):
    cdef const uint8_t *base = &data[0] if data.shape[0] else NULL
    cdef Columns columns = Columns(NULL, 0)
    cdef int64_t[:, ::1] rows
    cdef int is_valid
    if not 0 <= start <= end <= data.shape[0]:
        raise ValueError("the message is outside of the data")
    with nogil:
        is_valid = add_fields(base, start, end, &columns)
    table = np.zeros((columns.other_count + 1, 4), np.int64)
    rows = table
    columns = Columns(&rows[0, 0], 0)
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
