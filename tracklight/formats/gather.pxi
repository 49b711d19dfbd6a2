"""Parse events into rows of points and references.

Included by _scan.pyx. Nothing here needs the GIL.
"""

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
    ctypedef struct tl_number:
        const uint8_t *start
        int32_t size

    int tl_tensor_scalar(
        const uint8_t *p, const uint8_t *end, int *family, uint64_t *bits, tl_number *number
    )
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
        int64_t points[3]

    ctypedef struct tl_names:
        tl_name *names
        int64_t count
        uint8_t *arena
        int32_t last

    void tl_names_free(tl_names *t)
    int32_t tl_names_id(tl_names *t, const uint8_t *p, int64_t size, int32_t content)
    void tl_names_cut(tl_names *t, int64_t count)

cdef extern from "repeats.h" nogil:
    ctypedef struct tl_point:
        int32_t series
        int32_t scalar_type
        int64_t step
        double wall
        uint64_t bits

    ctypedef struct tl_examples:
        int64_t count

    ctypedef struct tl_window:
        const uint8_t *data
        const uint8_t *end
        int64_t base

    void tl_examples_free(tl_examples *t)
    void tl_examples_cut(tl_examples *t, int64_t count)
    void tl_examples_set(
        tl_examples *t, int32_t series, const tl_window *window, const uint8_t *payload,
        const uint8_t *end, const uint8_t *value, int32_t value_size,
    )
    int64_t tl_read_repeats(
        tl_names *names, tl_examples *examples, const tl_window *window, int64_t offset,
        tl_point *points, int64_t *count, int64_t capacity,
    )

tl_crc_init()

ctypedef tl_point Point

cdef enum:
    FLOAT = 0
    INT = 1
    UINT = 2
    SIMPLE_VALUE = 2
    TENSOR = 8
    IN_EVENT = 32  # added to the number of a field of Event to make a `Content`
    STATUS_START = 1
    MAX_IDLE_ROWS = 1024

cdef enum Outcome:
    PARSED
    INVALID
    OPENS_NEXT_BATCH
    NO_MEMORY

cdef bytes GRAPH_TAG = _batch.GRAPH_TAG
cdef bytes META_GRAPH_TAG = _batch.META_GRAPH_TAG
cdef const uint8_t *graph_tag = GRAPH_TAG
cdef const uint8_t *meta_graph_tag = META_GRAPH_TAG
cdef int64_t graph_tag_size = len(GRAPH_TAG)
cdef int64_t meta_graph_tag_size = len(META_GRAPH_TAG)


cdef struct Reference:
    int32_t series
    int32_t content
    int64_t step
    double wall
    int64_t record
    int64_t start
    int64_t size


cdef struct Span:
    int32_t subject  # a DamageKind, or the series that metadata describes
    int32_t previous_level  # the description level of that series before
    int64_t offset
    int64_t size


cdef struct Rows:
    void *data
    int64_t count
    int64_t capacity


cdef inline void *next_row(Rows *rows, size_t width) noexcept nogil:
    """Append a row and return a pointer to it; NULL if out of memory."""
    cdef void *data
    if rows.count == rows.capacity:
        data = realloc(rows.data, (2 * rows.capacity + 64) * width)
        if data == NULL:
            return NULL
        rows.data = data
        rows.capacity = 2 * rows.capacity + 64
    rows.count += 1
    return <char *> rows.data + (rows.count - 1) * width


cdef inline void release_rows(Rows *rows) noexcept nogil:
    """Clear the rows, and free their memory if it is large: idle scanners should be small."""
    if rows.capacity > MAX_IDLE_ROWS:
        free(rows.data)
        rows.data = NULL
        rows.capacity = 0
    rows.count = 0


cdef inline bint add_span(
    Rows *spans, int32_t subject, int32_t previous_level, int64_t offset, int64_t size
) noexcept nogil:
    cdef Span *span = <Span *> next_row(spans, sizeof(Span))
    if span == NULL:
        return False
    span[0] = Span(subject, previous_level, offset, size)
    return True


cdef struct EventRows:
    tl_names tags
    Rows points
    Rows references
    Rows metadata
    Span file_version
    Span writer
    int64_t records
    bint has_start
    int64_t start_step
    tl_number number  # the bytes of the latest point
    const uint8_t *data  # the origin of the offsets of spans


