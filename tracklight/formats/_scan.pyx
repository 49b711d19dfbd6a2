# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""The compiled scanner: `tracklight.formats.scan` says what it promises.

Bytes are read by functions that hold no lock and touch no Python object. They collect rows in C
arrays; a batch ends with one counting sort that groups the rows by series into columns.
"""

cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, realloc

import numpy as np

from tracklight.formats import batch as _batch

cdef extern from "wire.h" nogil:
    ctypedef struct tl_field:
        uint64_t number
        uint32_t type
        uint64_t value
        const uint8_t *start
        const uint8_t *end

    enum:
        TL_REAL
        TL_UNSIGNED

    int tl_next(const uint8_t **at, const uint8_t *end, tl_field *f)
    int tl_tensor_scalar(const uint8_t *p, const uint8_t *end, int *family, uint64_t *bits)
    double tl_double(uint64_t bits)
    uint64_t tl_bits(double value)
    double tl_float(uint32_t bits)
    void tl_crc_init()
    uint32_t tl_crc32c(const uint8_t *p, size_t n)
    uint32_t tl_crc32c_from(uint32_t crc, const uint8_t *p, size_t n)
    uint32_t tl_masked_crc32c(const uint8_t *p, size_t n)
    uint32_t tl_load32(const uint8_t *p)
    uint64_t tl_load64(const uint8_t *p)

cdef extern from "intern.h" nogil:
    ctypedef struct tl_name:
        int64_t start
        int64_t size
        int32_t content
        int32_t described

    ctypedef struct tl_names:
        tl_name *names
        int64_t count
        uint8_t *arena
        int32_t last

    void tl_names_free(tl_names *t)
    int32_t tl_names_id(tl_names *t, const uint8_t *p, int64_t size, int32_t content)
    void tl_names_cut(tl_names *t, int64_t count)

tl_crc_init()

cdef enum:
    HEADER_BYTES = 12
    FRAME_BYTES = 16
    REWIND_BYTES = 16 * 1024 * 1024
    FLAW_HEADER = 1
    FLAW_DATA = 2
    FLAW_PROTO = 3
    FLAW_TORN = 4
    FLOAT = 0
    INT = 1
    UINT = 2
    SIMPLE_VALUE = 2
    TENSOR = 8
    IN_EVENT = 32  # what a field of Event itself adds to its number to make a Content
    STATUS_START = 1

cdef enum Outcome:
    TAKEN
    BROKEN
    OPENS_NEXT_BATCH
    NO_MEMORY

cdef int64_t LARGE_RECORD = _batch.LARGE_RECORD
cdef bytes GRAPH_TAG = _batch.GRAPH_TAG
cdef bytes META_GRAPH_TAG = _batch.META_GRAPH_TAG
cdef const uint8_t *graph_tag = GRAPH_TAG
cdef const uint8_t *meta_graph_tag = META_GRAPH_TAG
cdef int64_t graph_tag_size = len(GRAPH_TAG)
cdef int64_t meta_graph_tag_size = len(META_GRAPH_TAG)


cdef struct Point:
    int32_t series
    int32_t number
    int64_t step
    double wall
    uint64_t bits


cdef struct Reference:
    int32_t series
    int32_t content
    int64_t step
    double wall
    int64_t record
    int64_t start
    int64_t size


cdef struct Note:
    int32_t what  # a Flaw, or the series that metadata describes
    int32_t before  # how well that series was described before
    int64_t offset
    int64_t size


cdef struct Rows:
    void *data
    int64_t count
    int64_t room


cdef inline void *next_row(Rows *rows, size_t width) noexcept nogil:
    """Room for one more row; NULL without memory."""
    cdef void *data
    if rows.count == rows.room:
        data = realloc(rows.data, (2 * rows.room + 64) * width)
        if data == NULL:
            return NULL
        rows.data = data
        rows.room = 2 * rows.room + 64
    rows.count += 1
    return <char *> rows.data + (rows.count - 1) * width


cdef inline bint add_note(
    Rows *notes, int32_t what, int32_t before, int64_t offset, int64_t size
) noexcept nogil:
    cdef Note *note = <Note *> next_row(notes, sizeof(Note))
    if note == NULL:
        return False
    note[0] = Note(what, before, offset, size)
    return True


cdef inline bint header_is_right(const uint8_t *p) noexcept nogil:
    return tl_masked_crc32c(p, 8) == tl_load32(p + 8)


cdef bint names_a_plugin(const uint8_t *p, const uint8_t *end) noexcept nogil:
    """Whether a SummaryMetadata has a plugin_data.plugin_name that is not empty."""
    cdef tl_field f, g
    cdef const uint8_t *q
    while p < end and tl_next(&p, end, &f):
        if f.number == 1 and f.type == 2:
            q = f.start
            while q < f.end and tl_next(&q, f.end, &g):
                if g.number == 1 and g.type == 2 and g.end > g.start:
                    return True
    return False


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
    if starts[crcs.shape[0]] * width > view.shape[0] or starts[0] < 0:
        raise ValueError("a stretch lies outside of the column")
    with nogil:
        for i in range(crcs.shape[0]):
            if starts[i] < starts[i + 1]:
                crcs[i] = tl_crc32c_from(
                    crcs[i], &view[starts[i] * width], (starts[i + 1] - starts[i]) * width
                )


@cython.final
cdef class Scanner:
    """Reads one event file piece by piece; one thread at a time."""

    cdef public int64_t position
    cdef public int64_t lost_at
    cdef public int64_t torn_end
    cdef int32_t lost_flaw
    cdef bint lost_in_zeros

    cdef tl_names tags
    cdef int64_t reported_tags

    # The batch under way.
    cdef Rows points
    cdef Rows references
    cdef Rows damage
    cdef Rows metadata
    cdef int64_t records
    cdef int64_t large_payload
    cdef int64_t start_step
    cdef bint has_start
    cdef Note file_version
    cdef Note writer

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
        self.tags.last = -1
        for tag in tags:
            if tl_names_id(&self.tags, tag, len(tag), 0) < 0:
                raise MemoryError
        self.reported_tags = self.tags.count
        for series in described:
            if not 0 <= series < self.tags.count:
                raise IndexError(series)
            self.tags.names[series].described = 2

    def __dealloc__(self):
        tl_names_free(&self.tags)
        free(self.points.data)
        free(self.references.data)
        free(self.damage.data)
        free(self.metadata.data)

    def scan(self, data, int64_t size):
        cdef const uint8_t[::1] view = memoryview(data).cast("B")
        cdef int64_t length = view.shape[0]
        cdef Outcome outcome
        self._begin()
        if length == 0:
            return self._finish(data)
        self.data = &view[0]
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
            series = tl_names_id(&self.tags, tag, len(tag), item.content)
            if series < 0:
                raise MemoryError
            self._accept_value(series, item)
            if item.metadata and self._improves(series, item.metadata):
                described.append((series, item.metadata))
        self.records = 1
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
            row = <Reference *> next_row(&self.references, sizeof(Reference))
            if row == NULL:
                raise MemoryError
            row[0] = Reference(
                series, item.content, item.step, item.wall, item.record, item.start, item.size
            )
            return
        point = <Point *> next_row(&self.points, sizeof(Point))
        if point == NULL:
            raise MemoryError
        number, value = item.scalar
        point[0] = Point(series, number, item.step, item.wall, 0)
        point.bits = tl_bits(value) if number == FLOAT else <uint64_t> (value & 0xFFFFFFFFFFFFFFFF)

    cdef bint _improves(self, int32_t series, bytes metadata):
        cdef const uint8_t *p = metadata
        cdef int32_t level = 2 if names_a_plugin(p, p + len(metadata)) else 1
        if level <= self.tags.names[series].described:
            return False
        self.tags.names[series].described = level
        return True

    cdef void _begin(self):
        self.points.count = self.references.count = 0
        self.damage.count = self.metadata.count = 0
        self.records = 0
        self.large_payload = -1
        self.has_start = False
        self.file_version.size = self.writer.size = -1

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
        cdef Outcome outcome
        if tl_masked_crc32c(payload, length) != tl_load32(payload + length):
            return self._skip_wrong_data(p, length)
        outcome = self._take_event(payload, length)
        if outcome == BROKEN:
            if not add_note(&self.damage, FLAW_PROTO, 0, self.position, FRAME_BYTES + length):
                return NO_MEMORY
        elif outcome != TAKEN:
            return outcome
        else:
            self.records += 1
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
            elif header_is_right(p):
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

    cdef inline bint _data_is_right(self, const uint8_t *p, int64_t length) noexcept nogil:
        p += HEADER_BYTES
        return tl_masked_crc32c(p, length) == tl_load32(p + length)

    cdef bint _recover(self) noexcept nogil:
        if not add_note(
            &self.damage, self.lost_flaw, 0, self.lost_at, self.position - self.lost_at
        ):
            return False  # the search is simply taken up again from here
        self.lost_at = self.torn_end = -1
        return True

    # ---- events

    cdef Outcome _take_event(self, const uint8_t *payload, int64_t length) noexcept nogil:
        """Takes all of one event, or nothing of it."""
        cdef const uint8_t *p = payload
        cdef const uint8_t *end = payload + length
        cdef tl_field f, summary
        cdef int64_t step = 0
        cdef double wall = 0
        cdef int parts = 0
        cdef bint starts = False
        summary.start = NULL
        while p < end:
            if not tl_next(&p, end, &f):
                return BROKEN
            if f.type == 2:
                parts += 1
                if f.number == 5:
                    summary = f
                elif f.number == 7 and not self._reads_start(f.start, f.end, &starts):
                    return BROKEN
            elif f.number == 1 and f.type == 1:
                wall = tl_double(f.value)
            elif f.number == 2 and f.type == 0:
                step = <int64_t> f.value
        cdef int64_t points = self.points.count
        cdef int64_t references = self.references.count
        cdef int64_t metadata = self.metadata.count
        cdef int64_t tags = self.tags.count
        cdef Note file_version = self.file_version
        cdef Note writer = self.writer
        cdef Outcome outcome
        if parts == 1 and summary.start != NULL:  # nearly all events
            outcome = self._take_summary(payload, summary.start, summary.end, step, wall)
        else:
            outcome = self._take_fields(payload, end, step, wall)
        if outcome == TAKEN and starts and self.records > 0:
            outcome = OPENS_NEXT_BATCH
        if outcome != TAKEN:
            self.file_version = file_version
            self.writer = writer
            self.points.count = points
            self.references.count = references
            self._forget_metadata(metadata)
            tl_names_cut(&self.tags, tags)
        elif starts:
            self.has_start = True
            self.start_step = step
        return outcome

    cdef void _forget_metadata(self, int64_t count) noexcept nogil:
        cdef Note *note
        while self.metadata.count > count:
            self.metadata.count -= 1
            note = &(<Note *> self.metadata.data)[self.metadata.count]
            self.tags.names[note.what].described = note.before

    cdef bint _reads_start(
        self, const uint8_t *p, const uint8_t *end, bint *starts
    ) noexcept nogil:
        cdef tl_field f
        while p < end:
            if not tl_next(&p, end, &f):
                return False
            if f.number == 1 and f.type == 0:
                starts[0] = f.value == STATUS_START
        return True

    cdef Outcome _take_fields(
        self, const uint8_t *payload, const uint8_t *end, int64_t step, double wall
    ) noexcept nogil:
        cdef const uint8_t *p = payload
        cdef tl_field f
        cdef Outcome outcome = TAKEN
        while p < end and outcome == TAKEN:
            if not tl_next(&p, end, &f):
                return BROKEN
            if f.type != 2:
                continue
            if f.number == 5:
                outcome = self._take_summary(payload, f.start, f.end, step, wall)
            elif f.number == 4:
                outcome = self._refer(
                    payload, &f, graph_tag, graph_tag_size, IN_EVENT + 4, step, wall
                )
            elif f.number == 9:
                outcome = self._refer(
                    payload, &f, meta_graph_tag, meta_graph_tag_size, IN_EVENT + 9, step, wall
                )
            elif f.number == 8:
                outcome = self._take_run_metadata(payload, &f, step, wall)
            elif f.number == 3:
                self.file_version.offset = f.start - self.data
                self.file_version.size = f.end - f.start
            elif f.number == 10:
                outcome = self._note_writer(f.start, f.end)
        return outcome

    cdef Outcome _note_writer(self, const uint8_t *p, const uint8_t *end) noexcept nogil:
        cdef tl_field f
        while p < end:
            if not tl_next(&p, end, &f):
                return BROKEN
            if f.number == 1 and f.type == 2:
                self.writer.offset = f.start - self.data
                self.writer.size = f.end - f.start
        return TAKEN

    cdef Outcome _take_run_metadata(
        self, const uint8_t *payload, tl_field *whole, int64_t step, double wall
    ) noexcept nogil:
        cdef const uint8_t *p = whole.start
        cdef const uint8_t *tag = p
        cdef int64_t tag_size = 0
        cdef tl_field f
        while p < whole.end:
            if not tl_next(&p, whole.end, &f):
                return BROKEN
            if f.number == 1 and f.type == 2:
                tag = f.start
                tag_size = f.end - f.start
        return self._refer(payload, whole, tag, tag_size, IN_EVENT + 8, step, wall)

    cdef Outcome _take_summary(
        self,
        const uint8_t *payload,
        const uint8_t *p,
        const uint8_t *end,
        int64_t step,
        double wall,
    ) noexcept nogil:
        cdef tl_field f
        cdef Outcome outcome
        while p < end:
            if not tl_next(&p, end, &f):
                return BROKEN
            if f.number == 1 and f.type == 2:
                outcome = self._take_value(payload, &f, step, wall)
                if outcome != TAKEN:
                    return outcome
        return TAKEN

    cdef Outcome _take_value(
        self, const uint8_t *payload, tl_field *value, int64_t step, double wall
    ) noexcept nogil:
        cdef tl_field f, tag, node, tensor, metadata
        cdef const uint8_t *p = value.start
        cdef int32_t content = 0
        cdef int family = TL_REAL
        cdef int scalar = 0
        cdef uint64_t bits = 0
        tag.start = tag.end = node.start = node.end = p
        metadata.start = metadata.end = p
        while p < value.end:
            if not tl_next(&p, value.end, &f):
                return BROKEN
            if f.type == 2:
                if f.number == 1:
                    tag = f
                elif f.number == 7:
                    node = f
                elif f.number == 9:
                    metadata = f
                elif f.number == TENSOR:
                    content = TENSOR
                    tensor = f
                elif 3 <= f.number <= 6:
                    content = <int32_t> f.number
            elif f.type == 5 and f.number == SIMPLE_VALUE:
                content = SIMPLE_VALUE
                bits = tl_bits(tl_float(<uint32_t> f.value))
        if tag.start == tag.end:
            tag = node
        if content == SIMPLE_VALUE:
            scalar = 1
        elif content == TENSOR:
            scalar = tl_tensor_scalar(tensor.start, tensor.end, &family, &bits)
            if scalar < 0:
                return BROKEN
        cdef int32_t series = tl_names_id(&self.tags, tag.start, tag.end - tag.start, content)
        if series < 0:
            return NO_MEMORY
        if metadata.end > metadata.start and self.tags.names[series].described < 2:
            if not self._describe(series, metadata.start, metadata.end):
                return NO_MEMORY
        if scalar:
            return self._add_point(series, family, step, wall, bits)
        return self._add_reference(payload, value, series, content, step, wall)

    cdef bint _describe(
        self, int32_t series, const uint8_t *p, const uint8_t *end
    ) noexcept nogil:
        """Notes metadata that says more of a series than what was known."""
        cdef tl_name *name = &self.tags.names[series]
        cdef int32_t level = 2 if names_a_plugin(p, end) else 1
        if level <= name.described:
            return True
        if not add_note(&self.metadata, series, name.described, p - self.data, end - p):
            return False
        name.described = level
        return True

    cdef inline Outcome _add_point(
        self, int32_t series, int family, int64_t step, double wall, uint64_t bits
    ) noexcept nogil:
        cdef Point *point = <Point *> next_row(&self.points, sizeof(Point))
        cdef int32_t number = FLOAT if family == TL_REAL else INT
        if point == NULL:
            return NO_MEMORY
        if family == TL_UNSIGNED and bits >> 63:
            number = UINT
        point[0] = Point(series, number, step, wall, bits)
        return TAKEN

    cdef Outcome _refer(
        self,
        const uint8_t *payload,
        tl_field *field,
        const uint8_t *tag,
        int64_t tag_size,
        int32_t content,
        int64_t step,
        double wall,
    ) noexcept nogil:
        cdef int32_t series = tl_names_id(&self.tags, tag, tag_size, content)
        if series < 0:
            return NO_MEMORY
        return self._add_reference(payload, field, series, content, step, wall)

    cdef Outcome _add_reference(
        self,
        const uint8_t *payload,
        tl_field *field,
        int32_t series,
        int32_t content,
        int64_t step,
        double wall,
    ) noexcept nogil:
        cdef Reference *row = <Reference *> next_row(&self.references, sizeof(Reference))
        cdef int64_t size = field.end - field.start
        if row == NULL:
            return NO_MEMORY
        row[0] = Reference(
            series, content, step, wall, self.position, field.start - payload, size
        )
        return TAKEN

    # ---- the batch

    cdef _finish(self, data):
        cdef int64_t i
        cdef tl_name *name
        cdef Note *note
        tags, contents = [], []
        for i in range(self.reported_tags, self.tags.count):
            name = &self.tags.names[i]
            tags.append((<const char *> self.tags.arena)[name.start:name.start + name.size])
            contents.append(name.content)
        self.reported_tags = self.tags.count
        metadata = []
        for i in range(self.metadata.count):
            note = &(<Note *> self.metadata.data)[i]
            metadata.append((note.what, _slice(data, note)))
        damage = []
        for i in range(self.damage.count):
            note = &(<Note *> self.damage.data)[i]
            damage.append(_batch.Damage(note.offset, note.size, _batch.Flaw(note.what)))
        large = None
        if self.large_payload >= 0:
            large = _batch.Large(self.position, self.large_payload)
        return _batch.Batch(
            points=self._group_points(),
            references=self._group_references(),
            records=self.records,
            tags=tags,
            contents=contents,
            metadata=metadata,
            session_start=self.start_step if self.has_start else None,
            damage=damage,
            large=large,
            file_version=_slice(data, &self.file_version),
            writer=_slice(data, &self.writer),
        )

    cdef _group_points(self):
        cdef Point *rows = <Point *> self.points.data
        cdef int64_t n = self.points.count
        cdef int64_t i, at
        if n == 0:
            return _batch.no_points()
        series, starts, place = self._groups(&self.points, sizeof(Point))
        number = np.zeros(self.tags.count, np.uint8)
        step, wall = np.empty(n, np.int64), np.empty(n, np.float64)
        value = np.empty(n, np.float64)
        cdef int64_t[::1] places = place
        cdef uint8_t[::1] numbers = number
        cdef int64_t[::1] steps = step
        cdef double[::1] walls = wall
        cdef double[::1] values = value
        with nogil:
            settle_numbers(rows, n, numbers)
            for i in range(n):
                at = places[rows[i].series]
                places[rows[i].series] = at + 1
                steps[at] = rows[i].step
                walls[at] = rows[i].wall
                if rows[i].number == FLOAT or numbers[rows[i].series] != FLOAT:
                    values[at] = tl_double(rows[i].bits)
                elif rows[i].number == INT:
                    values[at] = <double> (<int64_t> rows[i].bits)
                else:
                    values[at] = <double> rows[i].bits
        return _batch.Points(series, starts, number[series], step, wall, value)

    cdef _group_references(self):
        cdef Reference *rows = <Reference *> self.references.data
        cdef int64_t n = self.references.count
        cdef int64_t i, at
        if n == 0:
            return _batch.no_references()
        series, starts, place = self._groups(&self.references, sizeof(Reference))
        wall, content = np.empty(n, np.float64), np.empty(n, np.uint8)
        step, record, start, size = (np.empty(n, np.int64) for _ in range(4))
        cdef int64_t[::1] places = place
        cdef double[::1] walls = wall
        cdef uint8_t[::1] contents = content
        cdef int64_t[::1] steps = step
        cdef int64_t[::1] records = record
        cdef int64_t[::1] begins = start
        cdef int64_t[::1] sizes = size
        with nogil:
            for i in range(n):
                at = places[rows[i].series]
                places[rows[i].series] = at + 1
                steps[at] = rows[i].step
                walls[at] = rows[i].wall
                records[at] = rows[i].record
                begins[at] = rows[i].start
                sizes[at] = rows[i].size
                contents[at] = <uint8_t> rows[i].content
        return _batch.References(series, starts, step, wall, record, start, size, content)

    cdef _groups(self, Rows *rows, size_t width):
        """The series met, where each starts, and by series the place of its next row."""
        cdef int64_t i
        cdef int64_t row_count = rows.count
        cdef const char *data = <const char *> rows.data
        counts = np.zeros(self.tags.count, np.int64)
        cdef int64_t[::1] counted = counts
        with nogil:
            for i in range(row_count):
                counted[(<int32_t *> (data + i * width))[0]] += 1
        series = np.flatnonzero(counts).astype(np.int32)
        starts = np.zeros(len(series) + 1, np.int64)
        np.cumsum(counts[series], out=starts[1:])
        counts[series] = starts[:len(series)]
        return series, starts, counts


cdef void settle_numbers(Point *rows, int64_t n, uint8_t[::1] numbers) noexcept nogil:
    """Finds one Number for all points of each series: FLOAT when they differ."""
    cdef int64_t i
    cdef uint8_t met
    for i in range(n):
        numbers[rows[i].series] |= <uint8_t> (1 << rows[i].number)
    for i in range(numbers.shape[0]):
        met = numbers[i]
        numbers[i] = INT if met == 1 << INT else UINT if met == 1 << UINT else FLOAT


cdef _slice(data, Note *note):
    if note.size < 0:
        return None
    return bytes(data[note.offset:note.offset + note.size])
