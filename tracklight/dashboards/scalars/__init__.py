"""The Scalars dashboard: curves of everything that is one number a step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tracklight.dashboards.scalars.answers import AtAnswer, QueryAnswer, RangeAnswer
from tracklight.dashboards.scalars.asks import AtAsk, QueryAsk, RangeAsk, TableAsk
from tracklight.dashboards.scalars.charts import Charts
from tracklight.dashboards.scalars.copies import iter_copies
from tracklight.dashboards.scalars.download import make_file
from tracklight.dashboards.scalars.tables import find_points, sum_up
from tracklight.plugin import Blob, Dashboard, Route


class Scalars(Dashboard):
    """Answers with points and lines out of the index, smoothed and reduced."""

    name = "scalars"
    title = "Scalars"
    plugins = ("scalars",)

    def routes(self) -> Sequence[Route]:
        return [
            Route("query", QueryAsk, self.query),
            Route("at", AtAsk, self.at),
            Route("range", RangeAsk, self.range),
            Route("table", TableAsk, self.table),
            Route("table", TableAsk, self.table, "GET"),
        ]

    def export_static(self, runs: Sequence[str]) -> Iterator[tuple[str, object]]:
        return iter_copies(self.context, runs)

    def query(self, ask: QueryAsk) -> QueryAnswer:
        """Charts of any set of series, reduced to the pixels that will show them."""
        cursor = self.context.cursor()
        return QueryAnswer(cursor, Charts(self.context, ask).answer())

    def at(self, ask: AtAsk) -> AtAnswer:
        """The exact point of each series that is nearest to a place on the axis."""
        return find_points(self.context, ask)

    def range(self, ask: RangeAsk) -> RangeAnswer:
        """Each series between two places in a few numbers."""
        return sum_up(self.context, ask)

    def table(self, ask: TableAsk) -> Blob:
        """Every point behind a view as CSV, JSON or Parquet."""
        return make_file(self.context, ask)