cdef struct Event:
    const uint8_t *payload
    const uint8_t *end
    int64_t record  # the file offset of its record
    int64_t step
    double wall


cdef Outcome parse_event(EventRows *g, Event *event) noexcept nogil:
    """Add the rows of one event, or none of them if it is invalid."""
    cdef const uint8_t *p = event.payload
    cdef tl_field f, summary
    cdef int parts = 0
    cdef bint starts = False
    summary.start = NULL
    event.step = 0
    event.wall = 0
    while p < event.end:
        if not tl_next(&p, event.end, &f):
            return INVALID
        if f.type == 2:
            parts += 1
            if f.number == 5:
                summary = f
            elif f.number == 7 and not parse_session_log(f.start, f.end, &starts):
                return INVALID
        elif f.number == 1 and f.type == 1:
            event.wall = tl_double(f.value)
        elif f.number == 2 and f.type == 0:
            event.step = <int64_t> f.value
    cdef EventRows before = g[0]
    cdef Outcome outcome
    if parts == 1 and summary.start != NULL:  # the common case
        outcome = parse_summary(g, event, summary.start, summary.end)
    else:
        outcome = parse_fields(g, event)
    if outcome == PARSED and starts and g.records > 0:
        outcome = OPENS_NEXT_BATCH
    if outcome != PARSED:
        roll_back(g, &before)
    elif starts:
        g.has_start = True
        g.start_step = event.step
    return outcome


cdef void roll_back(EventRows *g, EventRows *before) noexcept nogil:
    """Remove the rows that a part of an event added."""
    cdef Span *span
    while g.points.count > before.points.count:
        g.points.count -= 1
        count_point(g, &(<Point *> g.points.data)[g.points.count], -1)
    g.references.count = before.references.count
    g.file_version = before.file_version
    g.writer = before.writer
    while g.metadata.count > before.metadata.count:
        g.metadata.count -= 1
        span = &(<Span *> g.metadata.data)[g.metadata.count]
        g.tags.names[span.subject].described = span.previous_level
    tl_names_cut(&g.tags, before.tags.count)


cdef bint parse_session_log(const uint8_t *p, const uint8_t *end, bint *starts) noexcept nogil:
    cdef tl_field f
    while p < end:
        if not tl_next(&p, end, &f):
            return False
        if f.number == 1 and f.type == 0:
            starts[0] = f.value == STATUS_START
    return True


cdef Outcome parse_fields(EventRows *g, Event *event) noexcept nogil:
    cdef const uint8_t *p = event.payload
    cdef tl_field f
    cdef Outcome outcome = PARSED
    while p < event.end and outcome == PARSED:
        if not tl_next(&p, event.end, &f):
            return INVALID
        if f.type != 2:
            continue
        if f.number == 5:
            outcome = parse_summary(g, event, f.start, f.end)
        elif f.number == 4:
            outcome = add_event_field(g, event, &f, graph_tag, graph_tag_size)
        elif f.number == 9:
            outcome = add_event_field(g, event, &f, meta_graph_tag, meta_graph_tag_size)
        elif f.number == 8:
            outcome = parse_run_metadata(g, event, &f)
        elif f.number == 3:
            g.file_version.offset = f.start - g.data
            g.file_version.size = f.end - f.start
        elif f.number == 10:
            outcome = parse_writer(g, f.start, f.end)
    return outcome


cdef Outcome parse_writer(EventRows *g, const uint8_t *p, const uint8_t *end) noexcept nogil:
    cdef tl_field f
    while p < end:
        if not tl_next(&p, end, &f):
            return INVALID
        if f.number == 1 and f.type == 2:
            g.writer.offset = f.start - g.data
            g.writer.size = f.end - f.start
    return PARSED


cdef Outcome parse_run_metadata(EventRows *g, Event *event, tl_field *whole) noexcept nogil:
    cdef const uint8_t *p = whole.start
    cdef const uint8_t *tag = p
    cdef int64_t tag_size = 0
    cdef tl_field f
    while p < whole.end:
        if not tl_next(&p, whole.end, &f):
            return INVALID
        if f.number == 1 and f.type == 2:
            tag = f.start
            tag_size = f.end - f.start
    return add_event_field(g, event, whole, tag, tag_size)


