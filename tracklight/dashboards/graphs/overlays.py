"""Data of nodes: what users upload for them, and their weights.

`parse_overlay_file` reads a JSON or CSV file without knowing a graph. `apply_overlay` finds the
nodes by their names; `OverlayScale` then gives a value for each node and for each group.
`OverlayLibrary` keeps the files, which are shown as colors of any graph.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite, isnan, nan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracklight.analysis.graphs import format_shape
from tracklight.analysis.graphs.graph_index import GraphIndex, Location, Subgraph
from tracklight.analysis.graphs.groups import Child
from tracklight.analysis.graphs.model_files.weight_files import (
    WeightStatistics,
    check_has_layers,
    encode_npy,
    format_values,
    read_weights,
    summarize_weights,
)
from tracklight.dashboards.graphs.schemas import (
    ColoringRequest,
    ColoringResponse,
    CombineMode,
    OverlayNodeRow,
    OverlayRequest,
    OverlayResponse,
    OverlayRow,
    WeightsFileRequest,
    WeightsRequest,
    WeightsResponse,
    WeightsRow,
)
from tracklight.errors import FormatError, LogError
from tracklight.plugin import Blob
from tracklight.types import Float64
from tracklight.util.memory import UploadStore, make_upload_id
from tracklight.util.parsing import load_json

# ---- files, and their values on a graph

#: Columns of tables that have the names of the nodes; otherwise it is the first column.
_NAME_COLUMNS = ("node", "name", "path", "op", "layer", "module", "id")
#: The name of values without one.
_VALUE = "value"
_MAX_COLUMNS = 100
#: The key of the values of a graph in files of Model Explorer.
_RESULTS = "results"


@dataclass(frozen=True, slots=True)
class Overlay:
    """The columns of a file: numbers by the name of a node or group."""

    columns: Mapping[str, Mapping[str, float]]


def parse_overlay_file(filename: str, data: bytes) -> Overlay:
    """Read numbers by node from a file.

    JSON files are ``{"node": 1.5}``, ``{"node": {"latency": 1.5}}``, a list of objects with the
    name of a node and numbers, or a file of custom node data of Model Explorer. CSV and TSV files
    have a header, a column with names and columns with numbers.

    Raises:
        FormatError: The file has another format, or no numbers.
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise FormatError(
            "graphs.overlay_not_text", "{file} is not a text file in UTF-8", file=filename
        ) from None
    rows = _iter_json_rows(filename, text) if _is_json(text) else _iter_csv_rows(text)
    columns: dict[str, dict[str, float]] = {}
    for node, column, value in rows:
        columns.setdefault(column, {})[node] = value
    if not columns:
        raise FormatError(
            "graphs.overlay_no_numbers",
            "{file} has no numbers by node: it needs a column with the names of nodes and a column "
            "with numbers, or JSON such as {example}",
            file=filename,
            example='{"node": {"latency": 1.5}}',
        )
    if len(columns) > _MAX_COLUMNS:
        raise FormatError(
            "graphs.overlay_too_many_columns",
            "{file} has {count} columns; at most {limit} are supported",
            file=filename,
            count=len(columns),
            limit=_MAX_COLUMNS,
        )
    return Overlay(columns)


def _is_json(text: str) -> bool:
    return text.lstrip()[:1] in ("{", "[")


def _iter_json_rows(filename: str, text: str) -> Iterator[tuple[str, str, float]]:
    """Yield the node, the column and the value of all numbers."""
    try:
        content = load_json(text)
    except (ValueError, RecursionError):
        raise FormatError(
            "graphs.overlay_bad_json", "{file} is not valid JSON", file=filename
        ) from None
    try:
        check_has_layers(content)
    except FormatError as error:
        raise FormatError(
            "graphs.cannot_show", 'cannot show "{name}": {error}', name=filename, error=error
        ) from error
    if isinstance(content, list):
        for row in content:
            yield from _iter_record(row)
        return
    # In Model Explorer's format there is an object for each graph.
    graphs = [item[_RESULTS] for item in content.values() if _has_results(item)]
    if _has_results(content):
        graphs = [content[_RESULTS]]
    for nodes in graphs or [content]:
        for node, values in nodes.items():
            yield from _iter_values(str(node), values)


