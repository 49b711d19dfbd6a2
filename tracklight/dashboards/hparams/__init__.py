"""The HParams dashboard: what runs were given, what came of it, and what made the difference."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tracklight.analysis.experiments.study import Study, StudySnapshot
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

#: Smaller logs are answered fast enough without preparation.
MIN_RUNS_TO_PREPARE = 1000


class HParams(Dashboard):
    """Answers with all sessions at once, as columns, and with what follows from them."""

    name = "hparams"
    title = "HParams"
    plugins = ("hparams",)
    files = ("settings",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._study = Study(context)
        self._cached_sessions: tuple[StudySnapshot, SessionsRequest, SessionsResponse] | None = None

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
        return iter_static_responses(self.context, self._study)

    def sessions(self, ask: SessionsRequest) -> SessionsResponse:
        """All sessions with their hyperparameters and metrics, or those that changed."""
        state, told = self._study.get_snapshot(), self._cached_sessions
        if told is None or told[0] is not state or told[1] != ask:
            self._cached_sessions = told = state, ask, make_sessions_response(self._study, ask)
        return told[2]

    def importance(self, ask: ImportanceRequest) -> ImportanceResponse:
        """Which hyperparameters made the difference for a metric, and how far to believe it."""
        return make_importance_response(self._study, ask)

    def sparklines(self, ask: SparklinesRequest) -> SparklinesResponse:
        """The curves of a metric, each in a few points."""
        return make_sparklines_response(self.context, self._study, ask)

    def export(self, ask: ExportRequest) -> Blob:
        """The table, all of it and not a page, as CSV, JSON, LaTeX or Markdown."""
        return write_table(make_export_table(self._study, ask), ask.format)
