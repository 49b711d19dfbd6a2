# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Compiled statistics of arrays in main memory; see `tracklight.debugger.recorder`."""

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
    ctypedef int (*tl_thread_number)()
    void tl_health_of(
        const void *data,
        int64_t n,
        int kind,
        int64_t stride,
        float *sample,
        tl_parallel parallel,
        tl_thread_number thread_number,
        int threads,
        tl_health *h,
    )
    int64_t tl_dead_channels(
        const uint8_t *data, int64_t outer, int64_t channels, int64_t inner, int width
    )


def compute(
    uintptr_t address,
    int64_t size,
    int kind,
    float[::1] row,
    int64_t stride,
    float[::1] sample,
    uintptr_t parallel=0,
    uintptr_t thread_number=0,
    int threads=1,
):
    """Fill the columns ``nan`` to ``underflow`` of a row of the health matrix, and a sample.

    Args:
        address: Address of a contiguous array, which the caller keeps alive.
        size: Number of elements.
        kind: 0 for float32, 1 for float64, 2 for float16, 3 for bfloat16.
        row: The row; the first column is left alone.
        stride: Distance between the elements to copy to ``sample``.
        sample: Receives every ``stride``-th element.
        parallel: Address of ``GOMP_parallel``; 0 to use the current thread only.
        thread_number: Address of ``omp_get_thread_num``; 0 to use the current thread only.
        threads: Number of threads to use.
    """
    cdef tl_health h
    cdef float *values = NULL
    cdef int64_t finite
    cdef double mean, variance
    if row.shape[0] < 13 or kind < 0 or kind > 3:
        raise ValueError("invalid row or kind")
    if stride < 1 or sample.shape[0] < (size + stride - 1) // stride:
        raise ValueError("invalid stride or sample")
    if sample.shape[0] > 0:
        values = &sample[0]
    with nogil:
        tl_health_of(
            <const void *> address,
            size,
            kind,
            stride,
            values,
            <tl_parallel> parallel,
            <tl_thread_number> thread_number,
            threads,
            &h,
        )
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


def count_dead(uintptr_t address, int64_t outer, int64_t channels, int64_t inner, int width):
    """Return how many channels of a contiguous array are zero everywhere."""
    cdef int64_t dead
    with nogil:
        dead = tl_dead_channels(<const uint8_t *> address, outer, channels, inner, width)
    return dead
