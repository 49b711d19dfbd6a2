# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Compiled statistics of arrays in main memory; see `tracklight.debugger.health`."""

from libc.math cimport sqrt
from libc.stdint cimport int64_t, uint8_t, uintptr_t

cdef extern from "health.h" nogil:
    ctypedef struct tl_health:
        int64_t nan
        int64_t neg_inf
        int64_t pos_inf
        int64_t zeros
        int64_t negatives
        int64_t overflow
        int64_t underflow
        double min
        double max
        double sum
        double squares
    ctypedef void (*tl_parallel)(void (*)(void *), void *, unsigned, unsigned)
    void tl_health_of(
        const void *data, int64_t n, int kind, tl_parallel parallel, int threads, tl_health *h
    )
    void tl_take_sample(const void *data, int64_t n, int64_t stride, int kind, float *out)
    int64_t tl_dead_channels(
        const uint8_t *data, int64_t outer, int64_t channels, int64_t inner, int width
    )


def compute(
    uintptr_t address,
    int64_t size,
    int kind,
    float[::1] row,
    uintptr_t parallel=0,
    int threads=1,
):
    """Fill the columns ``nan`` to ``underflow`` of a row of the health matrix.

    Args:
        address: Address of a contiguous array, which the caller keeps alive.
        size: Number of elements.
        kind: 0 for float32, 1 for float64, 2 for float16, 3 for bfloat16.
        row: The row; the first column is left alone.
        parallel: Address of ``GOMP_parallel``; 0 to use the current thread only.
        threads: Number of threads to use.
    """
    cdef tl_health h
    cdef int64_t finite
    cdef double mean, variance
    if row.shape[0] < 13 or kind < 0 or kind > 3:
        raise ValueError("invalid row or kind")
    with nogil:
        tl_health_of(<const void *> address, size, kind, <tl_parallel> parallel, threads, &h)
    finite = size - h.nan - h.neg_inf - h.pos_inf
    row[1], row[2], row[3] = h.nan, h.neg_inf, h.pos_inf
    row[4], row[5] = h.zeros, h.negatives
    row[11], row[12] = h.overflow, h.underflow
    if finite == 0:
        row[6] = row[7] = row[8] = row[9] = row[10] = 0
        return
    mean = h.sum / finite
    variance = h.squares / finite - mean * mean
    row[6], row[7], row[8] = h.min, h.max, mean
    row[9] = sqrt(variance) if variance > 0 else 0
    row[10] = sqrt(h.squares)


def take_sample(uintptr_t address, int64_t size, int64_t stride, int kind, float[::1] out):
    """Copy every ``stride``-th element of a contiguous array; kinds are those of `compute`."""
    if stride < 1 or out.shape[0] < (size + stride - 1) // stride or kind < 0 or kind > 3:
        raise ValueError("invalid stride, output or kind")
    if size > 0:
        tl_take_sample(<const void *> address, size, stride, kind, &out[0])


def count_dead(uintptr_t address, int64_t outer, int64_t channels, int64_t inner, int width):
    """Return how many channels of a contiguous array are zero everywhere."""
    cdef int64_t dead
    with nogil:
        dead = tl_dead_channels(<const uint8_t *> address, outer, channels, inner, width)
    return dead
