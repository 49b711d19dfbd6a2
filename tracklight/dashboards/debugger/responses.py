"""Build responses about recordings, and about dumps of TensorFlow's debugger."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

import msgspec
import numpy as np

from tracklight.analysis.debugger import AlertKind, HealthAlert
from tracklight.analysis.debugger.dump import DebugDump, TensorSummary, describe_array
from tracklight.analysis.debugger.dump_analysis import DumpAnalysis
from tracklight.analysis.debugger.dump_comparison import compare_dumps
from tracklight.analysis.debugger.dump_rows import DumpAlerts, EventRows, build_neighborhood
from tracklight.analysis.debugger.library import Analysis
from tracklight.analysis.debugger.recording import Recording, RecordingAnalysis, make_source_line
from tracklight.analysis.source import Sentence
from tracklight.dashboards.debugger.schemas import (
    CompareDumpsResponse,
    CompareRecordingsResponse,
    CompareSourcesRequest,
    DebugAlertsRequest,
    DebugAlertsResponse,
    DebugEventRequest,
    DebugEventResponse,
    DebugOverviewResponse,
    DebugSourceRow,
    DumpDamageRow,
    DumpDifferenceRow,
    EventColumns,
    ExecutionTimelineRequest,
    ExecutionTimelineResponse,
    HeatmapRequest,
    HeatmapResponse,
    NeighborhoodGraph,
    NeighborhoodNode,
    OpNeighborRow,
    OpRequest,
    OpResponse,
    RowsRequest,
    StatCurve,
    StoredValueRequest,
    StoredValueResponse,
    TensorHistogramRequest,
    TensorHistogramResponse,
    TensorSummaryRow,
    WatchedTensorHistogram,
    WatchedTensorResponse,
    WatchedTensorRow,
)
from tracklight.errors import UsageError
from tracklight.formats.debug_events import GraphOp, Health, TensorDebugMode
from tracklight.formats.tensor_health import STATS, WatchedTensor, get_histogram_edges
from tracklight.types import Float32, Int64

#: Values of a tensor in one response.
_MAX_VALUE_ROWS = 200
_MAX_VALUE_COLUMNS = 200
#: Steps or executions in the histogram of a tensor, and bins of each execution.
_MAX_HISTOGRAMS = 60
_HISTOGRAM_BINS = 40
#: Nodes of the graph around a tensor or operation.
_MAX_NEIGHBORS = 40
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
        overview.notes = [Sentence(note.code, note.text, {}) for note in notes]
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
        DumpDamageRow(item.file, item.offset, item.bytes, Sentence.make(item.reason))
        for item in dump.damage
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
    if cause.tensor is not None:
        stat = _STATS_BY_KIND.get(cause.kind, "norm")
        return StatCurve(stat, recording.step, read_stat(recording, stat)[:, cause.tensor].copy())
    series = recording.loss_scale
    assert series is not None
    return StatCurve("loss_scale", series.step, series.value.astype(np.float32))


def read_stat(recording: Recording, name: str) -> Float32:
    """Return a statistic (steps, tensors); NaN where a tensor has no finite values."""
    values = recording.get_stat(name)
    if name not in ("min", "max", "mean", "std", "norm"):
        return values
    sizes = np.array([tensor.size for tensor in recording.layout.tensors])
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
        # Alerts of a dump have no steps.
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


def make_heatmap(
    cursor: str, analysis: RecordingAnalysis, request: HeatmapRequest
) -> HeatmapResponse:
    recording = analysis.recording
    tensors = recording.layout.tensors
    query = request.query.lower()
    rows = [
        row
        for row, tensor in enumerate(tensors)
        if (not request.roles or tensor.role in request.roles)
        and (not query or query in tensor.name.lower() or query in tensor.type.lower())
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
    consumers = [index for index, tensor in enumerate(tensors) if row in tensor.inputs]
    return WatchedTensorResponse(
        cursor,
        make_tensor_row(row, tensors[row]),
        [make_tensor_row(item, tensors[item]) for item in tensors[row].inputs],
        [make_tensor_row(consumer, tensors[consumer]) for consumer in consumers],
        recording.step,
        recording.wall_time,
        {name: read_stat(recording, name)[:, row].copy() for name in STATS[1:]},
        [make_source_line(item) for item in recording.get_stack(row)],
        _make_histogram(recording, row),
        _make_tensor_neighborhood(analysis, row),
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


def _make_tensor_neighborhood(analysis: RecordingAnalysis, row: int) -> NeighborhoodGraph:
    recording = analysis.recording
    tensors = recording.layout.tensors
    consumers: dict[int, list[int]] = {}
    for index, tensor in enumerate(tensors):
        for source in tensor.inputs:
            consumers.setdefault(source, []).append(index)
    found = build_neighborhood(
        row,
        lambda item: [source for source in tensors[item].inputs if 0 <= source < len(tensors)],
        lambda item: consumers.get(item, ()),
        _MAX_NEIGHBORS,
    )
    cause = analysis.root_cause
    step = len(recording.step) - 1
    if cause is not None and cause.step is not None:
        step = max(int(np.searchsorted(recording.step, cause.step, side="right")) - 1, 0)
    nodes = []
    for node in found.nodes:
        state = 0
        if len(recording.step) and not np.isnan(recording.health[step, node, 0]):
            state = 2 if (recording.health[step, node, 1:4] > 0).any() else 1
        tensor = tensors[node]
        nodes.append(NeighborhoodNode(tensor.name, tensor.type, tensor.role, state, node))
    return NeighborhoodGraph(nodes, found.edges, found.is_truncated)


def compare_recordings(
    cursor: str,
    first: RecordingAnalysis,
    second: RecordingAnalysis,
    request: CompareSourcesRequest,
) -> CompareRecordingsResponse:
    """Find the first step, and in it the first tensor, at which two recordings differ."""
    keys = [
        {(item.name, item.role): row for row, item in enumerate(analysis.recording.layout.tensors)}
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
    columns_a, columns_b = [keys[0][item] for item in shared], [keys[1][item] for item in shared]
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


# ---- dumps


def list_rows(cursor: str, rows: EventRows, request: RowsRequest) -> EventColumns:
    """Return some of the executions or traces that match a request."""
    selected = rows.select(request.query, request.graph, request.op_name, request.only_non_finite)
    total = len(rows.ids) if selected is None else len(selected)
    stop = min(request.offset + request.limit, total)
    part = (
        np.arange(request.offset, max(stop, request.offset), dtype=np.int64)
        if selected is None
        else selected[request.offset : stop]
    )
    position = request.locate
    if position is not None and selected is not None:
        position = int(np.searchsorted(selected, position))
    names = [rows.names[item] for item in rows.ids[part].tolist()]
    return EventColumns(
        cursor,
        total,
        part,
        rows.wall_time[part],
        [name.op_type for name in names],
        [name.op_name for name in names],
        np.array([name.slot for name in names], np.int32),
        [name.graph for name in names],
        rows.health[part],
        position,
    )


def make_timeline(
    cursor: str, dump: DebugDump, request: ExecutionTimelineRequest
) -> ExecutionTimelineResponse:
    executions, traces = dump.executions.wall_time, dump.traces.wall_time
    times = [item for item in (executions, traces) if len(item)]
    if not times:
        empty = np.zeros(request.columns, np.int64)
        return ExecutionTimelineResponse(cursor, 0.0, 0.0, empty, empty, empty)
    origin = min(float(time.min()) for time in times)
    end = max(float(time.max()) for time in times) - origin
    start_s = 0.0 if request.start_s is None else request.start_s
    end_s = max(end if request.end_s is None else request.end_s, start_s + 1e-6)
    edges = origin + np.linspace(start_s, end_s, request.columns + 1)
    bad = traces[dump.traces.health == Health.NON_FINITE]
    counts = [np.histogram(item, edges)[0].astype(np.int64) for item in (executions, traces, bad)]
    return ExecutionTimelineResponse(
        cursor,
        start_s,
        end_s,
        counts[0],
        counts[1],
        counts[2],
        int(np.count_nonzero(executions < edges[0])),
        int(np.count_nonzero(traces < edges[0])),
        origin,
        end,
    )


def make_histogram(
    cursor: str, analysis: DumpAnalysis, request: TensorHistogramRequest
) -> TensorHistogramResponse:
    """Return histograms of the values of a tensor over its last executions."""
    rows = analysis.trace_rows
    selected = rows.select(graph=request.graph, op_name=request.op_name)
    assert selected is not None  # there is a filter
    slots = np.array([*(name.slot for name in rows.names), -1])[rows.ids[selected]]
    selected = selected[(slots == request.slot) & (selected <= request.last)]
    indexes, finite, bad = [], [], []
    for index in selected[-_MAX_HISTOGRAMS:].tolist():
        value = analysis.dump.read_trace_tensor(index).value
        if value is None or value.dtype.kind not in "fiu" or not value.size:
            continue
        numbers = value.astype(np.float64).ravel()
        is_finite = np.isfinite(numbers)
        indexes.append(index)
        finite.append(numbers[is_finite])
        bad.append(int(np.count_nonzero(~is_finite)))
    known = [item for item in finite if item.size]
    low = min((float(item.min()) for item in known), default=0.0)
    high = max((float(item.max()) for item in known), default=1.0)
    edges = np.linspace(low, high if high > low else low + 1, _HISTOGRAM_BINS + 1)
    counts = [np.histogram(item, edges)[0] for item in finite]
    return TensorHistogramResponse(
        cursor,
        np.array(indexes, np.int64),
        edges,
        np.array(counts, np.float32).ravel(),
        np.array(bad, np.int64),
    )


def make_event(
    cursor: str, analysis: DumpAnalysis, request: DebugEventRequest
) -> DebugEventResponse:
    dump = analysis.dump
    is_trace = request.kind == "graph_execution"
    count = len(dump.traces.offset if is_trace else dump.executions.offset)
    if request.index >= count:
        raise UsageError(f"there are {count} events of this kind, so no event {request.index}")
    return (
        _make_trace(cursor, analysis, request)
        if is_trace
        else _make_execution(cursor, analysis, request)
    )


def _make_trace(
    cursor: str, analysis: DumpAnalysis, request: DebugEventRequest
) -> DebugEventResponse:
    dump, row = analysis.dump, request.index
    trace = dump.traces.names[dump.traces.name[row]]
    op = dump.find_op(trace.graph, trace.op)
    return DebugEventResponse(
        cursor,
        request.kind,
        row,
        float(dump.traces.wall_time[row]),
        op.type if op else "",
        trace.op,
        dump.list_outer_graphs(trace.graph),
        trace.device,
        analysis.find_execution(row),
        None,
        list(op.inputs) if op else [],
        [],
        [make_summary_row(dump.read_trace_tensor(row), request.first_row)],
        analysis.get_source_lines(op.stack) if op else [],
    )


def _make_execution(
    cursor: str, analysis: DumpAnalysis, request: DebugEventRequest
) -> DebugEventResponse:
    dump, row = analysis.dump, request.index
    name = dump.execution_names[dump.executions.name[row]]
    inputs = analysis.find_eager_inputs(row)
    tensors = dump.read_execution_tensors(row)
    first_rows = [request.first_row if slot == request.slot else 0 for slot in range(len(tensors))]
    return DebugEventResponse(
        cursor,
        request.kind,
        row,
        float(dump.executions.wall_time[row]),
        name.op_type,
        "",
        [name.graph] if name.graph else [],
        dump.devices.get(name.devices[0], "") if name.devices else "",
        None,
        analysis.find_traces(row),
        [label for label, _ in inputs],
        [producer for _, producer in inputs],
        [
            make_summary_row(tensor, first)
            for tensor, first in zip(tensors, first_rows, strict=True)
        ],
        analysis.get_source_lines(name.stack),
    )


def make_op(cursor: str, analysis: DumpAnalysis, request: OpRequest) -> OpResponse:
    dump = analysis.dump
    op = dump.find_op(request.graph, request.op_name)
    if op is None:
        raise UsageError(f'the graph has no operation "{request.op_name}"')
    health = _get_last_health(dump, request.graph)
    inputs, consumers = [], []
    for tensor in op.inputs:
        name, _, slot = tensor.rpartition(":")
        source = dump.find_op(request.graph, name)
        number = int(slot) if slot.isdigit() else 0
        kind = source.type if source else ""
        inputs.append(OpNeighborRow(name, kind, number, health.get((name, number), 0)))
    for other in dump.ops.get(request.graph, {}).values():
        for tensor in other.inputs:
            name, _, slot = tensor.rpartition(":")
            if name == op.name:
                number = int(slot) if slot.isdigit() else 0
                state = health.get((other.name, 0), 0)
                consumers.append(OpNeighborRow(other.name, other.type, number, state))
    neighborhood = _make_op_neighborhood(dump, op, health)
    ids = [
        i
        for i, item in enumerate(dump.traces.names)
        if (item.graph, item.op) == (op.graph, op.name)
    ]
    graphs = dump.graphs
    chain = [
        graphs[outer_graph].name
        for outer_graph in dump.list_outer_graphs(op.graph)
        if outer_graph in graphs
    ]
    return OpResponse(
        cursor,
        op.graph,
        [name for name in chain if name],
        op.name,
        op.type,
        inputs,
        consumers,
        neighborhood,
        int(np.count_nonzero(np.isin(dump.traces.name, ids))),
        analysis.get_source_lines(op.stack),
    )


def _make_op_neighborhood(
    dump: DebugDump, center: GraphOp, health: dict[tuple[str, int], int]
) -> NeighborhoodGraph:
    ops = dump.ops.get(center.graph, {})
    consumers: dict[str, list[str]] = {}
    for op in ops.values():
        for name in _list_input_names(op):
            consumers.setdefault(name, []).append(op.name)
    health_by_op: dict[str, int] = {}
    for (name, _), state in health.items():
        health_by_op[name] = max(state, health_by_op.get(name, 0))
    found = build_neighborhood(
        center.name,
        lambda name: [
            input_name for input_name in _list_input_names(ops[name]) if input_name in ops
        ],
        lambda name: consumers.get(name, ()),
        _MAX_NEIGHBORS,
    )
    nodes = [
        NeighborhoodNode(name, ops[name].type, "", health_by_op.get(name, 0))
        for name in found.nodes
    ]
    return NeighborhoodGraph(nodes, found.edges, found.is_truncated)


def _list_input_names(op: GraphOp) -> list[str]:
    return list(dict.fromkeys(item.rpartition(":")[0] for item in op.inputs))


def _get_last_health(dump: DebugDump, graph: str) -> dict[tuple[str, int], int]:
    """Return the health of the last trace of every tensor of a graph."""
    traces = dump.traces
    last = np.full(len(traces.names) + 1, -1, np.int64)
    last[traces.name] = np.arange(len(traces.name))
    return {
        (name.op, name.slot): int(traces.health[last[index]])
        for index, name in enumerate(traces.names)
        if name.graph == graph and last[index] >= 0
    }


def compare_dump_analyses(
    cursor: str, first: DumpAnalysis, second: DumpAnalysis, request: CompareSourcesRequest
) -> CompareDumpsResponse:
    """Find the first event of a dump whose counterpart in another one differs."""
    result = compare_dumps(first, second, tolerance=request.tolerance)
    row = None
    if (found := result.difference) is not None:
        rows = first.execution_rows if found.event == "execution" else first.trace_rows
        name = rows.names[int(rows.ids[found.index])]
        row = DumpDifferenceRow(
            event=found.event,
            index=found.index,
            other_index=found.other_index,
            op_type=name.op_type,
            op_name=name.op_name,
            slot=found.slot,
            kind=found.kind,
            first=found.first,
            second=found.second,
            element=None if found.element is None else list(found.element),
        )
    return CompareDumpsResponse(
        cursor, row, result.compared, result.is_limited, result.only_first, result.only_second
    )
