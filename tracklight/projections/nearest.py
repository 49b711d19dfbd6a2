"""The nearest vectors to one, exactly, with no index and no copy of the vectors.

One look through a million vectors takes a fraction of a second, which is less than building
anything that would make it shorter.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracklight.errors import UsageError
from tracklight.projections.neighbours import Metric
from tracklight.types import Float32, Float64, Int32, Int64

Floats = NDArray[np.floating[Any]]

_BLOCK_NUMBERS = 1 << 22
#: So many more candidates are measured precisely than are wanted.
_EXTRA = 50


def find_nearest(
    vectors: Float32, query: Float64, count: int, metric: Metric, rows: Int32
) -> tuple[Int32, Float32]:
    """Which of some rows are nearest to a vector, and how far they are."""
    if len(query) != vectors.shape[1]:
        raise UsageError(f"vectors have {vectors.shape[1]} numbers, and not {len(query)}")
    scale = float(np.sqrt(query @ query)) if metric == "cosine" else 0.0
    wanted = query / scale if scale else query
    rough = _measure_roughly(vectors, wanted.astype(np.float32), metric)[rows]
    some = min(count + _EXTRA, len(rows))
    candidates = rows[_find_least(rough, some)]
    distances = _measure(vectors[candidates].astype(np.float64), wanted, metric)
    order = np.lexsort((candidates, distances))[:count]
    return candidates[order], distances[order].astype(np.float32)


def _find_least(numbers: Float32, count: int) -> Int64:
    if count >= len(numbers):
        return np.arange(len(numbers))
    return np.argpartition(numbers, count - 1)[:count]


def _measure_roughly(vectors: Float32, query: Float32, metric: Metric) -> Float32:
    """In single precision, some rows at a time."""
    out = np.empty(len(vectors), np.float32)
    size = max(_BLOCK_NUMBERS // vectors.shape[1], 1)
    for start in range(0, len(vectors), size):
        block = vectors[start : start + size]
        out[start : start + size] = _measure(block, query, metric)
    return out


def _measure(block: Floats, query: Floats, metric: Metric) -> Floats:
    """cosine is 1 - cos, euclidean a length, dot the negative product: less is always nearer."""
    if metric == "euclidean":
        apart = block - query
        distances: Floats = np.sqrt(np.einsum("ij,ij->i", apart, apart))
        return distances
    products: Floats = block @ query
    if metric == "dot":
        return -products
    lengths = np.sqrt(np.einsum("ij,ij->i", block, block))
    return np.maximum(1 - products / np.where(lengths, lengths, 1), 0)
