# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Compiled kernels for writing: the record buffer and the counting of histograms.

`RecordBuffer` implements the protocol in `tracklight.formats.record_buffer`. The functions count
values for `tracklight.writer.values`.

No method of the buffer releases the GIL, which makes every method atomic. A record is encoded
directly into the memory of the buffer; its length and checksums are filled in at the end.
"""

cimport cython
from cpython.bytes cimport PyBytes_AsString, PyBytes_FromStringAndSize, PyBytes_Size
from cpython.dict cimport PyDict_GetItem
from cpython.ref cimport PyObject
from libc.stdint cimport int16_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, realloc
from libc.string cimport memcpy

from tracklight.formats.record_buffer import MAX_TAG_CHARACTERS, SCALAR_METADATA

cdef extern from "crc32c.h" nogil:
    void tl_crc_init()
    uint32_t tl_masked_crc32c(const uint8_t *p, size_t n)

cdef extern from *:
    """
    #include <time.h>
    /* Seconds since the epoch. The clock of Python is not in the stable ABI. */
    static double tl_now(void)
    {
        struct timespec now;
        timespec_get(&now, TIME_UTC);
        return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
    }
    """
    double tl_now() nogil

cdef extern from *:
    """
    #define REAL float
    #define SUFFIX float
    #include "buckets.h"
    #define REAL double
    #define SUFFIX double
    #include "buckets.h"
    """

cdef extern from * nogil:
    """
    #if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
    #include <immintrin.h>
    enum { TL_LINE = 64 };
    __attribute__((target("avx512f"))) static void tl_copy_lines(
        uint8_t *to, const uint8_t *from, size_t lines)
    {
        for (; lines; lines--, to += TL_LINE, from += TL_LINE)
            _mm512_stream_si512((void *)to, _mm512_loadu_si512((const void *)from));
        _mm_sfence();
    }
    /* Copy without reading the target into the caches, and without displacing what is there. */
    static void tl_copy_past_caches(uint8_t *to, const uint8_t *from, size_t size)
    {
        size_t head = -(uintptr_t)to & (TL_LINE - 1), lines;
        if (size < 2 * TL_LINE || !__builtin_cpu_supports("avx512f")) {
            memcpy(to, from, size);
            return;
        }
        lines = (size - head) / TL_LINE;
        memcpy(to, from, head);
        tl_copy_lines(to + head, from + head, lines);
        head += lines * TL_LINE;
        memcpy(to + head, from + head, size - head);
    }
    #else
    #define tl_copy_past_caches(to, from, size) memcpy(to, from, size)
    #endif
    """
    void tl_copy_past_caches(uint8_t *to, const uint8_t *source, size_t size)

cdef extern from * nogil:
    enum:
        TL_CELLS
        TL_ROWS

    ctypedef struct tl_totals:
        double low
        double high
        double sum
        double sum_squares

    void tl_fill_cells(const double *edges, int64_t n, int16_t *cells)
    void tl_sum_up_float(const float *values, int64_t n, tl_totals *totals)
    void tl_count_uniform_float(
        const float *values, int64_t n, double low, double width, int64_t buckets, int64_t *counts
    )
    void tl_count_exponential_float(
        const float *values, int64_t size, const double *edges, const int16_t *cells,
        int64_t *counts
    )
    void tl_sum_up_double(const double *values, int64_t n, tl_totals *totals)
    void tl_count_uniform_double(
        const double *values, int64_t n, double low, double width, int64_t buckets, int64_t *counts
    )
    void tl_count_exponential_double(
        const double *values, int64_t size, const double *edges, const int16_t *cells,
        int64_t *counts
    )

ctypedef fused real:
    float
    double

tl_crc_init()

CELLS = TL_CELLS
ROWS = TL_ROWS

cdef enum:
    APPENDED = 0
    WAKE = 1
    FULL = 2
    HEADER_BYTES = 12
    FRAME_BYTES = 16
    WALL_BYTES = 9
    MAX_IDLE_BYTES = 4 * 1024 * 1024

cdef enum ScalarEncoding:
    FLOAT32_TENSOR
    FLOAT64_TENSOR
    SIMPLE_VALUE

cdef bytes _METADATA_FIELD = b"\x4a" + bytes([len(SCALAR_METADATA)]) + SCALAR_METADATA


def sum_up(const real[::1] values not None):
    cdef tl_totals totals
    cdef int64_t n = values.shape[0]
    if not n:
        return 0.0, 0.0, 0.0, 0.0
    with nogil:
        if real is float:
            tl_sum_up_float(&values[0], n, &totals)
        else:
            tl_sum_up_double(&values[0], n, &totals)
    return totals.low, totals.high, totals.sum, totals.sum_squares


def count_uniform(
    const real[::1] values not None, double low, double width, int64_t[:, ::1] counts
):
    cdef int64_t n = values.shape[0]
    cdef int64_t buckets = counts.shape[1]
    if counts.shape[0] != TL_ROWS or not 0 < buckets < 1 << 31:
        raise ValueError(f"counts must have {TL_ROWS} rows")
    if not n:
        return
    with nogil:
        if real is float:
            tl_count_uniform_float(&values[0], n, low, width, buckets, &counts[0, 0])
        else:
            tl_count_uniform_double(&values[0], n, low, width, buckets, &counts[0, 0])


def copy_past_caches(const uint8_t[::1] source not None, uint8_t[::1] target not None):
    cdef int64_t size = source.shape[0]
    if target.shape[0] != size:
        raise ValueError("source and target must have the same size")
    if size:
        with nogil:
            tl_copy_past_caches(&target[0], &source[0], size)


def fill_cells(const double[::1] edges, int16_t[::1] cells):
    if cells.shape[0] != TL_CELLS or edges.shape[0] < 2:
        raise ValueError(f"cells must have {TL_CELLS} elements, not {cells.shape[0]}")
    tl_fill_cells(&edges[0], edges.shape[0] - 1, &cells[0])


def count_exponential(
    const real[::1] values not None, const double[::1] edges, const int16_t[::1] cells,
    int64_t[::1] counts
):
    cdef int64_t size = values.shape[0]
    if cells.shape[0] != TL_CELLS or edges.shape[0] != counts.shape[0]:
        raise ValueError("edges, cells and counts do not match")
    if not size:
        return
    with nogil:
        if real is float:
            tl_count_exponential_float(&values[0], size, &edges[0], &cells[0], &counts[0])
        else:
            tl_count_exponential_double(&values[0], size, &edges[0], &cells[0], &counts[0])


cdef inline uint8_t *_put_varint(uint8_t *p, uint64_t value) noexcept nogil:
    while value >= 0x80:
        p[0] = <uint8_t> (value | 0x80)
        p += 1
        value >>= 7
    p[0] = <uint8_t> value
    return p + 1


cdef inline uint8_t *_put(uint8_t *p, const void *data, size_t size) noexcept nogil:
    memcpy(p, data, size)
    return p + size


cdef inline uint8_t *_put32(uint8_t *p, uint32_t value) noexcept nogil:
    cdef int i
    for i in range(4):
        p[i] = <uint8_t> (value >> (8 * i))
    return p + 4


cdef inline uint8_t *_put64(uint8_t *p, uint64_t value) noexcept nogil:
    _put32(p, <uint32_t> value)
    return _put32(p + 4, <uint32_t> (value >> 32))


cdef inline uint64_t _bits_of_double(double value) noexcept nogil:
    cdef uint64_t bits
    memcpy(&bits, &value, 8)
    return bits


cdef inline uint32_t _bits_of_float(double value) noexcept nogil:
    cdef float narrow = <float> value
    cdef uint32_t bits
    memcpy(&bits, &narrow, 4)
    return bits


cdef inline int _varint_bytes(uint64_t value) noexcept nogil:
    cdef int size = 1
    while value >= 0x80:
        value >>= 7
        size += 1
    return size


cdef inline uint8_t *_put_number(uint8_t *p, double value, ScalarEncoding encoding) noexcept nogil:
    """Write the field of a Value that contains the number."""
    if encoding == SIMPLE_VALUE:
        p[0] = 0x15
        return _put32(p + 1, _bits_of_float(value))
    if encoding == FLOAT32_TENSOR:
        p = _put(p, b"\x42\x0a\x08\x01\x12\x00\x22\x04", 8)
        return _put32(p, _bits_of_float(value))
    p = _put(p, b"\x42\x0e\x08\x02\x12\x00\x22\x08", 8)
    return _put64(p, _bits_of_double(value))


cdef inline int _number_bytes(ScalarEncoding encoding) noexcept nogil:
    return 5 if encoding == SIMPLE_VALUE else 12 if encoding == FLOAT32_TENSOR else 16


cdef inline int64_t _as_step(object step) except? -1:
    if type(step) is not int:
        raise TypeError(f"a step must be an int, not a {type(step).__name__}")
    return step


cdef inline double _as_wall(object wall) except? -1:
    # Twice as fast as calling `time.time` in Python.
    return tl_now() if wall is None else wall


cdef inline double _as_double(object value) except? -1:
    # Strings and arrays of shape [1] can be converted to float too, but callers must do so.
    if isinstance(value, (float, int)):
        return value
    if getattr(value, "ndim", None) == 0:
        # For a tensor that requires grad, PyTorch warns about `float()`, but not about `item()`.
        return float(value.item() if hasattr(value, "item") else value)
    raise TypeError(f"a scalar must be a number, not a {type(value).__name__}")


@cython.final
cdef class RecordBuffer:
    cdef uint8_t *_data
    cdef size_t _size
    cdef size_t _capacity
    cdef size_t _max_bytes
    cdef size_t _wake_bytes
    cdef int64_t _wake_records
    cdef int64_t _records
    cdef bint _has_woken
    cdef dict _tags
    cdef dict _metadata

    def __init__(self, size_t max_bytes, size_t wake_bytes, int64_t wake_records):
        self._max_bytes = max_bytes
        self._wake_bytes = wake_bytes
        self._wake_records = wake_records
        self._tags = {}
        self._metadata = {}

    def __dealloc__(self):
        free(self._data)

    @property
    def record_count(self):
        return self._records

    def __len__(self):
        return self._size

    def add_scalar(self, str tag not None, step, wall, value):
        return self._add_number(tag, step, wall, value, FLOAT32_TENSOR)

    def add_simple_value(self, str tag not None, step, wall, value):
        return self._add_number(tag, step, wall, value, SIMPLE_VALUE)

    def add_double(self, str tag not None, step, wall, value):
        return self._add_number(tag, step, wall, value, FLOAT64_TENSOR)

    def add_record(self, bytes payload not None):
        cdef size_t size = PyBytes_Size(payload)
        if not self._has_room(size + FRAME_BYTES):
            return FULL
        self._reserve(size + FRAME_BYTES)
        memcpy(self._data + self._size + HEADER_BYTES, PyBytes_AsString(payload), size)
        return self._commit(size)

    def register_metadata(self, str tag not None, bytes metadata not None):
        if tag in self._metadata:
            return False
        self._metadata[tag] = metadata
        return True

    def drain(self):
        content = PyBytes_FromStringAndSize(<char *> self._data, self._size)
        self._size = 0
        self._records = 0
        self._has_woken = False
        if self._capacity > MAX_IDLE_BYTES:
            free(self._data)
            self._data = NULL
            self._capacity = 0
        return content

    def get_metadata(self):
        return {tag.encode(): metadata for tag, metadata in self._metadata.items()}

    def clear_metadata(self):
        self._metadata.clear()

    cdef int _add_number(
        self, str tag, object step_, object wall_, object number, ScalarEncoding encoding
    ) except -1:
        cdef int64_t step = _as_step(step_)
        cdef double wall = _as_wall(wall_)
        cdef double value = _as_double(number)
        cdef bytes name = self._get_tag_field(tag)
        cdef size_t name_bytes = PyBytes_Size(name)
        cdef bint needs_metadata = encoding != SIMPLE_VALUE and tag not in self._metadata
        cdef size_t metadata_bytes = PyBytes_Size(_METADATA_FIELD) if needs_metadata else 0
        cdef size_t value_bytes = name_bytes + _number_bytes(encoding) + metadata_bytes
        cdef size_t summary_bytes = 1 + _varint_bytes(value_bytes) + value_bytes
        cdef size_t step_bytes = 1 + _varint_bytes(step) if step else 0
        cdef size_t payload_bytes = (
            WALL_BYTES + step_bytes + 1 + _varint_bytes(summary_bytes) + summary_bytes
        )
        cdef uint8_t *p
        if not self._has_room(payload_bytes + FRAME_BYTES):
            return FULL
        self._reserve(payload_bytes + FRAME_BYTES)
        p = self._data + self._size + HEADER_BYTES
        p[0] = 0x09
        p = _put64(p + 1, _bits_of_double(wall))
        if step:
            p[0] = 0x10
            p = _put_varint(p + 1, step)
        p[0] = 0x2A
        p = _put_varint(p + 1, summary_bytes)
        p[0] = 0x0A
        p = _put_varint(p + 1, value_bytes)
        p = _put(p, PyBytes_AsString(name), name_bytes)
        p = _put_number(p, value, encoding)
        if needs_metadata:
            p = _put(p, PyBytes_AsString(_METADATA_FIELD), metadata_bytes)
            self._metadata[tag] = SCALAR_METADATA
        return self._commit(payload_bytes)

    cdef bytes _get_tag_field(self, str tag):
        """Return the tag as an encoded field of a Value, from a cache."""
        cdef PyObject *known = PyDict_GetItem(self._tags, tag)
        cdef uint8_t length[10]
        if known != NULL:
            return <bytes> <object> known
        if not 0 < len(tag) <= MAX_TAG_CHARACTERS:
            raise ValueError(f"a tag has 1 to {MAX_TAG_CHARACTERS} characters, not {len(tag)}")
        encoded = tag.encode()
        end = _put_varint(length, len(encoded))
        field = b"\x0a" + PyBytes_FromStringAndSize(<char *> length, end - length) + encoded
        self._tags[tag] = field
        return field

    cdef bint _has_room(self, size_t more) noexcept:
        return self._size == 0 or self._size + more <= self._max_bytes

    cdef int _reserve(self, size_t more) except -1:
        cdef size_t capacity = self._capacity or 4096
        cdef uint8_t *data
        while capacity < self._size + more:
            capacity *= 2
        if capacity > self._capacity:
            data = <uint8_t *> realloc(self._data, capacity)
            if data == NULL:
                raise MemoryError()
            self._data = data
            self._capacity = capacity
        return 0

    cdef int _commit(self, size_t payload_bytes) noexcept:
        """Frame the payload, which was written after space for a header."""
        cdef uint8_t *header = self._data + self._size
        cdef uint8_t *payload = header + HEADER_BYTES
        cdef bint was_empty = self._records == 0
        _put64(header, payload_bytes)
        _put32(header + 8, tl_masked_crc32c(header, 8))
        _put32(payload + payload_bytes, tl_masked_crc32c(payload, payload_bytes))
        self._size += payload_bytes + FRAME_BYTES
        self._records += 1
        if was_empty:
            return WAKE
        if self._has_woken:
            return APPENDED
        self._has_woken = self._records >= self._wake_records or self._size >= self._wake_bytes
        return WAKE if self._has_woken else APPENDED
