"""The PR curves dashboard: precision and recall of a classifier at every threshold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tracklight.dashboards.pr_curves.answers import CurveRow, CurvesAnswer, HistoryAnswer
from tracklight.dashboards.pr_curves.asks import CurvesAsk, HistoryAsk
from tracklight.dashboards.pr_curves.copies import iter_curve_copies
from tracklight.dashboards.pr_curves.history import Historian
from tracklight.dashboards.pr_curves.reading import CurveReader
from tracklight.media.reader import ValueAsk, has_mark
from tracklight.media.steps import StepsAnswer, StepsAsk, list_steps
from tracklight.plugin import Context, Dashboard, Route


class PrCurves(Dashboard):
    """Answers with curves as they were logged, and with what follows from them."""

    name = "pr_curves"
    title = "PR curves"
    plugins = ("pr_curves",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._curves = CurveReader(context)
        self._historian = Historian(context)

    def routes(self) -> Sequence[Route]:
        return [
            Route("steps", StepsAsk, self.steps),
            Route("curves", CurvesAsk, self.curves),
            Route("curve", ValueAsk, self.curve, "GET", immutable=has_mark),
            Route("history", HistoryAsk, self.history),
        ]

    def export_static(self, runs: Sequence[str]) -> Iterator[tuple[str, object]]:
        return iter_curve_copies(self.context, self.plugins, runs, self._curves, self._historian)

    def steps(self, ask: StepsAsk) -> StepsAnswer:
        """At which steps curves were logged."""
        return list_steps(self.context, ask)

    def curves(self, ask: CurvesAsk) -> CurvesAnswer:
        """The curve of each run and tag at a step, with areas, F1 and points of the ROC curve."""
        cursor = self.context.cursor()
        return CurvesAnswer(cursor, self._curves.read_all(ask))

    def curve(self, ask: ValueAsk) -> CurveRow:
        """One curve, named by its place among the steps."""
        return self._curves.read_one(ask)

    def history(self, ask: HistoryAsk) -> HistoryAnswer:
        """How the areas and the best F1 of each run and tag went over the steps."""
        cursor = self.context.cursor()
        return HistoryAnswer(cursor, self._historian.tell(ask))
