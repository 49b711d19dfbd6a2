# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""The compiled half of looking at series; `tracklight.index.loops` says what each function does.

Callers hand over columns of one length. The interpreter's lock is let go of while a column is
walked through, so that several series can be looked at side by side.
"""

from libc.math cimport NAN, exp2, isfinite
from libc.stdint cimport int64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memmove


def survey(const double[::1] value, int64_t[::1] odd):
    cdef int64_t i, count = 0, lowest = -1, highest = -1
    cdef double v, low = 0, high = 0
    with nogil:
        for i in range(value.shape[0]):
            v = value[i]
            if not isfinite(v):
                if count < odd.shape[0]:
                    odd[count] = i
                count += 1
            elif lowest < 0:
                low = high = v
                lowest = highest = i
            elif v < low:
                low, lowest = v, i
            elif v > high:
                high, highest = v, i
    return lowest, highest, count


ctypedef fused number:
    double
    int64_t


def rises(const number[::1] column):
    cdef int64_t i
    cdef bint found = True
    with nogil:
        for i in range(1, column.shape[0]):
            if not column[i] >= column[i - 1]:
                found = False
                break
    return found


def ema(const double[::1] value, double weight, double[::1] out):
    cdef int64_t i
    cdef double v, last = 0, left = 1
    with nogil:
        for i in range(value.shape[0]):
            v = value[i]
            if isfinite(v):
                last = weight * last + (1 - weight) * v
                # Below this, one less it is one. It would go on shrinking, slowly, for ever.
                left = left * weight if left > 1e-17 else 0
                v = last / (1 - left) if left else last
            out[i] = v


def time_ema(const double[::1] value, const int64_t[::1] step, double half_life, double[::1] out):
    cdef int64_t i, before = 0
    cdef double v, decay, total = 0, weight = 0
    with nogil:
        for i in range(value.shape[0]):
            v = value[i]
            if isfinite(v):
                decay = exp2((<double>before - <double>step[i]) / half_life) if weight else 0
                total = total * decay + v
                weight = weight * decay + 1
                before = step[i]
                v = total / weight
            out[i] = v


cdef int64_t place_of(const double *window, int64_t size, double v) noexcept nogil:
    """How many values of a sorted window are lower; no branch here is left to be guessed."""
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
    # A window is the end of one block and the start of the next. Nothing is ever taken away from a
    # sum, so that a spike leaves no trace once it is past.
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


cdef void put_in_place(double *window, int64_t old, int64_t new, double v) noexcept nogil:
    """In a sorted window, the value at ``old`` gives way to one that belongs at ``new``."""
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
            # What leaves the window makes room for what comes; the end is room as well.
            old = size
            if out_at >= 0 and isfinite(value[out_at]):
                old = place_of(window, size, value[out_at])
            if in_at < n and isfinite(value[in_at]):
                v = value[in_at]
                put_in_place(window, old, place_of(window, size, v), v)
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
    cdef int64_t i, column = 0, last = edges.shape[0] - 2
    cdef double v, edge
    with nogil:
        out[:, :] = NAN
        edge = edges[1]
        for i in range(x.shape[0]):
            while x[i] >= edge and column < last:
                column += 1
                edge = edges[column + 1]
            v = value[i]
            if not isfinite(v):
                continue
            out[0, column] = smooth[i]
            out[1, column] = v
            if not out[2, column] <= v:
                out[2, column] = v
            if not out[3, column] >= v:
                out[3, column] = v
