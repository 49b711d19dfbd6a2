"""Groups rows by series: one counting sort turns them into columns.

Included by _scan.pyx.
"""


cdef group_points(Gathered *g):
    cdef Point *rows = <Point *> g.points.data
    cdef int64_t n = g.points.count
    cdef int64_t i, at
    if n == 0:
        return _batch.empty_points()
    series, starts, place = groups(g, &g.points, sizeof(Point))
    number = np.zeros(g.tags.count, np.uint8)
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


cdef group_references(Gathered *g):
    cdef Reference *rows = <Reference *> g.references.data
    cdef int64_t n = g.references.count
    cdef int64_t i, at
    if n == 0:
        return _batch.empty_references()
    series, starts, place = groups(g, &g.references, sizeof(Reference))
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


cdef groups(Gathered *g, Rows *rows, size_t width):
    """The series met, where each starts, and by series the place of its next row."""
    cdef int64_t i
    cdef int64_t row_count = rows.count
    cdef const char *data = <const char *> rows.data
    counts = np.zeros(g.tags.count, np.int64)
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
