"""Compute histograms with uniform (TensorFlow 2) or exponential (TensorFlow 1, PyTorch) buckets.

NaN and infinities are counted separately and do not affect edges or sums. Counting is done by a
compiled kernel where it is available, otherwise by NumPy. `acquire_copy` copies the input into
pooled memory, so that the writer thread can count it later.
"""

from __future__ import annotations

import functools
from collections import deque
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

#: float32 or float64; not converted, because converting takes as long as counting.
Reals = NDArray[Any]

_SMALLEST_LIMIT = 1e-12
_LARGEST_LIMIT = 1e20
#: Differences of larger numbers may overflow, so they are scaled down before counting.
_MAX_UNSCALED = 1e300
_SCALE = 2.0**-100

#: Smaller arrays are cached by Python's allocator; larger ones are too much to keep.
_POOLED_SIZES = range(64 << 10, 4 << 20)
#: Enough for the layers of a model that are logged in quick succession.
_MAX_POOL_BYTES = 16 << 20
_pool: deque[NDArray[np.uint8]] = deque()


@dataclass(frozen=True, slots=True)
class HistogramCounts:
    """Bucket edges and counts, and statistics of all finite numbers."""

    edges: Floats
    counts: Floats
    min: float
    max: float
    num: int
    sum: float
    sum_squares: float
    nan: int = 0
    positive_infinity: int = 0
    negative_infinity: int = 0


@dataclass(frozen=True, slots=True)
class _FiniteValues:
    """The finite numbers of an array, their statistics, and the number of others."""

    numbers: Reals
    low: float
    high: float
    sum: float
    sum_squares: float
    nan: int = 0
    positive_infinity: int = 0
    negative_infinity: int = 0


def compute_uniform_histogram(numbers: NDArray[Any], buckets: int) -> HistogramCounts:
    """Count numbers in buckets of equal width, as TensorFlow 2 does.

    Args:
        numbers: An array of any shape.
        buckets: Number of buckets. They are half open, except for the last one, which is closed.

    Returns:
        The histogram; all edges are 0 if there are no finite numbers.
    """
    finite = _split_finite(numbers)
    largest = max(abs(finite.low), abs(finite.high))
    scale = _SCALE if largest > _MAX_UNSCALED else 1.0
    low, high = finite.low * scale, finite.high * scale
    edges = np.linspace(low, high, buckets + 1) / scale
    counts = np.zeros(buckets, np.int64)
    if low < high and buckets:
        scaled = finite.numbers if scale == 1.0 else np.asarray(finite.numbers * scale)
        counts = count_uniform(scaled, low, (high - low) / buckets, buckets)
    elif buckets:
        counts[-1] = finite.numbers.size
    return _build_counts(finite, edges, counts)


