# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""The compiled scanner of debug event files, without holding the GIL.

`EventScanner` implements the class of the same name in `tracklight.formats.debug_events`,
where the columns are documented. Tensors of the health modes are decoded to counts, those of
FULL_TENSOR are counted element by element; nothing else of a tensor is kept.
"""

cimport cython
from libc.math cimport isinf, isnan
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free, realloc
from libc.string cimport memcpy, memset

import numpy as np

cdef extern from "wire.h" nogil:
    ctypedef struct tl_field:
        uint64_t number
        unsigned int type
        uint64_t value
        const uint8_t *start
        const uint8_t *end
    int tl_next(const uint8_t **at, const uint8_t *end, tl_field *field)
    int tl_varint(const uint8_t **at, const uint8_t *end, uint64_t *out)
    double tl_double(uint64_t bits)
    double tl_float(uint32_t bits)
    double tl_half(uint32_t bits)
    void tl_crc_init()
    uint32_t tl_masked_crc32c(const uint8_t *p, size_t n)
    uint32_t tl_load32(const uint8_t *p)
    uint64_t tl_load64(const uint8_t *p)

cdef extern from "intern.h" nogil:
    ctypedef struct tl_name:
        int64_t start
        int64_t size
    ctypedef struct tl_names:
        tl_name *names
        int64_t count
        uint8_t *arena
        int32_t last
    void tl_names_free(tl_names *table)
    int32_t tl_names_id(tl_names *table, const uint8_t *p, int64_t size, int32_t content)

cdef enum:
    HEADER_BYTES = 12
    FRAME_BYTES = 16
    VARINT = 0
    FIXED64 = 1
    LENGTH_DELIMITED = 2
    FIXED32 = 5
    # Fields of DebugEvent.
    WALL_TIME = 1
    EXECUTION = 9
    TRACE = 10
    # Fields of the messages above.
    EXECUTION_INPUTS = 4
    EXECUTION_OUTPUTS = 5
    EXECUTION_MODE = 6
    EXECUTION_TENSORS = 7
    TRACE_MODE = 4
    TRACE_TENSOR = 5
    # Values of TensorDebugMode.
    CURT_HEALTH = 2
    CONCISE_HEALTH = 3
    FULL_HEALTH = 4
    SHAPE = 5
    FULL_TENSOR = 7
    # Values of the column `health`.
    UNKNOWN = 0
    FINITE = 1
    NON_FINITE = 2
    # dtype, rank, size and up to six dimensions.
    SIGNATURE = 9
    MAX_DIMS = 6
    MAX_SUMMARY = 11
    # Values of `stop`; see `columns.Stop`.
    STOP_END = 0
    STOP_HEADER = 1
    STOP_DATA = 2
    STOP_PROTO = 3
    STOP_MEMORY = 4
    # Columns; see `columns.Columns`.
    OFFSET = 0
    WALL = 1
    NAME = 2
    TENSOR_END = 3
    INPUT_END = 4
    OUTPUT_END = 5
    INPUT_ID = 6
    OUTPUT_ID = 7
    SHAPE_ID = 8
    HEALTH = 9
    BAD_COUNTS = 10
    COLUMNS = 11
    UNKNOWN_COUNT = 0xFFFFFFFF

tl_crc_init()


cdef struct Growing:
    # An array of 8-byte, 4-byte or 1-byte elements.
    uint8_t *data
    int64_t count
    int64_t capacity
    int64_t width


cdef inline bint append(Growing *array, const void *value) noexcept nogil:
    cdef int64_t capacity
    cdef uint8_t *data
    if array.count == array.capacity:
        capacity = 2 * array.capacity if array.capacity else 1024
        data = <uint8_t *> realloc(array.data, capacity * array.width)
        if data == NULL:
            return False
        array.data, array.capacity = data, capacity
    memcpy(array.data + array.count * array.width, value, array.width)
    array.count += 1
    return True


cdef inline bint append_int(Growing *array, int64_t value) noexcept nogil:
    return append(array, &value)


cdef take(Growing *array, dtype):
    """Return the elements as an array and empty the buffer."""
    cdef int64_t size = array.count * array.width
    result = np.empty(array.count, dtype)
    cdef uint8_t[::1] view
    if size:
        view = result.view(np.uint8)
        memcpy(&view[0], array.data, size)
    array.count = 0
    return result


cdef struct Tensor:
    int64_t signature[SIGNATURE]
    int64_t counts[4]  # size, -Inf, +Inf, NaN; -1 if unknown
    uint8_t health


@cython.final
cdef class EventScanner:
    cdef int message
    cdef tl_names names
    cdef tl_names shapes
    cdef int64_t reported_names
    cdef int64_t reported_shapes
    cdef uint8_t *key
    cdef int64_t key_capacity
    cdef int64_t record_count
    cdef int64_t tensor_count
    cdef Growing columns[COLUMNS]
    cdef int64_t input_count
    cdef int64_t output_count

    def __cinit__(self, int message):
        cdef int i
        if message not in (EXECUTION, TRACE):
            raise ValueError("message must be the field number of an execution or a trace")
        self.message = message
        memset(&self.names, 0, sizeof(tl_names))
        memset(&self.shapes, 0, sizeof(tl_names))
        self.names.last = self.shapes.last = -1
        memset(self.columns, 0, sizeof(self.columns))
        for i in range(COLUMNS):
            self.columns[i].width = 8
        for i in (NAME, SHAPE_ID, BAD_COUNTS):
            self.columns[i].width = 4
        self.columns[HEALTH].width = 1

    def __dealloc__(self):
        cdef int i
        tl_names_free(&self.names)
        tl_names_free(&self.shapes)
        free(self.key)
        for i in range(COLUMNS):
            free(self.columns[i].data)

    def scan(self, data, int64_t base):
        """Return how many bytes were consumed, and why the scan stopped."""
        cdef const uint8_t[::1] view = memoryview(data).cast("B")
        cdef int64_t size = view.shape[0], used = 0
        cdef int stop = STOP_END
        if size:
            with nogil:
                stop = self._scan(&view[0], size, base, &used)
        if stop == STOP_MEMORY:
            raise MemoryError("not enough memory for the events of the file")
        return used, stop

    def take(self):
        """Return the columns since the last call, as in `columns.Columns`."""
        cdef int64_t i
        cdef tl_name *name
        names = []
        for i in range(self.reported_names, self.names.count):
            name = &self.names.names[i]
            names.append((<const char *> self.names.arena)[name.start:name.start + name.size])
        self.reported_names = self.names.count
        shapes = []
        for i in range(self.reported_shapes, self.shapes.count):
            name = &self.shapes.names[i]
            shapes.append((<const char *> self.shapes.arena)[name.start:name.start + name.size])
        self.reported_shapes = self.shapes.count
        return {
            "names": names,
            "shapes": np.frombuffer(b"".join(shapes), np.int64).reshape(-1, SIGNATURE),
            "offset": take(&self.columns[OFFSET], np.int64),
            "wall_time": take(&self.columns[WALL], np.float64),
            "name": take(&self.columns[NAME], np.int32),
            "tensor_end": take(&self.columns[TENSOR_END], np.int64),
            "input_end": take(&self.columns[INPUT_END], np.int64),
            "output_end": take(&self.columns[OUTPUT_END], np.int64),
            "input_id": take(&self.columns[INPUT_ID], np.int64),
            "output_id": take(&self.columns[OUTPUT_ID], np.int64),
            "shape": take(&self.columns[SHAPE_ID], np.int32),
            "health": take(&self.columns[HEALTH], np.uint8),
            "bad_counts": take(&self.columns[BAD_COUNTS], np.uint32).reshape(-1, 4),
        }

    cdef int _scan(
        self, const uint8_t *data, int64_t size, int64_t base, int64_t *used
    ) noexcept nogil:
        cdef int64_t at = 0
        cdef uint64_t length
        cdef const uint8_t *payload
        cdef int status
        while size - at >= HEADER_BYTES:
            if tl_masked_crc32c(data + at, 8) != tl_load32(data + at + 8):
                used[0] = at
                return STOP_HEADER
            length = tl_load64(data + at)
            if length > <uint64_t> (size - at) or length + FRAME_BYTES > <uint64_t> (size - at):
                break
            payload = data + at + HEADER_BYTES
            if tl_masked_crc32c(payload, length) != tl_load32(payload + length):
                used[0] = at
                return STOP_DATA
            status = self._add_event(payload, payload + length, base + at)
            if status != STOP_END:
                used[0] = at
                return status
            at += length + FRAME_BYTES
        used[0] = at
        return STOP_END

    cdef int _add_event(
        self, const uint8_t *at, const uint8_t *stop, int64_t offset
    ) noexcept nogil:
        """Add one DebugEvent. Events with another message are skipped."""
        cdef tl_field field
        cdef double wall_time = 0
        cdef const uint8_t *start = NULL
        cdef const uint8_t *end = NULL
        while at < stop:
            if not tl_next(&at, stop, &field):
                return STOP_PROTO
            if field.number == WALL_TIME and field.type == FIXED64:
                wall_time = tl_double(field.value)
            elif field.number == <uint64_t> self.message and field.type == LENGTH_DELIMITED:
                start, end = field.start, field.end
        if start == NULL:
            return STOP_END
        return self._add_message(start, end, offset, wall_time)

    cdef int _add_message(
        self, const uint8_t *start, const uint8_t *end, int64_t offset, double wall_time
    ) noexcept nogil:
        cdef bint is_trace = self.message == TRACE
        cdef uint64_t mode_field = TRACE_MODE if is_trace else EXECUTION_MODE
        cdef uint64_t tensor_field = TRACE_TENSOR if is_trace else EXECUTION_TENSORS
        cdef const uint8_t *at = start
        cdef const uint8_t *first
        cdef const uint8_t *kept = start
        cdef int64_t key_size = 0, mode = 0, tensors = 0
        cdef int32_t name
        cdef tl_field field
        cdef Tensor tensor
        if end - start > self.key_capacity and not self._reserve_key(end - start):
            return STOP_MEMORY
        # The key is the message without what differs between events of the same tensor or op.
        while at < end:
            first = at
            if not tl_next(&at, end, &field):
                return STOP_PROTO
            if field.number == mode_field and field.type == VARINT:
                mode = <int64_t> field.value
            if field.number == tensor_field or not is_trace and (
                field.number == EXECUTION_INPUTS or field.number == EXECUTION_OUTPUTS
            ):
                memcpy(self.key + key_size, kept, first - kept)
                key_size += first - kept
                kept = at
        memcpy(self.key + key_size, kept, end - kept)
        key_size += end - kept
        name = tl_names_id(&self.names, self.key, key_size, 0)
        if name < 0:
            return STOP_MEMORY
        at = start
        while at < end:
            tl_next(&at, end, &field)
            if field.number == tensor_field and field.type == LENGTH_DELIMITED:
                if is_trace and tensors:
                    continue
                parse_tensor(field.start, field.end, mode, &tensor)
                if not self._add_tensor(&tensor):
                    return STOP_MEMORY
                tensors += 1
            elif not is_trace and field.number == EXECUTION_INPUTS:
                if not add_ids(&field, &self.columns[INPUT_ID], &self.input_count):
                    return STOP_MEMORY
            elif not is_trace and field.number == EXECUTION_OUTPUTS:
                if not add_ids(&field, &self.columns[OUTPUT_ID], &self.output_count):
                    return STOP_MEMORY
        if is_trace and not tensors:
            clear_tensor(&tensor)
            if not self._add_tensor(&tensor):
                return STOP_MEMORY
        if not is_trace and not (
            append_int(&self.columns[TENSOR_END], self.tensor_count)
            and append_int(&self.columns[INPUT_END], self.input_count)
            and append_int(&self.columns[OUTPUT_END], self.output_count)
        ):
            return STOP_MEMORY
        if not (
            append_int(&self.columns[OFFSET], offset)
            and append(&self.columns[WALL], &wall_time)
            and append(&self.columns[NAME], &name)
        ):
            return STOP_MEMORY
        self.record_count += 1
        return STOP_END

    cdef bint _reserve_key(self, int64_t size) noexcept nogil:
        cdef uint8_t *key = <uint8_t *> realloc(self.key, 2 * size)
        if key == NULL:
            return False
        self.key, self.key_capacity = key, 2 * size
        return True

    cdef bint _add_tensor(self, Tensor *tensor) noexcept nogil:
        cdef int i
        cdef uint32_t count
        cdef int32_t shape = tl_names_id(
            &self.shapes, <const uint8_t *> tensor.signature, sizeof(tensor.signature), 0
        )
        if shape < 0 or not append(&self.columns[SHAPE_ID], &shape) or not append(&self.columns[HEALTH], &tensor.health):
            return False
        if tensor.health == NON_FINITE:
            for i in range(4):
                count = to_uint32(tensor.counts[i])
                if not append(&self.columns[BAD_COUNTS], &count):
                    return False
        self.tensor_count += 1
        return True


cdef inline uint32_t to_uint32(int64_t count) noexcept nogil:
    if count < 0:
        return UNKNOWN_COUNT
    return <uint32_t> count if count < UNKNOWN_COUNT else <uint32_t> (UNKNOWN_COUNT - 1)


cdef bint add_ids(tl_field *field, Growing *ids, int64_t *count) noexcept nogil:
    cdef const uint8_t *at
    cdef uint64_t value
    if field.type == VARINT:
        count[0] += 1
        return append_int(ids, <int64_t> field.value)
    if field.type != LENGTH_DELIMITED:
        return True
    at = field.start
    while at < field.end:
        if not tl_varint(&at, field.end, &value):
            return True
        count[0] += 1
        if not append_int(ids, <int64_t> value):
            return False
    return True


cdef void clear_tensor(Tensor *tensor) noexcept nogil:
    cdef int i
    for i in range(SIGNATURE):
        tensor.signature[i] = -1
    for i in range(4):
        tensor.counts[i] = -1
    tensor.health = UNKNOWN


cdef struct RawTensor:
    uint64_t dtype
    int64_t rank
    int64_t size  # -1 if unknown
    int64_t dims[MAX_DIMS]  # the last six
    const uint8_t *content
    const uint8_t *content_end
    const uint8_t *values  # packed float_val, double_val or half_val
    const uint8_t *values_end
    uint64_t values_field
    uint64_t last_value  # of a field that is not packed
    int64_t unpacked


cdef int parse_tensor_proto(
    const uint8_t *at, const uint8_t *stop, RawTensor *raw
) noexcept nogil:
    cdef tl_field field
    memset(raw, 0, sizeof(RawTensor))
    raw.size = 1
    while at < stop:
        if not tl_next(&at, stop, &field):
            return 0
        if field.number == 1 and field.type == VARINT:
            raw.dtype = field.value
        elif field.number == 2 and field.type == LENGTH_DELIMITED:
            if not parse_shape(field.start, field.end, raw):
                return 0
        elif field.number == 4 and field.type == LENGTH_DELIMITED:
            raw.content, raw.content_end = field.start, field.end
        elif field.number == 5 or field.number == 6 or field.number == 13:
            raw.values_field = field.number
            if field.type == LENGTH_DELIMITED:
                raw.values, raw.values_end = field.start, field.end
            else:
                raw.last_value = field.value
                raw.unpacked += 1
    return 1


cdef int parse_shape(const uint8_t *at, const uint8_t *stop, RawTensor *raw) noexcept nogil:
    cdef tl_field field, inner
    cdef const uint8_t *p
    cdef int64_t size
    cdef int i
    while at < stop:
        if not tl_next(&at, stop, &field):
            return 0
        if field.number == 3 and field.type == VARINT and field.value:
            raw.size = -1
        if field.number != 2 or field.type != LENGTH_DELIMITED:
            continue
        size = 0
        p = field.start
        while p < field.end:
            if not tl_next(&p, field.end, &inner):
                return 0
            if inner.number == 1 and inner.type == VARINT:
                size = <int64_t> inner.value
        if raw.rank >= MAX_DIMS:
            for i in range(MAX_DIMS - 1):
                raw.dims[i] = raw.dims[i + 1]
        raw.dims[raw.rank if raw.rank < MAX_DIMS else MAX_DIMS - 1] = size
        raw.rank += 1
        if size < 0 or raw.size < 0 or (size and raw.size > (<int64_t> 1 << 53) / size):
            raw.size = -1
        else:
            raw.size *= size
    return 1


cdef int64_t to_count(double value) noexcept nogil:
    """Convert a count that TensorFlow stored as a double; -1 if it is none."""
    if value >= 0 and value <= 9007199254740992.0:
        return <int64_t> value
    return -1


cdef void parse_tensor(
    const uint8_t *at, const uint8_t *stop, int64_t mode, Tensor *tensor
) noexcept nogil:
    cdef RawTensor raw
    cdef double summary[MAX_SUMMARY]
    cdef int64_t i, count
    clear_tensor(tensor)
    if not parse_tensor_proto(at, stop, &raw) or raw.dtype == 0:
        return
    if mode == FULL_TENSOR:
        count_elements(&raw, tensor)
        return
    if raw.dtype != 2:
        return
    count = read_summary(&raw, summary)
    if mode == CURT_HEALTH and count == 2:
        tensor.health = NON_FINITE if summary[1] != 0 else FINITE
    elif mode == CONCISE_HEALTH and count == 5:
        for i in range(4):
            tensor.counts[i] = to_count(summary[1 + i])
        tensor.signature[2] = tensor.counts[0]
        tensor.health = NON_FINITE if summary[2] or summary[3] or summary[4] else FINITE
    elif mode == FULL_HEALTH and count == 11:
        for i in range(4):
            tensor.counts[i] = to_count(summary[4 + i])
        for i in range(3):
            tensor.signature[i] = to_count(summary[2 + i])
        tensor.health = NON_FINITE if summary[5] or summary[6] or summary[7] else FINITE
    elif mode == SHAPE and count == 10:
        for i in range(SIGNATURE):
            tensor.signature[i] = to_count(summary[1 + i])


cdef int64_t read_summary(RawTensor *raw, double *summary) noexcept nogil:
    """Read the doubles of a health summary; return their number, 0 if there are too many."""
    cdef const uint8_t *start = raw.content
    cdef const uint8_t *stop = raw.content_end
    cdef int64_t i, count
    if start == stop and raw.values_field == 6:
        start, stop = raw.values, raw.values_end
    count = (stop - start) // 8
    if count > MAX_SUMMARY or 8 * count != stop - start:
        return 0
    for i in range(count):
        summary[i] = tl_double(tl_load64(start + 8 * i))
    return count


cdef void count_elements(RawTensor *raw, Tensor *tensor) noexcept nogil:
    """Count the non-finite elements of a whole tensor, if it is floating point."""
    cdef int64_t i
    cdef int64_t negative = 0, positive = 0, nan = 0, count
    tensor.signature[0] = <int64_t> raw.dtype
    tensor.signature[1] = raw.rank
    tensor.signature[2] = raw.size
    for i in range(MAX_DIMS):
        tensor.signature[3 + i] = raw.dims[i] if i < raw.rank else 0
    if raw.dtype not in (1, 2, 14, 19) or raw.size < 0:
        return
    if raw.content != raw.content_end:
        count = count_content(raw, &negative, &positive, &nan)
    else:
        count = count_values(raw, &negative, &positive, &nan)
    if count < 0:
        return
    tensor.counts[0], tensor.counts[1] = raw.size, negative
    tensor.counts[2], tensor.counts[3] = positive, nan
    tensor.health = NON_FINITE if negative or positive or nan else FINITE


cdef int64_t count_content(
    RawTensor *raw, int64_t *negative, int64_t *positive, int64_t *nan
) noexcept nogil:
    cdef int64_t i, width = 4 if raw.dtype == 1 else 8 if raw.dtype == 2 else 2
    cdef int64_t count = raw.size
    cdef uint32_t half
    cdef uint32_t bits
    cdef uint64_t wide
    if raw.content_end - raw.content != count * width:
        return -1
    # Compare bits: an exponent of ones means infinity or NaN.
    if raw.dtype == 1:
        for i in range(count):
            bits = tl_load32(raw.content + 4 * i)
            if (bits & 0x7F800000u) == 0x7F800000u:
                tally(bits & 0x7FFFFFu, bits >> 31, negative, positive, nan)
    elif raw.dtype == 2:
        for i in range(count):
            wide = tl_load64(raw.content + 8 * i)
            if (wide >> 52 & 0x7FF) == 0x7FF:
                tally(wide << 12, wide >> 63, negative, positive, nan)
    else:
        for i in range(count):
            half = <uint32_t> raw.content[2 * i] | <uint32_t> raw.content[2 * i + 1] << 8
            add_value(raw.dtype, half, 1, negative, positive, nan)
    return count


cdef inline void tally(
    uint64_t mantissa, uint64_t sign, int64_t *negative, int64_t *positive, int64_t *nan
) noexcept nogil:
    if mantissa:
        nan[0] += 1
    elif sign:
        negative[0] += 1
    else:
        positive[0] += 1


cdef void add_value(
    uint64_t dtype, uint64_t raw, int64_t times, int64_t *negative, int64_t *positive, int64_t *nan
) noexcept nogil:
    cdef double value
    if dtype == 1:
        value = tl_float(<uint32_t> raw)
    elif dtype == 2:
        value = tl_double(raw)
    elif dtype == 14:
        value = tl_float(<uint32_t> (raw & 0xFFFF) << 16)
    else:
        value = tl_half(<uint32_t> (raw & 0xFFFF))
    if isnan(value):
        nan[0] += times
    elif isinf(value) and value < 0:
        negative[0] += times
    elif isinf(value):
        positive[0] += times


cdef int64_t count_values(
    RawTensor *raw, int64_t *negative, int64_t *positive, int64_t *nan
) noexcept nogil:
    """Count in a repeated field, of which the last element stands for all that are missing."""
    cdef uint64_t wanted = 5 if raw.dtype == 1 else 6 if raw.dtype == 2 else 13
    cdef const uint8_t *at = raw.values
    cdef uint64_t value = 0
    cdef int64_t count = 0
    if raw.values_field != wanted:
        return raw.size  # a tensor without elements is zero
    if raw.values == NULL:
        # One element per field is how old writers encode it. Only one that is repeated is counted.
        if raw.unpacked != 1:
            return -1
        add_value(raw.dtype, raw.last_value, raw.size, negative, positive, nan)
        return raw.size
    while at < raw.values_end and count < raw.size:
        if wanted == 13:
            if not tl_varint(&at, raw.values_end, &value):
                return -1
        elif wanted == 5:
            if raw.values_end - at < 4:
                return -1
            value = tl_load32(at)
            at += 4
        else:
            if raw.values_end - at < 8:
                return -1
            value = tl_load64(at)
            at += 8
        add_value(raw.dtype, value, 1, negative, positive, nan)
        count += 1
    if count and count < raw.size:
        add_value(raw.dtype, value, raw.size - count, negative, positive, nan)
    return raw.size
