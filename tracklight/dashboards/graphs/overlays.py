"""Data of nodes: their weights, and what users upload for them.

Uploaded data is kept by the server and shown as colors of the graph.
"""

from __future__ import annotations

import math
import re
import secrets
import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracklight.analysis.graphs.graph_index import GraphIndex, Location
from tracklight.analysis.graphs.model import format_shape
from tracklight.analysis.graphs.model_files.node_data import (
    Overlay,
    OverlayScale,
    apply_overlay,
    compute_range,
    find_unknown_names,
    list_top_ranks,
    subtract_scales,
)
from tracklight.analysis.graphs.model_files.weight_files import (
    WeightStatistics,
    encode_npy,
    format_values,
    read_weights,
    summarize_weights,
)
from tracklight.dashboards.graphs.schemas import (
    ColoringRequest,
    ColoringResponse,
    OverlayNodeRow,
    OverlayRequest,
    OverlayResponse,
    OverlayRow,
    WeightsFileRequest,
    WeightsRequest,
    WeightsResponse,
    WeightsRow,
)
from tracklight.errors import LogError
from tracklight.plugin import Blob

_MAX_OVERLAYS = 16
_MAX_RANKED = 20
_MAX_UNKNOWN_NAMES = 20
#: Separates the id of a file and the name of a column.
_COLUMN_SEPARATOR = ":"


class OverlayLibrary:
    """Uploaded data of nodes by id, in memory. Thread-safe."""

    def __init__(self) -> None:
        self._overlays: OrderedDict[str, tuple[OverlayRow, Overlay]] = OrderedDict()
        self._lock = threading.Lock()

    def list_rows(self) -> list[OverlayRow]:
        with self._lock:
            return [row for row, _ in self._overlays.values()]

    def add(self, name: str, overlay: Overlay) -> OverlayRow:
        """Keep a file until sixteen others have been uploaded."""
        row = OverlayRow(secrets.token_hex(8), name, list(overlay.columns))
        with self._lock:
            self._overlays[row.id] = (row, overlay)
            while len(self._overlays) > _MAX_OVERLAYS:
                self._overlays.popitem(last=False)
        return row

    def get_column(self, reference: str) -> dict[str, float]:
        """Return the values of a column, given as ``id:column``.

        Raises:
            LogError: The server does not have the file any more.
        """
        overlay_id, _, column = reference.partition(_COLUMN_SEPARATOR)
        with self._lock:
            _, overlay = self._overlays.get(overlay_id, (None, None))
        values = None if overlay is None else overlay.columns.get(column)
        if values is None:
            raise LogError(
                "graphs.overlay_gone",
                "the server no longer has this file of node data; open it again",
            )
        return dict(values)


@dataclass(frozen=True)
class _Scales:
    """The colored scale, and those that it is the difference of."""

    shown: OverlayScale
    overlay: OverlayScale
    baseline: OverlayScale | None


def color_by_overlay(
    graph_index: GraphIndex, library: OverlayLibrary, request: ColoringRequest
) -> ColoringResponse:
    """Return the value of each child of a group, or the difference of two."""
    location = graph_index.locate(request.group)
    scales = _make_scales(location, library, request)
    group = location.subgraph.get_group(location.path, request.fold)
    children = group.children[request.offset : request.offset + request.limit]

    def evaluate(scale: OverlayScale) -> np.ndarray:
        return np.array([scale.evaluate(child) for child in children], np.float64)

    baseline = None if scales.baseline is None else evaluate(scales.baseline)
    overlay = evaluate(scales.overlay)
    value = overlay if baseline is None else evaluate(scales.shown)
    return ColoringResponse("overlay", "number", [], [], value, overlay, baseline)


def build_overlay(
    graph_index: GraphIndex, library: OverlayLibrary, request: OverlayRequest
) -> OverlayResponse:
    """Return the range of a column, the nodes with the largest values, and unknown names."""
    locations = [Location(graph_index.root, "", ""), *graph_index.iter_bodies()]
    scales = [(location, _make_scales(location, library, request)) for location in locations]
    shown = graph_index.root.get_group("", True).children
    ranges = [
        compute_range(it.shown, shown if location.subgraph is graph_index.root else ())
        for location, it in scales
    ]
    known = [bound for low_high in ranges for bound in low_high if not np.isnan(bound)]
    top = sorted(
        (row for location, it in scales for row in _iter_top_rows(location, it)),
        key=lambda row: -abs(row.value),
    )
    unknown = find_unknown_names(graph_index, library.get_column(request.overlay))
    return OverlayResponse(
        low=min(known, default=0.0),
        high=max(known, default=0.0),
        nodes=sum(int((~np.isnan(it.shown.value)).sum()) for _, it in scales),
        groups=sum(len(it.shown.by_path) for _, it in scales),
        top=top[:_MAX_RANKED],
        unknown=unknown[:_MAX_UNKNOWN_NAMES],
        unknown_total=len(unknown),
    )


def _make_scales(
    location: Location, library: OverlayLibrary, request: ColoringRequest | OverlayRequest
) -> _Scales:
    subgraph, prefix = location.subgraph, location.prefix
    values = library.get_column(request.overlay or "")
    overlay = apply_overlay(subgraph, values, request.combine, prefix)
    if request.baseline is None:
        return _Scales(overlay, overlay, None)
    values = library.get_column(request.baseline)
    baseline = apply_overlay(subgraph, values, request.combine, prefix)
    return _Scales(subtract_scales(overlay, baseline), overlay, baseline)


def _iter_top_rows(location: Location, scales: _Scales) -> Iterator[OverlayNodeRow]:
    subgraph = location.subgraph
    for rank in list_top_ranks(scales.shown, _MAX_RANKED):
        node = int(subgraph.hierarchy.node_by_rank[rank])
        baseline = scales.baseline
        yield OverlayNodeRow(
            path=location.full_path(subgraph.hierarchy.paths[node]),
            op=subgraph.graph.ops[node],
            value=float(scales.shown.value[rank]),
            overlay_value=float(scales.overlay.value[rank]),
            baseline_value=None if baseline is None else float(baseline.value[rank]),
            ancestors=location.list_ancestors(subgraph.get_node_group(node), True),
        )


# ---- weights

_UNSAFE_FILENAME = re.compile(r"[^\w.-]+")
_MAX_FILENAME_LENGTH = 100


def build_weights(graph_index: GraphIndex, request: WeightsRequest) -> WeightsResponse:
    """Return statistics of all tensors of a node; nothing for a group."""
    arrays = _read(graph_index, request)
    return WeightsResponse(
        [
            _make_row(summarize_weights(name, array), format_values(array))
            for name, array in arrays.items()
        ]
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


def _make_row(statistics: WeightStatistics, values: str) -> WeightsRow:
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
        values=values,
    )


def _find_finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
