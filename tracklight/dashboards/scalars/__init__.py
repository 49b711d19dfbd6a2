"""The Scalars dashboard: curves of everything that is one number a step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tracklight.dashboards.scalars.charts import ChartBuilder
from tracklight.dashboards.scalars.schemas import (
    ChartsRequest,
    ChartsResponse,
    DownloadRequest,
    NearestPointsRequest,
    NearestPointsResponse,
    RangeStatsRequest,
    RangeStatsResponse,
)
from tracklight.dashboards.scalars.static_export import iter_static_export
from tracklight.dashboards.scalars.tables import (
    compute_range_stats,
    get_nearest_points,
    make_download,
)
from tracklight.plugin import Blob, Dashboard, Route


class Scalars(Dashboard):
    """Answers with points and lines out of the index, smoothed and reduced."""

    name = "scalars"
    title = "Scalars"
    plugins = ("scalars",)

    def routes(self) -> Sequence[Route]:
        return [
            Route("query", ChartsRequest, self.query),
            Route("at", NearestPointsRequest, self.at),
            Route("range", RangeStatsRequest, self.range),
            Route("table", DownloadRequest, self.table),
            Route("table", DownloadRequest, self.table, "GET"),
        ]

    def export_static(self, runs: Sequence[str]) -> Iterator[tuple[str, object]]:
        return iter_static_export(self.context, runs)

    def query(self, request: ChartsRequest) -> ChartsResponse:
        """Charts of any set of series, reduced to the pixels that will show them."""
        cursor = self.context.cursor()
        return ChartsResponse(cursor, ChartBuilder(self.context, request).build())

    def at(self, request: NearestPointsRequest) -> NearestPointsResponse:
        """The exact point of each series that is nearest to a place on the axis."""
        return get_nearest_points(self.context, request)

    def range(self, request: RangeStatsRequest) -> RangeStatsResponse:
        """Each series between two places in a few numbers."""
        return compute_range_stats(self.context, request)

    def table(self, request: DownloadRequest) -> Blob:
        """Every point behind a view as CSV, JSON or Parquet."""
        return make_download(self.context, request)