cdef Outcome parse_summary(
    EventRows *g, Event *event, const uint8_t *p, const uint8_t *end
) noexcept nogil:
    cdef tl_field f
    cdef Outcome outcome
    while p < end:
        if not tl_next(&p, end, &f):
            return INVALID
        if f.number == 1 and f.type == 2:
            outcome = parse_value(g, event, &f)
            if outcome != PARSED:
                return outcome
    return PARSED


cdef Outcome parse_value(EventRows *g, Event *event, tl_field *value) noexcept nogil:
    cdef tl_field f, tag, node, tensor, metadata
    cdef const uint8_t *p = value.start
    cdef int32_t content = 0
    cdef int family = TL_REAL
    cdef int scalar = 0
    cdef uint64_t bits = 0
    cdef tl_number number
    number.size = 0
    tag.start = tag.end = node.start = node.end = p
    metadata.start = metadata.end = p
    while p < value.end:
        if not tl_next(&p, value.end, &f):
            return INVALID
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
            number.start = p - 4
            number.size = 4
    if tag.start == tag.end:
        tag = node
    if content == SIMPLE_VALUE:
        scalar = 1
    elif content == TENSOR:
        scalar = tl_tensor_scalar(tensor.start, tensor.end, &family, &bits, &number)
        if scalar < 0:
            return INVALID
    cdef int32_t series = tl_names_id(&g.tags, tag.start, tag.end - tag.start, content)
    if series < 0:
        return NO_MEMORY
    if metadata.end > metadata.start and g.tags.names[series].described < 2:
        if not add_metadata(g, series, metadata.start, metadata.end):
            return NO_MEMORY
    g.number = number
    if scalar:
        return add_point(g, event, series, family, bits)
    return add_reference(g, event, value, series, content)


cdef bint add_metadata(
    EventRows *g, int32_t series, const uint8_t *p, const uint8_t *end
) noexcept nogil:
    """Add metadata that says more about a series than what is known."""
    cdef tl_name *name = &g.tags.names[series]
    cdef int32_t level = description_level(p, end)
    if level <= name.described:
        return True
    if not add_span(&g.metadata, series, name.described, p - g.data, end - p):
        return False
    name.described = level
    return True


cdef int32_t description_level(const uint8_t *p, const uint8_t *end) noexcept nogil:
    """Return 2 for a SummaryMetadata that names a plugin, otherwise 1."""
    cdef tl_field f, g
    cdef const uint8_t *q
    while p < end and tl_next(&p, end, &f):
        if f.number == 1 and f.type == 2:
            q = f.start
            while q < f.end and tl_next(&q, f.end, &g):
                if g.number == 1 and g.type == 2 and g.end > g.start:
                    return 2
    return 1


cdef inline Outcome add_point(
    EventRows *g, Event *event, int32_t series, int family, uint64_t bits
) noexcept nogil:
    cdef Point *point = <Point *> next_row(&g.points, sizeof(Point))
    cdef int32_t scalar_type = FLOAT if family == TL_REAL else INT
    if point == NULL:
        return NO_MEMORY
    if family == TL_UNSIGNED and bits >> 63:
        scalar_type = UINT
    point[0] = Point(series, scalar_type, event.step, event.wall, bits)
    count_point(g, point, 1)
    return PARSED


cdef inline void count_point(EventRows *g, const Point *point, int change) noexcept nogil:
    g.tags.names[point.series].points[point.scalar_type] += change


cdef Outcome add_event_field(
    EventRows *g, Event *event, tl_field *field, const uint8_t *tag, int64_t tag_size
) noexcept nogil:
    cdef int32_t content = IN_EVENT + <int32_t> field.number
    cdef int32_t series = tl_names_id(&g.tags, tag, tag_size, content)
    if series < 0:
        return NO_MEMORY
    return add_reference(g, event, field, series, content)


cdef Outcome add_reference(
    EventRows *g, Event *event, tl_field *field, int32_t series, int32_t content
) noexcept nogil:
    cdef Reference *row = <Reference *> next_row(&g.references, sizeof(Reference))
    cdef int64_t start = field.start - event.payload
    cdef int64_t size = field.end - field.start
    if row == NULL:
        return NO_MEMORY
    row[0] = Reference(series, content, event.step, event.wall, event.record, start, size)
    return PARSED
