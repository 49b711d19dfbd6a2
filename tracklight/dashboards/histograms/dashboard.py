"""Charts: the histograms of a tag, run by run, on one grid and as percentiles."""

from __future__ import annotations

import io
from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tracklight.analysis.media.static_export import export_values, tag_path, value_path
from tracklight.analysis.media.values import (
    SeriesSteps,
    StepsRequest,
    StepsResponse,
    ValueReader,
    ValueRequest,
    compute_fingerprints,
    has_fingerprint,
    list_steps,
)
from tracklight.dashboards.histograms.binning import (
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
from tracklight.dashboards.histograms.schemas import (
    BucketsResponse,
    BucketTableRequest,
    HistogramChartRequest,
    HistogramChartRow,
    HistogramErrorRow,
    HistogramSeriesRow,
    HistogramsRequest,
    HistogramsResponse,
    TableFormat,
    make_totals_row,
)
from tracklight.errors import LogError, UsageError
from tracklight.formats.values import TOTALS_COLUMNS, Histogram, HistogramBatch, decode_histograms
from tracklight.index.downsampling import to_float32_if_exact
from tracklight.plugin import Blob, Context, Dashboard, Route
from tracklight.types import Float32, Float64, Int64, ValueLocations
from tracklight.util.json_number import to_json_number

#: Histograms of all charts of one ask.
_MAX_HISTOGRAMS = 100_000

#: Of those that cannot be read so many are told of.
_MAX_ERRORS = 20


@dataclass(frozen=True)
class SeriesHistograms:
    """Some histograms of one series."""

    located: ValueLocations
    chosen: HistogramSelection
    histograms: HistogramBatch


@dataclass(frozen=True)
class HistogramQuery:
    """Answers one ask, chart by chart."""

    context: Context
    ask: HistogramsRequest

    def run(self) -> list[HistogramChartRow]:
        runs = [self._list_runs(chart.tag) for chart in self.ask.charts]
        shown = sum(min(len(own), self.ask.most_runs) for own in runs)
        if shown * self.ask.most > _MAX_HISTOGRAMS:
            raise UsageError(
                f"these charts have more than {_MAX_HISTOGRAMS:,} histograms: choose fewer runs"
            )
        pairs = zip(self.ask.charts, runs, strict=True)
        return [self._build_chart(chart, own) for chart, own in pairs]

    def _list_runs(self, tag: str) -> list[str]:
        having = self.context.log.plugin_data(tag)
        runs = having if self.ask.runs is None else self.ask.runs
        return [run for run in runs if run in having]

    def _build_chart(self, chart: HistogramChartRequest, runs: Sequence[str]) -> HistogramChartRow:
        try:
            shown = runs[chart.skip : chart.skip + self.ask.most_runs]
            parts = [part for run in shown if (part := self._read(chart, run)) is not None]
            return build_chart(self.ask, chart, parts, len(runs))
        except LogError as error:
            # A tag that has just gone must not spoil the other charts of the page.
            return HistogramChartRow(chart.id, error=self.context.describe_error(error))

    def _read(self, chart: HistogramChartRequest, run: str) -> SeriesHistograms | None:
        located = self.context.log.locate(run, chart.tag)
        among = select_range(located, self.ask.x, chart.start, chart.stop)
        chosen = limit_selection(located, among, self.ask.most)
        if not len(chosen.index):
            return None
        return SeriesHistograms(located, chosen, read_histograms(self.context, located, chosen))


def read_histograms(
    context: Context, located: ValueLocations, chosen: HistogramSelection
) -> HistogramBatch:
    """What was chosen of a series; one that cannot be read is told of in its place."""
    indexes = chosen.index.tolist()
    try:
        return decode_histograms(context.log.read_many(located, indexes))
    except LogError:
        pass
    values: list[bytes | None] = []
    unread: dict[int, str] = {}
    for place, index in enumerate(indexes):
        try:
            values.append(context.log.read(located, index))
        except LogError as error:
            values.append(None)
            unread[place] = str(error)
    histograms = decode_histograms(values)
    histograms.errors.update(unread)
    return histograms


def build_chart(
    ask: HistogramsRequest,
    chart: HistogramChartRequest,
    parts: Sequence[SeriesHistograms],
    runs: int,
) -> HistogramChartRow:
    """All series of a chart on one grid, so that they can be compared."""
    all_of_it = find_joint_range(find_value_range(part.histograms) for part in parts)
    grid = None
    if ask.bins and all_of_it is not None:
        low, high = _get_grid_range(ask, chart, parts, all_of_it)
        grid = make_grid(low, high, ask.bins)
    return HistogramChartRow(
        chart.id,
        runs=runs,
        grid=grid,
        cut=_is_clipped(grid, all_of_it),
        series=[_make_series_row(ask, chart.tag, part, grid) for part in parts],
    )


def _is_clipped(grid: Float64 | None, reach: ValueRange | None) -> bool:
    if grid is None or reach is None:
        return False
    return bool(grid[0] > reach[0] or grid[-1] < reach[1])


def _get_grid_range(
    ask: HistogramsRequest,
    chart: HistogramChartRequest,
    parts: Sequence[SeriesHistograms],
    reach: ValueRange,
) -> ValueRange:
    """From where to where the grid reaches: what was asked for, else what there is."""
    if ask.ignore_outliers:
        reach = compute_core_range([part.histograms for part in parts], reach)
    low, high = reach
    return low if chart.low is None else chart.low, high if chart.high is None else chart.high


def _make_series_row(
    ask: HistogramsRequest, tag: str, part: SeriesHistograms, grid: Float64 | None
) -> HistogramSeriesRow:
    located, chosen, histograms = part.located, part.chosen, part.histograms
    bins = None if grid is None else _narrow(rebin(histograms, grid).ravel())
    totals = dict(zip(TOTALS_COLUMNS, histograms.totals.T, strict=True))
    low, high = _get_outer_edges(histograms)
    counts = np.where(np.isnan(histograms.counts), 0.0, histograms.counts)
    return HistogramSeriesRow(
        run=located.run,
        tag=tag,
        count=chosen.total,
        index=chosen.index.astype(np.int32),
        mark=compute_fingerprints(located)[chosen.index],
        step=located.step[chosen.index],
        wall_time=located.wall_time[chosen.index],
        x=chosen.x,
        low=low,
        high=high,
        counted=_sum_by_histogram(histograms, counts),
        num=totals["num"],
        nan=totals["nan"],
        positive_infinity=totals["positive_infinity"],
        negative_infinity=totals["negative_infinity"],
        unplaced=_sum_by_histogram(histograms, np.where(is_bounded(histograms), 0.0, counts)),
        spoiled=_sum_by_histogram(histograms, _mark_nan_buckets(histograms)) > 0,
        bins=bins,
        percentiles=compute_percentiles(histograms).ravel() if ask.percentiles else None,
        flaws=list(_iter_errors(part)),
    )


def _narrow(counts: Float64) -> Float32 | Float64:
    with np.errstate(over="ignore"):  # where counts are that large, nothing is narrowed
        return to_float32_if_exact(counts)


def _mark_nan_buckets(histograms: HistogramBatch) -> Float64:
    edges = np.isnan(histograms.left) | np.isnan(histograms.right)
    return (edges | np.isnan(histograms.counts)).astype(np.float64)


def _sum_by_histogram(histograms: HistogramBatch, column: Float64) -> Float64:
    sums = np.bincount(histograms.histogram_ids(), column, len(histograms))
    return sums.astype(np.float64)


def _get_outer_edges(histograms: HistogramBatch) -> tuple[Float64, Float64]:
    """The outermost edges of each; NaN for one without buckets."""
    begin, stop = histograms.starts[:-1], histograms.starts[1:]
    empty = stop == begin
    edges = []
    for column, at in ((histograms.left, begin), (histograms.right, stop - 1)):
        known = np.append(column, np.nan)
        edges.append(np.where(empty, np.nan, known[np.where(empty, -1, at)]))
    return edges[0], edges[1]


def _iter_errors(part: SeriesHistograms) -> Iterator[HistogramErrorRow]:
    steps = part.located.step[part.chosen.index]
    for place, what in sorted(part.histograms.errors.items())[:_MAX_ERRORS]:
        yield HistogramErrorRow(int(steps[place]), what)


# The buckets behind a view as one file.

_MAX_DOWNLOAD_BYTES = 128 << 20

#: Histograms of a series that are read at once.
_BATCH_SIZE = 1000

_COLUMNS = ("step", "wall_time", "left", "right", "count")

_MEDIA_TYPES: dict[TableFormat, str] = {
    "csv": "text/csv; charset=utf-8",
    "json": "application/json",
    "parquet": "application/vnd.apache.parquet",
}


@dataclass(frozen=True)
class BucketTable:
    """Columns of one series, as a file has them: a row for each bucket."""

    run: str
    tag: str
    step: Int64
    wall_time: Float64
    left: Float64
    right: Float64
    count: Float64

    def __len__(self) -> int:
        return len(self.step)


def export_buckets(context: Context, ask: BucketTableRequest) -> Blob:
    """Run, tag, step, time, edges and count for every bucket as logged."""
    from tracklight.reader.export import (
        SERIES_WRITERS,  # a board that nobody takes anything from needs none
    )

    chosen = list(_iter_selections(context, ask))
    _check_size(chosen)
    file = io.BytesIO()
    writer = SERIES_WRITERS[ask.format](file, _COLUMNS)
    for located, own in chosen:
        writer.write(
            _concatenate([_make_table(context, located, part) for part in _iter_batches(own)])
        )
    writer.close()
    return Blob(file.getvalue(), _MEDIA_TYPES[ask.format], f"histograms.{ask.format}")


def _iter_selections(
    context: Context, ask: BucketTableRequest
) -> Iterator[tuple[ValueLocations, HistogramSelection]]:
    for tag in ask.tags:
        having = context.log.plugin_data(tag)
        for run in having if ask.runs is None else [run for run in ask.runs if run in having]:
            located = context.log.locate(run, tag)
            chosen = select_range(located, ask.x, ask.start, ask.stop)
            if chosen.total:
                yield located, chosen


def _check_size(chosen: Sequence[tuple[ValueLocations, HistogramSelection]]) -> None:
    size_bytes = sum(int(located.size[own.index].sum()) for located, own in chosen)
    if size_bytes > _MAX_DOWNLOAD_BYTES:
        raise UsageError(
            f"these histograms take {size_bytes >> 20:,} MB in the log, and a download holds "
            f"{_MAX_DOWNLOAD_BYTES >> 20:,}: choose fewer runs, tags or steps"
        )


def _iter_batches(chosen: HistogramSelection) -> Iterator[HistogramSelection]:
    for start in range(0, len(chosen.index), _BATCH_SIZE):
        rows = slice(start, start + _BATCH_SIZE)
        yield HistogramSelection(chosen.index[rows], chosen.x[rows], chosen.total)


def _make_table(
    context: Context, located: ValueLocations, chosen: HistogramSelection
) -> BucketTable:
    histograms = read_histograms(context, located, chosen)
    rows = chosen.index[histograms.histogram_ids()]
    columns = histograms.left, histograms.right, histograms.counts
    return BucketTable(
        located.run, located.tag, located.step[rows], located.wall_time[rows], *columns
    )


def _concatenate(sheets: list[BucketTable]) -> BucketTable:
    columns = (np.concatenate([getattr(one, name) for one in sheets]) for name in _COLUMNS)
    return BucketTable(sheets[0].run, sheets[0].tag, *columns)


# What a copy of a board carries: some histograms of each series, drawn and as logged.

#: A copy cannot be asked for other bins, so it has some to spare.
_STATIC_BINS = 120


def iter_static_export(
    context: Context,
    plugins: Container[str],
    runs: Sequence[str],
    exact: Callable[[ValueRequest], BucketsResponse],
) -> Iterator[tuple[str, object]]:
    """Histograms as logged, the steps of them, and tag by tag the chart of these steps."""

    def copy_value(ask: ValueRequest) -> list[tuple[str, object]]:
        return [(value_path("buckets", ask), exact(ask))]

    for path, answer in export_values(context, plugins, runs, copy_value):
        yield path, answer
        if isinstance(answer, StepsResponse):
            tag = answer.series[0].tag
            yield tag_path("charts", tag), _build_static_chart(context, tag, answer.series)


def _build_static_chart(
    context: Context, tag: str, series: Sequence[SeriesSteps]
) -> HistogramChartRow:
    ask = HistogramsRequest(
        charts=[HistogramChartRequest("copy", tag)],
        bins=_STATIC_BINS,
        percentiles=True,
        ignore_outliers=True,
    )
    parts = [_read_series(context, steps) for steps in series]
    return build_chart(ask, ask.charts[0], parts, len(parts))


def _read_series(context: Context, steps: SeriesSteps) -> SeriesHistograms:
    located = context.log.locate(steps.run, steps.tag)
    count = int(np.count_nonzero(~located.overwritten))
    chosen = HistogramSelection(steps.index.astype(np.int64), steps.step.astype(np.float64), count)
    return SeriesHistograms(located, chosen, read_histograms(context, located, chosen))


class Histograms(Dashboard):
    """Answers with histograms on a common grid, with percentiles, and with buckets as logged.

    The page's tabs Histograms and Distributions both ask it.
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

    def query(self, ask: HistogramsRequest) -> HistogramsResponse:
        """Histograms of some tags, on a grid and as percentiles.

        A bucket's count is spread over the bins of the grid by how much of the bucket lies in
        each, so that counts are conserved. Percentiles are found in the buckets as logged.
        """
        cursor = self.context.cursor()
        return HistogramsResponse(cursor, HistogramQuery(self.context, ask).run())

    def steps(self, ask: StepsRequest) -> StepsResponse:
        """At which steps histograms were logged."""
        return list_steps(self.context, ask)

    def exact(self, ask: ValueRequest) -> BucketsResponse:
        """The buckets of one histogram as logged."""
        found = self._reader.read(ask)
        if not isinstance(found, Histogram):
            raise LogError(f'"{ask.tag}" holds no histograms')
        located = self.context.log.locate(ask.run, ask.tag)
        return BucketsResponse(
            int(located.step[ask.index]),
            to_json_number(float(located.wall_time[ask.index])),
            found.edges_left,
            found.edges_right,
            found.counts,
            make_totals_row(found.totals),
        )

    def table(self, ask: BucketTableRequest) -> Blob:
        """Every bucket behind a view as CSV, JSON or Parquet."""
        return export_buckets(self.context, ask)
