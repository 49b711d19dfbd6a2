# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""The compiled scanner: `tracklight.formats.scanner` says what it promises.

Records are found here, taken apart by gather.pxi and grouped into columns by columns.pxi. Bytes
are read without the lock; the readers in wire.h carry the end of what they may touch.
"""

cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, realloc

import numpy as np

from tracklight.formats import batch as _batch

include "gather.pxi"
include "columns.pxi"

cdef enum:
    HEADER_BYTES = 12
    FRAME_BYTES = 16
    REWIND_BYTES = 16 * 1024 * 1024
    VAIN_BYTES = 64 * 1024 * 1024
    VAIN_SHARE = 16
    SHORT_RECORD = 1024
    FLAW_HEADER = 1
    FLAW_DATA = 2
    FLAW_PROTO = 3
    FLAW_TORN = 4

cdef int64_t LARGE_RECORD = _batch.LARGE_RECORD_BYTES


def crc32c(data):
    """CRC-32C of some bytes."""
    cdef const uint8_t[::1] view = memoryview(data).cast("B")
    cdef size_t size = view.shape[0]
    cdef uint32_t crc
    if size == 0:
        return 0
    with nogil:
        crc = tl_crc32c(&view[0], size)
    return crc


def crc32c_of_rows(column, const int64_t[::1] starts, uint32_t[::1] crcs):
    """Carry on one CRC-32C for each stretch ``starts[i]:starts[i + 1]`` of a column's rows."""
    cdef const uint8_t[::1] view = memoryview(column).cast("B")
    cdef int64_t width = column.itemsize
    cdef int64_t i
    if starts.shape[0] != crcs.shape[0] + 1:
        raise ValueError("as many checksums as stretches are needed")
    if starts[crcs.shape[0]] * width > view.shape[0] or starts[0] < 0 or np.any(np.diff(starts) < 0):
        raise ValueError("a stretch lies outside of the column")
    with nogil:
        for i in range(crcs.shape[0]):
            if starts[i] < starts[i + 1]:
                crcs[i] = tl_crc32c_from(
                    crcs[i], &view[starts[i] * width], (starts[i + 1] - starts[i]) * width
                )


cdef inline bint header_is_right(const uint8_t *p) noexcept nogil:
    return tl_masked_crc32c(p, 8) == tl_load32(p + 8)


