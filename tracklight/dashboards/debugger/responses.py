"""Build the responses about recordings, and those that dumps and recordings have in common."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

import msgspec
import numpy as np

from tracklight.analysis.debugger import AlertKind, HealthAlert
from tracklight.analysis.debugger.dump import TensorSummary, describe_array
from tracklight.analysis.debugger.dump_rows import DumpAlerts, find_neighborhood
from tracklight.analysis.debugger.library import Analysis
from tracklight.analysis.debugger.recording import Recording
from tracklight.analysis.debugger.recording_analysis import RecordingAnalysis, make_source_line
from tracklight.analysis.source import Sentence
from tracklight.dashboards.debugger.schemas import (
    CompareRecordingsResponse,
    CompareSourcesRequest,
    DebugAlertsRequest,
    DebugAlertsResponse,
    DebugOverviewResponse,
    DebugSourceRow,
    DumpDamageRow,
    HeatmapRequest,
    HeatmapResponse,
    NeighborhoodGraph,
    NeighborhoodNode,
    StatCurve,
    StoredValueRequest,
    StoredValueResponse,
    TensorSummaryRow,
    WatchedTensorHistogram,
    WatchedTensorResponse,
    WatchedTensorRow,
)
from tracklight.errors import UsageError
from tracklight.formats.debug_events import TensorDebugMode
from tracklight.formats.tensor_health import STATS, WatchedTensor, get_histogram_edges
from tracklight.types import Float32, Int64

#: Values of a tensor in one response.
_MAX_VALUE_ROWS = 200
_MAX_VALUE_COLUMNS = 200
_CSV_COLUMNS = [field.name for field in msgspec.structs.fields(HealthAlert)]


def make_overview(cursor: str, row: DebugSourceRow, analysis: Analysis) -> DebugOverviewResponse:
    overview = DebugOverviewResponse(
        cursor=cursor,
        source=row,
        root_cause=analysis.root_cause,
        alerts=len(analysis.alerts),
        kinds=analysis.alerts.count_kinds(),
        executions=0,
        graph_executions=0,
        graphs=0,
        source_files=[],
        steps=0,
        tensors=0,
        notes=[],
        damage=[],
        curve=None,
        values=[],
        random_states=[],
    )
    if isinstance(analysis, RecordingAnalysis):
        overview.steps = len(analysis.recording.step)
        overview.tensors = len(analysis.recording.layout.tensors)
        notes = analysis.recording.layout.notes
        overview.notes = [Sentence(it.code, it.text, {}) for it in notes]
        overview.source_files = [("", path) for path in analysis.recording.source_files]
        overview.curve = _make_curve(analysis)
        report = next(iter(analysis.recording.reports), None)
        if report is not None:
            overview.values = list(report.values)
            overview.random_states = list(report.random_state)
        return overview
    dump = analysis.dump
    overview.executions = len(dump.executions.offset)
    overview.graph_executions = len(dump.traces.offset)
    overview.graphs = len(dump.graphs)
    overview.source_files = list(dump.source_files)
    overview.damage = [
        DumpDamageRow(it.file, it.offset, it.bytes, Sentence.make(it.reason)) for it in dump.damage
    ]
    return overview


#: The statistic that shows a problem.
_STATS_BY_KIND = {
    AlertKind.DEAD_UNITS: "dead",
    AlertKind.CONSTANT_OUTPUT: "std",
    AlertKind.OVERFLOW: "overflow",
    AlertKind.UNDERFLOW: "underflow",
}


def _make_curve(analysis: RecordingAnalysis) -> StatCurve | None:
    """Return the curve of the root cause: a statistic of its tensor, or the loss scale."""
    cause, recording = analysis.root_cause, analysis.recording
    if cause is None:
        return None
    if cause.kind == AlertKind.LOSS_SCALE:
        series = recording.loss_scale
        if series is None:
            return None
        return StatCurve("loss_scale", series.step, series.value.astype(np.float32))
    if cause.tensor is None:
        return None
    stat = _STATS_BY_KIND.get(cause.kind, "norm")
    return StatCurve(stat, recording.step, read_stat(recording, stat)[:, cause.tensor].copy())


def read_stat(recording: Recording, name: str) -> Float32:
    """Return a statistic (steps, tensors); NaN where a tensor has no finite values."""
    values = recording.get_stat(name)
    if name not in ("min", "max", "mean", "std", "norm"):
        return values
    sizes = np.array([it.size for it in recording.layout.tensors])
    has_no_finite = (recording.health[:, :, 1:4].sum(axis=2) >= sizes) & (sizes > 0)
    result: Float32 = np.where(has_no_finite, np.float32(np.nan), values)
    return result


def select_alerts(
    cursor: str, analysis: Analysis, request: DebugAlertsRequest
) -> DebugAlertsResponse:
    alerts = analysis.alerts
    is_filtered = request.kinds or request.query or request.dtype
    has_range = request.first_step is not None or request.last_step is not None
    indexes: Int64
    if not is_filtered and not has_range:
        indexes = np.arange(len(alerts))
    elif isinstance(alerts, DumpAlerts):
        # A dump knows nothing of steps.
        found = alerts.select(request.kinds, request.query, request.dtype)
        indexes = found[:0] if has_range else found
    else:
        matches = [i for i, alert in enumerate(alerts) if _matches(alert, request)]
        indexes = np.array(matches, np.int64)
    part = indexes[request.offset : request.offset + request.limit].astype(np.int64)
    return DebugAlertsResponse(cursor, len(indexes), part, [alerts[int(index)] for index in part])


def _matches(alert: HealthAlert, request: DebugAlertsRequest) -> bool:
    query = request.query.lower()
    step = alert.step
    return (
        (not request.kinds or alert.kind.value in request.kinds)
        and (not query or query in alert.op_name.lower() or query in alert.op_type.lower())
        and (not request.dtype or alert.dtype == request.dtype)
        and (request.first_step is None or (step is not None and step >= request.first_step))
        and (request.last_step is None or (step is not None and step <= request.last_step))
    )


def iter_alerts_csv(analysis: Analysis) -> Iterator[bytes]:
    """Yield all alerts as CSV, in parts."""
    buffer = io.StringIO()
    writer = csv.writer(buffer)
    writer.writerow(_CSV_COLUMNS)
    for index, alert in enumerate(analysis.alerts):
        writer.writerow([getattr(alert, name) for name in _CSV_COLUMNS])
        if index % 1000 == 999:
            yield buffer.getvalue().encode()
            buffer.seek(0)
            buffer.truncate()
    yield buffer.getvalue().encode()


def iter_alerts_json(analysis: Analysis) -> Iterator[bytes]:
    """Yield all alerts as a JSON array, in parts."""
    yield b"["
    for index, alert in enumerate(analysis.alerts):
        yield (b",\n" if index else b"\n") + msgspec.json.encode(alert)
    yield b"\n]\n"


# ---- tensors


def make_summary_row(tensor: TensorSummary, first_row: int) -> TensorSummaryRow:
    lowest = highest = values = None
    rows = columns = 0
    if tensor.value is not None and tensor.value.dtype.kind in "fiub" and tensor.value.size:
        finite = tensor.value[np.isfinite(tensor.value)]
        if finite.size:
            lowest, highest = float(finite.min()), float(finite.max())
        table = tensor.value.reshape(-1, tensor.value.shape[-1] if tensor.value.ndim else 1)
        rows = len(table)
        part = table[first_row : first_row + _MAX_VALUE_ROWS, :_MAX_VALUE_COLUMNS]
        columns = part.shape[1]
        values = part.astype(np.float64).ravel()
    try:
        mode = TensorDebugMode(tensor.mode).name
    except ValueError:
        mode = str(tensor.mode)
    return TensorSummaryRow(
        mode,
        tensor.dtype,
        tensor.rank,
        tensor.size,
        None if tensor.shape is None else list(tensor.shape),
        tensor.nan,
        tensor.neg_inf,
        tensor.pos_inf,
        tensor.negative,
        tensor.zero,
        tensor.positive,
        tensor.has_non_finite,
        lowest,
        highest,
        values,
        rows,
        columns,
    )


# ---- recordings

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
