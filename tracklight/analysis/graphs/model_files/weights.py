"""Statistics and histograms of the weights of a node, and their export as ``.npy``."""

from __future__ import annotations

import io
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracklight.analysis.graphs.model import Graph
from tracklight.errors import FormatError, UsageError
from tracklight.types import Float64

_BINS = 40
#: A node of a damaged file may have any number of them.
_MAX_TENSORS = 100


@dataclass(frozen=True, eq=False)
class WeightStatistics:
    """A tensor of weights. Statistics are of finite values, NaN if there are none."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    min: float
    max: float
    mean: float
    std: float
    zeros: int
    nonfinite: int
    edges: Float64
    """The edges of the bins, one more than ``counts``; empty without finite values."""
    counts: Float64


def read_weights(graph: Graph, node: int) -> Mapping[str, NDArray[Any]]:
    """Return the numeric weights of a node by name; nothing if it has none.

    Raises:
        FormatError: The weights are damaged.
    """
    reader = graph.weights.get(node)
    try:
        arrays = {} if reader is None else reader()
    except (ValueError, TypeError, IndexError, struct.error) as error:
        raise FormatError(
            "graphs.damaged_weights", "the weights of this node are damaged: {error}", error=error
        ) from None
    numeric = {name: array for name, array in arrays.items() if array.dtype.kind in "biufc"}
    return dict([*numeric.items()][:_MAX_TENSORS])


def summarize_weights(name: str, array: NDArray[Any]) -> WeightStatistics:
    """Return the statistics of a tensor. Those of complex numbers are of their magnitudes."""
    values = np.abs(array) if array.dtype.kind == "c" else array
    values = values.reshape(-1).astype(np.float64)
    finite = values[np.isfinite(values)]
    has_values = len(finite) > 0
    counts, edges = np.zeros(0), np.zeros(0)
    if has_values:
        low, high = float(finite.min()), float(finite.max())
        if np.isfinite(high - low):
            counts, edges = _count_bins(finite, low, high)
    with np.errstate(over="ignore", invalid="ignore"):
        return WeightStatistics(
            name=name,
            dtype=array.dtype.name,
            shape=array.shape,
            min=float(finite.min()) if has_values else np.nan,
            max=float(finite.max()) if has_values else np.nan,
            mean=float(finite.mean()) if has_values else np.nan,
            std=float(finite.std()) if has_values else np.nan,
            zeros=int(np.count_nonzero(finite == 0)),
            nonfinite=len(values) - len(finite),
            edges=edges,
            counts=counts,
        )


def _count_bins(finite: Float64, low: float, high: float) -> tuple[Float64, Float64]:
    try:
        counts, edges = np.histogram(finite, _BINS, (low, high))
    except ValueError:  # the range is too small for so many bins
        return np.array([float(len(finite))]), np.array([low, high])
    return counts.astype(np.float64), edges


def encode_npy(arrays: Mapping[str, NDArray[Any]], name: str) -> bytes:
    """Return one of the tensors of a node as an ``.npy`` file.

    Raises:
        UsageError: The node has no weights of this name.
    """
    if name not in arrays:
        raise UsageError("graphs.no_weights", 'the node has no weights "{name}"', name=name)
    buffer = io.BytesIO()
    np.save(buffer, np.ascontiguousarray(arrays[name]), allow_pickle=False)
    return buffer.getvalue()
