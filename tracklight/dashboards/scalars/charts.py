"""Build charts: any set of series as lines and bands, reduced to the pixels that will show them.

`ChartBuilder` answers a `ChartsRequest`. Runs outside of groups become lines (`plan_line_view`),
runs of a group become one band around their mean or median (`BandBuilder`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from tracklight.dashboards.scalars.schemas import (
    BandRow,
    BandSpread,
    BandsRequest,
    ChartRequest,
    ChartRow,
    ChartsRequest,
    RunGroup,
    SeriesRequest,
    make_line_row,
)
from tracklight.errors import LogError, UsageError
from tracklight.index.aggregation import (
    ComputeStatistics,
    CurveExtents,
    FindSampleGrid,
    GroupStatistics,
    MeasureCurves,
)
from tracklight.index.downsampling import (
    Extent,
    ExtentView,
    LineView,
    get_centers,
    make_edges,
    merge_extents,
)
from tracklight.index.series_query import Baseline, SeriesQuery, make_baseline
from tracklight.index.shard import SeriesKey
from tracklight.plugin import Context, Source
from tracklight.types import Float64, Int32, Int64

#: Lines of all charts of one request.
_MAX_LINES = 50_000

#: In charts with more lines, only the lines themselves are drawn.
_MAX_DETAILED_LINES = 100
#: Values of all lines of one chart. With more lines there are fewer pixel columns per line, down to
#: the minimum.
_MAX_LINE_CELLS = 380_000
_MIN_COLUMNS = 100
#: Points of all lines of one chart that may be sent without reduction.
_MAX_UNREDUCED_POINTS = 300_000
#: Charts with fewer points in total are not reduced.
_MIN_REDUCED_POINTS = 2000

#: Values of all runs of one chart from which bands are computed.
_MAX_BAND_CELLS = 4_000_000
_MIN_BAND_POINTS = 100
#: Statistics of larger groups are computed by the shards, and their quantiles are approximate. See
#: `tracklight.index.aggregation`.
MAX_EXACT_RUNS = 2000
#: The center of a band of quantiles, its edges, and those of its inner part.
_QUANTILES = (0.5, 0.05, 0.95, 0.25, 0.75)

#: The 97.5 % quantiles of Student's t-distribution with 1, 2, … degrees of freedom.
_T_QUANTILES = np.array([
    12.706205, 4.302653, 3.182446, 2.776445, 2.570582, 2.446912, 2.364624, 2.306004, 2.262157,
    2.228139, 2.200985, 2.178813, 2.160369, 2.144787, 2.131450, 2.119905, 2.109816, 2.100922,
    2.093024, 2.085963,
])  # fmt: skip

_NORMAL_QUANTILE = 1.959963985


@dataclass(frozen=True)
class SeriesSelection:
    """The series that a request selects, and how it queries them."""

    context: Context
    request: SeriesRequest

    def list_keys(self, tags: Iterable[str]) -> list[SeriesKey]:
        """Return the selected runs that have a tag, tag by tag, in natural order."""
        selected = None if self.request.runs is None else frozenset(self.request.runs)
        return [
            (run, tag)
            for tag in tags
            for run in self.context.runs_with(tag)
            if selected is None or run in selected
        ]

    def make_query(self, tags: Iterable[str]) -> SeriesQuery:
        """Return the query of the request, with the baselines of some tags if it has one.

        Raises:
            UsageError: The axis does not exist, or the baseline has none of the tags.
        """
        request = self.request
        query = SeriesQuery(request.x, request.smoothing)
        if query.metric is not None and not self.context.runs_with(query.metric):
            raise UsageError(
                "scalars.no_x_metric",
                'no run has a scalar "{metric}" for the x axis',
                metric=query.metric,
            )
        if request.baseline is None:
            return query
        baselines = self._compute_baselines(request.baseline.run, tags, query)
        return replace(query, baselines=baselines, baseline_mode=request.baseline.mode)

    def _compute_baselines(
        self, run: str, tags: Iterable[str], query: SeriesQuery
    ) -> dict[str, Baseline]:
        shared = [tag for tag in tags if run in self.context.runs_with(tag)]
        if not shared:
            raise UsageError(
                "scalars.baseline_without_tags",
                'the baseline "{run}" has none of the tags of this chart',
                run=run,
            )
        keys = [(run, tag) for tag in shared]
        return dict(zip(shared, self.context.log.query(keys, query, make_baseline), strict=True))


RequestT = TypeVar("RequestT", bound=BandsRequest)


def resolve_groups(context: Context, request: RequestT) -> RequestT:
    """Return the request with the names of the runs that the queries of its groups describe.

    Raises:
        UsageError: A query is not valid.
    """
    queries = [group.query for group in request.groups or () if group.query is not None]
    if not queries or context.select_runs is None:
        return request
    groups = [
        group
        if group.query is None
        else RunGroup(group.key, [*group.runs, *context.select_runs(group.query)])
        for group in request.groups or ()
    ]
    runs = request.runs
    if runs is not None:
        runs = [*runs, *(run for group in groups for run in group.runs)]
    return msgspec.structs.replace(request, groups=groups, runs=runs)


# ---- charts


@dataclass(frozen=True)
class ChartBuilder:
    """Build the charts of one request."""

    context: Context
    request: ChartsRequest

    def build(self) -> list[ChartRow]:
        """Return the charts in the order of the request.

        Raises:
            UsageError: The charts have too many lines.
        """
        selection = SeriesSelection(self.context, self.request)
        keys = [selection.list_keys(chart.tags) for chart in self.request.charts]
        if sum(map(len, keys)) > _MAX_LINES:
            raise UsageError(
                "scalars.too_many_lines",
                "these charts have more than {max_lines:,} lines: choose fewer runs",
                max_lines=_MAX_LINES,
            )
        return [
            self._build_chart(chart, chart_keys, selection)
            for chart, chart_keys in zip(self.request.charts, keys, strict=True)
        ]

    def _build_chart(
        self, chart: ChartRequest, keys: list[SeriesKey], selection: SeriesSelection
    ) -> ChartRow:
        if not keys:
            return ChartRow(chart.id)
        try:
            return self._draw(chart, keys, selection.make_query(chart.tags))
        except (LogError, UsageError) as error:
            # One failed chart, such as one of a tag that was just removed, must not affect others.
            return ChartRow(chart.id, error=self.context.describe_error(error))

    def _draw(self, chart: ChartRequest, keys: Sequence[SeriesKey], query: SeriesQuery) -> ChartRow:
        grouped_runs = frozenset(run for group in self.request.groups or () for run in group.runs)
        line_keys = [key for key in keys if key[0] not in grouped_runs]
        grouped = [key for key in keys if key[0] in grouped_runs]
        lines = self._measure(chart, line_keys, query) if line_keys else {}
        measure = MeasureCurves(len(grouped), chart.start, chart.stop)
        extents = self.context.log.reduce(grouped, query, measure) if grouped else None
        start, stop = _get_x_range(chart, lines.values(), extents)
        row = ChartRow(
            chart.id,
            runs=len({run for run, _ in keys}),
            points=sum(extent.points for extent in lines.values()),
        )
        if lines:
            view = plan_line_view(self.request, list(lines.values()), start, stop)
            self._add_lines(row, lines, view, query)
        if extents is not None:
            row.points += int(extents.points.sum())
            builder = BandBuilder(self.context.log, self.request, query)
            row.bands = builder.build(grouped, start, stop, 2 * self.request.width)
            max_points = max((len(band.x) for band in row.bands), default=0)
            row.reduced |= bool((extents.points > max_points).any())
        return row

    def _measure(
        self, chart: ChartRequest, keys: Sequence[SeriesKey], query: SeriesQuery
    ) -> dict[SeriesKey, Extent]:
        view = ExtentView(chart.start, chart.stop)
        extents = self.context.log.query(keys, replace(query, smoothing=None), view)
        return dict(zip(keys, extents, strict=True))

    def _add_lines(
        self,
        row: ChartRow,
        extents: Mapping[SeriesKey, Extent],
        view: LineView,
        query: SeriesQuery,
    ) -> None:
        lines = zip(extents, self.context.log.query(list(extents), query, view), strict=True)
        row.lines = [make_line_row(*key, line) for key, line in lines if line.points]
        row.reduced = any(extent.points > view.max_points for extent in extents.values())
        if any(line.x is None for line in row.lines):
            row.grid = get_centers(view.edges)


def _get_x_range(
    chart: ChartRequest, lines: Iterable[Extent], grouped: CurveExtents | None
) -> tuple[float, float]:
    """Return the visible range of x: the requested one, or that of all lines and bands."""
    low, high = merge_extents(lines) or (np.inf, -np.inf)
    if grouped is not None:
        low, high = min(low, grouped.low), max(high, grouped.high)
    if low > high:
        low, high = 0.0, 1.0
    return (
        low if chart.start is None else chart.start,
        high if chart.stop is None else chart.stop,
    )


def plan_line_view(
    request: ChartsRequest, extents: Sequence[Extent], start: float, stop: float
) -> LineView:
    """Choose the number of pixel columns of a chart, and which lines are sent without reduction.

    Args:
        request: The request.
        extents: The extents of all lines of the chart.
        start: The lowest visible x.
        stop: The highest visible x.
    """
    is_smoothed = request.smoothing is not None
    line_only = len(extents) > _MAX_DETAILED_LINES
    values_per_column = 3 if not is_smoothed else 1 if line_only else 4
    cells_per_column = len(extents) * values_per_column
    columns = min(request.width, max(_MAX_LINE_CELLS // cells_per_column, _MIN_COLUMNS))
    max_points = max(2 * columns, _MIN_REDUCED_POINTS // len(extents))
    if sum(min(extent.points, max_points) for extent in extents) > _MAX_UNREDUCED_POINTS:
        max_points = 0
    return LineView(
        edges=make_edges(start, stop, columns),
        max_points=max_points,
        is_smoothed=is_smoothed,
        line_only=line_only,
        with_overwritten=request.overwritten,
    )


# ---- bands


@dataclass(frozen=True)
class BandBuilder:
    """Build the bands of one chart or download."""

    log: Source
    request: BandsRequest
    query: SeriesQuery

    def build(
        self, keys: Sequence[SeriesKey], start: float, stop: float, max_points: int
    ) -> list[BandRow]:
        """Return a band for each group and tag that some of the series belong to.

        Args:
            keys: The series.
            start: The lowest x.
            stop: The highest x.
            max_points: A band has at most this many values of x, and fewer with many series.
        """
        max_points = max(_MIN_BAND_POINTS, min(max_points, _MAX_BAND_CELLS // len(keys)))
        find_grid = FindSampleGrid(start, stop, max_points)
        (grid,) = self.log.reduce(keys, self.query, find_grid)
        if not len(grid):
            return []
        members = list(_iter_members(self.request.groups or (), keys))
        statistics = self._compute_statistics(grid, [own for _, _, own in members])
        return [
            self._make_band(group.key, tag, grid, statistics[number])
            for number, (group, tag, _) in enumerate(members)
            if number in statistics
        ]

    def _compute_statistics(
        self, grid: Float64, members: Sequence[Sequence[SeriesKey]]
    ) -> dict[int, GroupStatistics]:
        has_quantiles = self.request.center == "median" or self.request.band == "quantiles"
        sizes = [len(own) for own in members]
        small = frozenset(n for n, size in enumerate(sizes) if size <= MAX_EXACT_RUNS)
        compute = ComputeStatistics(
            grid,
            np.repeat(np.arange(len(sizes), dtype=np.int32), sizes),
            with_extremes=self.request.band == "minmax",
            exact=small,
            sketched=frozenset(range(len(sizes))) - small if has_quantiles else frozenset(),
        )
        return self.log.reduce([key for own in members for key in own], self.query, compute)

    @np.errstate(all="ignore")
    def _make_band(
        self, group: str, tag: str, grid: Float64, statistics: GroupStatistics
    ) -> BandRow:
        covered = _select_covered(statistics.count, self.request.min_runs)
        count = statistics.count[covered]
        columns = [column[covered] for column in self._compute_columns(statistics)]
        for column in columns:
            column[count < self.request.min_runs] = np.nan
        return BandRow(group, tag, statistics.runs, grid[covered], count, *columns)

    def _compute_columns(self, statistics: GroupStatistics) -> list[Float64]:
        """Return the center and both edges of a band, and those of its inner part if it has one."""
        spread = self.request.band
        if spread == "quantiles":
            return [statistics.compute_quantile(quantile) for quantile in _QUANTILES]
        center = (
            statistics.mean.copy()
            if self.request.center == "mean"
            else statistics.compute_quantile(0.5)
        )
        if spread == "minmax":
            return [center, statistics.low, statistics.high]
        half_width = compute_half_width(statistics, spread)
        return [center, center - half_width, center + half_width]


def _select_covered(count: Int32, min_runs: int) -> Int64:
    """Return the rows of a band: where runs have values, between the first and last enough have.

    Rows in between with too few runs are kept, so that the band has a gap there.
    """
    enough = np.flatnonzero(count >= min_runs)
    if not len(enough):
        return enough
    rows: Int64 = np.arange(enough[0], enough[-1] + 1)
    covered: Int64 = rows[count[rows] > 0]
    return covered


def compute_half_width(statistics: GroupStatistics, spread: BandSpread) -> Float64:
    """Return the distance of a band's edges from its center; zero for a single run."""
    degrees = np.maximum(statistics.count - 1, 1)
    deviation: Float64 = np.sqrt(statistics.squares / degrees)
    if spread == "std":
        return deviation
    error: Float64 = deviation / np.sqrt(statistics.count)
    return error if spread == "stderr" else error * compute_t_quantiles(degrees)


