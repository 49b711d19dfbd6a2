"""The HParams dashboard: what runs were given, what came of it, and what made the difference."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tracklight.dashboards.hparams.answers import (
    ImportanceAnswer,
    SessionsAnswer,
    SparklinesAnswer,
)
from tracklight.dashboards.hparams.asks import (
    ExportAsk,
    ImportanceAsk,
    SessionsAsk,
    SparklinesAsk,
)
from tracklight.dashboards.hparams.copies import iter_copies
from tracklight.dashboards.hparams.explaining import explain
from tracklight.dashboards.hparams.files import make_file
from tracklight.dashboards.hparams.sheet import make_sheet
from tracklight.dashboards.hparams.sparklines import sketch
from tracklight.dashboards.hparams.telling import tell
from tracklight.plugin import Blob, Context, Dashboard, Route
from tracklight.sessions.study import State, Study

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
        self._told: tuple[State, SessionsAsk, SessionsAnswer] | None = None

    def routes(self) -> Sequence[Route]:
        return [
            Route("sessions", SessionsAsk, self.sessions, "GET"),
            Route("importance", ImportanceAsk, self.importance),
            Route("importance", ImportanceAsk, self.importance, "GET"),
            Route("sparklines", SparklinesAsk, self.sparklines),
            Route("sparklines", SparklinesAsk, self.sparklines, "GET"),
            Route("export", ExportAsk, self.export),
            Route("export", ExportAsk, self.export, "GET"),
        ]

    def prepare(self) -> None:
        if len(self.context.log.runs()) >= MIN_RUNS_TO_PREPARE:
            self.sessions(SessionsAsk())

    def export_static(self, runs: Sequence[str]) -> Iterator[tuple[str, object]]:
        return iter_copies(self.context, self._study)

    def sessions(self, ask: SessionsAsk) -> SessionsAnswer:
        """All sessions with their hyperparameters and metrics, or those that changed."""
        state, told = self._study.get(), self._told
        if told is None or told[0] is not state or told[1] != ask:
            self._told = told = state, ask, tell(self._study, ask)
        return told[2]

    def importance(self, ask: ImportanceAsk) -> ImportanceAnswer:
        """Which hyperparameters made the difference for a metric, and how far to believe it."""
        return explain(self._study, ask)

    def sparklines(self, ask: SparklinesAsk) -> SparklinesAnswer:
        """The curves of a metric, each in a few points."""
        return sketch(self.context, self._study, ask)

    def export(self, ask: ExportAsk) -> Blob:
        """The table, all of it and not a page, as CSV, JSON, LaTeX or Markdown."""
        return make_file(make_sheet(self._study, ask), ask.format)
