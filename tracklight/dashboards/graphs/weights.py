"""Build the responses about the weights of a node."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from tracklight.analysis.graphs.graph_index import GraphIndex
from tracklight.analysis.graphs.model import format_shape
from tracklight.analysis.graphs.model_files.weights import (
    WeightStatistics,
    encode_npy,
    read_weights,
    summarize_weights,
)
from tracklight.dashboards.graphs.schemas import (
    WeightsFileRequest,
    WeightsRequest,
    WeightsResponse,
    WeightsRow,
)
from tracklight.plugin import Blob

_UNSAFE_FILENAME = re.compile(r"[^\w.-]+")
_MAX_FILENAME_LENGTH = 100


def build_weights(graph_index: GraphIndex, request: WeightsRequest) -> WeightsResponse:
    """Return statistics of all tensors of a node; nothing for a group."""
    arrays = _read(graph_index, request)
    return WeightsResponse(
        [_make_row(summarize_weights(name, array)) for name, array in arrays.items()]
    )


def export_weights(graph_index: GraphIndex, request: WeightsFileRequest) -> Blob:
    """Return one tensor as a NumPy file.

    Raises:
        UsageError: The node has no such tensor.
    """
    content = encode_npy(_read(graph_index, request), request.name)
    name = _UNSAFE_FILENAME.sub("-", f"{request.path}-{request.name}").strip("-.") or "weights"
    return Blob(content, "application/octet-stream", f"{name[-_MAX_FILENAME_LENGTH:]}.npy")


def _read(graph_index: GraphIndex, request: WeightsRequest) -> Mapping[str, NDArray[Any]]:
    location = graph_index.locate(request.path)
    node = location.subgraph.hierarchy.node_by_path.get(location.path)
    return {} if node is None else read_weights(location.subgraph.graph, node)


def _make_row(statistics: WeightStatistics) -> WeightsRow:
    return WeightsRow(
        name=statistics.name,
        dtype=statistics.dtype,
        shape=format_shape(statistics.shape),
        elements=math.prod(statistics.shape),
        min=_find_finite(statistics.min),
        max=_find_finite(statistics.max),
        mean=_find_finite(statistics.mean),
        std=_find_finite(statistics.std),
        zeros=statistics.zeros,
        nonfinite=statistics.nonfinite,
        edges=statistics.edges,
        counts=statistics.counts,
    )


def _find_finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