@cython.final
cdef class Scanner:
    """Reads one event file piece by piece; one thread at a time."""

    cdef public int64_t position
    cdef public int64_t lost_at
    cdef public int64_t torn_end
    cdef int32_t lost_flaw
    cdef bint lost_in_zeros
    cdef int64_t vain  # bytes whose checksum was taken and came out wrong

    # The batch under way.
    cdef Gathered got
    cdef Rows damage
    cdef int64_t large_payload
    cdef int64_t reported_tags

    # The bytes under way: where they start in memory and in the file, and how long the file is.
    cdef const uint8_t *data
    cdef const uint8_t *data_end
    cdef int64_t base
    cdef int64_t size

    def __init__(self, tags=(), described=(), int64_t position=0):
        cdef bytes tag
        cdef int64_t series
        self.position = position
        self.lost_at = self.torn_end = -1
        self.got.tags.last = -1
        for tag in tags:
            if tl_names_id(&self.got.tags, tag, len(tag), 0) < 0:
                raise MemoryError
        self.reported_tags = self.got.tags.count
        for series in described:
            if not 0 <= series < self.got.tags.count:
                raise IndexError(series)
            self.got.tags.names[series].described = 2

    def __dealloc__(self):
        tl_names_free(&self.got.tags)
        free(self.got.points.data)
        free(self.got.references.data)
        free(self.damage.data)
        free(self.got.metadata.data)

    def scan(self, data, int64_t size):
        cdef const uint8_t[::1] view = memoryview(data).cast("B")
        cdef int64_t length = view.shape[0]
        cdef Outcome outcome
        self._begin()
        if length == 0:
            return self._finish(data)
        self.data = self.got.data = &view[0]
        self.data_end = self.data + length
        self.base = self.position
        self.size = size
        with nogil:
            outcome = self._read_records()
        if outcome == NO_MEMORY:
            raise MemoryError
        return self._finish(view)

    def accept(self, found, int64_t end):
        cdef int32_t series
        cdef list described = []
        cdef bytes tag
        self._begin()
        for item in found:
            tag = item.tag
            series = tl_names_id(&self.got.tags, tag, len(tag), item.content)
            if series < 0:
                raise MemoryError
            self._accept_value(series, item)
            if item.metadata and self._improves(series, item.metadata):
                described.append((series, item.metadata))
        self.got.records = 1
        self.position = end
        result = self._finish(b"")
        result.metadata.extend(described)
        return result

    def reject(self, int64_t end):
        self._begin()
        if not add_note(&self.damage, FLAW_PROTO, 0, self.position, end - self.position):
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

    cdef _accept_value(self, int32_t series, item):
        cdef Point *point
        cdef Reference *row
        if item.scalar is None:
            row = <Reference *> next_row(&self.got.references, sizeof(Reference))
            if row == NULL:
                raise MemoryError
            row[0] = Reference(
                series, item.content, item.step, item.wall, item.record, item.start, item.size
            )
            return
        point = <Point *> next_row(&self.got.points, sizeof(Point))
        if point == NULL:
            raise MemoryError
        number, value = item.scalar
        point[0] = Point(series, number, item.step, item.wall, 0)
        point.bits = tl_bits(value) if number == FLOAT else <uint64_t> (value & 0xFFFFFFFFFFFFFFFF)

    cdef bint _improves(self, int32_t series, bytes metadata):
        cdef const uint8_t *p = metadata
        cdef int32_t level = description_level(p, p + len(metadata))
        if level <= self.got.tags.names[series].described:
            return False
        self.got.tags.names[series].described = level
        return True

    cdef void _begin(self):
        self.got.points.count = self.got.references.count = 0
        self.damage.count = self.got.metadata.count = 0
        self.got.records = 0
        self.large_payload = -1
        self.got.has_start = False
        self.got.file_version.size = self.got.writer.size = -1

    # ---- framing

    cdef Outcome _read_records(self) noexcept nogil:
        """Takes records at `position` for as long as they are whole."""
        cdef const uint8_t *p
        cdef uint64_t length
        cdef int64_t left
        cdef Outcome outcome
        while True:
            if self.lost_at >= 0 and not self._find_record():
                return TAKEN
            p = self.data + (self.position - self.base)
            left = self.size - self.position
            if left < HEADER_BYTES or self.data_end - p < HEADER_BYTES:
                return TAKEN
            if not header_is_right(p):
                self._lose(FLAW_HEADER, -1, tl_load64(p) == 0 and tl_load32(p + 8) == 0)
                continue
            length = tl_load64(p)
            if left < FRAME_BYTES or length > <uint64_t> (left - FRAME_BYTES):
                self._lose(FLAW_TORN, self._end_of(length), False)
                continue
            if <int64_t> length > self.data_end - p - FRAME_BYTES:
                if <int64_t> length >= LARGE_RECORD:
                    self.large_payload = length
                return TAKEN
            outcome = self._read_record(p, length)
            if outcome != TAKEN:
                return TAKEN if outcome == OPENS_NEXT_BATCH else outcome

    cdef inline int64_t _end_of(self, uint64_t length) noexcept nogil:
        """Where a record of that length ends; as far as can be said when it claims the absurd."""
        cdef uint64_t most = (<uint64_t> 1 << 62) - <uint64_t> self.position
        return self.position + FRAME_BYTES + <int64_t> (length if length < most else most)

    cdef inline Outcome _read_record(self, const uint8_t *p, int64_t length) noexcept nogil:
        cdef const uint8_t *payload = p + HEADER_BYTES
        cdef Event event
        cdef Outcome outcome
        if not self._data_is_right(p, length):
            return self._skip_wrong_data(p, length)
        event.payload = payload
        event.end = payload + length
        event.record = self.position
        outcome = take_event(&self.got, &event)
        if outcome == BROKEN:
            if not add_note(&self.damage, FLAW_PROTO, 0, self.position, FRAME_BYTES + length):
                return NO_MEMORY
        elif outcome != TAKEN:
            return outcome
        else:
            self.got.records += 1
        self.position += FRAME_BYTES + length
        return TAKEN

    cdef Outcome _skip_wrong_data(self, const uint8_t *p, int64_t length) noexcept nogil:
        """The length can be trusted when another record starts where it says."""
        cdef const uint8_t *end = p + FRAME_BYTES + length
        cdef bint follows = (
            self.size - self.position - FRAME_BYTES - length < HEADER_BYTES
            or self.data_end - end < HEADER_BYTES
            or header_is_right(end)
        )
        if not follows:
            self._lose(FLAW_DATA, -1, False)
            return TAKEN
        if not add_note(&self.damage, FLAW_DATA, 0, self.position, FRAME_BYTES + length):
            return NO_MEMORY
        self.position += FRAME_BYTES + length
        return TAKEN

    cdef inline void _lose(self, int32_t flaw, int64_t torn_end, bint in_zeros) noexcept nogil:
        self.lost_at = self.position
        self.lost_flaw = flaw
        self.lost_in_zeros = in_zeros
        self.torn_end = torn_end
        self.position += 1

    cdef bint _find_record(self) noexcept nogil:
        """Moves `position` to the next good record; False when more bytes are needed first."""
        cdef const uint8_t *p = self.data + (self.position - self.base)
        cdef uint64_t length
        cdef int64_t left
        cdef int64_t unfinished = -1
        while self.data_end - p >= HEADER_BYTES:
            length = tl_load64(p)
            left = self.size - self.position - FRAME_BYTES
            if <int64_t> length > left or <int64_t> length < 0:
                # It may still be being written, so it is looked at again if nothing good follows.
                if unfinished < 0 and length < <uint64_t> LARGE_RECORD and header_is_right(p):
                    unfinished = self.position
            elif header_is_right(p) and self._is_worth_checking(length):
                if <int64_t> length <= self.data_end - p - FRAME_BYTES:
                    if self._data_is_right(p, length):
                        return self._recover()
                else:
                    return <int64_t> length >= LARGE_RECORD and self._recover()
            p += 1
            self.position += 1
        if unfinished >= 0:
            self.position = unfinished
        return False

    cdef inline bint _is_worth_checking(self, int64_t length) noexcept nogil:
        """Keeps a file made of headers whose payloads overlap from taking hours."""
        return length <= SHORT_RECORD or self.vain <= VAIN_BYTES + VAIN_SHARE * self.position

    cdef inline bint _data_is_right(self, const uint8_t *p, int64_t length) noexcept nogil:
        p += HEADER_BYTES
        if tl_masked_crc32c(p, length) == tl_load32(p + length):
            return True
        self.vain += length
        return False

    cdef bint _recover(self) noexcept nogil:
        if not add_note(
            &self.damage, self.lost_flaw, 0, self.lost_at, self.position - self.lost_at
        ):
            return False  # the search is simply taken up again from here
        self.lost_at = self.torn_end = -1
        return True

    cdef _finish(self, data):
        cdef int64_t i
        cdef tl_name *name
        cdef Note *note
        tags, contents = [], []
        for i in range(self.reported_tags, self.got.tags.count):
            name = &self.got.tags.names[i]
            tags.append((<const char *> self.got.tags.arena)[name.start:name.start + name.size])
            contents.append(name.content)
        self.reported_tags = self.got.tags.count
        metadata = []
        for i in range(self.got.metadata.count):
            note = &(<Note *> self.got.metadata.data)[i]
            metadata.append((note.what, _slice(data, note)))
        damage = []
        for i in range(self.damage.count):
            note = &(<Note *> self.damage.data)[i]
            damage.append(_batch.Damage(note.offset, note.size, _batch.DamageKind(note.what)))
        large = None
        if self.large_payload >= 0:
            large = _batch.LargeRecord(self.position, self.large_payload)
        points, references = group_points(&self.got), group_references(&self.got)
        give_back(&self.got.points)
        give_back(&self.got.references)
        return _batch.Batch(
            points=points,
            references=references,
            records=self.got.records,
            tags=tags,
            contents=contents,
            metadata=metadata,
            session_start=self.got.start_step if self.got.has_start else None,
            damage=damage,
            large=large,
            file_version=_slice(data, &self.got.file_version),
            writer=_slice(data, &self.got.writer),
        )


cdef _slice(data, Note *note):
    if note.size < 0:
        return None
    return bytes(data[note.offset:note.offset + note.size])
