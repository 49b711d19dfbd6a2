"""The Scalars dashboard: line charts of scalar series.

May import `tracklight.plugin`, `tracklight.index` and what lies below. `Scalars` has the routes,
`schemas` their requests and responses; `charts` and `tables` compute the responses. In a static
export, short series have all points, and long ones those that determine the pixels of a wide
screen.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec
import numpy as np

from tracklight.dashboards.scalars.charts import ChartBuilder, LiveCharts, resolve_groups
from tracklight.dashboards.scalars.schemas import (
    ChartsRequest,
    ChartsResponse,
    DownloadRequest,
    NearestPointsRequest,
    NearestPointsResponse,
    RangeStatsRequest,
    RangeStatsResponse,
)
from tracklight.dashboards.scalars.tables import (
    compute_range_stats,
    get_nearest_points,
    make_download,
)
from tracklight.index.downsampling import to_float32_if_exact
from tracklight.index.series_query import Curve, SeriesQuery
from tracklight.plugin import Blob, Context, Dashboard, Route
from tracklight.types import Float32, Float64, Int32, Int64

# ---- static export

#: Series with more points are reduced.
_MAX_UNREDUCED_POINTS = 2000
#: On screens up to this width, a reduced series looks exactly like the complete one.
_SCREEN_WIDTH_PX = 2000
#: Non-finite values that are marked in a chart.
_MAX_NONFINITE = 50


class ExportedSeries(msgspec.Struct):
    """One series without overwritten points.

    ``points``, ``overwritten`` and ``nonfinite_count`` count all, overwritten and non-finite points
    of the log. ``index`` has the indexes of the exported points; null if all are exported.
    """

    run: str
    points: int
    overwritten: int
    nonfinite_count: int
    step: Float64
    wall_time: Float64
    value: Float32 | Float64
    index: Int32 | None


class ExportedTag(msgspec.Struct):
    """All series of a tag."""

    tag: str
    series: list[ExportedSeries]


class ExportedTagEntry(msgspec.Struct):
    """The path of an `ExportedTag`, and the runs that have the tag."""

    tag: str
    path: str
    runs: list[str]


class ExportedTagList(msgspec.Struct):
    """All exported tags."""

    tags: list[ExportedTagEntry]


def iter_static_export(context: Context, runs: Sequence[str]) -> Iterator[tuple[str, object]]:
    """Yield paths and contents: first the list of tags, then the series of each tag."""
    selected = frozenset(runs)
    tags = []
    for number, tag in enumerate(context.scalar_tags()):
        tag_runs = [run for run in context.runs_with(tag) if run in selected]
        if tag_runs:
            tags.append(ExportedTagEntry(tag, f"series/{number}", tag_runs))
    yield "series", ExportedTagList(tags)
    for entry in tags:
        keys = [(run, entry.tag) for run in entry.runs]
        series = context.log.query(keys, SeriesQuery(), export_curve)
        yield entry.path, ExportedTag(entry.tag, series)


def export_curve(curve: Curve) -> ExportedSeries:
    """Convert a curve over steps, reduced if it is long."""
    rows = None
    if len(curve) > _MAX_UNREDUCED_POINTS:
        rows = pick_pixel_rows(curve.step, curve.value, _SCREEN_WIDTH_PX)
    kept = curve if rows is None else curve.take(rows)
    return ExportedSeries(
        run=curve.series.run,
        points=len(curve),
        overwritten=int(np.count_nonzero(curve.series.overwritten)),
        nonfinite_count=curve.stats.nonfinite_count,
        step=kept.step.astype(np.float64),
        wall_time=kept.wall_time,
        value=to_float32_if_exact(kept.value),
        index=None if rows is None else rows.astype(np.int32),
    )


def pick_pixel_rows(step: Int64, value: Float64, columns: int) -> Int64:
    """Return the first, last, lowest and highest row of each pixel column.

    A line through these points covers exactly the same pixels as a line through all points.
    """
    finite = np.flatnonzero(np.isfinite(value))
    edges = np.linspace(float(step[0]), float(step[-1]), columns + 1)
    column = np.searchsorted(edges[1:-1], step[finite], side="right")
    by_value = finite[np.lexsort((value[finite], column))]
    starts = np.flatnonzero(np.diff(column, prepend=-1))
    ends = np.append(starts[1:], len(finite))[: len(starts)] - 1
    first, last = finite[starts], finite[ends]
    lowest, highest = by_value[starts], by_value[ends]
    nonfinite = np.flatnonzero(~np.isfinite(value))[:_MAX_NONFINITE]
    ends_of_series = [0, len(step) - 1]
    return np.unique(np.concatenate([first, last, lowest, highest, nonfinite, ends_of_series]))


# ---- the dashboard


class Scalars(Dashboard):
    """Routes for charts, tables and downloads of scalar series."""

    name = "scalars"
    title = "Scalars"
    plugins = ("scalars",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._live_charts = LiveCharts(context)

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
        request = resolve_groups(self.context, request)
        charts = ChartBuilder(self.context, request, self._live_charts).build()
        return ChartsResponse(cursor, charts)

    def at(self, request: NearestPointsRequest) -> NearestPointsResponse:
        """Return the point of each series that is nearest to a value of x."""
        return get_nearest_points(self.context, request)

    def range(self, request: RangeStatsRequest) -> RangeStatsResponse:
        """Return statistics of each series between two values of x."""
        return compute_range_stats(self.context, request)

    def table(self, request: DownloadRequest) -> Blob:
        """Return all points of the selected series as CSV, JSON or Parquet."""
        return make_download(self.context, resolve_groups(self.context, request))
