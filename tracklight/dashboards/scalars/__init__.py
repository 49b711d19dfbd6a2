"""The Scalars dashboard: curves of everything that is one number a step."""

from __future__ import annotations

from collections.abc import Sequence

from tracklight.dashboards.scalars.answers import QueryAnswer
from tracklight.dashboards.scalars.asks import QueryAsk
from tracklight.dashboards.scalars.charts import Charts
from tracklight.plugin import Dashboard, Route


class Scalars(Dashboard):
    """Answers with points and lines out of the index, smoothed and reduced."""

    name = "scalars"
    title = "Scalars"
    plugins = ("scalars",)

    def routes(self) -> Sequence[Route]:
        return [Route("query", QueryAsk, self.query)]

    def query(self, ask: QueryAsk) -> QueryAnswer:
        """Charts of any set of series, reduced to the pixels that will show them."""
        cursor = self.context.cursor()
        return QueryAnswer(cursor, Charts(self.context, ask).answer())
