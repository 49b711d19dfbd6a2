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


def ema(const double[::1] value, double weight, double[::1] out):
    cdef int64_t i
    cdef double v, last = 0, left = 1
    with nogil:
        for i in range(value.shape[0]):
            v = value[i]
            if isfinite(v):
                last = weight * last + (1 - weight) * v
                left *= weight
                v = last / (1 - left) if left > 1e-17 else last
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
    """How many values of a sorted window are lower."""
    cdef int64_t low = 0, high = size, middle
    while low < high:
        middle = (low + high) >> 1
        if window[middle] < v:
            low = middle + 1
        else:
            high = middle
    return low


def median(const double[::1] value, int64_t before, int64_t after, double[::1] out):
    cdef int64_t i, at, size = 0, filled = 0, n = value.shape[0]
    cdef double v
    cdef double *window = <double *>malloc(<size_t>(before + after + 2) * sizeof(double))
    if window == NULL:
        raise MemoryError
    with nogil:
        for i in range(n):
            while filled < n and filled <= i + after:
                v = value[filled]
                if isfinite(v):
                    at = place_of(window, size, v)
                    memmove(window + at + 1, window + at, (size - at) * sizeof(double))
                    window[at] = v
                    size += 1
                filled += 1
            if i > before and isfinite(value[i - before - 1]):
                at = place_of(window, size, value[i - before - 1])
                size -= 1
                memmove(window + at, window + at + 1, (size - at) * sizeof(double))
            if isfinite(value[i]):
                out[i] = window[size >> 1]
                if not size & 1:
                    out[i] = 0.5 * window[size >> 1] + 0.5 * window[(size >> 1) - 1]
            else:
                out[i] = value[i]
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
