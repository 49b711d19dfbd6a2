"""Build responses about recordings of ``tracklight.debugger``."""

from __future__ import annotations

import numpy as np

from tracklight.analysis.debugger.dump import describe_array
from tracklight.analysis.debugger.neighborhood import find_neighborhood
from tracklight.analysis.debugger.recording import Recording
from tracklight.analysis.debugger.recording_analysis import RecordingAnalysis, make_source_line
from tracklight.dashboards.debugger.responses import make_summary_row, read_stat
from tracklight.dashboards.debugger.schemas import (
    CompareRecordingsResponse,
    CompareSourcesRequest,
    HeatmapRequest,
    HeatmapResponse,
    NeighborhoodGraph,
    NeighborhoodNode,
    StoredValueRequest,
    StoredValueResponse,
    WatchedTensorHistogram,
    WatchedTensorResponse,
    WatchedTensorRow,
)
from tracklight.errors import UsageError
from tracklight.formats.debug_events.recording import STATS, WatchedTensor, get_histogram_edges
from tracklight.types import Float32

#: Steps of the histogram of a tensor, and nodes of the graph around it.
_MAX_HISTOGRAMS = 60
_MAX_NEIGHBORS = 40


def make_heatmap(
    cursor: str, analysis: RecordingAnalysis, request: HeatmapRequest
) -> HeatmapResponse:
    recording = analysis.recording
    tensors = recording.layout.tensors
    query = request.query.lower()
    rows = [
        row
        for row, it in enumerate(tensors)
        if (not request.roles or it.role in request.roles)
        and (not query or query in it.name.lower() or query in it.type.lower())
    ]
    step = recording.step
    is_shown = np.ones(len(step), bool)
    if request.first_step is not None:
        is_shown &= step >= request.first_step
    if request.last_step is not None:
        is_shown &= step <= request.last_step
    steps = np.flatnonzero(is_shown)
    if request.stat == "non_finite":
        values = recording.health[:, :, 1:4].sum(axis=2)[steps][:, rows]
    else:
        values = read_stat(recording, request.stat)[steps][:, rows]
    count = min(request.columns, max(len(steps), 1))
    edges = np.linspace(0, len(steps), count + 1).astype(np.int64)
    merged: Float32 = np.full((len(rows), count), np.nan, np.float32)
    for column in range(count):
        part = values[edges[column] : edges[column + 1]]
        if len(part) and part.size:
            is_known = ~np.isnan(part).all(axis=0)
            merged[is_known, column] = np.nanmax(part[:, is_known], axis=0)
    has_steps = len(steps) > 0
    return HeatmapResponse(
        cursor,
        [make_tensor_row(row, tensors[row]) for row in rows],
        step[steps[edges[:-1]]] if has_steps else np.empty(0, np.int64),
        step[steps[edges[1:] - 1]] if has_steps else np.empty(0, np.int64),
        merged.ravel() if has_steps else np.empty(0, np.float32),
    )


def make_tensor_row(row: int, tensor: WatchedTensor) -> WatchedTensorRow:
    return WatchedTensorRow(
        row,
        tensor.name,
        tensor.role,
        tensor.type,
        tensor.dtype,
        tensor.size,
        tensor.shape,
        make_source_line(tensor.source) if tensor.source.path else None,
    )


def make_tensor(cursor: str, analysis: RecordingAnalysis, row: int) -> WatchedTensorResponse:
    recording = analysis.recording
    tensors = recording.layout.tensors
    if not 0 <= row < len(tensors):
        raise UsageError(f"there are {len(tensors)} tensors, so no tensor {row}")
    consumers = [index for index, it in enumerate(tensors) if row in it.inputs]
    return WatchedTensorResponse(
        cursor,
        make_tensor_row(row, tensors[row]),
        [make_tensor_row(it, tensors[it]) for it in tensors[row].inputs],
        [make_tensor_row(it, tensors[it]) for it in consumers],
        recording.step,
        recording.wall_time,
        {name: read_stat(recording, name)[:, row].copy() for name in STATS[1:]},
        [make_source_line(it) for it in recording.get_stack(row)],
        _make_histogram(recording, row),
        _make_neighborhood(analysis, row),
    )


