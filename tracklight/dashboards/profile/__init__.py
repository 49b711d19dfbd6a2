"""The Profile dashboard: where the time and the memory of a program went.

`Profile` lists the tools, and offers captures as files and in static exports. `store` lists
captures, loads them and caches what is computed from them. Each tool is a `store.Tool` with its
routes. The overview, the analysis of the input, the comparison of captures and SQL queries are in
this module; `timeline`, `ops` (also kernels, programs, roofline, PyTorch operators and call tree),
`communication` and `memory` have the others. Requests and responses are in `schemas`, or with the
only tool that uses them.

The computations are in `tracklight.analysis.profiles`. Otherwise, this package may import what
`tracklight.plugin` offers to every dashboard.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Annotated

import msgspec

from tracklight.analysis.profiles.captures.chrome_trace import iter_chrome_trace
from tracklight.analysis.profiles.findings import parse_thresholds
from tracklight.analysis.profiles.findings.input_pipeline import (
    InputAnalysis,
    analyze_input,
    explain_no_input,
)
from tracklight.analysis.profiles.findings.summary import (
    ComparedCapture,
    Comparison,
    ProfileSummary,
    compare_captures,
    is_same_program,
    summarize_analysis,
)
from tracklight.analysis.profiles.profile_data import ProfileData
from tracklight.analysis.profiles.sql import MAX_QUERY_LENGTH, ColumnType, QueryResult
from tracklight.analysis.profiles.steps import StepPart
from tracklight.analysis.profiles.trace import PS_PER_MS
from tracklight.analysis.source import Sentence
from tracklight.dashboards.profile import (
    communication,
    memory,
    ops,
    timeline,
)
from tracklight.dashboards.profile.schemas import (
    CaptureFileRequest,
    CaptureRequest,
    CaptureRow,
    CapturesResponse,
    CaptureUploadRequest,
    HostsResponse,
    HostStepRow,
    OpeningResponse,
    PartColumns,
    SameProgramResponse,
    StepRange,
    StepsResponse,
    ToolsResponse,
    has_version,
    make_baseline_request,
)
from tracklight.dashboards.profile.store import (
    MAX_UPLOAD_BYTES,
    CaptureStore,
    EmptyReason,
    LoadedCapture,
    Tool,
    explain_empty,
    make_tool,
    make_tools_response,
)
from tracklight.errors import TracklightError, UsageError
from tracklight.plugin import Context, Dashboard, Empty, Route, Stream
from tracklight.types import MEMORY_KINDS
from tracklight.util.files import JsonFile

# ---- SQL queries

_MAX_QUERIES = 200

QueryName = Annotated[str, msgspec.Meta(min_length=1, max_length=100)]
QueryText = Annotated[str, msgspec.Meta(max_length=MAX_QUERY_LENGTH)]


class SqlQueryRequest(CaptureRequest):
    """A SELECT statement in the dialect of DuckDB."""

    sql: QueryText = ""


class QueryTableColumn(msgspec.Struct):
    """A column that queries can use."""

    name: str
    type: ColumnType


class QueryTable(msgspec.Struct):
    """A table that queries can read."""

    name: str
    rows: int
    columns: list[QueryTableColumn]


class QueryTablesResponse(msgspec.Struct):
    """The tables of a capture."""

    tables: list[QueryTable]


class SavedQuery(msgspec.Struct):
    """A SQL query that was saved under a name, for all captures."""

    name: str
    sql: str


class SavedQueriesResponse(msgspec.Struct):
    """All saved queries, by name."""

    queries: list[SavedQuery]


class SaveQueryRequest(msgspec.Struct):
    """A query to save under a name; null deletes it."""

    name: QueryName
    sql: QueryText | None = None


class SavedQueryStore:
    """Saved queries, in a file beside the notes on the log.

    All servers of the log share it. Changes raise `SaveError` if it cannot be read or written.
    """

    def __init__(self, path: Path) -> None:
        self._file: JsonFile[list[SavedQuery]] = JsonFile(path, list[SavedQuery], list)

    def get(self) -> SavedQueriesResponse:
        return SavedQueriesResponse(self._file.read())

    def save(self, name: str, sql: str | None) -> SavedQueriesResponse:
        """Save a query under a name, or delete it if it is None."""

        def save(before: list[SavedQuery]) -> list[SavedQuery]:
            queries = [query for query in before if query.name != name]
            if sql is not None:
                queries.append(SavedQuery(name, sql))
            if len(queries) > _MAX_QUERIES:
                raise UsageError(
                    "profile.too_many_queries",
                    "At most {max_queries} queries can be saved. Delete one first",
                    max_queries=_MAX_QUERIES,
                )
            return sorted(queries, key=lambda query: query.name)

        return SavedQueriesResponse(self._file.update(save))


def _make_data(capture: LoadedCapture) -> ProfileData:
    file = capture.file
    return ProfileData(file.run, file.session, file.host, capture)


def _make_query_routes(store: CaptureStore) -> Sequence[Route]:
    saved_queries = SavedQueryStore(store.notes_path.with_suffix(".queries.json"))

    def query(request: SqlQueryRequest) -> QueryResult:
        """Run a SQL query over the events, steps, ops and kernels of a capture.

        It runs in a process without access to files and networks, within limits of time and memory.
        At most 10,000 rows are returned.
        """
        return _make_data(store.load(request)).run_query(request.sql)

    def tables(request: CaptureRequest) -> QueryTablesResponse:
        """Return the tables that queries can read, with their columns."""

        def compute(capture: LoadedCapture) -> QueryTablesResponse:
            return QueryTablesResponse([
                QueryTable(
                    name,
                    len(table),
                    [QueryTableColumn(*column) for column in table.get_column_types().items()],
                )
                for name, table in _make_data(capture).query_tables.items()
            ])  # fmt: skip

        return store.get_or_compute(request, "query_tables", QueryTablesResponse, compute)

    def saved(request: Empty) -> SavedQueriesResponse:
        """Return the saved queries."""
        return saved_queries.get()

    def save(request: SaveQueryRequest) -> SavedQueriesResponse:
        """Save a query under a name, or delete it."""
        return saved_queries.save(request.name, request.sql)

    return [
        Route("query", SqlQueryRequest, query),
        Route("query/tables", CaptureRequest, tables, "GET", immutable=has_version),
        Route("query/saved", Empty, saved, "GET"),
        Route("query/save", SaveQueryRequest, save, mutates=True),
    ]


def _iter_query_static(
    store: CaptureStore, request: CaptureRequest
) -> Iterator[tuple[str, object]]:
    """Yield nothing: queries need a server."""
    return iter(())


QUERY_TOOL = Tool("query", _make_query_routes, explain_empty, _iter_query_static)


# ---- overview, input analysis, comparison and hosts


#: A static export contains comparisons with this many other captures.
_MAX_STATIC_BASELINES = 4


# ---- overview and steps


def get_overview(
    store: CaptureStore, request: CaptureRequest, as_task: bool = False
) -> ProfileSummary:
    compute = partial(_summarize, request)
    return store.get_or_compute(request, "overview", ProfileSummary, compute, as_task)


def _summarize(request: CaptureRequest, capture: LoadedCapture) -> ProfileSummary:
    return summarize_analysis(
        capture.trace,
        capture.analyze_steps(request.marker, request.rules),
        capture.get_op_stats(request.rules),
        parse_thresholds(request.thresholds),
    )


def get_steps_response(store: CaptureStore, request: CaptureRequest) -> StepsResponse:
    def compute(capture: LoadedCapture) -> StepsResponse:
        analysis = capture.analyze_steps(request.marker, request.rules)
        steps, breakdown = analysis.steps, analysis.breakdown
        start, stop, _ = analysis.averaged_slice.indices(len(steps.names))
        return StepsResponse(
            names=list(steps.names),
            start_ms=steps.spans[:, 0] / PS_PER_MS,
            total_ms=breakdown.total_ps / PS_PER_MS,
            parts=[
                PartColumns(
                    name=part.name.lower(),
                    label=Sentence.make(part.label),
                    exclusive_ms=breakdown.exclusive_ps[:, part] / PS_PER_MS,
                    inclusive_ms=breakdown.inclusive_ps[:, part] / PS_PER_MS,
                )
                for part in StepPart
            ],
            other_ms=breakdown.other_ps / PS_PER_MS,
            averaged=StepRange(start, stop),
        )

    return store.get_or_compute(request, "steps", StepsResponse, compute)


def _make_overview_routes(store: CaptureStore) -> Sequence[Route]:
    def overview(request: CaptureRequest) -> ProfileSummary:
        """Return the overview of a capture: steps, where their time went, and findings."""
        return get_overview(store, request)

    def steps(request: CaptureRequest) -> StepsResponse:
        """Return what the time of every step went into."""
        return get_steps_response(store, request)

    return [
        Route("overview", CaptureRequest, overview, "GET", immutable=has_version),
        Route("steps", CaptureRequest, steps, "GET", immutable=has_version),
    ]


def _iter_overview_static(
    store: CaptureStore, request: CaptureRequest
) -> Iterator[tuple[str, object]]:
    yield f"overview?capture={request.capture}", get_overview(store, request)
    yield f"steps?capture={request.capture}", get_steps_response(store, request)


OVERVIEW_TOOL = Tool("overview", _make_overview_routes, explain_empty, _iter_overview_static)


# ---- hosts


def get_hosts_response(
    context: Context, store: CaptureStore, request: CaptureRequest
) -> HostsResponse:
    """Return the average step of every host of a capture, as the slowest one delays the others."""
    return HostsResponse(list(_iter_host_rows(context, store, request)))


def _iter_host_rows(
    context: Context, store: CaptureStore, request: CaptureRequest
) -> Iterator[HostStepRow]:
    def summarize(host: str) -> ProfileSummary:
        host_request = CaptureRequest(request.capture, host, request.marker, request.rules)
        return get_overview(store, host_request, as_task=True)

    for host, summary in store.map_hosts(request.capture, summarize):
        if isinstance(summary, Exception):
            yield HostStepRow(host, None, {}, context.describe_error(summary))
            continue
        parts_ms = {part.name: part.ms for part in summary.parts}
        yield HostStepRow(host, summary.steps.mean_ms, parts_ms, None)


# ---- input analysis


def get_input_analysis(store: CaptureStore, request: CaptureRequest) -> InputAnalysis:
    """Return how long the program waited for input, stage by stage."""

    def compute(capture: LoadedCapture) -> InputAnalysis:
        analysis = capture.analyze_steps(request.marker, request.rules)
        findings = get_overview(store, request).findings
        return analyze_input(capture.trace, analysis, capture.framework, findings)

    return store.get_or_compute(request, "input", InputAnalysis, compute)


def _explain_no_input(capture: LoadedCapture) -> EmptyReason | None:
    if (empty := explain_empty(capture)) is not None:
        return empty
    message = explain_no_input(capture.trace, capture.analyze_steps(), capture.framework)
    return EmptyReason(message) if message else None


INPUT_TOOL = make_tool("input", CaptureRequest, get_input_analysis, _explain_no_input)


# ---- comparison


def get_comparison(store: CaptureStore, request: CaptureRequest) -> Comparison:
    """Compare a capture with the one that the request names as ``baseline``.

    Raises:
        UsageError: The request names no other capture.
    """
    baseline = _get_baseline_request(request)
    return compare_captures(_get_compared(store, baseline), _get_compared(store, request))


def get_same_program_response(store: CaptureStore, request: CaptureRequest) -> SameProgramResponse:
    """Return whether a capture and its baseline are of the same program.

    Raises:
        UsageError: The request names no other capture.
    """
    requests = (_get_baseline_request(request), request)
    before, after = (store.load(item).get_op_stats() for item in requests)
    return SameProgramResponse(is_same_program(before, after))


def _get_baseline_request(request: CaptureRequest) -> CaptureRequest:
    if not request.baseline:
        raise UsageError(
            "profile.no_baseline", 'There is nothing to compare with. Pass a capture id as "before"'
        )
    return make_baseline_request(request)


def _get_compared(store: CaptureStore, request: CaptureRequest) -> ComparedCapture:
    op_stats = store.load(request).get_op_stats(request.rules)
    return ComparedCapture(get_overview(store, request), op_stats)


def _make_compare_routes(store: CaptureStore) -> Sequence[Route]:
    def comparison(request: CaptureRequest) -> Comparison:
        """Return what changed since another capture: parts of a step, ops and findings."""
        return get_comparison(store, request)

    def same_program(request: CaptureRequest) -> SameProgramResponse:
        """Return whether another capture is of the same program."""
        return get_same_program_response(store, request)

    return [
        Route("compare", CaptureRequest, comparison, "GET"),
        Route("compare/same-program", CaptureRequest, same_program, "GET"),
    ]


def _iter_compare_static(
    store: CaptureStore, request: CaptureRequest
) -> Iterator[tuple[str, object]]:
    rows = store.listing.list_captures().captures
    others = [row.id for row in rows if row.id != request.capture and row.kind not in MEMORY_KINDS]
    for before in others[:_MAX_STATIC_BASELINES]:
        with suppress(TracklightError, OSError):
            comparison = get_comparison(store, CaptureRequest(request.capture, baseline=before))
            yield f"compare?capture={request.capture}&baseline={before}", comparison


COMPARE_TOOL = Tool("compare", _make_compare_routes, explain_empty, _iter_compare_static)


# ---- the dashboard

#: In display order.
TOOLS: tuple[Tool, ...] = (
    OVERVIEW_TOOL,
    INPUT_TOOL,
    timeline.TIMELINE_TOOL,
    ops.CALL_TREE_TOOL,
    ops.OPS_TOOL,
    ops.OPERATORS_TOOL,
    ops.KERNELS_TOOL,
    communication.COMMUNICATION_TOOL,
    memory.MEMORY_TOOL,
    ops.PROGRAM_TOOL,
    ops.ROOFLINE_TOOL,
    QUERY_TOOL,
    COMPARE_TOOL,
)

_UNSAFE_CHARACTERS = re.compile(r"[^\w.-]+")
_CHUNK_BYTES = 1 << 20


class Profile(Dashboard):
    """Shows the captures of profilers. Each capture is read once for all tools."""

    name = "profile"
    title = "Profile"
    plugins = ("profile",)
    files = ("captures",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._store = CaptureStore(context)

    def routes(self) -> Sequence[Route]:
        return [
            Route("captures", Empty, self.captures, "GET"),
            Route("opening", CaptureRequest, self.opening, "GET"),
            Route("tools", CaptureRequest, self.tools, "GET", immutable=has_version),
            Route("hosts", CaptureRequest, self.hosts, "GET"),
            Route("file", CaptureFileRequest, self.file, "GET"),
            Route(
                "upload",
                CaptureUploadRequest,
                self.upload,
                mutates=True,
                upload_bytes=MAX_UPLOAD_BYTES,
            ),
            *(route for tool in TOOLS for route in tool.make_routes(self._store)),
        ]

    def export_static(self, runs: Sequence[str]) -> Iterator[tuple[str, object]]:
        return iter_static_responses(self.context, self._store, runs)

    def captures(self, request: Empty) -> CapturesResponse:
        """List all captures of the log, by run and time."""
        return self._store.listing.list_captures()

    def opening(self, request: CaptureRequest) -> OpeningResponse:
        """Return the progress of reading a capture, without starting to read it."""
        return self._store.get_opening(request)

    def tools(self, request: CaptureRequest) -> ToolsResponse:
        """List the tools, and why some of them have nothing to show of a capture."""
        return self._store.get_or_compute(
            request, "tools", ToolsResponse, lambda capture: make_tools_response(TOOLS, capture)
        )

    def hosts(self, request: CaptureRequest) -> HostsResponse:
        """Return the average step of every host of a capture."""
        return get_hosts_response(self.context, self._store, request)

    def file(self, request: CaptureFileRequest) -> Stream:
        """Download a capture file as it is, or in the Chrome trace format for Perfetto."""
        return make_file_stream(self._store, request)

    def upload(self, request: CaptureUploadRequest) -> CaptureRow:
        """Open a capture file: XPlane, Chrome trace or memory profile.

        It is kept until the server stops or eight other files have been uploaded.
        """
        return self._store.upload(request.name, request.body)


def make_file_stream(store: CaptureStore, request: CaptureFileRequest) -> Stream:
    file = store.listing.get_file(request.capture, request.host)
    if request.format == "original":
        filename = re.split(r"[/\\]", file.path)[-1]
        if file.session not in filename:
            filename = f"{file.run}-{file.session}-{filename}"
        chunks = _iter_file_chunks(store, request)
        return Stream(chunks, "application/octet-stream", _UNSAFE_CHARACTERS.sub("-", filename))
    # Load the trace now: once the first chunk is sent, errors cannot be reported any more.
    trace = store.load(request).trace
    name = _UNSAFE_CHARACTERS.sub("-", f"{file.run}-{file.session}-{file.host}").strip("-.")
    filename = f"{name or 'trace'}.trace.json.gz"
    return Stream(iter_chrome_trace(trace), "application/gzip", filename)


def _iter_file_chunks(store: CaptureStore, request: CaptureFileRequest) -> Iterator[bytes]:
    with store.open_file(request) as path, path.open("rb") as file:
        while chunk := file.read(_CHUNK_BYTES):
            yield chunk


def iter_static_responses(
    context: Context, store: CaptureStore, runs: Sequence[str]
) -> Iterator[tuple[str, object]]:
    """Yield what a static export contains of some runs: the default view of every tool."""
    listing = store.listing.list_captures()
    listing.captures = [row for row in listing.captures if row.run in frozenset(runs)]
    if not listing.captures:
        return
    for row in listing.captures:
        row.version = None
    yield "captures", listing
    for row in listing.captures:
        request = CaptureRequest(row.id)
        try:
            capture = store.load(request)
        except (TracklightError, OSError):
            continue  # the page says that the export does not contain it
        yield f"tools?capture={row.id}", make_tools_response(TOOLS, capture)
        if len(row.hosts) > 1:
            yield f"hosts?capture={row.id}", get_hosts_response(context, store, request)
        for tool in TOOLS:
            if tool.explain_empty(capture) is None:
                yield from tool.iter_static_responses(store, request)
