"""The Histograms dashboard, which also serves the Distributions tab.

This module has the charts on a common grid, table downloads and the static export; `binning`
selects steps, rebins to the common grid and computes percentiles. Start reading at `Histograms`,
the last class.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import msgspec
import numpy as np

from tracklight.analysis.media import (
    SeriesSteps,
    StepsRequest,
    StepsResponse,
    ValueReader,
    ValueRequest,
    compute_fingerprints,
    export_values,
    has_fingerprint,
    list_steps,
    tag_path,
    value_path,
)
from tracklight.analysis.source import Sentence
from tracklight.dashboards.histograms.binning import (
    HistogramAxis,
    HistogramSelection,
    ValueRange,
    compute_core_range,
    compute_percentiles,
    find_joint_range,
    find_value_range,
    is_bounded,
    limit_selection,
    make_grid,
    rebin,
    select_range,
)
from tracklight.errors import LogError, TracklightError, UsageError, find_message
from tracklight.formats.values import (
    TOTALS_COLUMNS,
    Histogram,
    HistogramBatch,
    HistogramStats,
    decode_histograms,
)
from tracklight.index.downsampling import to_float32_if_exact
from tracklight.plugin import Blob, Context, Dashboard, Problem, Route
from tracklight.types import Bool, Float32, Float64, Int32, Int64, ValueLocations
from tracklight.util.files import JsonNumber, to_json_number

# ---- requests and responses

TableFormat = Literal["csv", "json", "parquet"]


class HistogramChartRequest(msgspec.Struct, forbid_unknown_fields=True):
    """One tag, optionally in a range of the axis and on a grid between two values."""

    id: str
    tag: str
    offset: Annotated[int, msgspec.Meta(ge=0)] = 0
    """Number of runs with the tag to skip."""
    start: float | None = None
    stop: float | None = None
    low: float | None = None
    high: float | None = None


class HistogramsRequest(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Histograms of some tags; without ``runs``, of all runs that have them.

    A chart has at most ``max_runs`` runs. Of each series at most ``max_points`` histograms are
    returned, chosen evenly along the axis: ``step``, ``relative`` (seconds since the first) or
    ``wall``. With ``bins`` they are returned on a grid with so many bins, with ``percentiles`` as
    nine percentiles each.
    """

    charts: Annotated[list[HistogramChartRequest], msgspec.Meta(max_length=256)]
    runs: list[str] | None = None
    max_runs: Annotated[int, msgspec.Meta(ge=1, le=200)] = 12
    x: HistogramAxis = "step"
    max_points: Annotated[int, msgspec.Meta(ge=1, le=2000)] = 51
    bins: Annotated[int, msgspec.Meta(ge=0, le=512)] = 30
    percentiles: bool = False
    ignore_outliers: bool = False
    """Do not extend the grid for a few outlying values or steps."""


