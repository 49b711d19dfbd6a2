# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Compiled loops over the points of a series; see `tracklight.index.Loops`.

Callers pass columns of the same length. The GIL is released during a loop, so that several series
can be processed in parallel.
"""

from libc.math cimport INFINITY, NAN, exp2, isfinite
from libc.stdint cimport int64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memmove


cdef bint find_range(const double *value, int64_t size, double *low, double *high) noexcept nogil:
    """Find the lowest and highest value of a column; return False if not all are finite."""
    cdef double lows[4]
    cdef double highs[4]
    cdef double rest[4]
    cdef double v
    cdef int64_t i
    cdef int lane
    for lane in range(4):
        lows[lane], highs[lane], rest[lane] = INFINITY, -INFINITY, 0
    for i in range(0, size - 3, 4):
        for lane in range(4):
            v = value[i + lane]
            lows[lane] = v if v < lows[lane] else lows[lane]
            highs[lane] = v if v > highs[lane] else highs[lane]
            rest[lane] += v - v  # NaN if the value is not finite
    for i in range(size & ~3, size):
        v = value[i]
        lows[0] = v if v < lows[0] else lows[0]
        highs[0] = v if v > highs[0] else highs[0]
        rest[0] += v - v
    for lane in range(1, 4):
        lows[0] = min(lows[0], lows[lane])
        highs[0] = max(highs[0], highs[lane])
        rest[0] += rest[lane]
    low[0], high[0] = lows[0], highs[0]
    return rest[0] == 0


cdef void find_finite_range(
    const double *value, int64_t size, double *low, double *high, int64_t *last
) noexcept nogil:
    """Find lowest, highest and last of the finite values; NaN and -1 if there are none."""
    cdef int64_t i
    cdef double v
    last[0] = size - 1
    if size and find_range(value, size, low, high):
        return
    low[0], high[0], last[0] = NAN, NAN, -1
    for i in range(size):
        v = value[i]
        if isfinite(v):
            last[0] = i
            # Comparisons with NaN are false, so the first value replaces it.
            low[0] = low[0] if low[0] <= v else v
            high[0] = high[0] if high[0] >= v else v


def locate_extremes(const double[::1] value, int64_t[::1] nonfinite):
    cdef int64_t i, count = 0, lowest = -1, highest = -1
    cdef double v, low = 0, high = 0
    cdef bint is_finite
    if not value.shape[0]:
        return -1, -1, 0
    with nogil:
        is_finite = find_range(&value[0], value.shape[0], &low, &high)
        if is_finite:
            lowest = highest = 0
            while value[lowest] != low:
                lowest += 1
            while value[highest] != high:
                highest += 1
    if is_finite:
        return lowest, highest, 0
    with nogil:
        for i in range(value.shape[0]):
            v = value[i]
            if not isfinite(v):
                if count < nonfinite.shape[0]:
                    nonfinite[count] = i
                count += 1
            elif lowest < 0:
                low = high = v
                lowest = highest = i
            elif v < low:
                low, lowest = v, i
            elif v > high:
                high, highest = v, i
    return lowest, highest, count


def summarize_rows(
    const double[::1] value, const int64_t[::1] starts, double[:, ::1] out
):
    cdef int64_t i, row, count = starts.shape[0] - 1
    cdef double low, high
    if out.shape[0] != 3 or out.shape[1] != count:
        raise ValueError("out must have three rows, and one column for each series")
    for i in range(count):
        if not 0 <= starts[i] < starts[i + 1] <= value.shape[0]:
            raise ValueError("starts must be ascending row numbers")
    with nogil:
        for i in range(count):
            find_finite_range(&value[starts[i]], starts[i + 1] - starts[i], &low, &high, &row)
            out[0, i] = value[starts[i + 1] - 1]
            out[1, i] = low
            out[2, i] = high


cdef enum:
    SORTED_ROWS = 256  # compared without a branch for each

ctypedef fused number:
    double
    int64_t


def is_sorted(const number[::1] column):
    cdef int64_t i = 1, stop, size = column.shape[0]
    cdef bint result = True
    with nogil:
        while result and i < size:
            stop = min(i + SORTED_ROWS, size)
            while i < stop:
                result &= column[i] >= column[i - 1]
                i += 1
    return result


def ema(const double[::1] value, double weight, double[::1] out):
    cdef int64_t i
    cdef double v, average = 0, bias = 1
    with nogil:
        for i in range(value.shape[0]):
            v = value[i]
            if isfinite(v):
                average = weight * average + (1 - weight) * v
                # Below this, 1 - bias is 1; multiplying further would be slow (denormals).
                bias = bias * weight if bias > 1e-17 else 0
                v = average / (1 - bias) if bias else average
            out[i] = v


def time_ema(const double[::1] value, const int64_t[::1] step, double half_life, double[::1] out):
    cdef int64_t i, last_step = 0
    cdef double v, decay, total = 0, weight = 0
    with nogil:
        for i in range(value.shape[0]):
            v = value[i]
            if isfinite(v):
                decay = exp2((<double>last_step - <double>step[i]) / half_life) if weight else 0
                total = total * decay + v
                weight = weight * decay + 1
                last_step = step[i]
                v = total / weight
            out[i] = v


cdef int64_t count_lower(const double *window, int64_t size, double v) noexcept nogil:
    """Count the lower values of a sorted window, with a branchless binary search."""
    cdef const double *base = window
    cdef int64_t half
    if size == 0:
        return 0
    while size > 1:
        half = size >> 1
        base += half if base[half - 1] < v else 0
        size -= half
    return (base - window) + (base[0] < v)


def mean(const double[::1] value, int64_t before, int64_t after, double[::1] out):
    cdef int64_t start = 0, i, j, at, counted, size = before + after + 1, n = value.shape[0]
    cdef double total
    cdef double *sums = <double *>malloc(<size_t>size * sizeof(double))
    cdef int64_t *counts = <int64_t *>malloc(<size_t>size * sizeof(int64_t))
    if sums == NULL or counts == NULL:
        free(sums)
        free(counts)
        raise MemoryError
    # A window is the suffix of one block and the prefix of the next. Nothing is subtracted from a
    # running sum, so that a large value leaves no rounding error behind.
    with nogil:
        while start < n:
            total, counted = 0, 0
            for j in range(size - 1, -1, -1):
                at = start + j - before
                if 0 <= at < n and isfinite(value[at]):
                    total += value[at]
                    counted += 1
                sums[j], counts[j] = total, counted
            total, counted = 0, 0
            for j in range(min(size, n - start)):
                i, at = start + j, start + size + j - 1 - before
                if j and 0 <= at < n and isfinite(value[at]):
                    total += value[at]
                    counted += 1
                out[i] = value[i]
                if isfinite(value[i]):
                    out[i] = (sums[j] + total) / <double>(counts[j] + counted)
            start += size
    free(sums)
    free(counts)


cdef void replace_sorted(double *window, int64_t old, int64_t new, double v) noexcept nogil:
    """Replace the value at ``old`` of a sorted window by ``v``, which belongs at ``new``."""
    if new > old:
        memmove(window + old, window + old + 1, (new - old - 1) * sizeof(double))
        window[new - 1] = v
    else:
        memmove(window + new + 1, window + new, (old - new) * sizeof(double))
        window[new] = v


def median(const double[::1] value, int64_t before, int64_t after, double[::1] out):
    cdef int64_t i, out_at, in_at, old, size = 0, n = value.shape[0]
    cdef double v
    cdef double *window = <double *>malloc(<size_t>(before + after + 2) * sizeof(double))
    if window == NULL:
        raise MemoryError
    with nogil:
        for i in range(-after, n):
            in_at, out_at = i + after, i - before - 1
            # The slot of the value that leaves the window, or the end of the window.
            old = size
            if out_at >= 0 and isfinite(value[out_at]):
                old = count_lower(window, size, value[out_at])
            if in_at < n and isfinite(value[in_at]):
                v = value[in_at]
                replace_sorted(window, old, count_lower(window, size, v), v)
                size += old == size
            elif old < size:
                size -= 1
                memmove(window + old, window + old + 1, (size - old) * sizeof(double))
            if i < 0:
                continue
            out[i] = value[i]
            if isfinite(value[i]):
                out[i] = window[size >> 1]
                if not size & 1:
                    out[i] = 0.5 * window[size >> 1] + 0.5 * window[(size >> 1) - 1]
    free(window)


def reduce(
    const double[::1] x,
    const double[::1] value,
    const double[::1] smooth,
    const double[::1] edges,
    double[:, ::1] out,
):
    cdef int64_t i = 0, stop, row, column = 0, last = edges.shape[0] - 2, n = x.shape[0]
    cdef double low, high
    with nogil:
        out[:, :] = NAN
        while i < n:
            while column < last and x[i] >= edges[column + 1]:
                column += 1
            stop = i + 1
            while stop < n and (column == last or not x[stop] >= edges[column + 1]):
                stop += 1
            find_finite_range(&value[i], stop - i, &low, &high, &row)
            if row >= 0:
                out[0, column] = smooth[i + row]
                out[1, column] = value[i + row]
                out[2, column] = low
                out[3, column] = high
            i = stop
