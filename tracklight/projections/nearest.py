"""The nearest vectors to one, exactly, with no index and no copy of the vectors.

One look through a million vectors takes about as long as their bytes take to the processor, some
tenths of a second at most. An index would take longer to build than anybody asks of it.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from os import cpu_count
from types import ModuleType

import numpy as np

from tracklight.errors import UsageError
from tracklight.projections.neighbours import PICKER, Metric, normalise
from tracklight.projections.picking import measure
from tracklight.types import Float32, Float64, Int32, Int64

_BLOCK_NUMBERS = 1 << 21
#: So many more candidates are measured precisely than are wanted.
_EXTRA = 50


def find_nearest(
    vectors: Float32,
    query: Float64,
    count: int,
    metric: Metric,
    rows: Int32,
    picker: ModuleType = PICKER,
) -> tuple[Int32, Float32]:
    """Which of some rows are nearest to a vector, and how far they are."""
    if len(query) != vectors.shape[1]:
        raise UsageError(f"vectors have {vectors.shape[1]} numbers, and not {len(query)}")
    scale = float(np.sqrt(query @ query)) if metric == "cosine" else 0.0
    wanted = query / scale if scale else query
    rough = _measure_roughly(vectors, wanted.astype(np.float32), metric, picker)[rows]
    candidates = rows[_find_least(rough, min(count + _EXTRA, len(rows)))]
    chosen = normalise(vectors[candidates]) if metric == "cosine" else vectors[candidates]
    distances = measure(chosen, wanted, metric)
    order = np.lexsort((candidates, distances))[:count]
    return candidates[order], distances[order].astype(np.float32)


def _find_least(numbers: Float32, count: int) -> Int64:
    if count >= len(numbers):
        return np.arange(len(numbers))
    return np.argpartition(numbers, count - 1)[:count]


def _measure_roughly(
    vectors: Float32, query: Float32, metric: Metric, picker: ModuleType
) -> Float32:
    """In single precision, some rows at a time in each thread."""
    out = np.empty(len(vectors), np.float32)
    size = max(_BLOCK_NUMBERS // vectors.shape[1], 1)

    def fill(start: int) -> None:
        part = slice(start, start + size)
        picker.estimate(np.require(vectors[part], np.float32, "C"), query, metric, out[part])

    with ThreadPoolExecutor(cpu_count() or 1) as pool:
        list(pool.map(fill, range(0, len(vectors), size)))
    return out
