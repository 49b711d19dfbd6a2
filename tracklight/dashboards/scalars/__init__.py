"""The Scalars dashboard: line charts of scalar series.

May import `tracklight.plugin`, `tracklight.index` and what lies below. `Scalars` has the routes,
`schemas` their requests and responses. `charts` computes the lines of charts; nearest points,
statistics of a range and downloads of all points are computed here. In a static export, short
series have all points, and long ones those that determine the pixels of a wide screen.
"""

from __future__ import annotations

import io
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import msgspec
import numpy as np

from tracklight.dashboards.scalars.charts import (
    BandBuilder,
    ChartBuilder,
    LiveCharts,
    SeriesSelection,
    resolve_groups,
)
from tracklight.dashboards.scalars.schemas import (
    BandRow,
    ChartsRequest,
    ChartsResponse,
    DownloadFormat,
    DownloadRequest,
    NearestPointRow,
    NearestPointsRequest,
    NearestPointsResponse,
    RangeStatsRequest,
    RangeStatsResponse,
    RangeStatsRow,
    make_point_row,
)
from tracklight.errors import UsageError
from tracklight.index.downsampling import (
    ExtentView,
    NearestPointView,
    RangeStats,
    RangeStatsView,
    merge_extents,
    to_float32_if_exact,
)
from tracklight.index.series_query import Curve, SeriesQuery
from tracklight.index.shard import SeriesKey
from tracklight.plugin import Blob, Context, Dashboard, Route
from tracklight.types import Bool, Float32, Float64, Int32, Int64
from tracklight.util.files import JsonNumber, to_json_number

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


# ---- tables

_MAX_ROWS = 50_000
_MAX_POINTS = 2_000_000

_MEDIA_TYPES: dict[DownloadFormat, str] = {
    "csv": "text/csv; charset=utf-8",
    "json": "application/json",
    "parquet": "application/vnd.apache.parquet",
}


def get_nearest_points(context: Context, request: NearestPointsRequest) -> NearestPointsResponse:
    """Return the point of each selected series that is nearest to ``request.at``."""
    selection = SeriesSelection(context, request)
    keys = _check_row_count(selection.list_keys(request.tags))
    if not keys:
        return NearestPointsResponse([])
    query = selection.make_query(request.tags)
    points = context.log.query(keys, query, NearestPointView(request.x_value))
    return NearestPointsResponse(
        [
            NearestPointRow(
                run,
                tag,
                point.step,
                to_json_number(point.wall_time),
                to_json_number(point.relative_s),
                point.x,
                to_json_number(point.value),
                to_json_number(point.smoothed),
            )
            for (run, tag), point in zip(keys, points, strict=True)
            if point is not None
        ]
    )


def compute_range_stats(context: Context, request: RangeStatsRequest) -> RangeStatsResponse:
    """Return statistics of each selected series in a range of x."""
    selection = SeriesSelection(context, request)
    keys = _check_row_count(selection.list_keys(request.tags))
    if not keys:
        return RangeStatsResponse([])
    query = selection.make_query(request.tags)
    results = context.log.query(keys, query, RangeStatsView(request.start, request.stop))
    return RangeStatsResponse(
        [
            _make_range_row(*key, stats)
            for key, stats in zip(keys, results, strict=True)
            if stats is not None
        ]
    )


def _check_row_count(keys: Sequence[SeriesKey]) -> Sequence[SeriesKey]:
    if len(keys) > _MAX_ROWS:
        raise UsageError(
            "scalars.too_many_rows",
            "this table has more than {max_rows:,} rows: choose fewer runs or tags",
            max_rows=_MAX_ROWS,
        )
    return keys


def _make_range_row(run: str, tag: str, stats: RangeStats) -> RangeStatsRow:
    first, last = stats.first.value, stats.last.value
    return RangeStatsRow(
        run=run,
        tag=tag,
        start=make_point_row(stats.first),
        stop=make_point_row(stats.last),
        min=make_point_row(stats.lowest),
        max=make_point_row(stats.highest),
        mean=None if stats.mean is None else to_json_number(stats.mean),
        count=stats.points,
        change=_to_finite(last - first),
        change_ratio=_to_finite((last - first) / abs(first)) if first else None,
    )


def _to_finite(value: float) -> JsonNumber | None:
    return value if math.isfinite(value) else None


# ---- downloads


def make_download(context: Context, request: DownloadRequest) -> Blob:
    """Return a file with run, tag, step, wall time, value and requested columns of every point.

    Raises:
        UsageError: There are too many points.
        MissingDependencyError: The format needs a library that is not installed.
    """
    from tracklight.reader.export import SERIES_WRITERS  # slow to import, and seldom needed

    selection = SeriesSelection(context, request)
    keys, query = selection.list_keys(request.tags), selection.make_query(request.tags)
    _check_point_count(context, keys, query)
    file = io.BytesIO()
    if request.groups is None:
        writer = SERIES_WRITERS[request.format](file, _list_columns(request))
        view = DownloadView(request.overwritten)
        for key in keys:  # one at a time, so that only the file is in memory
            writer.write(context.log.query([key], query, view)[0])
    else:
        inner = ("inner_low", "inner_high") if request.band == "quantiles" else ()
        axis = "step" if request.x == "step" else "x"
        columns = (axis, "runs", "center", "low", "high", *inner)
        writer = SERIES_WRITERS[request.format](file, columns, "group")
        for band in _iter_bands(context, request, keys, query):
            writer.write(band)
    writer.close()
    return Blob(file.getvalue(), _MEDIA_TYPES[request.format], f"scalars.{request.format}")


