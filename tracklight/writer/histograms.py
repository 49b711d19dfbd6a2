"""How numbers are spread: in buckets of one width, or in buckets that grow by a tenth each.

What is not a finite number is counted apart: neither NaN nor infinities move an edge or a sum.
"""

from __future__ import annotations

import functools
from collections import deque
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

#: float32 or float64: what is kept as it is, as converting takes as long as counting.
Reals = NDArray[Any]

_SMALLEST_LIMIT = 1e-12

_LARGEST_LIMIT = 1e20

_HUGE = 1e300

_SHRINK = 2.0**-100


@dataclass(frozen=True, slots=True)
class HistogramCounts:
    """Counts of numbers between edges, and what is known of all of them."""

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
    """The finite numbers of an array, and how many others there were."""

    numbers: Reals
    low: float
    high: float
    sum: float
    sum_squares: float
    nan: int = 0
    positive_infinity: int = 0
    negative_infinity: int = 0


def compute_uniform_histogram(numbers: NDArray[Any], buckets: int) -> HistogramCounts:
    """Buckets of one width, as TensorFlow 2 counts: half open, and the last one closed."""
    finite = _split_finite(numbers)
    largest = max(abs(finite.low), abs(finite.high))
    # Differences of numbers so large would not fit, but those of a fraction of them do.
    scale = _SHRINK if largest > _HUGE else 1.0
    low, high = finite.low * scale, finite.high * scale
    edges = np.linspace(low, high, buckets + 1) / scale
    counts = np.zeros(buckets, np.int64)
    if low < high and buckets:
        shrunk = finite.numbers if scale == 1.0 else np.asarray(finite.numbers * scale)
        counts = count_uniform(shrunk, low, (high - low) / buckets, buckets)
    elif buckets:
        counts[-1] = finite.numbers.size
    return _build_counts(finite, edges, counts)


def compute_exponential_histogram(numbers: NDArray[Any]) -> HistogramCounts:
    """Buckets between zero and plus or minus 1e-12 times powers of 1.1, as in TensorFlow 1.

    The ends without any numbers are cut off, but for one empty bucket at the start.
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
    """The positive limits, by repeated multiplication: errors add up as they do elsewhere."""
    limits = []
    limit = _SMALLEST_LIMIT
    while limit < _LARGEST_LIMIT:
        limits.append(limit)
        limit *= 1.1
    return np.array(limits)


@functools.cache
def compute_exponential_edges() -> Floats:
    """The limits with a minus sign, zero, and the limits."""
    limits = compute_exponential_limits()
    return np.concatenate([-limits[::-1], [0.0], limits])


def _split_finite(numbers: NDArray[Any]) -> _FiniteValues:
    kind = np.float32 if numbers.dtype == np.float32 else np.float64
    flat = np.ascontiguousarray(numbers, kind).reshape(-1)
    totals = sum_up(flat)
    if np.isfinite(totals[-1]):
        return _FiniteValues(flat, *totals)
    finite = flat[np.isfinite(flat)]
    others = np.isnan(flat).sum(), np.isposinf(flat).sum(), np.isneginf(flat).sum()
    return _FiniteValues(finite, *sum_up(finite), *map(int, others))


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


def sum_up_numpy(numbers: Reals) -> tuple[float, float, float, float]:
    """The least, the greatest, the sum, and the sum of squares."""
    if not numbers.size:
        return 0.0, 0.0, 0.0, 0.0
    wide = numbers.astype(np.float64, copy=False)
    with np.errstate(over="ignore", invalid="ignore"):
        # Not `dot`: it would call threads together that the training is using.
        sums = float(wide.sum()), float(np.einsum("i,i->", wide, wide))
    return float(numbers.min()), float(numbers.max()), *sums


def count_uniform_numpy(values: Reals, low: float, width: float, buckets: int) -> NDArray[np.int64]:
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        at = (values.astype(np.float64, copy=False) - low) / width
    # In this order, what is no number (the width may be 0) is in the last one as well.
    at = np.where(at < buckets - 1, at, buckets - 1).astype(np.int64)
    return np.bincount(at, minlength=buckets)


def _sum_up_compiled(numbers: Reals) -> tuple[float, float, float, float]:
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
    """The edges as the compiled kernel wants them, and a table to find a number's edge in."""
    edges = np.append(compute_exponential_edges(), np.nan)  # which no number reaches
    cells = np.zeros(_encode.CELLS, np.int16)
    _encode.fill_cells(edges, cells)
    return edges, cells


try:
    from tracklight.formats import _encode

    sum_up = _sum_up_compiled
    count_uniform = _count_uniform_compiled
    count_exponential = _count_exponential_compiled
except ImportError:
    sum_up = sum_up_numpy
    count_uniform = count_uniform_numpy
    count_exponential = count_exponential_numpy


# Copies of arrays in memory that is used again.
#
# Memory that is fresh from the system costs more, page by page, than what is copied into it.

#: Below this, Python keeps memory for itself; above, it would be too much to hold on to.
_POOLED_SIZES = range(64 << 10, 4 << 20)

#: Enough for a model's layers, one after the other, faster than they are counted.
_MAX_POOL_BYTES = 16 << 20

_pool: deque[NDArray[np.uint8]] = deque()


def acquire_copy(array: NDArray[Any]) -> NDArray[Any]:
    """A copy, in one piece, that is to be given back."""
    if array.nbytes not in _POOLED_SIZES:
        return np.array(array)
    copy = _acquire_memory(array.nbytes)[: array.nbytes].view(array.dtype).reshape(array.shape)
    np.copyto(copy, array)
    return copy


def release_copy(copy: NDArray[Any]) -> None:
    """Say that a copy will not be looked at any more."""
    memory = copy.base
    if isinstance(memory, np.ndarray):
        kept_bytes = sum(spare.nbytes for spare in _pool.copy())
        if kept_bytes + memory.nbytes <= _MAX_POOL_BYTES:
            _pool.append(memory)


def _acquire_memory(size_bytes: int) -> NDArray[np.uint8]:
    for _ in range(len(_pool)):
        try:
            memory = _pool.popleft()
        except IndexError:  # another thread was faster
            break
        if size_bytes <= memory.nbytes <= 2 * size_bytes:
            return memory
        _pool.append(memory)
    return np.empty(size_bytes, np.uint8)