def compute_t_quantiles(degrees: NDArray[np.integer]) -> Float64:
    """Return the half-width of a 95 % confidence interval, in standard errors.

    Args:
        degrees: Degrees of freedom, at least one.
    """
    exact = _T_QUANTILES[np.minimum(degrees, len(_T_QUANTILES)) - 1]
    approximate = _approximate_t_quantiles(degrees.astype(np.float64))
    return np.where(degrees <= len(_T_QUANTILES), exact, approximate)


def _approximate_t_quantiles(degrees: Float64) -> Float64:
    """Fisher's expansion around the normal distribution, accurate for many degrees of freedom."""
    z = _NORMAL_QUANTILE
    first = (z**3 + z) / 4
    second = (5 * z**5 + 16 * z**3 + 3 * z) / 96
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    return z + first / degrees + second / degrees**2 + third / degrees**3


def _iter_members(
    groups: Sequence[RunGroup], keys: Sequence[SeriesKey]
) -> Iterator[tuple[RunGroup, str, list[SeriesKey]]]:
    """Yield each group and tag with its series, if it has any."""
    tags = dict.fromkeys(tag for _, tag in keys)
    existing = frozenset(keys)
    for tag in tags:
        for group in groups:
            members = [(run, tag) for run in group.runs if (run, tag) in existing]
            if members:
                yield group, tag, members