class BucketTableRequest(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """All buckets of some tags as a file, optionally in a range of the axis."""

    tags: list[str]
    runs: list[str] | None = None
    x: HistogramAxis = "step"
    start: float | None = None
    stop: float | None = None
    format: TableFormat = "csv"


class HistogramErrorRow(msgspec.Struct):
    """A histogram that could not be read, and why."""

    step: int
    message: Sentence


class HistogramSeriesRow(msgspec.Struct):
    """Histograms of one tag of one run; ``x`` is their position on the axis.

    ``count`` is the number of histograms in the range, of which these are some. ``bins`` has the
    counts on the grid of the chart and ``percentiles`` nine values per histogram, concatenated.
    ``low`` and ``high`` are the outermost edges, ``bucket_sum`` is the sum of the buckets, ``num``
    the number of values according to the writer (NaN if unknown). ``unbounded`` is the count of
    buckets without a finite edge. ``has_nan`` histograms have edges or counts that are NaN, which
    many writers produce if the data contains NaN.
    """

    run: str
    tag: str
    count: int
    index: Int32
    fingerprint: Int32
    step: Int64
    wall_time: Float64
    x: Float64
    low: Float64
    high: Float64
    bucket_sum: Float64
    num: Float64
    nan: Float64
    positive_infinity: Float64
    negative_infinity: Float64
    unbounded: Float64
    has_nan: Bool
    bins: Float32 | Float64 | None
    percentiles: Float64 | None
    errors: list[HistogramErrorRow]


class HistogramChartRow(msgspec.Struct):
    """One chart.

    ``runs`` is the number of runs with the tag, including those that are not in ``series``.
    ``grid`` has the edges of the bins; null if there are no counts. With ``is_clipped`` there are
    values outside of the grid.
    """

    id: str
    error: Problem | None = None
    runs: int = 0
    grid: Float64 | None = None
    is_clipped: bool = False
    series: list[HistogramSeriesRow] = []


class HistogramsResponse(msgspec.Struct):
    """The requested charts, in order."""

    cursor: str
    charts: list[HistogramChartRow]


class HistogramTotals(msgspec.Struct):
    """Statistics of all values; NaN and infinite values are not in any bucket."""

    min: JsonNumber
    max: JsonNumber
    num: JsonNumber
    sum: JsonNumber
    sum_squares: JsonNumber
    nan: int
    positive_infinity: int
    negative_infinity: int


class BucketsResponse(msgspec.Struct):
    """The buckets of one histogram as logged; the last one includes its right edge."""

    step: int
    wall_time: JsonNumber
    left: Float64
    right: Float64
    counts: Float64
    totals: HistogramTotals | None


def make_totals_row(totals: HistogramStats | None) -> HistogramTotals | None:
    if totals is None:
        return None
    return HistogramTotals(
        to_json_number(totals.min),
        to_json_number(totals.max),
        to_json_number(totals.num),
        to_json_number(totals.sum),
        to_json_number(totals.sum_squares),
        totals.nan,
        totals.positive_infinity,
        totals.negative_infinity,
    )


# ---- charts

#: Limit on the histograms of all charts of one request.
_MAX_HISTOGRAMS = 100_000
#: Limit on the reported errors of one series.
_MAX_ERRORS = 20

MAX_DOWNLOAD_BYTES = 128 << 20
#: How many histograms of a series are read at once for a download.
_BATCH_SIZE = 1000
_COLUMNS = ("step", "wall_time", "left", "right", "count")
_MEDIA_TYPES: dict[TableFormat, str] = {
    "csv": "text/csv; charset=utf-8",
    "json": "application/json",
    "parquet": "application/vnd.apache.parquet",
}

#: A static page cannot request other bins, so it gets more than are shown by default.
_STATIC_BINS = 120


class Histograms(Dashboard):
    """Histograms on a common grid, percentiles, and buckets as logged.

    It serves both the Histograms tab and the Distributions tab.
    """

    name = "histograms"
    title = "Histograms"
    plugins = ("histograms",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._reader = ValueReader(context)

    def routes(self) -> Sequence[Route]:
        return [
            Route("query", HistogramsRequest, self.query),
            Route("steps", StepsRequest, self.steps),
            Route("buckets", ValueRequest, self.exact, "GET", immutable=has_fingerprint),
            Route("table", BucketTableRequest, self.table),
            Route("table", BucketTableRequest, self.table, "GET"),
        ]

    def export_static(self, runs: Sequence[str]) -> Iterator[tuple[str, object]]:
        return iter_static_export(self.context, self.plugins, runs, self.exact)

    def query(self, request: HistogramsRequest) -> HistogramsResponse:
        """Return the histograms of some tags, on a grid and as percentiles.

        The count of a bucket is distributed over the bins of the grid by overlap, so that counts
        are conserved. Percentiles are computed from the buckets as logged.
        """
        cursor = self.context.cursor()
        return HistogramsResponse(cursor, HistogramQuery(self.context, request).run())

    def steps(self, request: StepsRequest) -> StepsResponse:
        """Return the steps at which histograms were logged."""
        return list_steps(self.context, request)

    def exact(self, request: ValueRequest) -> BucketsResponse:
        """Return the buckets of one histogram as logged."""
        histogram = self._reader.read(request)
        if not isinstance(histogram, Histogram):
            raise LogError(
                "histograms.not_a_histogram", '"{tag}" is not a histogram', tag=request.tag
            )
        locations = self.context.log.locate(request.run, request.tag)
        return BucketsResponse(
            int(locations.step[request.index]),
            to_json_number(float(locations.wall_time[request.index])),
            histogram.edges_left,
            histogram.edges_right,
            histogram.counts,
            make_totals_row(histogram.totals),
        )

    def table(self, request: BucketTableRequest) -> Blob:
        """Download the buckets of some tags as CSV, JSON or Parquet."""
        return export_buckets(self.context, request)


# Charts


@dataclass(frozen=True)
class SeriesHistograms:
    """Some histograms of one series."""

    locations: ValueLocations
    selection: HistogramSelection
    histograms: HistogramBatch


@dataclass(frozen=True)
class HistogramQuery:
    """Build the charts of one request."""

    context: Context
    request: HistogramsRequest

    def run(self) -> list[HistogramChartRow]:
        """Return a row for each requested chart.

        Raises:
            UsageError: The charts have too many histograms.
        """
        request = self.request
        runs_by_chart = [self._list_runs(chart.tag) for chart in request.charts]
        series_count = sum(min(len(runs), request.max_runs) for runs in runs_by_chart)
        if series_count * request.max_points > _MAX_HISTOGRAMS:
            raise UsageError(
                "histograms.too_many",
                "these charts have more than {max_histograms:,} histograms; select fewer runs",
                max_histograms=_MAX_HISTOGRAMS,
            )
        pairs = zip(request.charts, runs_by_chart, strict=True)
        return [self._build_chart(chart, runs) for chart, runs in pairs]

    def _list_runs(self, tag: str) -> list[str]:
        available = self.context.log.plugin_data(tag)
        runs = available if self.request.runs is None else self.request.runs
        return [run for run in runs if run in available]

    def _build_chart(self, chart: HistogramChartRequest, runs: Sequence[str]) -> HistogramChartRow:
        try:
            visible = runs[chart.offset : chart.offset + self.request.max_runs]
            series = [it for run in visible if (it := self._find_series(chart, run)) is not None]
            return build_chart(self.request, chart, series, len(runs))
        except LogError as error:
            # A tag that has just been deleted must not break the other charts.
            return HistogramChartRow(chart.id, error=self.context.describe_error(error))

    def _find_series(self, chart: HistogramChartRequest, run: str) -> SeriesHistograms | None:
        """Return the selected histograms of a run; None if there are none in the range."""
        locations = self.context.log.locate(run, chart.tag)
        in_range = select_range(locations, self.request.x, chart.start, chart.stop)
        selection = limit_selection(locations, in_range, self.request.max_points)
        if not len(selection.index):
            return None
        histograms = read_histograms(self.context, locations, selection)
        return SeriesHistograms(locations, selection, histograms)


def read_histograms(
    context: Context, locations: ValueLocations, selection: HistogramSelection
) -> HistogramBatch:
    """Read the selected histograms; those that cannot be read are in ``errors``."""
    indexes = selection.index.tolist()
    try:
        return decode_histograms(context.log.read_many(locations, indexes))
    except LogError:
        pass
    # Read one by one to find out which ones fail.
    values: list[bytes | None] = []
    errors: dict[int, TracklightError] = {}
    for row, index in enumerate(indexes):
        try:
            values.append(context.log.read(locations, index))
        except LogError as error:
            values.append(None)
            errors[row] = error
    histograms = decode_histograms(values)
    histograms.errors.update(errors)
    return histograms


def build_chart(
    request: HistogramsRequest,
    chart: HistogramChartRequest,
    series: Sequence[SeriesHistograms],
    runs: int,
) -> HistogramChartRow:
    """Return a chart with all series on one grid, so that they can be compared."""
    value_range = find_joint_range(find_value_range(item.histograms) for item in series)
    grid = None
    if request.bins and value_range is not None:
        low, high = _get_grid_range(request, chart, series, value_range)
        grid = make_grid(low, high, request.bins)
    return HistogramChartRow(
        chart.id,
        runs=runs,
        grid=grid,
        is_clipped=_is_clipped(grid, value_range),
        series=[_make_series_row(request, chart.tag, item, grid) for item in series],
    )


def _is_clipped(grid: Float64 | None, value_range: ValueRange | None) -> bool:
    if grid is None or value_range is None:
        return False
    return bool(grid[0] > value_range[0] or grid[-1] < value_range[1])


def _get_grid_range(
    request: HistogramsRequest,
    chart: HistogramChartRequest,
    series: Sequence[SeriesHistograms],
    value_range: ValueRange,
) -> ValueRange:
    """Return the requested range of the grid, or the range of the data."""
    if request.ignore_outliers:
        value_range = compute_core_range([item.histograms for item in series], value_range)
    low, high = value_range
    return low if chart.low is None else chart.low, high if chart.high is None else chart.high


def _make_series_row(
    request: HistogramsRequest, tag: str, series: SeriesHistograms, grid: Float64 | None
) -> HistogramSeriesRow:
    locations, selection, histograms = series.locations, series.selection, series.histograms
    bins = None if grid is None else _to_float32(rebin(histograms, grid).ravel())
    totals = dict(zip(TOTALS_COLUMNS, histograms.totals.T, strict=True))
    low, high = _get_outer_edges(histograms)
    counts = np.where(np.isnan(histograms.counts), 0.0, histograms.counts)
    return HistogramSeriesRow(
        run=locations.run,
        tag=tag,
        count=selection.total,
        index=selection.index.astype(np.int32),
        fingerprint=compute_fingerprints(locations)[selection.index],
        step=locations.step[selection.index],
        wall_time=locations.wall_time[selection.index],
        x=selection.x,
        low=low,
        high=high,
        bucket_sum=_sum_by_histogram(histograms, counts),
        num=totals["num"],
        nan=totals["nan"],
        positive_infinity=totals["positive_infinity"],
        negative_infinity=totals["negative_infinity"],
        unbounded=_sum_by_histogram(histograms, np.where(is_bounded(histograms), 0.0, counts)),
        has_nan=_sum_by_histogram(histograms, _mark_nan_buckets(histograms)) > 0,
        bins=bins,
        percentiles=compute_percentiles(histograms).ravel() if request.percentiles else None,
        errors=list(_iter_errors(series)),
    )


def _to_float32(counts: Float64) -> Float32 | Float64:
    with np.errstate(over="ignore"):  # counts that overflow stay in double precision
        return to_float32_if_exact(counts)


def _mark_nan_buckets(histograms: HistogramBatch) -> Float64:
    edges = np.isnan(histograms.left) | np.isnan(histograms.right)
    return (edges | np.isnan(histograms.counts)).astype(np.float64)


def _sum_by_histogram(histograms: HistogramBatch, column: Float64) -> Float64:
    sums = np.bincount(histograms.histogram_ids(), column, len(histograms))
    return sums.astype(np.float64)


def _get_outer_edges(histograms: HistogramBatch) -> tuple[Float64, Float64]:
    """Return the outermost edges of each histogram; NaN if it has no buckets."""
    begin, stop = histograms.starts[:-1], histograms.starts[1:]
    is_empty = stop == begin
    left, right = np.append(histograms.left, np.nan), np.append(histograms.right, np.nan)
    return (
        np.where(is_empty, np.nan, left[np.where(is_empty, -1, begin)]),
        np.where(is_empty, np.nan, right[np.where(is_empty, -1, stop - 1)]),
    )


def _iter_errors(series: SeriesHistograms) -> Iterator[HistogramErrorRow]:
    steps = series.locations.step[series.selection.index]
    errors = series.histograms.errors
    for row in sorted(errors)[:_MAX_ERRORS]:
        message = find_message(errors[row]) or str(errors[row])
        yield HistogramErrorRow(int(steps[row]), Sentence.make(message))


# Download


@dataclass(frozen=True)
class BucketTable:
    """The buckets of one series as columns."""

    run: str
    tag: str
    step: Int64
    wall_time: Float64
    left: Float64
    right: Float64
    count: Float64

    def __len__(self) -> int:
        return len(self.step)


def export_buckets(context: Context, request: BucketTableRequest) -> Blob:
    """Return a file with run, tag, step, wall time, edges and count of every bucket.

    Raises:
        UsageError: The selected histograms are too large for one file.
    """
    # The writers are not needed to show charts.
    from tracklight.reader.export import SERIES_WRITERS

    selections = list(_iter_selections(context, request))
    _check_size(selections)
    file = io.BytesIO()
    writer = SERIES_WRITERS[request.format](file, _COLUMNS)
    for locations, selection in selections:
        tables = [_make_table(context, locations, batch) for batch in _iter_batches(selection)]
        writer.write(_concatenate(tables))
    writer.close()
    return Blob(file.getvalue(), _MEDIA_TYPES[request.format], f"histograms.{request.format}")


def _iter_selections(
    context: Context, request: BucketTableRequest
) -> Iterator[tuple[ValueLocations, HistogramSelection]]:
    for tag in request.tags:
        available = context.log.plugin_data(tag)
        runs = available if request.runs is None else request.runs
        for run in (run for run in runs if run in available):
            locations = context.log.locate(run, tag)
            selection = select_range(locations, request.x, request.start, request.stop)
            if selection.total:
                yield locations, selection


def _check_size(selections: Sequence[tuple[ValueLocations, HistogramSelection]]) -> None:
    size_bytes = sum(
        int(locations.size[selection.index].sum()) for locations, selection in selections
    )
    if size_bytes > MAX_DOWNLOAD_BYTES:
        raise UsageError(
            "histograms.download_too_large",
            "these histograms take {size_mb:,} MB in the log, more than the "
            "limit of {limit_mb:,} MB for a download; select fewer runs, tags "
            "or steps",
            size_mb=size_bytes >> 20,
            limit_mb=MAX_DOWNLOAD_BYTES >> 20,
        )


def _iter_batches(selection: HistogramSelection) -> Iterator[HistogramSelection]:
    for start in range(0, len(selection.index), _BATCH_SIZE):
        rows = slice(start, start + _BATCH_SIZE)
        yield HistogramSelection(selection.index[rows], selection.x[rows], selection.total)


def _make_table(
    context: Context, locations: ValueLocations, selection: HistogramSelection
) -> BucketTable:
    histograms = read_histograms(context, locations, selection)
    rows = selection.index[histograms.histogram_ids()]
    return BucketTable(
        locations.run,
        locations.tag,
        locations.step[rows],
        locations.wall_time[rows],
        histograms.left,
        histograms.right,
        histograms.counts,
    )


def _concatenate(tables: list[BucketTable]) -> BucketTable:
    columns = (np.concatenate([getattr(table, name) for table in tables]) for name in _COLUMNS)
    return BucketTable(tables[0].run, tables[0].tag, *columns)


# Static export


def iter_static_export(
    context: Context,
    plugins: Container[str],
    runs: Sequence[str],
    read_buckets: Callable[[ValueRequest], BucketsResponse],
) -> Iterator[tuple[str, object]]:
    """Yield some histograms of every series as logged, and for each tag a chart of them."""

    def export_histogram(request: ValueRequest) -> list[tuple[str, object]]:
        return [(value_path("buckets", request), read_buckets(request))]

    for path, response in export_values(context, plugins, runs, export_histogram):
        yield path, response
        if isinstance(response, StepsResponse):
            tag = response.series[0].tag
            yield tag_path("charts", tag), _build_static_chart(context, tag, response.series)


def _build_static_chart(
    context: Context, tag: str, series: Sequence[SeriesSteps]
) -> HistogramChartRow:
    request = HistogramsRequest(
        charts=[HistogramChartRequest("copy", tag)],
        bins=_STATIC_BINS,
        percentiles=True,
        ignore_outliers=True,
    )
    histograms = [_read_series(context, steps) for steps in series]
    return build_chart(request, request.charts[0], histograms, len(histograms))


def _read_series(context: Context, steps: SeriesSteps) -> SeriesHistograms:
    locations = context.log.locate(steps.run, steps.tag)
    total = int(np.count_nonzero(~locations.overwritten))
    index, x = steps.index.astype(np.int64), steps.step.astype(np.float64)
    selection = HistogramSelection(index, x, total)
    return SeriesHistograms(locations, selection, read_histograms(context, locations, selection))
