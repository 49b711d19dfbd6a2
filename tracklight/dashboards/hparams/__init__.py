"""The HParams dashboard: sessions with their hyperparameters and metrics, and their importance.

`HParams` declares the routes. `schemas` has the requests and responses, `responses` builds them
from a `tracklight.analysis.experiments.session_store.SessionStore`, `export` writes the table to
files, and `static_export` lists the responses that a static export contains. Like all dashboards,
it may import `tracklight.plugin`, `analysis`, `index` and below, but not the server.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tracklight.analysis.experiments.session_store import SessionSnapshot, SessionStore
from tracklight.dashboards.hparams.export import make_export_table, write_table
from tracklight.dashboards.hparams.responses import (
    make_importance_response,
    make_sessions_response,
    make_sparklines_response,
)
from tracklight.dashboards.hparams.schemas import (
    ExportRequest,
    ImportanceRequest,
    ImportanceResponse,
    SessionsRequest,
    SessionsResponse,
    SparklinesRequest,
    SparklinesResponse,
)
from tracklight.dashboards.hparams.static_export import iter_static_responses
from tracklight.plugin import Blob, Context, Dashboard, Route

#: Smaller logs respond fast enough without preparation.
MIN_RUNS_TO_PREPARE = 1000


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

    def routes(self) -> Sequence[Route]:
        return [
            Route("sessions", SessionsRequest, self.sessions, "GET"),
            Route("importance", ImportanceRequest, self.importance),
            Route("importance", ImportanceRequest, self.importance, "GET"),
            Route("sparklines", SparklinesRequest, self.sparklines),
            Route("sparklines", SparklinesRequest, self.sparklines, "GET"),
            Route("export", ExportRequest, self.export),
            Route("export", ExportRequest, self.export, "GET"),
        ]

    def prepare(self) -> None:
        if len(self.context.log.runs()) >= MIN_RUNS_TO_PREPARE:
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

    def importance(self, request: ImportanceRequest) -> ImportanceResponse:
        """Return the importance of each hyperparameter for a metric, and how reliable it is."""
        return make_importance_response(self._store, request)

    def sparklines(self, request: SparklinesRequest) -> SparklinesResponse:
        """Return the curves of a metric, downsampled to a few points."""
        return make_sparklines_response(self.context, self._store, request)

    def export(self, request: ExportRequest) -> Blob:
        """Return the whole table as CSV, JSON, LaTeX or Markdown."""
        return write_table(make_export_table(self._store, request), request.format)
