"""Build responses about dumps of TensorFlow's debugger."""

from __future__ import annotations

import numpy as np

from tracklight.analysis.debugger.dump import DebugDump
from tracklight.analysis.debugger.dump_analysis import DumpAnalysis
from tracklight.analysis.debugger.dump_comparison import compare_dumps
from tracklight.analysis.debugger.dump_rows import EventRows, find_neighborhood
from tracklight.dashboards.debugger.responses import make_summary_row
from tracklight.dashboards.debugger.schemas import (
    CompareDumpsResponse,
    CompareSourcesRequest,
    DebugEventRequest,
    DebugEventResponse,
    DumpDifferenceRow,
    EventColumns,
    ExecutionTimelineRequest,
    ExecutionTimelineResponse,
    NeighborhoodGraph,
    NeighborhoodNode,
    OpNeighborRow,
    OpRequest,
    OpResponse,
    RowsRequest,
    TensorHistogramRequest,
    TensorHistogramResponse,
)
from tracklight.errors import UsageError
from tracklight.formats.debug_events import GraphOp, Health

#: Executions in the histogram of a tensor, and bins of each.
_MAX_HISTOGRAMS = 60
_HISTOGRAM_BINS = 40
#: Nodes of the graph around an operation.
_MAX_NEIGHBORS = 40


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
    names = [rows.names[it] for it in rows.ids[part].tolist()]
    return EventColumns(
        cursor,
        total,
        part,
        rows.wall_time[part],
        [it.op_type for it in names],
        [it.op_name for it in names],
        np.array([it.slot for it in names], np.int32),
        [it.graph for it in names],
        rows.health[part],
        position,
    )


def make_timeline(
    cursor: str, dump: DebugDump, request: ExecutionTimelineRequest
) -> ExecutionTimelineResponse:
    executions, traces = dump.executions.wall_time, dump.traces.wall_time
    times = [it for it in (executions, traces) if len(it)]
    if not times:
        empty = np.zeros(request.columns, np.int64)
        return ExecutionTimelineResponse(cursor, 0.0, 0.0, empty, empty, empty)
    origin = min(float(it.min()) for it in times)
    end = max(float(it.max()) for it in times) - origin
    start_s = 0.0 if request.start_s is None else request.start_s
    end_s = max(end if request.end_s is None else request.end_s, start_s + 1e-6)
    edges = origin + np.linspace(start_s, end_s, request.columns + 1)
    bad = traces[dump.traces.health == Health.NON_FINITE]
    counts = [np.histogram(it, edges)[0].astype(np.int64) for it in (executions, traces, bad)]
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
    known = [it for it in finite if it.size]
    low = min((float(it.min()) for it in known), default=0.0)
    high = max((float(it.max()) for it in known), default=1.0)
    edges = np.linspace(low, high if high > low else low + 1, _HISTOGRAM_BINS + 1)
    counts = [np.histogram(it, edges)[0] for it in finite]
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
        [make_summary_row(it, first) for it, first in zip(tensors, first_rows, strict=True)],
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
    neighborhood = _make_neighborhood(dump, op, health)
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
        neighborhood,
        int(np.count_nonzero(np.isin(dump.traces.name, ids))),
        analysis.get_source_lines(op.stack),
    )


def _make_neighborhood(
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
    found = find_neighborhood(
        center.name,
        lambda name: [it for it in _list_input_names(ops[name]) if it in ops],
        lambda name: consumers.get(name, ()),
        _MAX_NEIGHBORS,
    )
    nodes = [
        NeighborhoodNode(name, ops[name].type, "", health_by_op.get(name, 0))
        for name in found.nodes
    ]
    return NeighborhoodGraph(nodes, found.edges, found.is_truncated)


def _list_input_names(op: GraphOp) -> list[str]:
    return list(dict.fromkeys(it.rpartition(":")[0] for it in op.inputs))


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


def compare(
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