def compute_exponential_histogram(numbers: NDArray[Any]) -> HistogramCounts:
    """Count numbers in buckets whose limits grow by a factor of 1.1, as TensorFlow 1 does.

    Empty buckets at both ends are removed, except for one at the start.
    """
    finite = _split_finite(numbers)
    inner = compute_exponential_edges()
    counts = np.zeros(inner.size + 1, np.int64)
    count_exponential(finite.numbers, counts)
    edges = np.concatenate([[min(finite.low, inner[0])], inner, [max(finite.high, inner[-1])]])
    used = np.flatnonzero(counts)
    first, last = (used[0], used[-1]) if used.size else (counts.size // 2, counts.size // 2)
    start = max(0, first - 1)
    return _build_counts(finite, edges[start : last + 2], counts[start : last + 1])


@functools.cache
def compute_exponential_limits() -> Floats:
    """Return the positive limits, multiplied repeatedly to reproduce TensorFlow's rounding."""
    limits = []
    limit = _SMALLEST_LIMIT
    while limit < _LARGEST_LIMIT:
        limits.append(limit)
        limit *= 1.1
    return np.array(limits)


@functools.cache
def compute_exponential_edges() -> Floats:
    """Return the negated limits, zero, and the limits."""
    limits = compute_exponential_limits()
    return np.concatenate([-limits[::-1], [0.0], limits])


def _split_finite(numbers: NDArray[Any]) -> _FiniteValues:
    kind = np.float32 if numbers.dtype == np.float32 else np.float64
    flat = np.ascontiguousarray(numbers, kind).reshape(-1)
    totals = compute_totals(flat)
    if np.isfinite(totals[-1]):
        return _FiniteValues(flat, *totals)
    finite = flat[np.isfinite(flat)]
    others = np.isnan(flat).sum(), np.isposinf(flat).sum(), np.isneginf(flat).sum()
    return _FiniteValues(finite, *compute_totals(finite), *map(int, others))


def _build_counts(
    finite: _FiniteValues, edges: Floats, counts: NDArray[np.int64]
) -> HistogramCounts:
    return HistogramCounts(
        edges,
        counts.astype(np.float64),
        finite.low,
        finite.high,
        finite.numbers.size,
        finite.sum,
        finite.sum_squares,
        finite.nan,
        finite.positive_infinity,
        finite.negative_infinity,
    )


def acquire_copy(array: NDArray[Any]) -> NDArray[Any]:
    """Return a contiguous copy in pooled memory; pass it to `release_copy` when it is not needed.

    Page faults of newly allocated memory cost more than the copying itself.
    """
    if array.nbytes not in _POOLED_SIZES:
        return np.array(array)
    copy = _acquire_memory(array.nbytes)[: array.nbytes].view(array.dtype).reshape(array.shape)
    np.copyto(copy, array)
    return copy


def release_copy(copy: NDArray[Any]) -> None:
    """Return the memory of a copy to the pool. The copy must not be used afterwards."""
    memory = copy.base
    if isinstance(memory, np.ndarray):
        pooled_bytes = sum(pooled.nbytes for pooled in _pool.copy())
        if pooled_bytes + memory.nbytes <= _MAX_POOL_BYTES:
            _pool.append(memory)


def _acquire_memory(size_bytes: int) -> NDArray[np.uint8]:
    for _ in range(len(_pool)):
        try:
            memory = _pool.popleft()
        except IndexError:  # another thread emptied the pool
            break
        if size_bytes <= memory.nbytes <= 2 * size_bytes:
            return memory
        _pool.append(memory)
    return np.empty(size_bytes, np.uint8)


def compute_totals_numpy(numbers: Reals) -> tuple[float, float, float, float]:
    """Return minimum, maximum, sum and sum of squares."""
    if not numbers.size:
        return 0.0, 0.0, 0.0, 0.0
    wide = numbers.astype(np.float64, copy=False)
    with np.errstate(over="ignore", invalid="ignore"):
        # Not `dot`: it uses BLAS threads, which would compete with the training.
        sums = float(wide.sum()), float(np.einsum("i,i->", wide, wide))
    return float(numbers.min()), float(numbers.max()), *sums


def count_uniform_numpy(values: Reals, low: float, width: float, buckets: int) -> NDArray[np.int64]:
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        at = (values.astype(np.float64, copy=False) - low) / width
    # The comparison is false for NaN (the width may be 0), which thus goes to the last bucket.
    at = np.where(at < buckets - 1, at, buckets - 1).astype(np.int64)
    return np.bincount(at, minlength=buckets)


def _compute_totals_compiled(numbers: Reals) -> tuple[float, float, float, float]:
    return _encode.sum_up(numbers)


def _count_uniform_compiled(
    values: Reals, low: float, width: float, buckets: int
) -> NDArray[np.int64]:
    counts = np.zeros((_encode.ROWS, buckets), np.int64)
    _encode.count_uniform(values, low, width, counts)
    return np.asarray(counts.sum(axis=0))


def count_exponential_numpy(values: Reals, counts: NDArray[np.int64]) -> None:
    counts += np.bincount(
        np.searchsorted(compute_exponential_edges(), values, "right"), minlength=counts.size
    )


def _count_exponential_compiled(values: Reals, counts: NDArray[np.int64]) -> None:
    _encode.count_exponential(values, *_make_cells(), counts)


@functools.cache
def _make_cells() -> tuple[Floats, NDArray[np.int16]]:
    """Return the edges and the lookup table that the compiled kernel needs."""
    edges = np.append(compute_exponential_edges(), np.nan)  # a sentinel that no number reaches
    cells = np.zeros(_encode.CELLS, np.int16)
    _encode.fill_cells(edges, cells)
    return edges, cells


try:
    from tracklight.formats import _encode

    compute_totals = _compute_totals_compiled
    count_uniform = _count_uniform_compiled
    count_exponential = _count_exponential_compiled
except ImportError:
    compute_totals = compute_totals_numpy
    count_uniform = count_uniform_numpy
    count_exponential = count_exponential_numpy
