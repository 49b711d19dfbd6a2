"""The Debugger dashboard: what went wrong with the numbers of a program.

`Debugger` declares the routes. `schemas` are the requests and responses; `responses` builds the
responses from the analyses in `tracklight.analysis.debugger`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import permutations
from urllib.parse import quote

from tracklight.analysis.debugger import RootCause
from tracklight.analysis.debugger.dump_analysis import DumpAnalysis
from tracklight.analysis.debugger.library import DebuggerLibrary
from tracklight.analysis.debugger.recording import RecordingAnalysis
from tracklight.dashboards.debugger import responses
from tracklight.dashboards.debugger.schemas import (
    AlertExportRequest,
    CompareDumpsResponse,
    CompareRecordingsResponse,
    CompareSourcesRequest,
    DebugAlertsRequest,
    DebugAlertsResponse,
    DebugEventRequest,
    DebugEventResponse,
    DebugOverviewResponse,
    DebugSourceRequest,
    DebugSourceRow,
    DebugSourcesResponse,
    EventColumns,
    ExecutionTimelineRequest,
    ExecutionTimelineResponse,
    HeatmapRequest,
    HeatmapResponse,
    OpRequest,
    OpResponse,
    RowsRequest,
    SourceFileRequest,
    SourceFileResponse,
    Statistic,
    StoredValueRequest,
    StoredValueResponse,
    TensorHistogramRequest,
    TensorHistogramResponse,
    WatchedTensorRequest,
    WatchedTensorResponse,
)
from tracklight.errors import LogError, TracklightError
from tracklight.formats.tensor_health import PLUGIN
from tracklight.plugin import Context, Dashboard, Empty, Route, Stream
from tracklight.util.parsing import is_library_path

#: Heat maps of a static export, which has no more than the page needs at first.
_EXPORTED_STATS: tuple[Statistic, ...] = ("norm", "max", "std", "dead", "non_finite")
#: Alerts, executions, traces and source files of a static export.
_MAX_EXPORTED_ALERTS = 1000
_MAX_EXPORTED_ROWS = 2000
_MAX_EXPORTED_FILES = 50
#: Dumps, and recordings, that can be compared with each other in a static export.
_MAX_COMPARED = 6


class Debugger(Dashboard):
    """Root cause, alerts and details of dumps and recordings."""

    name = "debugger"
    title = "Debugger"
    plugins = (PLUGIN,)
    files = ("debug_files",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._library = DebuggerLibrary(context.log)

    def routes(self) -> Sequence[Route]:
        return [
            Route("sources", Empty, self.sources, "GET"),
            Route("overview", DebugSourceRequest, self.overview, "GET"),
            Route("alerts", DebugAlertsRequest, self.alerts),
            Route("heatmap", HeatmapRequest, self.heatmap),
            Route("tensor", WatchedTensorRequest, self.tensor, "GET"),
            Route("executions", RowsRequest, self.executions),
            Route("graph_executions", RowsRequest, self.graph_executions),
            Route("timeline", ExecutionTimelineRequest, self.timeline),
            Route("event", DebugEventRequest, self.event, "GET"),
            Route("value", StoredValueRequest, self.value, "GET"),
            Route("histogram", TensorHistogramRequest, self.histogram, "GET"),
            Route("op", OpRequest, self.op, "GET"),
            Route("source_file", SourceFileRequest, self.source_file, "GET"),
            Route("compare", CompareSourcesRequest, self.compare),
            Route("compare_dumps", CompareSourcesRequest, self.compare_dumps),
            Route("export", AlertExportRequest, self.export, "GET"),
        ]

    def export_static(self, runs: Sequence[str]) -> Iterator[tuple[str, object]]:
        listing = self.sources(Empty())
        listing.sources = [row for row in listing.sources if row.run in frozenset(runs)]
        if not listing.sources:
            return
        yield "sources", listing
        for row in listing.sources:
            if row.problem is not None:
                continue
            name = quote(row.name, safe="")
            overview = self.overview(DebugSourceRequest(row.name))
            yield f"overview?source={name}", overview
            alerts = DebugAlertsRequest(row.name, limit=_MAX_EXPORTED_ALERTS)
            yield f"alerts?source={name}", self.alerts(alerts)
            if row.kind == "recording":
                for stat in _EXPORTED_STATS:
                    heatmap = self.heatmap(HeatmapRequest(row.name, stat=stat))
                    yield f"heatmap?source={name}&stat={stat}", heatmap
            else:
                rows = RowsRequest(row.name, limit=_MAX_EXPORTED_ROWS)
                yield f"executions?source={name}", self.executions(rows)
                yield f"graph_executions?source={name}", self.graph_executions(rows)
                timeline = self.timeline(ExecutionTimelineRequest(row.name))
                yield f"timeline?source={name}", timeline
            for path in self._list_exported_files(overview):
                query = f"source={name}&path={quote(path, safe='')}"
                yield f"source_file?{query}", self.source_file(SourceFileRequest(row.name, path))
            cause = overview.root_cause
            if cause is not None:
                yield from self._export_cause(name, row.name, cause)
        readable = [row for row in listing.sources if row.problem is None]
        yield from self._export_comparisons(readable)

    def _export_comparisons(self, rows: Sequence[DebugSourceRow]) -> Iterator[tuple[str, object]]:
        """Yield the comparison of each of the first sources of a kind with each other one."""
        for kind in ("recording", "dump"):
            names = [row.name for row in rows if row.kind == kind][:_MAX_COMPARED]
            for first, second in permutations(names, 2):
                query = f"first={quote(first, safe='')}&second={quote(second, safe='')}"
                request = CompareSourcesRequest(first, second)
                if kind == "dump":
                    yield f"compare_dumps?{query}", self.compare_dumps(request)
                else:
                    yield f"compare?{query}", self.compare(request)

    @staticmethod
    def _list_exported_files(overview: DebugOverviewResponse) -> list[str]:
        """Return the paths of the user's program; those of the root cause first."""
        cause = overview.root_cause
        frames = [item.path for item in reversed(cause.stack)] if cause is not None else []
        stored = [path for _, path in overview.source_files]
        paths = [
            item for item in (*frames, *stored) if item in stored and not is_library_path(item)
        ]
        return list(dict.fromkeys(paths))[:_MAX_EXPORTED_FILES]

    def _export_cause(
        self, query: str, source: str, cause: RootCause
    ) -> Iterator[tuple[str, object]]:
        """Yield the details of the root cause, as the page requests them."""
        if cause.tensor is not None:
            request = WatchedTensorRequest(source, cause.tensor)
            yield f"tensor?source={query}&tensor={cause.tensor}", self.tensor(request)
        if cause.graph_execution is not None:
            index = cause.graph_execution
            event = self.event(DebugEventRequest(source, "graph_execution", index))
            yield f"event?source={query}&kind=graph_execution&index={index}", event
            if event.graphs:
                op = OpRequest(source, event.graphs[-1], event.op_name)
                graph, op_name = quote(op.graph, safe=""), quote(op.op_name, safe="")
                yield f"op?source={query}&graph={graph}&op_name={op_name}", self.op(op)
        elif cause.execution is not None:
            event = self.event(DebugEventRequest(source, "execution", cause.execution))
            yield f"event?source={query}&kind=execution&index={cause.execution}", event

    def sources(self, request: Empty) -> DebugSourcesResponse:
        """List all dumps and recordings of the log."""
        cursor = self.context.cursor()
        return DebugSourcesResponse(
            cursor, [self._make_row(name) for name in self._library.list_names()]
        )

    def overview(self, request: DebugSourceRequest) -> DebugOverviewResponse:
        """Return the root cause and the number of alerts of each kind."""
        cursor = self.context.cursor()
        analysis = self._library.get(request.source)
        return responses.make_overview(cursor, self._make_row(request.source), analysis)

    def alerts(self, request: DebugAlertsRequest) -> DebugAlertsResponse:
        """Return alerts in chronological order, filtered by kind, name, dtype and step."""
        cursor = self.context.cursor()
        return responses.select_alerts(cursor, self._library.get(request.source), request)

    def heatmap(self, request: HeatmapRequest) -> HeatmapResponse:
        """Return a statistic of all tensors of a recording over its steps."""
        cursor = self.context.cursor()
        return responses.make_heatmap(cursor, self._get_recording(request.source), request)

    def tensor(self, request: WatchedTensorRequest) -> WatchedTensorResponse:
        """Return all statistics of one tensor of a recording."""
        cursor = self.context.cursor()
        return responses.make_tensor(cursor, self._get_recording(request.source), request.tensor)

    def executions(self, request: RowsRequest) -> EventColumns:
        """Return executions of a dump."""
        cursor = self.context.cursor()
        return responses.list_rows(cursor, self._get_dump(request.source).execution_rows, request)

    def graph_executions(self, request: RowsRequest) -> EventColumns:
        """Return graph execution traces of a dump."""
        cursor = self.context.cursor()
        return responses.list_rows(cursor, self._get_dump(request.source).trace_rows, request)

    def timeline(self, request: ExecutionTimelineRequest) -> ExecutionTimelineResponse:
        """Return the number of executions and traces of a dump over time."""
        cursor = self.context.cursor()
        return responses.make_timeline(cursor, self._get_dump(request.source).dump, request)

    def event(self, request: DebugEventRequest) -> DebugEventResponse:
        """Return an execution or trace with its tensors, inputs and stack."""
        cursor = self.context.cursor()
        return responses.make_event(cursor, self._get_dump(request.source), request)

    def value(self, request: StoredValueRequest) -> StoredValueResponse:
        """Return a tensor that a recording stored when a value became non-finite."""
        cursor = self.context.cursor()
        return responses.read_value(cursor, self._get_recording(request.source), request)

    def histogram(self, request: TensorHistogramRequest) -> TensorHistogramResponse:
        """Return histograms of the values of a tensor of a graph over its executions."""
        cursor = self.context.cursor()
        return responses.make_histogram(cursor, self._get_dump(request.source), request)

    def op(self, request: OpRequest) -> OpResponse:
        """Return an operation of a graph with its neighbors."""
        cursor = self.context.cursor()
        return responses.make_op(cursor, self._get_dump(request.source), request)

    def source_file(self, request: SourceFileRequest) -> SourceFileResponse:
        """Return a source file as it was when the program ran."""
        analysis = self._library.get(request.source)
        if isinstance(analysis, DumpAnalysis):
            lines = analysis.dump.read_source_lines(request.path, request.host)
        else:
            text = analysis.recording.source_files.get(request.path)
            lines = None if text is None else text.splitlines()
        return SourceFileResponse(request.path, lines)

    def compare(self, request: CompareSourcesRequest) -> CompareRecordingsResponse:
        """Return where two recordings first differ."""
        cursor = self.context.cursor()
        first, second = self._get_recording(request.first), self._get_recording(request.second)
        return responses.compare_recordings(cursor, first, second, request)

    def compare_dumps(self, request: CompareSourcesRequest) -> CompareDumpsResponse:
        """Return where two dumps first differ."""
        cursor = self.context.cursor()
        first, second = self._get_dump(request.first), self._get_dump(request.second)
        return responses.compare_dump_analyses(cursor, first, second, request)

    def export(self, request: AlertExportRequest) -> Stream:
        """Download all alerts as CSV or JSON."""
        analysis = self._library.get(request.source)
        name = re.sub(r"[^\w.-]+", "-", request.source).strip("-.") or "debugger"
        if request.format == "csv":
            return Stream(responses.iter_alerts_csv(analysis), "text/csv", f"{name}-alerts.csv")
        chunks = responses.iter_alerts_json(analysis)
        return Stream(chunks, "application/json", f"{name}-alerts.json")

    def _make_row(self, name: str) -> DebugSourceRow:
        run = self._library.get_run(name)
        try:
            summary = self._library.summarize(name)
            return DebugSourceRow(name, run, *summary)
        except (TracklightError, OSError) as error:
            problem = self.context.describe_error(error)
            return DebugSourceRow(name, run, "dump", "", "", problem=problem)

    def _get_dump(self, name: str) -> DumpAnalysis:
        analysis = self._library.get(name)
        if not isinstance(analysis, DumpAnalysis):
            raise LogError(f'"{name}" is a recording, which has no executions')
        return analysis

    def _get_recording(self, name: str) -> RecordingAnalysis:
        analysis = self._library.get(name)
        if not isinstance(analysis, RecordingAnalysis):
            raise LogError(f'"{name}" is a dump, which has no statistics over steps')
        return analysis
