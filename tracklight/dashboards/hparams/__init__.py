"""The HParams dashboard: sessions with their hyperparameters and metrics, and their importance.

`HParams` declares the routes. `schemas` has the requests and responses, `responses` builds them
from a `tracklight.analysis.experiments.session_store.SessionStore`, `queries` selects rows of the
table for pages that do not load all of them, and `export` writes the table to files and lists the
responses that a static export contains. Like all dashboards, it may import
`tracklight.plugin`, `analysis`, `index` and below, but not the server.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from tracklight.analysis.experiments.session_store import SessionSnapshot, SessionStore
from tracklight.analysis.table_files import write_table
from tracklight.dashboards.hparams.export import (
    iter_static_responses,
    make_export_table,
)
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
from tracklight.plugin import Blob, Context, Dashboard, Route
from tracklight.types import Int64
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
        return make_trials_response(self._find_rows(request), request)

    def facets(self, request: FacetsRequest) -> FacetsResponse:
        """Return the distributions of some columns, of all trials and of those that match."""
        return make_facets_response(self._find_rows(request), request)

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
        return write_table(make_export_table(table, request, rows), request.format, "hparams")

    def _select_rows(
        self, request: ReductionRequest, names: list[str] | None, query: TrialQuery | None
    ) -> tuple[SessionTable, Int64]:
        """Return a table, and the rows that are named or match a query, in its order."""
        if query is not None:
            rows = self._find_rows(query)
            return rows.trials.table, rows.ordered
        table = self._get_table(request).table
        return table, select_rows(table, names)

    def _find_rows(self, query: TrialQuery) -> TrialRows:
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