def _has_results(content: Any) -> bool:
    return isinstance(content, dict) and isinstance(content.get(_RESULTS), dict)


def _iter_values(node: str, values: Any) -> Iterator[tuple[str, str, float]]:
    columns = values.items() if isinstance(values, dict) else [(_VALUE, values)]
    for column, value in columns:
        # JSON has bool as a type of its own; numbers in quotes are common.
        number = nan if isinstance(value, bool) else _parse_number(value)
        if not isnan(number):
            yield node, str(column), number


def _iter_record(row: Any) -> Iterator[tuple[str, str, float]]:
    if not isinstance(row, dict):
        return
    by_lower = {str(key).lower(): key for key in reversed(row)}
    key = next((by_lower[name] for name in _NAME_COLUMNS if name in by_lower), None)
    if key is None:
        key = next((key for key, value in row.items() if isinstance(value, str)), None)
    if key is not None:
        yield from _iter_values(str(row[key]), {item: row[item] for item in row if item != key})


def _iter_csv_rows(text: str) -> Iterator[tuple[str, str, float]]:
    header, _, _ = text.partition("\n")
    delimiter = max("\t;,", key=header.count)
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    try:
        names = [cell.strip() for cell in next(rows, [])]
        lower = [name.lower() for name in names]
        key = next((lower.index(name) for name in _NAME_COLUMNS if name in lower), 0)
        for row in rows:
            if key >= len(row):
                continue
            for index, (name, cell) in enumerate(zip(names, row, strict=False)):
                number = nan if index == key else _parse_number(cell)
                if not isnan(number):
                    yield row[key].strip(), name or _VALUE, number
    except csv.Error:
        # A NUL or a field of more than 128 KiB: what came before it is used.
        return


def _parse_number(value: Any) -> float:
    """Return a finite number; NaN for everything else."""
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return nan
    return number if isfinite(number) else nan


@dataclass(frozen=True, slots=True, eq=False)
class OverlayScale:
    """The values of one column for the nodes of a graph or function body."""

    value: Float64
    """By rank; NaN if unknown."""
    by_path: Mapping[str, float]
    """Values that the file has for groups."""
    combine: CombineMode

    def evaluate(self, child: Child) -> float:
        """Return the value of a node or group: its own, or that of the nodes inside."""
        own = self.by_path.get(child.path)
        return self.evaluate_range(child.first, child.last) if own is None else own

    def evaluate_range(self, first: int, last: int) -> float:
        """Combine the values of a range of ranks; NaN if none is known."""
        known = self.value[first:last]
        known = known[~np.isnan(known)]
        if len(known) == 0:
            return nan
        if self.combine == "max":
            return float(known[np.argmax(np.abs(known))])
        return float(known.sum() if self.combine == "sum" else known.mean())


def apply_overlay(
    subgraph: Subgraph, values: Mapping[str, float], combine: CombineMode, prefix: str = ""
) -> OverlayScale:
    """Find the nodes and groups of a graph or function body that a column has values for.

    Nodes are found by their path, by their name, and by the name of their first output (``a:0``).
    ``prefix`` is the path of a function body; names without it are those of its own nodes.
    """
    hierarchy = subgraph.hierarchy
    names = hierarchy.graph.names
    value = np.full(len(names), nan)
    for rank, node in enumerate(hierarchy.node_by_rank.tolist()):
        path = hierarchy.paths[node]
        for name in (prefix + path, path, names[node], f"{names[node]}:0"):
            if name in values:
                value[rank] = values[name]
                break
    by_path = {path: values[path] for path in hierarchy.scope_by_path if path in values}
    return OverlayScale(value, by_path, combine)


