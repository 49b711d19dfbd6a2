# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Compiled selection of nearest vectors: from approximate scores, or among neighbors of neighbors.

The nearest candidates are kept in a max-heap, so that one comparison rejects most others. All loops
run without the GIL. `kernels_python` has the same functions in NumPy.
"""

from libc.math cimport sqrt
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport calloc, free

#: Numbers of partial sums and of scores that the compiler can process in one vector.
cdef enum:
    LANES = 8
    WINDOW = 16

cdef struct Candidate:
    double distance
    int32_t index


cdef inline bint is_nearer(Candidate one, Candidate other) noexcept nogil:
    """Compare by distance, and by index among equal distances."""
    return one.distance < other.distance or (
        one.distance == other.distance and one.index < other.index
    )


cdef inline void sift_down(Candidate *heap, int64_t hole, int64_t count, Candidate candidate) noexcept nogil:
    """Insert a candidate at a hole of the heap and restore the heap below it."""
    cdef int64_t child
    while True:
        child = 2 * hole + 1
        if child >= count:
            break
        if child + 1 < count and is_nearer(heap[child], heap[child + 1]):
            child += 1
        if not is_nearer(candidate, heap[child]):
            break
        heap[hole] = heap[child]
        hole = child
    heap[hole] = candidate


cdef inline void heapify(Candidate *heap, int64_t count) noexcept nogil:
    """Make a max-heap of candidates in any order."""
    cdef int64_t hole
    for hole in range(count // 2 - 1, -1, -1):
        sift_down(heap, hole, count, heap[hole])


cdef inline void sort_heap(Candidate *heap, int64_t count) noexcept nogil:
    """Sort a heap in ascending order."""
    cdef int64_t last
    cdef Candidate farthest
    for last in range(count - 1, 0, -1):
        farthest = heap[0]
        sift_down(heap, 0, last, heap[last])
        heap[last] = farthest


cdef inline double dot_product(const float *one, const float *other, int64_t dimensions) noexcept nogil:
    cdef double lanes[LANES]
    cdef int64_t index = 0, lane
    cdef double total = 0
    for lane in range(LANES):
        lanes[lane] = 0
    while index + LANES <= dimensions:
        for lane in range(LANES):
            lanes[lane] += <double>one[index + lane] * other[index + lane]
        index += LANES
    for index in range(index, dimensions):
        total += <double>one[index] * other[index]
    for lane in range(LANES):
        total += lanes[lane]
    return total


cdef inline double squared_distance(const float *one, const float *other, int64_t dimensions) noexcept nogil:
    cdef double lanes[LANES]
    cdef int64_t index = 0, lane
    cdef double total = 0, difference
    for lane in range(LANES):
        lanes[lane] = 0
    while index + LANES <= dimensions:
        for lane in range(LANES):
            difference = <double>one[index + lane] - other[index + lane]
            lanes[lane] += difference * difference
        index += LANES
    for index in range(index, dimensions):
        difference = <double>one[index] - other[index]
        total += difference * difference
    for lane in range(LANES):
        total += lanes[lane]
    return total


cdef inline double compute_distance(
    const float *one, const float *other, int64_t dimensions, char metric
) noexcept nogil:
    """Return the distance by the first letter of the metric; cosine expects unit vectors."""
    cdef double distance
    if metric == b"e":
        return sqrt(squared_distance(one, other, dimensions))
    distance = -dot_product(one, other, dimensions)
    return max(1 + distance, 0) if metric == b"c" else distance


def select_nearest(
    const float[:, ::1] scores,
    const int64_t[::1] excluded,
    const float[:, ::1] vectors,
    const float[:, ::1] queries,
    str metric,
    int64_t extra,
    int32_t[:, ::1] indices,
    double[:, ::1] distances,
    float[::1] farthest,
):
    """Fill the exact nearest vectors of each query.

    Same arguments as `kernels_python.select_nearest`.
    """
    cdef int64_t row, rank, rows = scores.shape[0], count = indices.shape[1]
    cdef int64_t vector_count = scores.shape[1], dimensions = vectors.shape[1]
    cdef int64_t available = vector_count - 1 if rows and excluded[0] >= 0 else vector_count
    cdef int64_t size = min(count + extra, available)
    cdef char metric_code = ord(metric[0])
    cdef Candidate *heap
    check_lengths(rows, (excluded.shape[0], queries.shape[0], farthest.shape[0]))
    check_lengths(rows, (indices.shape[0], distances.shape[0]))
    check_lengths(count, (distances.shape[1],))
    check_lengths(dimensions, (queries.shape[1],))
    if vectors.shape[0] != vector_count or not 0 <= count <= size or vector_count >= 1 << 31:
        raise ValueError("there are not enough vectors to select from")
    if not rows or not count:
        return
    heap = <Candidate *>calloc(size, sizeof(Candidate))
    if heap == NULL:
        raise MemoryError("out of memory")
    with nogil:
        for row in range(rows):
            select_candidates(&scores[row, 0], vector_count, excluded[row], heap, size)
            farthest[row] = <float>heap[0].distance
            for rank in range(size):
                heap[rank].distance = compute_distance(
                    &queries[row, 0], &vectors[heap[rank].index, 0], dimensions, metric_code
                )
            heapify(heap, size)
            sort_heap(heap, size)
            for rank in range(count):
                indices[row, rank] = heap[rank].index
                distances[row, rank] = heap[rank].distance
    free(heap)


cdef inline void select_candidates(
    const float *scores, int64_t vector_count, int64_t excluded, Candidate *heap, int64_t size
) noexcept nogil:
    """Fill a heap with the vectors of the lowest scores."""
    cdef int64_t index = 0, filled = 0
    cdef float bound
    cdef Candidate candidate
    while filled < size:
        if index != excluded:
            heap[filled].distance = scores[index]
            heap[filled].index = <int32_t>index
            filled += 1
        index += 1
    heapify(heap, size)
    bound = <float>heap[0].distance
    while index < vector_count:
        # Most are too far; skip a window of them at once.
        if index + WINDOW <= vector_count and not is_any_below(scores + index, bound):
            index += WINDOW
            continue
        for index in range(index, min(index + WINDOW, vector_count)):
            if scores[index] < bound and index != excluded:
                candidate.distance = scores[index]
                candidate.index = <int32_t>index
                sift_down(heap, 0, size, candidate)
                bound = <float>heap[0].distance
        index += 1


cdef inline bint is_any_below(const float *scores, float bound) noexcept nogil:
    cdef int index
    cdef int32_t count = 0
    for index in range(WINDOW):
        count += scores[index] < bound
    return count > 0


def estimate_distances(
    const float[:, ::1] vectors, const float[::1] query, str metric, float[::1] distances
):
    """Fill the distances of all vectors from a query in single precision.

    For cosine, vectors may have any length.
    """
    cdef int64_t row, dimensions = vectors.shape[1]
    cdef char metric_code = ord(metric[0])
    cdef float product, square
    check_lengths(dimensions, (query.shape[0],))
    check_lengths(vectors.shape[0], (distances.shape[0],))
    if not dimensions:
        return
    with nogil:
        for row in range(vectors.shape[0]):
            if metric_code == b"e":
                distances[row] = sqrt(squared_distance_float32(&vectors[row, 0], &query[0], dimensions))
                continue
            product = dot_product_float32(&vectors[row, 0], &query[0], dimensions)
            if metric_code == b"c":
                square = dot_product_float32(&vectors[row, 0], &vectors[row, 0], dimensions)
                distances[row] = max(1 - product / (sqrt(square) if square > 0 else 1), 0)
            else:
                distances[row] = -product


cdef inline float squared_distance_float32(const float *one, const float *other, int64_t dimensions) noexcept nogil:
    cdef float lanes[WINDOW]
    cdef int64_t index = 0
    cdef int lane
    cdef float difference, total = 0
    for lane in range(WINDOW):
        lanes[lane] = 0
    while index + WINDOW <= dimensions:
        for lane in range(WINDOW):
            difference = one[index + lane] - other[index + lane]
            lanes[lane] += difference * difference
        index += WINDOW
    for index in range(index, dimensions):
        difference = one[index] - other[index]
        total += difference * difference
    for lane in range(WINDOW):
        total += lanes[lane]
    return total


cdef inline float dot_product_float32(const float *one, const float *other, int64_t dimensions) noexcept nogil:
    cdef float lanes[WINDOW]
    cdef int64_t index = 0
    cdef int lane
    cdef float total = 0
    for lane in range(WINDOW):
        lanes[lane] = 0
    while index + WINDOW <= dimensions:
        for lane in range(WINDOW):
            lanes[lane] += one[index + lane] * other[index + lane]
        index += WINDOW
    for index in range(index, dimensions):
        total += one[index] * other[index]
    for lane in range(WINDOW):
        total += lanes[lane]
    return total


def refine_neighbors(
    const float[:, ::1] vectors,
    str metric,
    const int32_t[:, ::1] known,
    const float[:, ::1] known_distances,
    int64_t fanout,
    int64_t begin,
    int64_t end,
    int32_t[:, ::1] indices,
    float[:, ::1] distances,
):
    """Fill the nearest of a range of rows among their neighbors and the neighbors of these."""
    cdef int64_t row, rank, total = vectors.shape[0], count = known.shape[1]
    cdef char metric_code = ord(metric[0])
    cdef int64_t *seen = NULL
    cdef Candidate *heap = NULL
    check_lengths(total, (known.shape[0], known_distances.shape[0], indices.shape[0], distances.shape[0]))
    check_lengths(count, (known_distances.shape[1], indices.shape[1], distances.shape[1]))
    if not 0 <= begin <= end <= total:
        raise ValueError("the range is outside of the vectors")
    if begin == end or not count:
        return
    try:
        heap = <Candidate *>calloc(count, sizeof(Candidate))
        seen = <int64_t *>calloc(total, sizeof(int64_t))
        if heap == NULL or seen == NULL:
            raise MemoryError("out of memory")
        with nogil:
            for row in range(begin, end):
                for rank in range(count):
                    heap[rank].distance = known_distances[row, rank]
                    heap[rank].index = known[row, rank]
                add_neighbors_of_neighbors(vectors, metric_code, known, min(fanout, count), row, seen, heap)
                sort_heap(heap, count)
                for rank in range(count):
                    indices[row, rank] = heap[rank].index
                    distances[row, rank] = <float>heap[rank].distance
    finally:
        free(heap)
        free(seen)


cdef inline void add_neighbors_of_neighbors(
    const float[:, ::1] vectors,
    char metric,
    const int32_t[:, ::1] known,
    int64_t fanout,
    int64_t row,
    int64_t *seen,
    Candidate *heap,
) noexcept nogil:
    """Add those neighbors of a row's neighbors that are nearer than the known ones."""
    cdef int64_t count = known.shape[1], rank, other
    cdef int32_t neighbor
    cdef Candidate candidate
    seen[row] = row + 1
    for rank in range(count):
        seen[known[row, rank]] = row + 1
    heapify(heap, count)
    for rank in range(fanout):
        neighbor = known[row, rank]
        for other in range(fanout):
            candidate.index = known[neighbor, other]
            if seen[candidate.index] == row + 1:
                continue
            seen[candidate.index] = row + 1
            candidate.distance = compute_distance(
                &vectors[row, 0], &vectors[candidate.index, 0], vectors.shape[1], metric
            )
            if is_nearer(candidate, heap[0]):
                sift_down(heap, 0, count, candidate)


def check_lengths(expected, lengths):
    """Raise ValueError if arrays do not fit together."""
    if any(length != expected for length in lengths):
        raise ValueError("the arrays must have the same length")