@dataclass(frozen=True)
class BandTable:
    """The columns of one band in a download."""

    run: str
    """The group."""
    tag: str
    step: Int64
    x: Float64
    runs: Int32
    center: Float64
    low: Float64
    high: Float64
    inner_low: Float64 | None
    inner_high: Float64 | None

    def __len__(self) -> int:
        return len(self.x)


def _iter_bands(
    context: Context, request: DownloadRequest, keys: list[SeriesKey], query: SeriesQuery
) -> Iterator[BandTable]:
    """Yield the bands tag by tag, with a value at every x at which a run has a point."""
    builder = BandBuilder(context.log, request, query)
    for tag in dict.fromkeys(tag for _, tag in keys):
        tag_keys = [key for key in keys if key[1] == tag]
        extents = context.log.query(tag_keys, replace(query, smoothing=None), ExtentView())
        x_range = merge_extents(extents)
        if x_range is not None:
            bands = builder.build(tag_keys, *x_range, _MAX_POINTS)
            yield from map(_make_band_table, bands)


def _make_band_table(band: BandRow) -> BandTable:
    # Steps are integers, except on axes that do not have a column of them.
    with np.errstate(invalid="ignore"):
        step = band.x.astype(np.int64)
    return BandTable(
        run=band.group,
        tag=band.tag,
        step=step,
        x=band.x,
        runs=band.count,
        center=band.center,
        low=band.low,
        high=band.high,
        inner_low=band.inner_low,
        inner_high=band.inner_high,
    )


def _check_point_count(context: Context, keys: list[SeriesKey], query: SeriesQuery) -> None:
    if not keys:
        return
    extents = context.log.query(keys, replace(query, smoothing=None), ExtentView())
    points = sum(extent.points for extent in extents)
    if points > _MAX_POINTS:
        raise UsageError(
            "scalars.too_many_points",
            "the download has {points:,} points; the limit is {max_points:,}. "
            "Choose fewer runs or tags, or use the command `tracklight export`",
            points=points,
            max_points=_MAX_POINTS,
        )


def _list_columns(request: DownloadRequest) -> tuple[str, ...]:
    optional = {
        "x": request.x != "step",
        "value": True,
        "smoothed": request.smoothing is not None,
        "overwritten": request.overwritten,
    }
    return ("step", "wall_time", *(name for name, is_included in optional.items() if is_included))


@dataclass(frozen=True)
class DownloadTable:
    """The columns of one series in a download."""

    run: str
    tag: str
    step: Int64
    wall_time: Float64
    x: Float64
    value: Float64
    smoothed: Float64
    overwritten: Bool

    def __len__(self) -> int:
        return len(self.step)


@dataclass(frozen=True)
class DownloadView:
    """Return all points of a curve, with or without overwritten ones."""

    with_overwritten: bool

    def __call__(self, curve: Curve) -> DownloadTable:
        series = curve.series
        table = DownloadTable(
            run=series.run,
            tag=series.tag,
            step=curve.step,
            wall_time=curve.wall_time,
            x=curve.x,
            value=curve.value,
            smoothed=curve.smoothed,
            overwritten=np.zeros(len(curve), np.bool_),
        )
        if self.with_overwritten and series.overwritten.any():
            return _merge_tables(_make_overwritten_table(curve), table)
        return table


def _make_overwritten_table(curve: Curve) -> DownloadTable:
    """Return the overwritten points, which are not part of the curve and never smoothed."""
    series, rows = curve.series, curve.series.overwritten
    step, wall_time = series.step[rows], series.wall_time[rows]
    return DownloadTable(
        run=series.run,
        tag=series.tag,
        step=step,
        wall_time=wall_time,
        x=curve.axis(step, wall_time),
        value=series.value[rows].astype(np.float64),
        smoothed=np.full(len(step), np.nan),
        overwritten=np.ones(len(step), np.bool_),
    )


def _merge_tables(first: DownloadTable, second: DownloadTable) -> DownloadTable:
    """Merge tables by step; rows of ``first`` come before those of ``second`` at the same step."""
    names = ("step", "wall_time", "x", "value", "smoothed", "overwritten")
    columns = {
        name: np.concatenate([getattr(first, name), getattr(second, name)]) for name in names
    }
    order = np.argsort(columns["step"], kind="stable")
    return DownloadTable(
        first.run, first.tag, **{name: column[order] for name, column in columns.items()}
    )