def list_unknown_names(graph_index: GraphIndex, values: Mapping[str, float]) -> list[str]:
    """Return the names for which neither the graph nor the bodies of functions have a node."""
    known: set[str] = set()
    for location in (None, *graph_index.iter_bodies()):
        subgraph = graph_index.root if location is None else location.subgraph
        prefix = "" if location is None else location.prefix
        hierarchy = subgraph.hierarchy
        for names in (hierarchy.paths, hierarchy.graph.names, list(hierarchy.scope_by_path)):
            known.update(names)
            if prefix:
                known.update(prefix + name for name in names)
    return [name for name in values if name not in known and name.removesuffix(":0") not in known]


def subtract_scales(scale: OverlayScale, baseline: OverlayScale) -> OverlayScale:
    """Return the differences of two columns for nodes and groups that both have."""
    common = scale.by_path.keys() & baseline.by_path.keys()
    by_path = {path: scale.by_path[path] - baseline.by_path[path] for path in common}
    return OverlayScale(scale.value - baseline.value, by_path, scale.combine)


def list_top_ranks(scale: OverlayScale, limit: int) -> list[int]:
    """Return the ranks with the largest values by magnitude, in descending order."""
    known = np.flatnonzero(~np.isnan(scale.value))
    order = np.argsort(-np.abs(scale.value[known]), kind="stable")[:limit]
    return [int(rank) for rank in known[order]]


def compute_range(scale: OverlayScale, shown: Sequence[Child]) -> tuple[float, float]:
    """Return the lowest and highest value of all nodes, and of the groups that are shown."""
    values = [scale.evaluate(child) for child in shown]
    known = np.concatenate([scale.value, np.array(values, np.float64)])
    known = known[~np.isnan(known)]
    return (float(known.min()), float(known.max())) if len(known) else (nan, nan)


# ---- uploaded files

_MAX_OVERLAYS = 16
_MAX_RANKED = 20
_MAX_UNKNOWN_NAMES = 20
#: Separates the id of a file and the name of a column.
_COLUMN_SEPARATOR = ":"


class OverlayLibrary:
    """Uploaded data of nodes by id, in memory. Thread-safe."""

    def __init__(self) -> None:
        self._overlays: UploadStore[tuple[OverlayRow, Overlay]] = UploadStore(
            max_items=_MAX_OVERLAYS
        )

    def list_rows(self) -> list[OverlayRow]:
        return [row for row, _ in self._overlays.list_values()]

    def add(self, name: str, overlay: Overlay) -> OverlayRow:
        """Keep a file until sixteen others have been uploaded."""
        row = OverlayRow(make_upload_id(), name, list(overlay.columns))
        self._overlays.put(row.id, (row, overlay))
        return row

    def get_column(self, reference: str) -> dict[str, float]:
        """Return the values of a column, given as ``id:column``.

        Raises:
            LogError: The server does not have the file any more.
        """
        overlay_id, _, column = reference.partition(_COLUMN_SEPARATOR)
        found = self._overlays.find(overlay_id)
        values = None if found is None else found[1].columns.get(column)
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
        compute_range(item.shown, shown if location.subgraph is graph_index.root else ())
        for location, item in scales
    ]
    known = [bound for low_high in ranges for bound in low_high if not np.isnan(bound)]
    top = sorted(
        (row for location, item in scales for row in _iter_top_rows(location, item)),
        key=lambda row: -abs(row.value),
    )
    unknown = list_unknown_names(graph_index, library.get_column(request.overlay))
    return OverlayResponse(
        low=min(known, default=0.0),
        high=max(known, default=0.0),
        nodes=sum(int((~np.isnan(item.shown.value)).sum()) for _, item in scales),
        groups=sum(len(item.shown.by_path) for _, item in scales),
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
