"""Group rows by series with a counting sort, and return them as columns.

Included by _scan.pyx.
"""


cdef group_points(EventRows *g):
    cdef Point *rows = <Point *> g.points.data
    cdef int64_t n = g.points.count
    cdef int64_t i, at
    if n == 0:
        return _batch.empty_points()
    counts, scalar_type = np.empty(g.tags.count, np.int64), np.empty(g.tags.count, np.uint8)
    cdef int64_t[::1] counted = counts
    cdef uint8_t[::1] types = scalar_type
    for i in range(g.tags.count):
        counted[i] = sum_points(&g.tags.names[i])
        types[i] = find_common_type(&g.tags.names[i])
    series, starts, next_row_of = plan_rows(counts)
    step, wall, value = _batch.column_memory.allocate_points(n)
    cdef int64_t[::1] next_rows = next_row_of
    cdef int64_t[::1] steps = step
    cdef double[::1] walls = wall
    cdef double[::1] values = value
    with nogil:
        for i in range(n):
            at = next_rows[rows[i].series]
            next_rows[rows[i].series] = at + 1
            steps[at] = rows[i].step
            walls[at] = rows[i].wall
            if rows[i].scalar_type == FLOAT or types[rows[i].series] != FLOAT:
                values[at] = tl_double(rows[i].bits)
            elif rows[i].scalar_type == INT:
                values[at] = <double> (<int64_t> rows[i].bits)
            else:
                values[at] = <double> rows[i].bits
    return _batch.Points(series, starts, scalar_type[series], step, wall, value)


cdef group_references(EventRows *g):
    cdef Reference *rows = <Reference *> g.references.data
    cdef int64_t n = g.references.count
    cdef int64_t i, at
    if n == 0:
        return _batch.empty_references()
    series, starts, next_row_of = plan_rows(count_rows(g, &g.references, sizeof(Reference)))
    wall, content = np.empty(n, np.float64), np.empty(n, np.uint8)
    step, record, start, size = (np.empty(n, np.int64) for _ in range(4))
    cdef int64_t[::1] next_rows = next_row_of
    cdef double[::1] walls = wall
    cdef uint8_t[::1] contents = content
    cdef int64_t[::1] steps = step
    cdef int64_t[::1] records = record
    cdef int64_t[::1] begins = start
    cdef int64_t[::1] sizes = size
    with nogil:
        for i in range(n):
            at = next_rows[rows[i].series]
            next_rows[rows[i].series] = at + 1
            steps[at] = rows[i].step
            walls[at] = rows[i].wall
            records[at] = rows[i].record
            begins[at] = rows[i].start
            sizes[at] = rows[i].size
            contents[at] = <uint8_t> rows[i].content
    return _batch.References(series, starts, step, wall, record, start, size, content)


cdef count_rows(EventRows *g, Rows *rows, size_t width):
    """Return the number of rows of each series."""
    cdef int64_t i
    cdef int64_t row_count = rows.count
    cdef const char *data = <const char *> rows.data
    counts = np.zeros(g.tags.count, np.int64)
    cdef int64_t[::1] counted = counts
    with nogil:
        for i in range(row_count):
            counted[(<int32_t *> (data + i * width))[0]] += 1
    return counts


cdef plan_rows(counts):
    """Return the series, the start of each, and by series the index of its next row."""
    series = np.flatnonzero(counts).astype(np.int32)
    starts = np.zeros(len(series) + 1, np.int64)
    np.cumsum(counts[series], out=starts[1:])
    counts[series] = starts[:len(series)]
    return series, starts, counts


cdef inline int64_t sum_points(const tl_name *name) noexcept nogil:
    return name.points[FLOAT] + name.points[INT] + name.points[UINT]


cdef inline uint8_t find_common_type(const tl_name *name) noexcept nogil:
    """Return the ScalarType of the points of a series; FLOAT if their types differ."""
    cdef int64_t count = sum_points(name)
    if count == 0:
        return FLOAT
    return INT if name.points[INT] == count else UINT if name.points[UINT] == count else FLOAT
