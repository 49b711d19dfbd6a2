# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""The compiled scanner of event files; implements `tracklight.formats.scanner.Scanner`.

This file finds records, repeats.h reads those that are like earlier ones, gather.pxi parses the
events of the others into rows, and columns.pxi groups the rows by series. Parsing runs without the
GIL. The functions in wire.h never read beyond the end of the memory that they are given.
"""

cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, realloc
from libc.string cimport memcmp

import numpy as np

from tracklight.formats import batch as _batch

include "gather.pxi"
include "columns.pxi"

cdef enum:
    HEADER_BYTES = 12
    FRAME_BYTES = 16
    REWIND_BYTES = 16 * 1024 * 1024
    # See the constants of the same names in scanner.py.
    MAX_REJECTED_BYTES = 64 * 1024 * 1024
    MAX_REJECTED_RATIO = 16
    SHORT_RECORD_BYTES = 1024
    # Rows for records of about this size are allocated before a scan.
    MIN_SCALAR_BYTES = 40
    MAX_RESERVED_BYTES = 8 * 1024 * 1024
    # The members of `DamageKind`.
    DAMAGED_HEADER = 1
    DAMAGED_DATA = 2
    DAMAGED_PROTO = 3
    DAMAGED_TORN = 4

cdef int64_t LARGE_RECORD_BYTES = _batch.LARGE_RECORD_BYTES


def crc32c(data):
    """Return the CRC-32C of some bytes."""
    cdef const uint8_t[::1] view = memoryview(data).cast("B")
    cdef size_t size = view.shape[0]
    cdef uint32_t crc
    if size == 0:
        return 0
    with nogil:
        crc = tl_crc32c(&view[0], size)
    return crc


def crc32c_of_rows(column, const int64_t[::1] starts, uint32_t[::1] crcs):
    """Update ``crcs[i]`` with the rows ``starts[i]:starts[i + 1]`` of a column."""
    cdef const uint8_t[::1] view = memoryview(column).cast("B")
    cdef int64_t width = column.itemsize
    cdef int64_t i
    if starts.shape[0] != crcs.shape[0] + 1:
        raise ValueError("starts must have one element more than crcs")
    cdef bint is_valid = starts[0] >= 0 and starts[crcs.shape[0]] * width <= view.shape[0]
    for i in range(crcs.shape[0]):
        is_valid = is_valid and starts[i] <= starts[i + 1]
    if not is_valid:
        raise ValueError("starts must be ascending row numbers of the column")
    with nogil:
        for i in range(crcs.shape[0]):
            if starts[i] < starts[i + 1]:
                crcs[i] = tl_crc32c_from(
                    crcs[i], &view[starts[i] * width], (starts[i + 1] - starts[i]) * width
                )


cdef inline bint is_header_valid(const uint8_t *p) noexcept nogil:
    return tl_masked_crc32c(p, 8) == tl_load32(p + 8)


def find_records(data, int64_t max_record_bytes):
    """Return the spans of the valid records at the start of some bytes, and where they end.

    Args:
        data: The bytes.
        max_record_bytes: Stop at a record with a longer payload.

    Returns:
        The offset and the size of each payload, and the end of the last record. What follows is
        damaged, incomplete or too long.
    """
    cdef const uint8_t[::1] view = memoryview(data).cast("B")
    cdef int64_t size = view.shape[0], position = 0, count = 0, capacity = 1024
    cdef uint64_t length
    cdef const uint8_t *p
    spans = np.empty((capacity, 2), np.int64)
    cdef int64_t[:, ::1] rows = spans
    while position + FRAME_BYTES <= size:
        p = &view[position]
        length = tl_load64(p)
        if not is_header_valid(p) or length > <uint64_t> max_record_bytes:
            break
        if length > <uint64_t> (size - position - FRAME_BYTES):
            break
        if tl_masked_crc32c(p + HEADER_BYTES, length) != tl_load32(p + HEADER_BYTES + length):
            break
        if count == capacity:
            capacity *= 2
            spans = np.resize(spans, (capacity, 2))
            rows = spans
        rows[count, 0], rows[count, 1] = position + HEADER_BYTES, length
        count += 1
        position += FRAME_BYTES + length
    return spans[:count].copy(), position


def split_metadata(bytes data):
    """Return a SummaryMetadata without the content of its plugin, and that content.

    Returns:
        Bytes that are the same for metadata that differ in the content only, and the content; None
        if the message is not valid, or has several plugins or contents.
    """
    cdef const uint8_t *start = data
    cdef const uint8_t *end = start + len(data)
    cdef const uint8_t *at = start
    cdef const uint8_t *inner
    cdef const uint8_t *field_start
    cdef tl_field plugin, f
    cdef bint has_plugin = False, has_content = False
    before = after = content = b""
    while at < end:
        field_start = at
        if not tl_next(&at, end, &plugin):
            return None
        if plugin.number != 1 or plugin.type != 2:
            after += data[field_start - start : at - start]
            continue
        if has_plugin:
            return None
        has_plugin = True
        inner = plugin.start
        while inner < plugin.end:
            field_start = inner
            if not tl_next(&inner, plugin.end, &f):
                return None
            if f.number != 2 or f.type != 2:
                before += data[field_start - start : inner - start]
            elif has_content:
                return None
            else:
                has_content = True
                content = data[f.start - start : f.end - start]
    return (before + b"\0" + after if after else before), content


@cython.final
cdef class Scanner:
    """Reads one event file piece by piece. Not thread-safe."""

    cdef public int64_t position
    cdef public int64_t lost_at
    cdef public int64_t torn_end
    cdef int32_t damage_kind
    cdef bint lost_in_zeros
    cdef int64_t rejected_bytes  # payload bytes whose checksum was wrong

    # The current batch.
    cdef EventRows rows
    cdef tl_examples examples
    cdef Rows damage
    cdef int64_t large_payload
    cdef int64_t reported_tags

    # The current data, its offset in the file, and the size of the file.
    cdef const uint8_t *data
    cdef const uint8_t *data_end
    cdef int64_t base
    cdef int64_t size

    def __init__(self, tags=(), described=(), int64_t position=0):
        cdef bytes tag
        cdef int64_t series
        self.position = position
        self.lost_at = self.torn_end = -1
        self.rows.tags.last = -1
        for tag in tags:
            if tl_names_id(&self.rows.tags, tag, len(tag), 0) < 0:
                raise MemoryError
        self.reported_tags = self.rows.tags.count
        for series in described:
            if not 0 <= series < self.rows.tags.count:
                raise IndexError(series)
            self.rows.tags.names[series].described = 2

    def __dealloc__(self):
        tl_names_free(&self.rows.tags)
        tl_examples_free(&self.examples)
        free(self.rows.points.data)
        free(self.rows.references.data)
        free(self.damage.data)
        free(self.rows.metadata.data)

    def scan(self, data, int64_t size):
        cdef const uint8_t[::1] view = memoryview(data).cast("B")
        cdef int64_t length = view.shape[0]
        cdef Outcome outcome
        self._begin()
        if length == 0:
            return self._finish(data)
        self.data = self.rows.data = &view[0]
        self.data_end = self.data + length
        self.base = self.position
        self.size = size
        self._reserve_points(length)
        with nogil:
            outcome = self._read_records()
        if outcome == NO_MEMORY:
            raise MemoryError
        return self._finish(view)

    def accept(self, values, int64_t end):
        cdef int32_t series
        cdef list described = []
        cdef bytes tag
        self._begin()
        for item in values:
            tag = item.tag
            series = tl_names_id(&self.rows.tags, tag, len(tag), item.content)
            if series < 0:
                raise MemoryError
            self._accept_value(series, item)
            if item.metadata and self._is_new_metadata(series, item.metadata):
                described.append((series, item.metadata))
        self.rows.records = 1
        self.position = end
        result = self._finish(b"")
        result.metadata.extend(described)
        return result

    def reject(self, int64_t end):
        self._begin()
        if not add_span(&self.damage, DAMAGED_PROTO, 0, self.position, end - self.position):
            raise MemoryError
        self.position = end
        return self._finish(b"")

    def rewind(self, int64_t size):
        if self.lost_at < 0:
            return
        if 0 <= self.torn_end <= size or (
            self.lost_in_zeros and self.position - self.lost_at <= REWIND_BYTES
        ):
            self.position = self.lost_at
            self.lost_at = self.torn_end = -1
            tl_examples_cut(&self.examples, 0)  # what was after this position may have changed

    cdef _accept_value(self, int32_t series, item):
        cdef Point *point
        cdef Reference *row
        if item.scalar is None:
            row = <Reference *> next_row(&self.rows.references, sizeof(Reference))
            if row == NULL:
                raise MemoryError
            row[0] = Reference(
                series, item.content, item.step, item.wall, item.record, item.start, item.size
            )
            return
        point = <Point *> next_row(&self.rows.points, sizeof(Point))
        if point == NULL:
            raise MemoryError
        scalar_type, value = item.scalar
        point[0] = Point(series, scalar_type, item.step, item.wall, 0)
        if scalar_type == FLOAT:
            point.bits = tl_bits(value)
        else:
            point.bits = <uint64_t> (value & 0xFFFFFFFFFFFFFFFF)
        count_point(&self.rows, point, 1)

    cdef bint _is_new_metadata(self, int32_t series, bytes metadata):
        cdef const uint8_t *p = metadata
        cdef int32_t level = description_level(p, p + len(metadata))
        if level <= self.rows.tags.names[series].described:
            return False
        self.rows.tags.names[series].described = level
        return True

    cdef void _reserve_points(self, int64_t length):
        """Allocate the rows of short records at once; pages that are not used cost nothing."""
        cdef int64_t capacity = min(length, MAX_RESERVED_BYTES) // MIN_SCALAR_BYTES
        cdef void *data
        if capacity > max(MAX_IDLE_ROWS, self.rows.points.capacity):
            data = realloc(self.rows.points.data, capacity * sizeof(Point))
            if data != NULL:  # otherwise it grows when it has to
                self.rows.points.data = data
                self.rows.points.capacity = capacity

    cdef void _begin(self):
        cdef int64_t i
        for i in range(self.rows.tags.count):
            self.rows.tags.names[i].points[:] = [0, 0, 0]
        self.rows.points.count = self.rows.references.count = 0
        self.damage.count = self.rows.metadata.count = 0
        self.rows.records = 0
        self.large_payload = -1
        self.rows.has_start = False
        self.rows.file_version.size = self.rows.writer.size = -1

    # ---- framing

    cdef Outcome _read_records(self) noexcept nogil:
        """Read complete records from `position` on."""
        cdef const uint8_t *p
        cdef uint64_t length
        cdef int64_t remaining
        cdef Outcome outcome
        while True:
            if self.lost_at >= 0 and not self._find_record():
                return PARSED
            self._read_repeats()
            p = self.data + (self.position - self.base)
            remaining = self.size - self.position
            if remaining < HEADER_BYTES or self.data_end - p < HEADER_BYTES:
                return PARSED
            if not is_header_valid(p):
                self._start_search(DAMAGED_HEADER, -1, tl_load64(p) == 0 and tl_load32(p + 8) == 0)
                continue
            length = tl_load64(p)
            if remaining < FRAME_BYTES or length > <uint64_t> (remaining - FRAME_BYTES):
                self._start_search(DAMAGED_TORN, self._end_of(length), False)
                continue
            if <int64_t> length > self.data_end - p - FRAME_BYTES:
                if <int64_t> length >= LARGE_RECORD_BYTES:
                    self.large_payload = length
                return PARSED
            outcome = self._read_record(p, length)
            tl_examples_cut(&self.examples, self.rows.tags.count)
            if outcome != PARSED:
                return PARSED if outcome == OPENS_NEXT_BATCH else outcome

    cdef inline void _read_repeats(self) noexcept nogil:
        """Read records like earlier ones, which are nearly all, up to the first other one."""
        cdef Rows *points = &self.rows.points
        cdef int64_t count = points.count
        cdef tl_window window = self._get_window()
        self.position = tl_read_repeats(
            &self.rows.tags, &self.examples, &window, self.position,
            <Point *> points.data, &points.count, points.capacity,
        )
        self.rows.records += points.count - count

    cdef inline tl_window _get_window(self) noexcept nogil:
        cdef tl_window window
        window.data = self.data
        window.end = self.data + min(self.data_end - self.data, max(0, self.size - self.base))
        window.base = self.base
        return window

    cdef inline int64_t _end_of(self, uint64_t length) noexcept nogil:
        """Return the end of a record of that length, clamped to fit 64 bits."""
        cdef uint64_t most = (<uint64_t> 1 << 62) - <uint64_t> self.position
        return self.position + FRAME_BYTES + <int64_t> (length if length < most else most)

    cdef inline Outcome _read_record(self, const uint8_t *p, int64_t length) noexcept nogil:
        cdef const uint8_t *payload = p + HEADER_BYTES
        cdef Event event
        cdef Outcome outcome
        cdef int64_t points, rows, metadata
        cdef bint is_one_point
        cdef tl_window window
        if not self._is_data_valid(p, length):
            return self._skip_damaged_data(p, length)
        event.payload = payload
        event.end = payload + length
        event.record = self.position
        points, rows = self.rows.points.count, self.rows.references.count
        metadata = self.rows.metadata.count
        outcome = parse_event(&self.rows, &event)
        if outcome == INVALID:
            if not add_span(&self.damage, DAMAGED_PROTO, 0, self.position, FRAME_BYTES + length):
                return NO_MEMORY
        elif outcome != PARSED:
            return outcome
        else:
            self.rows.records += 1
            is_one_point = (
                self.rows.points.count == points + 1
                and self.rows.references.count == rows
                and self.rows.metadata.count == metadata
            )
            if is_one_point and self.rows.number.size:
                window = self._get_window()
                tl_examples_set(
                    &self.examples, (<Point *> self.rows.points.data)[points].series, &window,
                    payload, event.end, self.rows.number.start, self.rows.number.size,
                )
        self.position += FRAME_BYTES + length
        return PARSED

    cdef Outcome _skip_damaged_data(self, const uint8_t *p, int64_t length) noexcept nogil:
        """Trust the length of a damaged record only if another record is_followed it."""
        cdef const uint8_t *end = p + FRAME_BYTES + length
        cdef bint is_followed = (
            self.size - self.position - FRAME_BYTES - length < HEADER_BYTES
            or self.data_end - end < HEADER_BYTES
            or is_header_valid(end)
        )
        if not is_followed:
            self._start_search(DAMAGED_DATA, -1, False)
            return PARSED
        if not add_span(&self.damage, DAMAGED_DATA, 0, self.position, FRAME_BYTES + length):
            return NO_MEMORY
        self.position += FRAME_BYTES + length
        return PARSED

    cdef inline void _start_search(
        self, int32_t kind, int64_t torn_end, bint in_zeros
    ) noexcept nogil:
        self.lost_at = self.position
        self.damage_kind = kind
        self.lost_in_zeros = in_zeros
        self.torn_end = torn_end
        self.position += 1

    cdef bint _find_record(self) noexcept nogil:
        """Move to the next valid record; return False if more bytes are needed first."""
        cdef const uint8_t *p = self.data + (self.position - self.base)
        cdef uint64_t length
        cdef int64_t remaining
        cdef int64_t incomplete = -1
        while self.data_end - p >= HEADER_BYTES:
            length = tl_load64(p)
            remaining = self.size - self.position - FRAME_BYTES
            if <int64_t> length > remaining or <int64_t> length < 0:
                # Perhaps it is being written. Search from here again if no valid record follows.
                if incomplete < 0 and length < <uint64_t> LARGE_RECORD_BYTES and is_header_valid(p):
                    incomplete = self.position
            elif is_header_valid(p) and self._is_worth_checking(length):
                if <int64_t> length <= self.data_end - p - FRAME_BYTES:
                    if self._is_data_valid(p, length):
                        return self._recover()
                else:
                    return <int64_t> length >= LARGE_RECORD_BYTES and self._recover()
            p += 1
            self.position += 1
        if incomplete >= 0:
            self.position = incomplete
        return False

    cdef inline bint _is_worth_checking(self, int64_t length) noexcept nogil:
        """Bound the time for a file of headers whose payloads overlap."""
        if length <= SHORT_RECORD_BYTES:
            return True
        return self.rejected_bytes <= MAX_REJECTED_BYTES + MAX_REJECTED_RATIO * self.position

    cdef inline bint _is_data_valid(self, const uint8_t *p, int64_t length) noexcept nogil:
        p += HEADER_BYTES
        if tl_masked_crc32c(p, length) == tl_load32(p + length):
            return True
        self.rejected_bytes += length
        return False

    cdef bint _recover(self) noexcept nogil:
        if not add_span(
            &self.damage, self.damage_kind, 0, self.lost_at, self.position - self.lost_at
        ):
            return False  # out of memory: the next call searches from here again
        self.lost_at = self.torn_end = -1
        return True

    cdef _finish(self, data):
        cdef int64_t i
        cdef tl_name *name
        cdef Span *span
        tags, contents = [], []
        for i in range(self.reported_tags, self.rows.tags.count):
            name = &self.rows.tags.names[i]
            tags.append((<const char *> self.rows.tags.arena)[name.start:name.start + name.size])
            contents.append(name.content)
        self.reported_tags = self.rows.tags.count
        metadata = []
        content = b""
        for i in range(self.rows.metadata.count):
            span = &(<Span *> self.rows.metadata.data)[i]
            content = self._get_metadata(span, content)
            metadata.append((span.subject, content))
        damage = []
        for i in range(self.damage.count):
            span = &(<Span *> self.damage.data)[i]
            damage.append(_batch.Damage(span.offset, span.size, _batch.DamageKind(span.subject)))
        large = None
        if self.large_payload >= 0:
            large = _batch.LargeRecord(self.position, self.large_payload)
        points, references = group_points(&self.rows), group_references(&self.rows)
        release_rows(&self.rows.points)
        release_rows(&self.rows.references)
        return _batch.Batch(
            points=points,
            references=references,
            records=self.rows.records,
            tags=tags,
            contents=contents,
            metadata=metadata,
            session_start=self.rows.start_step if self.rows.has_start else None,
            damage=damage,
            large=large,
            file_version=_slice(data, &self.rows.file_version),
            writer=_slice(data, &self.rows.writer),
        )


    cdef bytes _get_metadata(self, Span *span, bytes previous):
        """Return the bytes of a span; the same object again if they are equal to those before."""
        cdef const uint8_t *start = self.rows.data + span.offset
        cdef const uint8_t *other = previous
        if span.size == len(previous) and memcmp(start, other, span.size) == 0:
            return previous
        return (<const char *> start)[:span.size]


cdef _slice(data, Span *span):
    if span.size < 0:
        return None
    return bytes(data[span.offset:span.offset + span.size])