def _make_histogram(recording: Recording, row: int) -> WatchedTensorHistogram | None:
    step, shares = recording.read_histograms(row, _MAX_HISTOGRAMS)
    if not len(step):
        return None
    # Empty bins at both ends are left out.
    used = np.flatnonzero(shares.any(axis=0))
    first, last = int(used[0]), int(used[-1]) + 1
    edges = get_histogram_edges()[first : last + 1]
    return WatchedTensorHistogram(step, edges, shares[:, first:last].ravel())


def _make_neighborhood(analysis: RecordingAnalysis, row: int) -> NeighborhoodGraph:
    recording = analysis.recording
    tensors = recording.layout.tensors
    consumers: dict[int, list[int]] = {}
    for index, tensor in enumerate(tensors):
        for source in tensor.inputs:
            consumers.setdefault(source, []).append(index)
    found = find_neighborhood(
        row,
        lambda it: [source for source in tensors[it].inputs if 0 <= source < len(tensors)],
        lambda it: consumers.get(it, ()),
        _MAX_NEIGHBORS,
    )
    cause = analysis.root_cause
    step = len(recording.step) - 1
    if cause is not None and cause.step is not None:
        step = max(int(np.searchsorted(recording.step, cause.step, side="right")) - 1, 0)
    nodes = []
    for it in found.nodes:
        state = 0
        if len(recording.step) and not np.isnan(recording.health[step, it, 0]):
            state = 2 if (recording.health[step, it, 1:4] > 0).any() else 1
        tensor = tensors[it]
        nodes.append(NeighborhoodNode(tensor.name, tensor.type, tensor.role, state, it))
    return NeighborhoodGraph(nodes, found.edges, found.is_truncated)


def compare_recordings(
    cursor: str,
    first: RecordingAnalysis,
    second: RecordingAnalysis,
    request: CompareSourcesRequest,
) -> CompareRecordingsResponse:
    """Find the first step, and in it the first tensor, at which two recordings differ."""
    keys = [
        {(it.name, it.role): row for row, it in enumerate(analysis.recording.layout.tensors)}
        for analysis in (first, second)
    ]
    shared = [key for key in keys[0] if key in keys[1]]
    only = [
        [f"{name} ({role})" for name, role in a if (name, role) not in b]
        for a, b in (keys, keys[::-1])
    ]
    response = CompareRecordingsResponse(
        cursor, None, None, "", None, None, only[0], only[1], 0, "The recordings do not differ."
    )
    steps, rows_a, rows_b = np.intersect1d(
        first.recording.step, second.recording.step, return_indices=True
    )
    response.shared_steps = len(steps) if shared else 0
    if not response.shared_steps:
        response.message = "The recordings have no step and tensor in common."
        return response
    columns_a, columns_b = [keys[0][it] for it in shared], [keys[1][it] for it in shared]
    for step, row_a, row_b in zip(steps.tolist(), rows_a.tolist(), rows_b.tolist(), strict=True):
        a = first.recording.health[row_a, columns_a]
        b = second.recording.health[row_b, columns_b]
        differs = ~np.isclose(a, b, rtol=request.tolerance, atol=1e-12, equal_nan=True)
        differs[:, 0] = False
        differs[np.isnan(a[:, 0]) | np.isnan(b[:, 0])] = False
        tensors = np.flatnonzero(differs.any(axis=1))
        if not len(tensors):
            continue
        index = int(tensors[np.argmin(a[tensors, 0])])
        stat = int(np.flatnonzero(differs[index])[0])
        row = columns_a[index]
        tensor = first.recording.layout.tensors[row]
        response.step, response.tensor = step, make_tensor_row(row, tensor)
        response.stat = STATS[stat]
        response.first, response.second = float(a[index, stat]), float(b[index, stat])
        response.message = (
            f'They first differ at step {step} in the {tensor.role} "{tensor.name}": {STATS[stat]} '
            f"is {response.first:.6g} and {response.second:.6g}."
        )
        return response
    return response


def read_value(
    cursor: str, analysis: RecordingAnalysis, request: StoredValueRequest
) -> StoredValueResponse:
    """Return a tensor that was stored with the first report."""
    recording = analysis.recording
    report = next(iter(recording.reports), None)
    tag = report.values.get(request.name) if report is not None else None
    value = recording.read_value(tag) if tag is not None else None
    if report is None or value is None:
        raise UsageError(f'the recording has no stored tensor "{request.name}"')
    row = make_summary_row(describe_array(value), request.first_row)
    return StoredValueResponse(cursor, request.name, report.step, row)
