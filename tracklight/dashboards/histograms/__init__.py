"""The Histograms dashboard: how numbers are spread, step by step, as counts and as percentiles."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tracklight.dashboards.histograms.answers import BucketsAnswer, HistogramsAnswer, totals_row
from tracklight.dashboards.histograms.asks import BucketsAsk, HistogramsAsk
from tracklight.dashboards.histograms.charts import Charts
from tracklight.dashboards.histograms.copies import iter_histogram_copies
from tracklight.dashboards.histograms.download import make_file
from tracklight.errors import LogError
from tracklight.formats.json_number import json_number
from tracklight.formats.values import Histogram
from tracklight.media.reader import Reader, ValueAsk, has_mark
from tracklight.media.steps import StepsAnswer, StepsAsk, list_steps
from tracklight.plugin import Blob, Context, Dashboard, Route


class Histograms(Dashboard):
    """Answers with histograms on a common grid, with percentiles, and with buckets as logged.

    The page's tabs Histograms and Distributions both ask it.
    """

    name = "histograms"
    title = "Histograms"
    plugins = ("histograms",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._reader = Reader(context)

    def routes(self) -> Sequence[Route]:
        return [
            Route("query", HistogramsAsk, self.query),
            Route("steps", StepsAsk, self.steps),
            Route("exact", ValueAsk, self.exact, "GET", immutable=has_mark),
            Route("table", BucketsAsk, self.table),
            Route("table", BucketsAsk, self.table, "GET"),
        ]

    def export_static(self, runs: Sequence[str]) -> Iterator[tuple[str, object]]:
        return iter_histogram_copies(self.context, self.plugins, runs, self.exact)

    def query(self, ask: HistogramsAsk) -> HistogramsAnswer:
        """Histograms of some tags, on a grid and as percentiles.

        A bucket's count is spread over the bins of the grid by how much of the bucket lies in
        each, so that counts are conserved. Percentiles are found in the buckets as logged.
        """
        cursor = self.context.cursor()
        return HistogramsAnswer(cursor, Charts(self.context, ask).answer())

    def steps(self, ask: StepsAsk) -> StepsAnswer:
        """At which steps histograms were logged."""
        return list_steps(self.context, ask)

    def exact(self, ask: ValueAsk) -> BucketsAnswer:
        """The buckets of one histogram as logged."""
        found = self._reader.read(ask)
        if not isinstance(found, Histogram):
            raise LogError(f'"{ask.tag}" holds no histograms')
        located = self.context.log.located(ask.run, ask.tag)
        return BucketsAnswer(
            int(located.step[ask.index]),
            json_number(float(located.wall_time[ask.index])),
            found.edges_left,
            found.edges_right,
            found.counts,
            totals_row(found.totals),
        )

    def table(self, ask: BucketsAsk) -> Blob:
        """Every bucket behind a view as CSV, JSON or Parquet."""
        return make_file(self.context, ask)
