"""Build the responses that dumps and recordings have in common."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

import msgspec
import numpy as np

from tracklight.analysis.debugger.alerts import AlertKind, HealthAlert
from tracklight.analysis.debugger.dump import TensorSummary
from tracklight.analysis.debugger.dump_alerts import DumpAlerts
from tracklight.analysis.debugger.library import Analysis
from tracklight.analysis.debugger.recording import Recording
from tracklight.analysis.debugger.recording_analysis import RecordingAnalysis
from tracklight.analysis.source import Sentence
from tracklight.dashboards.debugger.schemas import (
    DebugAlertsRequest,
    DebugAlertsResponse,
    DebugOverviewResponse,
    DebugSourceRow,
    DumpDamageRow,
    StatCurve,
    TensorSummaryRow,
)
from tracklight.formats.debug_events.columns import TensorDebugMode
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
