"""Compute the health of arrays in main memory: one row of `recording.STATS` per array."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracklight.formats.tensor_health import STATS
from tracklight.types import Float32

try:
    from tracklight.debugger._health import compute, count_dead
except ImportError:
    compute = count_dead = None  # type: ignore[assignment]

#: The kinds of numbers that the kernel reads, by the name of the dtype in every framework.
KERNEL_KINDS = {"float32": 0, "float64": 1, "float16": 2, "bfloat16": 3}
#: Bytes of a number of each kind.
KERNEL_ITEM_SIZES = (4, 8, 2, 2)
#: Values of a tensor that a histogram is made of.
SAMPLE_SIZE = 1024
#: Largest number and smallest normal number of 16-bit types.
RANGES = {"float16": (65504.0, 2.0**-14), "bfloat16": (3.3895313892515355e38, 2.0**-126)}
_EMPTY_ROW: Float32 = np.full(len(STATS), np.nan, np.float32)


def compute_health(
    array: NDArray[Any],
    dtype: str,
    row: Float32,
    channel_axis: int | None,
    *,
    sample: Float32 | None = None,
    threads: int = 1,
) -> None:
    """Fill a row, except for the column ``order``, and a sample of the values.

    Args:
        array: A C-contiguous array; bfloat16 as its 16-bit integers.
        dtype: Name of its dtype.
        row: The row to fill.
        channel_axis: The axis of units that may be dead; None to leave that column at 0.
        sample: Receives values at equal distances, for a histogram; see `get_sample_size`.
        threads: Number of OpenMP threads to use, if the framework has loaded OpenMP.
    """
    if compute is None or dtype not in KERNEL_KINDS:
        _compute_in_numpy(array, dtype, row)
        row[13] = 0 if channel_axis is None else _count_dead_in_numpy(array, channel_axis)
        if sample is not None:
            sample[:] = _take_sample(array, dtype)
    else:
        kind, address = KERNEL_KINDS[dtype], array.ctypes.data
        if sample is None:
            sample = np.empty(get_sample_size(array.size), np.float32)
        compute_in_memory(address, array.shape, kind, row, channel_axis, sample, threads=threads)


def has_kernel() -> bool:
    """Whether `compute_in_memory` can be called."""
    return compute is not None


def compute_in_memory(
    address: int,
    shape: Sequence[int],
    kind: int,
    row: Float32,
    channel_axis: int | None,
    sample: Float32,
    *,
    threads: int = 1,
) -> None:
    """Do the same as `compute_health`, with the address of a C-contiguous array.

    Args:
        address: Address of the first element. The caller keeps the array alive.
        shape: Shape of the array.
        kind: One of `KERNEL_KINDS`.
        row: The row to fill.
        channel_axis: The axis of units that may be dead; None to leave that column at 0.
        sample: Receives values at equal distances, for a histogram; see `get_sample_size`.
        threads: Number of OpenMP threads to use, if the framework has loaded OpenMP.
    """
    size = math.prod(shape)
    stride = get_sample_stride(size)
    parallel, thread_number = _get_openmp_addresses() if threads > 1 else (0, 0)
    compute(address, size, kind, row, stride, sample, parallel, thread_number, threads)
    row[13] = 0
    if channel_axis is not None:
        outer, inner = math.prod(shape[:channel_axis]), math.prod(shape[channel_axis:][1:])
        channels = shape[channel_axis]
        row[13] = count_dead(address, outer, channels, inner, KERNEL_ITEM_SIZES[kind])


@cache
def _get_openmp_addresses() -> tuple[int, int]:
    """Return the addresses of ``GOMP_parallel`` and ``omp_get_thread_num``; 0 without OpenMP.

    PyTorch makes the OpenMP runtime that it uses visible to the whole process. Its threads wait for
    the next operation actively: threads of our own would compete with them for the same cores.
    """
    try:
        library = ctypes.CDLL(None)
        functions = library.GOMP_parallel, library.omp_get_thread_num
    except (AttributeError, OSError, TypeError):  # Windows has no global symbols
        return 0, 0
    parallel, thread_number = (ctypes.cast(it, ctypes.c_void_p).value or 0 for it in functions)
    return parallel, thread_number


def _count_dead_in_numpy(array: NDArray[Any], axis: int) -> int:
    """Return how many slices along ``axis`` are zero everywhere."""
    axes = tuple(i for i in range(array.ndim) if i != axis % array.ndim)
    return int(array.shape[axis]) - int(np.count_nonzero(np.any(array != 0, axis=axes)))


def _compute_in_numpy(array: NDArray[Any], dtype: str, row: Float32) -> None:
    """Compute the same statistics without the kernel."""
    if dtype == "bfloat16":
        array = (array.astype(np.uint32) << 16).view(np.float32)
    values = array.astype(np.float64).ravel()
    is_nan, is_inf = np.isnan(values), np.isinf(values)
    finite = values[~(is_nan | is_inf)]
    row[1] = np.count_nonzero(is_nan)
    row[2] = np.count_nonzero(is_inf & (values < 0))
    row[3] = np.count_nonzero(is_inf & (values > 0))
    row[4] = np.count_nonzero(finite == 0)
    row[5] = np.count_nonzero(finite < 0)
    row[6:13] = 0
    if len(finite):
        row[6], row[7] = finite.min(), finite.max()
        row[8], row[9] = finite.mean(), finite.std()
        row[10] = np.sqrt(np.sum(finite * finite))
    if dtype in RANGES:
        limit, tiny = RANGES[dtype]
        magnitude = np.abs(values)
        row[11] = np.count_nonzero(magnitude >= limit)
        row[12] = np.count_nonzero((magnitude > 0) & (magnitude < tiny))


def _take_sample(array: NDArray[Any], dtype: str) -> Float32:
    """Return the same sample without the kernel."""
    flat = array.reshape(-1)
    part = flat[:: get_sample_stride(flat.size)]
    if dtype == "bfloat16" and part.dtype.kind in "iu":
        part = (part.astype(np.uint16).astype(np.uint32) << 16).view(np.float32)
    return part.astype(np.float32)


def get_sample_stride(size: int) -> int:
    """Return the distance between the values of a sample."""
    return max(-(-size // SAMPLE_SIZE), 1)


def get_sample_size(size: int) -> int:
    """Return the number of values in a sample, at most `SAMPLE_SIZE`."""
    return -(-size // get_sample_stride(size))


def make_row() -> Float32:
    """Return a row of a tensor that was not computed."""
    row: Float32 = _EMPTY_ROW.copy()
    return row
