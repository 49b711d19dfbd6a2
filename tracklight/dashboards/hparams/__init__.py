"""The HParams dashboard: what runs were given, what came of it, and what made the difference."""

from __future__ import annotations

from collections.abc import Sequence

from tracklight.dashboards.hparams.answers import SessionsAnswer, SparklinesAnswer
from tracklight.dashboards.hparams.asks import SessionsAsk, SparklinesAsk
from tracklight.dashboards.hparams.sparklines import sketch
from tracklight.dashboards.hparams.telling import tell
from tracklight.plugin import Context, Dashboard, Route
from tracklight.sessions.study import Study


class HParams(Dashboard):
    """Answers with all sessions at once, as columns, and with what follows from them."""

    name = "hparams"
    title = "HParams"
    plugins = ("hparams",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._study = Study(context)

    def routes(self) -> Sequence[Route]:
        return [
            Route("sessions", SessionsAsk, self.sessions, "GET"),
            Route("sparklines", SparklinesAsk, self.sparklines),
            Route("sparklines", SparklinesAsk, self.sparklines, "GET"),
        ]

    def sessions(self, ask: SessionsAsk) -> SessionsAnswer:
        """All sessions with their hyperparameters and metrics, or those that changed."""
        return tell(self._study, ask)

    def sparklines(self, ask: SparklinesAsk) -> SparklinesAnswer:
        """The curves of a metric, each in a few points."""
        return sketch(self.context, self._study, ask)
