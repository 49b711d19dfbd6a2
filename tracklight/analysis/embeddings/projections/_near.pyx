# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Which vectors are nearest, chosen from rough orders or from the neighbours of neighbours.

The nearest so far are kept in a heap, the farthest of them first, so that most others are turned
away by one comparison. All loops run without the interpreter's lock.
"""

from libc.math cimport sqrt
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport calloc, free

#: Sums are kept in so many lanes, and so many orders are compared, side by side.
cdef enum:
    LANES = 8
    WINDOW = 16

cdef struct Found:
    double distance
    int32_t place


cdef inline bint is_nearer(Found one, Found other) noexcept nogil:
    """Of equally near ones the first, as in a list."""
    return one.distance < other.distance or (
        one.distance == other.distance and one.place < other.place
    )


cdef inline void sift(Found *heap, int64_t hole, int64_t count, Found found) noexcept nogil:
    """Put one in at a hole, or below it where there are farther ones."""
    cdef int64_t child
    while True:
        child = 2 * hole + 1
        if child >= count:
            break
        if child + 1 < count and is_nearer(heap[child], heap[child + 1]):
            child += 1
        if not is_nearer(found, heap[child]):
            break
        heap[hole] = heap[child]
        hole = child
    heap[hole] = found


cdef inline void pile(Found *heap, int64_t count) noexcept nogil:
    """Make a heap of what is there in any order."""
    cdef int64_t hole
    for hole in range(count // 2 - 1, -1, -1):
        sift(heap, hole, count, heap[hole])


cdef inline void sort(Found *heap, int64_t count) noexcept nogil:
    """Put the nearest of a heap first."""
    cdef int64_t last
    cdef Found farthest
    for last in range(count - 1, 0, -1):
        farthest = heap[0]
        sift(heap, 0, last, heap[last])
        heap[last] = farthest


cdef inline double multiply(const float *one, const float *other, int64_t numbers) noexcept nogil:
    cdef double lanes[LANES]
    cdef int64_t place = 0, lane
    cdef double total = 0
    for lane in range(LANES):
        lanes[lane] = 0
    while place + LANES <= numbers:
        for lane in range(LANES):
            lanes[lane] += <double>one[place + lane] * other[place + lane]
        place += LANES
    for place in range(place, numbers):
        total += <double>one[place] * other[place]
    for lane in range(LANES):
        total += lanes[lane]
    return total


cdef inline double subtract(const float *one, const float *other, int64_t numbers) noexcept nogil:
    """The square of how far two are apart."""
    cdef double lanes[LANES]
    cdef int64_t place = 0, lane
    cdef double total = 0, apart
    for lane in range(LANES):
        lanes[lane] = 0
    while place + LANES <= numbers:
        for lane in range(LANES):
            apart = <double>one[place + lane] - other[place + lane]
            lanes[lane] += apart * apart
        place += LANES
    for place in range(place, numbers):
        apart = <double>one[place] - other[place]
        total += apart * apart
    for lane in range(LANES):
        total += lanes[lane]
    return total


cdef inline double measure(
    const float *one, const float *other, int64_t numbers, char metric
) noexcept nogil:
    """By the first letter of euclidean, cosine (of vectors of length 1) or dot."""
    cdef double distance
    if metric == b"e":
        return sqrt(subtract(one, other, numbers))
    distance = -multiply(one, other, numbers)
    return max(1 + distance, 0) if metric == b"c" else distance


def pick(
    const float[:, ::1] order,
    const int64_t[::1] own,
    const float[:, ::1] vectors,
    const float[:, ::1] queries,
    str metric,
    int64_t extra,
    int32_t[:, ::1] places,
    double[:, ::1] distances,
    float[::1] farthest,
):
    """Fill the nearest of each row, and how far the farthest candidate is by the rough order.

    Some more candidates than are wanted are measured precisely. ``own`` is the place of each row
    itself among the others, or -1.
    """
    cdef int64_t row, rank, rows = order.shape[0], count = places.shape[1]
    cdef int64_t others = order.shape[1], numbers = vectors.shape[1]
    cdef int64_t size = min(count + extra, others - 1 if rows and own[0] >= 0 else others)
    cdef char letter = ord(metric[0])
    cdef Found *heap
    check(rows, (own.shape[0], queries.shape[0], places.shape[0], distances.shape[0], farthest.shape[0]))
    check(count, (distances.shape[1],))
    check(numbers, (queries.shape[1],))
    if vectors.shape[0] != others or not 0 <= count <= size or others >= 1 << 31:
        raise ValueError("there are not as many to choose from")
    if not rows or not count:
        return
    heap = <Found *>calloc(size, sizeof(Found))
    if heap == NULL:
        raise MemoryError("no memory for neighbours")
    with nogil:
        for row in range(rows):
            choose(&order[row, 0], others, own[row], heap, size)
            farthest[row] = <float>heap[0].distance
            for rank in range(size):
                heap[rank].distance = measure(
                    &queries[row, 0], &vectors[heap[rank].place, 0], numbers, letter
                )
            pile(heap, size)
            sort(heap, size)
            for rank in range(count):
                places[row, rank] = heap[rank].place
                distances[row, rank] = heap[rank].distance
    free(heap)


cdef inline void choose(
    const float *order, int64_t others, int64_t own, Found *heap, int64_t size
) noexcept nogil:
    """Fill a heap with those that come first by a rough order."""
    cdef int64_t place = 0, filled = 0
    cdef float bound
    cdef Found found
    while filled < size:
        if place != own:
            heap[filled].distance = order[place]
            heap[filled].place = <int32_t>place
            filled += 1
        place += 1
    pile(heap, size)
    bound = <float>heap[0].distance
    while place < others:
        # Most are too far, of which so many are passed by at once.
        if place + WINDOW <= others and not is_any_below(order + place, bound):
            place += WINDOW
            continue
        for place in range(place, min(place + WINDOW, others)):
            if order[place] < bound and place != own:
                found.distance = order[place]
                found.place = <int32_t>place
                sift(heap, 0, size, found)
                bound = <float>heap[0].distance
        place += 1


cdef inline bint is_any_below(const float *order, float bound) noexcept nogil:
    cdef int place
    cdef int32_t count = 0
    for place in range(WINDOW):
        count += order[place] < bound
    return count > 0


def estimate(
    const float[:, ::1] vectors, const float[::1] query, str metric, float[::1] distances
):
    """Fill how far all vectors are from one, in single precision; cosines are of any length."""
    cdef int64_t row, numbers = vectors.shape[1]
    cdef char letter = ord(metric[0])
    cdef float product, square
    check(numbers, (query.shape[0],))
    check(vectors.shape[0], (distances.shape[0],))
    if not numbers:
        return
    with nogil:
        for row in range(vectors.shape[0]):
            if letter == b"e":
                distances[row] = sqrt(sum_squares(&vectors[row, 0], &query[0], numbers))
                continue
            product = sum_products(&vectors[row, 0], &query[0], numbers)
            if letter == b"c":
                square = sum_products(&vectors[row, 0], &vectors[row, 0], numbers)
                distances[row] = max(1 - product / (sqrt(square) if square > 0 else 1), 0)
            else:
                distances[row] = -product


cdef inline float sum_squares(const float *one, const float *other, int64_t numbers) noexcept nogil:
    cdef float lanes[WINDOW]
    cdef int64_t place = 0
    cdef int lane
    cdef float apart, total = 0
    for lane in range(WINDOW):
        lanes[lane] = 0
    while place + WINDOW <= numbers:
        for lane in range(WINDOW):
            apart = one[place + lane] - other[place + lane]
            lanes[lane] += apart * apart
        place += WINDOW
    for place in range(place, numbers):
        apart = one[place] - other[place]
        total += apart * apart
    for lane in range(WINDOW):
        total += lanes[lane]
    return total


cdef inline float sum_products(const float *one, const float *other, int64_t numbers) noexcept nogil:
    cdef float lanes[WINDOW]
    cdef int64_t place = 0
    cdef int lane
    cdef float total = 0
    for lane in range(WINDOW):
        lanes[lane] = 0
    while place + WINDOW <= numbers:
        for lane in range(WINDOW):
            lanes[lane] += one[place + lane] * other[place + lane]
        place += WINDOW
    for place in range(place, numbers):
        total += one[place] * other[place]
    for lane in range(WINDOW):
        total += lanes[lane]
    return total


def refine(
    const float[:, ::1] vectors,
    str metric,
    const int32_t[:, ::1] known,
    const float[:, ::1] known_distances,
    int64_t company,
    int64_t begin,
    int64_t end,
    int32_t[:, ::1] places,
    float[:, ::1] distances,
):
    """Fill the nearest of some rows among those known and the first neighbours of their first."""
    cdef int64_t row, rank, total = vectors.shape[0], count = known.shape[1]
    cdef char letter = ord(metric[0])
    cdef int64_t *seen = NULL
    cdef Found *heap = NULL
    check(total, (known.shape[0], known_distances.shape[0], places.shape[0], distances.shape[0]))
    check(count, (known_distances.shape[1], places.shape[1], distances.shape[1]))
    if not 0 <= begin <= end <= total:
        raise ValueError("no such rows")
    if begin == end or not count:
        return
    try:
        heap = <Found *>calloc(count, sizeof(Found))
        seen = <int64_t *>calloc(total, sizeof(int64_t))
        if heap == NULL or seen == NULL:
            raise MemoryError("no memory for neighbours")
        with nogil:
            for row in range(begin, end):
                for rank in range(count):
                    heap[rank].distance = known_distances[row, rank]
                    heap[rank].place = known[row, rank]
                meet(vectors, letter, known, min(company, count), row, seen, heap)
                sort(heap, count)
                for rank in range(count):
                    places[row, rank] = heap[rank].place
                    distances[row, rank] = <float>heap[rank].distance
    finally:
        free(heap)
        free(seen)


cdef inline void meet(
    const float[:, ::1] vectors,
    char metric,
    const int32_t[:, ::1] known,
    int64_t company,
    int64_t row,
    int64_t *seen,
    Found *heap,
) noexcept nogil:
    """Take in those neighbours of a row's neighbours that are nearer than what it knows."""
    cdef int64_t count = known.shape[1], rank, other
    cdef int32_t friend
    cdef Found found
    seen[row] = row + 1
    for rank in range(count):
        seen[known[row, rank]] = row + 1
    pile(heap, count)
    for rank in range(company):
        friend = known[row, rank]
        for other in range(company):
            found.place = known[friend, other]
            if seen[found.place] == row + 1:
                continue
            seen[found.place] = row + 1
            found.distance = measure(
                &vectors[row, 0], &vectors[found.place, 0], vectors.shape[1], metric
            )
            if is_nearer(found, heap[0]):
                sift(heap, 0, count, found)


def check(length, others):
    """Raise ValueError where columns do not belong together."""
    if any(other != length for other in others):
        raise ValueError("columns of one length are needed")
