"""Build the responses of the Debugger dashboard from analyses of dumps and recordings."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from tracklight.analysis.debugger.alerts import Alert, SourceLine
from tracklight.analysis.debugger.dump import DebugDump, TensorSummary
from tracklight.analysis.debugger.dump_analysis import DumpAnalysis
from tracklight.analysis.debugger.library import Analysis
from tracklight.analysis.debugger.recording_analysis import RecordingAnalysis
from tracklight.dashboards.debugger.schemas import (
    AlertsRequest,
    AlertsResponse,
    CompareRequest,
    CompareResponse,
    DamageRow,
    EventColumns,
    EventRequest,
    EventResponse,
    HeatmapRequest,
    HeatmapResponse,
    NeighborRow,
    OpRequest,
    OpResponse,
    OverviewResponse,
    RowsRequest,
    SourceRow,
    TensorResponse,
    TensorRow,
    TensorSummaryRow,
    TimelineRequest,
    TimelineResponse,
)
from tracklight.errors import UsageError
from tracklight.formats.debug_events.columns import Health, TensorDebugMode
from tracklight.formats.debug_events.recording import STATS, WatchedTensor
from tracklight.types import Float32, Int64

#: Values of a tensor in one response.
_MAX_VALUE_ROWS = 200
_MAX_VALUE_COLUMNS = 200
_CSV_COLUMNS = [field.name for field in msgspec.structs.fields(Alert)]


def make_source_row(name: str, run: str, analysis: Analysis) -> SourceRow:
    if isinstance(analysis, DumpAnalysis):
        version = analysis.dump.metadata.tensorflow_version
        return SourceRow(name, run, "dump", analysis.dump.framework, version)
    layout = analysis.recording.layout
    return SourceRow(name, run, "recording", layout.framework, layout.version)


def make_overview(cursor: str, row: SourceRow, analysis: Analysis) -> OverviewResponse:
    overview = OverviewResponse(
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
    )
    if isinstance(analysis, RecordingAnalysis):
        overview.steps = len(analysis.recording.step)
        overview.tensors = len(analysis.recording.layout.tensors)
        overview.notes = list(analysis.recording.layout.notes)
        return overview
    dump = analysis.dump
    overview.executions = len(dump.executions.offset)
    overview.graph_executions = len(dump.traces.offset)
    overview.graphs = len(dump.graphs)
    overview.source_files = list(dump.source_files)
    overview.damage = [DamageRow(*damage) for damage in dump.damage]
    return overview


def select_alerts(cursor: str, analysis: Analysis, request: AlertsRequest) -> AlertsResponse:
    alerts = analysis.alerts
    is_filtered = request.kinds or request.query or request.dtype
    has_range = request.first_step is not None or request.last_step is not None
    if not is_filtered and not has_range:
        indexes = np.arange(len(alerts))
    else:
        matches = [i for i, alert in enumerate(alerts) if _matches(alert, request)]
        indexes = np.array(matches, np.int64)
    part = indexes[request.offset : request.offset + request.limit].astype(np.int64)
    return AlertsResponse(cursor, len(indexes), part, [alerts[int(index)] for index in part])


def _matches(alert: Alert, request: AlertsRequest) -> bool:
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


# --- Recordings -----------------------------------------------------------------------------------


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
        values = recording.get_stat(request.stat)[steps][:, rows]
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
        merged if has_steps else merged[:, :0],
    )


def make_tensor_row(row: int, tensor: WatchedTensor) -> TensorRow:
    location = tensor.source
    source = SourceLine(location.path, location.line, location.function, location.code)
    return TensorRow(
        row,
        tensor.name,
        tensor.role,
        tensor.type,
        tensor.dtype,
        tensor.size,
        tensor.shape,
        source if location.path else None,
    )


def make_tensor(cursor: str, analysis: RecordingAnalysis, row: int) -> TensorResponse:
    recording = analysis.recording
    tensors = recording.layout.tensors
    if not 0 <= row < len(tensors):
        raise UsageError(f"there are {len(tensors)} tensors, so no tensor {row}")
    consumers = [index for index, it in enumerate(tensors) if row in it.inputs]
    return TensorResponse(
        cursor,
        make_tensor_row(row, tensors[row]),
        [make_tensor_row(it, tensors[it]) for it in tensors[row].inputs],
        [make_tensor_row(it, tensors[it]) for it in consumers],
        recording.step,
        recording.wall_time,
        {name: recording.get_stat(name)[:, row] for name in STATS[1:]},
    )


def compare_recordings(
    cursor: str, first: RecordingAnalysis, second: RecordingAnalysis, request: CompareRequest
) -> CompareResponse:
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
    response = CompareResponse(
        cursor, None, None, "", None, None, only[0], only[1], "The recordings do not differ."
    )
    steps, rows_a, rows_b = np.intersect1d(
        first.recording.step, second.recording.step, return_indices=True
    )
    if not len(steps) or not shared:
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


# --- Dumps ----------------------------------------------------------------------------------------


def list_executions(cursor: str, dump: DebugDump, request: RowsRequest) -> EventColumns:
    columns, names = dump.executions, dump.execution_names
    health = _get_execution_health(dump)
    rows = _select(columns.name, [it.op_type for it in names], request, health)
    part = rows[request.offset : request.offset + request.limit]
    described = [names[it] for it in columns.name[part].tolist()]
    return EventColumns(
        cursor,
        len(rows),
        part,
        columns.wall_time[part],
        [it.op_type for it in described],
        ["" for _ in described],
        np.zeros(len(part), np.int32),
        [it.graph for it in described],
        health[part],
    )


def list_traces(cursor: str, dump: DebugDump, request: RowsRequest) -> EventColumns:
    traces = dump.traces
    ops = [dump.find_op(it.graph, it.op) for it in traces.names]
    types = [op.type if op else "" for op in ops]
    texts = [f"{kind} {it.op}" for kind, it in zip(types, traces.names, strict=True)]
    wanted = None
    if request.op_name:
        wanted = [
            index
            for index, it in enumerate(traces.names)
            if it.op == request.op_name and request.graph in ("", it.graph)
        ]
    rows = _select(traces.name, texts, request, traces.health, wanted)
    part = rows[request.offset : request.offset + request.limit]
    ids = traces.name[part].tolist()
    return EventColumns(
        cursor,
        len(rows),
        part,
        traces.wall_time[part],
        [types[it] for it in ids],
        [traces.names[it].op for it in ids],
        np.array([traces.names[it].slot for it in ids], np.int32),
        [traces.names[it].graph for it in ids],
        traces.health[part],
    )


def _select(
    ids: NDArray[Any],
    texts: Sequence[str],
    request: RowsRequest,
    health: NDArray[np.uint8],
    wanted: Sequence[int] | None = None,
) -> Int64:
    """Return the rows that match a request."""
    is_shown = np.ones(len(ids), bool)
    if request.query:
        query = request.query.lower()
        matching = np.array([query in text.lower() for text in (*texts, "")], bool)
        is_shown &= matching[ids]
    if wanted is not None:
        is_shown &= np.isin(ids, wanted)
    if request.only_non_finite:
        is_shown &= health == Health.NON_FINITE
    return np.flatnonzero(is_shown).astype(np.int64)


def _get_execution_health(dump: DebugDump) -> NDArray[np.uint8]:
    """Return the worst health of the outputs of each execution."""
    columns = dump.executions
    result = np.zeros(len(columns.offset), np.uint8)
    rows = np.searchsorted(columns.tensor_end, np.arange(len(columns.health)), "right")
    np.maximum.at(result, rows, columns.health)
    return result


def make_timeline(cursor: str, dump: DebugDump, request: TimelineRequest) -> TimelineResponse:
    executions, traces = dump.executions.wall_time, dump.traces.wall_time
    times = [it for it in (executions, traces) if len(it)]
    if not times:
        empty = np.zeros(request.columns, np.int64)
        return TimelineResponse(cursor, 0.0, 0.0, empty, empty, empty)
    origin = min(float(it.min()) for it in times)
    end = max(float(it.max()) for it in times) - origin
    start_s = 0.0 if request.start_s is None else request.start_s
    end_s = max(end if request.end_s is None else request.end_s, start_s + 1e-6)
    edges = origin + np.linspace(start_s, end_s, request.columns + 1)
    bad = traces[dump.traces.health == Health.NON_FINITE]
    counts = [np.histogram(it, edges)[0].astype(np.int64) for it in (executions, traces, bad)]
    return TimelineResponse(cursor, start_s, end_s, *counts)


def make_event(cursor: str, analysis: DumpAnalysis, request: EventRequest) -> EventResponse:
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


def _make_trace(cursor: str, analysis: DumpAnalysis, request: EventRequest) -> EventResponse:
    dump, row = analysis.dump, request.index
    trace = dump.traces.names[dump.traces.name[row]]
    op = dump.find_op(trace.graph, trace.op)
    return EventResponse(
        cursor,
        request.kind,
        row,
        float(dump.traces.wall_time[row]),
        op.type if op else "",
        trace.op,
        dump.list_outer_graphs(trace.graph),
        trace.device,
        analysis.find_execution(row),
        list(op.inputs) if op else [],
        [],
        [make_summary_row(dump.read_trace_tensor(row), request.first_row)],
        analysis.get_source_lines(op.stack) if op else [],
    )


def _make_execution(cursor: str, analysis: DumpAnalysis, request: EventRequest) -> EventResponse:
    dump, row = analysis.dump, request.index
    name = dump.execution_names[dump.executions.name[row]]
    inputs = analysis.find_eager_inputs(row)
    tensors = dump.read_execution_tensors(row)
    first_rows = [request.first_row if slot == request.slot else 0 for slot in range(len(tensors))]
    return EventResponse(
        cursor,
        request.kind,
        row,
        float(dump.executions.wall_time[row]),
        name.op_type,
        "",
        [name.graph] if name.graph else [],
        dump.devices.get(name.devices[0], "") if name.devices else "",
        None,
        [label for label, _ in inputs],
        [producer for _, producer in inputs],
        [make_summary_row(it, first) for it, first in zip(tensors, first_rows, strict=True)],
        analysis.get_source_lines(name.stack),
    )


def make_summary_row(tensor: TensorSummary, first_row: int) -> TensorSummaryRow:
    lowest = highest = values = None
    rows = 0
    if tensor.value is not None and tensor.value.dtype.kind in "fiub" and tensor.value.size:
        finite = tensor.value[np.isfinite(tensor.value)]
        if finite.size:
            lowest, highest = float(finite.min()), float(finite.max())
        table = tensor.value.reshape(-1, tensor.value.shape[-1] if tensor.value.ndim else 1)
        rows = len(table)
        part = table[first_row : first_row + _MAX_VALUE_ROWS, :_MAX_VALUE_COLUMNS]
        values = np.ascontiguousarray(part, np.float64)
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
        inputs.append(NeighborRow(name, kind, number, health.get((name, number), 0)))
    for other in dump.ops.get(request.graph, {}).values():
        for tensor in other.inputs:
            name, _, slot = tensor.rpartition(":")
            if name == op.name:
                number = int(slot) if slot.isdigit() else 0
                state = health.get((other.name, 0), 0)
                consumers.append(NeighborRow(other.name, other.type, number, state))
    ids = [i for i, it in enumerate(dump.traces.names) if (it.graph, it.op) == (op.graph, op.name)]
    graphs = dump.graphs
    chain = [graphs[it].name for it in dump.list_outer_graphs(op.graph) if it in graphs]
    return OpResponse(
        cursor,
        op.graph,
        [name for name in chain if name],
        op.name,
        op.type,
        inputs,
        consumers,
        int(np.count_nonzero(np.isin(dump.traces.name, ids))),
        analysis.get_source_lines(op.stack),
    )


def _get_last_health(dump: DebugDump, graph: str) -> dict[tuple[str, int], int]:
    """Return the health of the last trace of every tensor of a graph."""
    traces = dump.traces
    last = np.full(len(traces.names) + 1, -1, np.int64)
    last[traces.name] = np.arange(len(traces.name))
    return {
        (it.op, it.slot): int(traces.health[last[index]])
        for index, it in enumerate(traces.names)
        if it.graph == graph and last[index] >= 0
    }
