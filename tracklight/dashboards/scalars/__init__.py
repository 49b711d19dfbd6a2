"""The Scalars dashboard: line charts of scalar series.

May import `tracklight.plugin`, `tracklight.index` and what lies below. `Scalars` has the routes,
`schemas` their requests and responses; `charts` and `tables` compute the responses, and
`static_export` the data of exported boards.
"""

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
    """Routes for charts, tables and downloads of scalar series."""

    name = "scalars"
    title = "Scalars"
    plugins = ("scalars",)

    def routes(self) -> Sequence[Route]:
        return [
            Route("query", ChartsRequest, self.query, etag=self.context.state),
            Route("at", NearestPointsRequest, self.at),
            Route("range", RangeStatsRequest, self.range),
            Route("table", DownloadRequest, self.table),
            Route("table", DownloadRequest, self.table, "GET"),
        ]

    def export_static(self, runs: Sequence[str]) -> Iterator[tuple[str, object]]:
        return iter_static_export(self.context, runs)

    def query(self, request: ChartsRequest) -> ChartsResponse:
        """Return charts of any set of series, reduced to the pixels that will show them."""
        cursor = self.context.cursor()
        return ChartsResponse(cursor, ChartBuilder(self.context, request).build())

    def at(self, request: NearestPointsRequest) -> NearestPointsResponse:
        """Return the point of each series that is nearest to a value of x."""
        return get_nearest_points(self.context, request)

    def range(self, request: RangeStatsRequest) -> RangeStatsResponse:
        """Return statistics of each series between two values of x."""
        return compute_range_stats(self.context, request)

    def table(self, request: DownloadRequest) -> Blob:
        """Return all points of the selected series as CSV, JSON or Parquet."""
        return make_download(self.context, request)
