"""The HParams dashboard: sessions with their hyperparameters and metrics, and their importance.

`HParams` declares the routes. `schemas` has the requests and responses, `responses` builds them
from a `tracklight.analysis.experiments.session_store.SessionStore`, `queries` selects rows of the
table for pages that do not load all of them. `make_wide_table` is also the table of
``tracklight export --kind hparams``. Like all dashboards, it may import `tracklight.plugin`,
`analysis`, `index` and below, but not the server.
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterator, Sequence
from urllib.parse import quote

import msgspec
import numpy as np

from tracklight.analysis.experiments.columns import (
    Aggregation,
    Metric,
    ReductionKind,
    make_reduction,
)
from tracklight.analysis.experiments.session_store import SessionSnapshot, SessionStore
from tracklight.dashboards.hparams.queries import (
    TrialRows,
    TrialTable,
    make_facets_response,
    make_trials_response,
)
from tracklight.dashboards.hparams.responses import (
    SessionTable,
    make_importance_response,
    make_sessions_response,
    make_sparklines_response,
    select_rows,
)
from tracklight.dashboards.hparams.schemas import (
    ExportRequest,
    FacetsRequest,
    FacetsResponse,
    ImportanceRequest,
    ImportanceResponse,
    ReductionRequest,
    SessionsRequest,
    SessionsResponse,
    SparklinesRequest,
    SparklinesResponse,
    TrialQuery,
    TrialsRequest,
    TrialsResponse,
)
from tracklight.errors import UsageError
from tracklight.formats.hparams import Status
from tracklight.plugin import Blob, Context, Dashboard, Route
from tracklight.types import Float64, Int64
from tracklight.util.frames import ExportCell, ExportTable, format_iso_time, write_table
from tracklight.util.memory import LruCache

#: Smaller logs respond fast enough without preparation.
MIN_RUNS_TO_PREPARE = 1000
#: The page requests some trials of larger logs instead of all.
MAX_RUNS_OF_ALL_TRIALS = 10_000
#: Tables that are kept, with different reductions or studies.
_MAX_CACHED_TABLES = 4
#: Results of queries that are kept. The pages of a table, its sample and its facets have the same.
_MAX_CACHED_ROWS = 8


class HParams(Dashboard):
    """Serves the table of all sessions as columns, and what can be computed from it."""

    name = "hparams"
    title = "HParams"
    plugins = ("hparams",)
    files = ("settings", "study_files")

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._store = SessionStore(context)
        self._cached_sessions: tuple[SessionSnapshot, SessionsRequest, SessionsResponse] | None = (
            None
        )
        self._tables = LruCache[bytes, TrialTable](max_items=_MAX_CACHED_TABLES)
        self._rows = LruCache[bytes, TrialRows](max_items=_MAX_CACHED_ROWS)

    def routes(self) -> Sequence[Route]:
        return [
            Route("sessions", SessionsRequest, self.sessions, "GET"),
            Route("trials", TrialsRequest, self.trials),
            Route("facets", FacetsRequest, self.facets),
            Route("importance", ImportanceRequest, self.importance),
            Route("importance", ImportanceRequest, self.importance, "GET"),
            Route("sparklines", SparklinesRequest, self.sparklines),
            Route("sparklines", SparklinesRequest, self.sparklines, "GET"),
            Route("export", ExportRequest, self.export),
            Route("export", ExportRequest, self.export, "GET"),
        ]

    def prepare(self) -> None:
        runs = len(self.context.log.runs())
        if runs > MAX_RUNS_OF_ALL_TRIALS:
            self.trials(TrialsRequest())
        elif runs >= MIN_RUNS_TO_PREPARE:
            self.sessions(SessionsRequest())

    def export_static(self, runs: Sequence[str]) -> Iterator[tuple[str, object]]:
        return iter_static_responses(self.context, self._store)

    def sessions(self, request: SessionsRequest) -> SessionsResponse:
        """Return all sessions with their hyperparameters and metrics, or the changed ones."""
        snapshot, cached = self._store.get_snapshot(), self._cached_sessions
        if cached is None or cached[0] is not snapshot or cached[1] != request:
            cached = snapshot, request, make_sessions_response(self._store, request)
            self._cached_sessions = cached
        return cached[2]

    def trials(self, request: TrialsRequest) -> TrialsResponse:
        """Return one page of the trials that match, and a sample of them for plots."""
        return make_trials_response(self._select_trials(request), request)

    def facets(self, request: FacetsRequest) -> FacetsResponse:
        """Return the distributions of some columns, of all trials and of those that match."""
        return make_facets_response(self._select_trials(request), request)

    def importance(self, request: ImportanceRequest) -> ImportanceResponse:
        """Return the importance of each hyperparameter for a metric, and how reliable it is."""
        table, rows = self._select_rows(request, request.sessions, request.query)
        return make_importance_response(table, request, rows)

    def sparklines(self, request: SparklinesRequest) -> SparklinesResponse:
        """Return the curves of a metric, downsampled to a few points."""
        return make_sparklines_response(self.context, self._store, request)

    def export(self, request: ExportRequest) -> Blob:
        """Return the whole table as CSV, JSON, LaTeX or Markdown."""
        table, rows = self._select_rows(request, request.sessions, request.query)
        exported = make_export_table(table, request, rows)
        return Blob(*write_table(exported, request.format, "hparams"))

    def _select_rows(
        self, request: ReductionRequest, names: list[str] | None, query: TrialQuery | None
    ) -> tuple[SessionTable, Int64]:
        """Return a table, and the rows that are named or match a query, in its order."""
        if query is not None:
            rows = self._select_trials(query)
            return rows.trials.table, rows.ordered
        table = self._get_table(request).table
        return table, select_rows(table, names)

    def _select_trials(self, query: TrialQuery) -> TrialRows:
        """Return the rows that match; those of the last queries are kept until the log changes."""
        trials = self._get_table(query)
        plain = msgspec.convert(query, TrialQuery, from_attributes=True)
        key = msgspec.msgpack.encode(plain)
        rows = self._rows.find(key)
        # Which runs match can change without the log: with a note, or with time.
        if rows is None or rows.trials is not trials or plain.runs is not None:
            rows = TrialRows(trials, plain, self.context)
            self._rows.put(key, rows)
        return rows

    def _get_table(self, request: ReductionRequest) -> TrialTable:
        plain = msgspec.convert(request, ReductionRequest, from_attributes=True)
        key = msgspec.msgpack.encode(plain)
        snapshot = self._store.get_snapshot()
        trials = self._tables.find(key)
        if trials is None or not trials.table.is_of(snapshot):
            reduction = plain.get_reduction()
            table = SessionTable(self._store, reduction, plain.aggregation, plain.study)
            trials = TrialTable(table)
            self._tables.put(key, trials)
        return trials


# ---- export of the table

_SESSION_COLUMNS = ("name", "study", "group", "status", "start", "end", "duration")


def make_export_table(table: SessionTable, request: ExportRequest, rows: Int64) -> ExportTable:
    """Return some rows with the requested columns.

    Raises:
        UsageError: A column does not exist.
    """
    builder = _ColumnBuilder(table, rows)
    keys = request.columns or _list_column_keys(table)
    return _make_table([builder.make(key) for key in keys])


def make_wide_table(
    context: Context, runs: Container[str] | None, tags: Container[str] | None
) -> ExportTable:
    """Return one row for each session, with columns ``hparams.NAME`` and ``metrics.NAME``.

    Columns without any value are left out.

    Args:
        context: The log.
        runs: Only sessions that have one of these runs; None for all.
        tags: Only metrics with these tags; None for all.
    """
    table = SessionTable(SessionStore(context), make_reduction("last", 1, 0), None)
    snapshot = table.snapshot
    rows = [
        row
        for row, session in enumerate(snapshot.sessions)
        if runs is None
        or session.name in runs
        or any(run in runs for run in snapshot.session_runs.get(session.name, ()))
    ]
    builder = _ColumnBuilder(table, np.array(rows, np.int64))
    columns = [("run", builder.make("name")[1])]
    columns += [builder.make(key) for key in ("group", "status", "start", "end")]
    for hparam in snapshot.hparams:
        columns.append((f"hparams.{hparam.name}", builder.make(f"hparam:{hparam.name}")[1]))
    for metric in snapshot.metrics:
        if tags is None or metric.tag in tags:
            name = f"{metric.group}/{metric.tag}" if metric.group else metric.tag
            columns.append((f"metrics.{name}", builder.make(f"metric:{metric.key}")[1]))
    return _make_table(
        [
            (heading, cells)
            for heading, cells in columns
            if heading == "run" or any(cell is not None for cell in cells)
        ]
    )


def _make_table(columns: list[tuple[str, list[ExportCell]]]) -> ExportTable:
    rows = zip(*(cells for _, cells in columns), strict=True)
    return ExportTable([heading for heading, _ in columns], [list(row) for row in rows])


def _list_column_keys(table: SessionTable) -> list[str]:
    has_studies = len(table.snapshot.studies) > 1
    keys = ["name", *(["study"] if has_studies else []), "group", "status", "start", "end"]
    keys += [f"hparam:{column.name}" for column in table.snapshot.hparams]
    return keys + [f"metric:{metric.key}" for metric in table.snapshot.metrics]


class _ColumnBuilder:
    """Builds columns by their keys: a heading and the cells of some rows."""

    def __init__(self, table: SessionTable, rows: Int64) -> None:
        self._table = table
        self._rows = rows
        self._first_sessions = table.first_sessions[rows].tolist()
        self._times = dict(zip(("start", "end", "last"), table.get_times(), strict=True))

    def make(self, key: str) -> tuple[str, list[ExportCell]]:
        kind, _, name = key.partition(":")
        if kind == "hparam":
            return self._make_hparam(name)
        if kind == "metric":
            return self._make_metric(name)
        if key not in _SESSION_COLUMNS:
            known = ", ".join(_SESSION_COLUMNS)
            raise UsageError(
                "hparams.unknown_column",
                'unknown column "{key}"; use {known}, hparam:NAME or metric:KEY',
                key=key,
                known=known,
            )
        return key, self._make_session_column(key)

    def _make_session_column(self, key: str) -> list[ExportCell]:
        table, rows = self._table, self._rows.tolist()
        if key == "name":
            return [table.names[row] for row in rows]
        if key == "study":
            return [table.sessions[session].study for session in self._first_sessions]
        if key == "group":
            return [table.sessions[session].group for session in self._first_sessions]
        if key == "status":
            statuses = table.get_statuses()
            return [Status(statuses[row]).name.lower() for row in rows]
        if key == "duration":
            return _make_number_cells((self._times["end"] - self._times["start"])[self._rows])
        return [format_iso_time(time_s) for time_s in self._times[key][self._rows].tolist()]

    def _make_hparam(self, name: str) -> tuple[str, list[ExportCell]]:
        columns = self._table.snapshot.hparams
        column = next((column for column in columns if column.name == name), None)
        if column is None:
            raise UsageError(
                "hparams.unknown_hparam", 'no session has the hyperparameter "{name}"', name=name
            )
        return column.label, [column.get_value(session) for session in self._first_sessions]

    def _make_metric(self, key: str) -> tuple[str, list[ExportCell]]:
        column = self._table.read_metric(self._table.get_metric(key))
        values, steps = column.values[self._rows], column.steps[self._rows]
        cells = zip(values.tolist(), np.isnan(steps).tolist(), strict=True)
        heading = self._make_metric_heading(column.metric)
        return heading, [None if is_missing else value for value, is_missing in cells]

    def _make_metric_heading(self, metric: Metric) -> str:
        """Return the label; with the group if several metrics have it, as in the page."""
        labels = [item.label for item in self._table.snapshot.metrics]
        if labels.count(metric.label) > 1 and metric.group:
            return f"{metric.group}/{metric.label}"
        return metric.label


def _make_number_cells(values: Float64) -> list[ExportCell]:
    return [None if math.isnan(value) else value for value in values.tolist()]


# ---- static export

_REDUCTIONS: tuple[ReductionKind, ...] = ("last", "min", "max")
_AGGREGATIONS: tuple[Aggregation, ...] = ("mean", "median", "min", "max")
#: Number of metrics with importance and sparklines.
_MAX_METRICS = 10
#: Number of studies that can be selected.
_MAX_STUDIES = 20


def iter_static_responses(context: Context, store: SessionStore) -> Iterator[tuple[str, object]]:
    """Yield the URLs that the page requests and their responses; nothing without sessions."""
    sessions = make_sessions_response(store, SessionsRequest())
    if not sessions.rows.names:
        return
    names = [study.name for study in sessions.studies][:_MAX_STUDIES]
    for study in [None, *(names if len(sessions.studies) > 1 else ())]:
        yield from _iter_study_responses(store, study, bool(sessions.repeats))
    for metric in sessions.metrics[:_MAX_METRICS]:
        key = quote(metric.key, safe="")
        sparklines = make_sparklines_response(context, store, SparklinesRequest(metric.key))
        yield f"sparklines?metric={key}", sparklines


def _iter_study_responses(
    store: SessionStore, study: str | None, has_repeats: bool
) -> Iterator[tuple[str, object]]:
    suffix = "" if study is None else f"&study={quote(study, safe='')}"
    for reduction in _REDUCTIONS:
        request = SessionsRequest(reduction=reduction, study=study)
        sessions = make_sessions_response(store, request)
        yield f"sessions?reduction={reduction}{suffix}", sessions
    for aggregation in _AGGREGATIONS if has_repeats else ():
        request = SessionsRequest(aggregation=aggregation, study=study)
        response = make_sessions_response(store, request)
        yield f"sessions?reduction=last&aggregation={aggregation}{suffix}", response
    for metric in sessions.metrics[:_MAX_METRICS]:
        key = quote(metric.key, safe="")
        importance_request = ImportanceRequest(metric=metric.key, study=study)
        table = SessionTable(store, importance_request.get_reduction(), None, study)
        rows = select_rows(table, None)
        importance = make_importance_response(table, importance_request, rows)
        yield f"importance?metric={key}&reduction=last{suffix}", importance
