"""Build charts: any set of series as lines and bands, reduced to the pixels that will show them.

`ChartBuilder` answers a `ChartsRequest`. Runs outside of groups become lines (`LineBuilder`), runs
of a group become one band around their mean or median (`BandBuilder`).

Charts of live logs are requested again and again, and few of their runs change in between. So
`LiveCharts` keeps each chart as a `ChartState`, computes only the lines of runs that have changed,
and leaves out the lines that the client has, according to the ``base`` of its request.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
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
    LineRow,
    RunGroup,
    SeriesRequest,
    make_line_row,
)
from tracklight.errors import LogError, UsageError
from tracklight.index.aggregation import (
    ComputeStatistics,
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
    make_growing_edges,
    merge_extents,
)
from tracklight.index.series_query import Baseline, SeriesQuery, make_baseline
from tracklight.index.shard import SeriesKey
from tracklight.plugin import Context, Source
from tracklight.types import Float64, Int32, Int64
from tracklight.util.files import hash_key
from tracklight.util.memory import LruCache

# ---- lines

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

#: Memory for the charts of live logs, and how long they are kept after the last request.
_MAX_STATE_BYTES = 64 << 20
_STATE_IDLE_S = 60.0
#: Memory of a line besides its columns, and of one of its points or cells.
_LINE_BYTES, _CELL_BYTES = 2000, 12

#: Between the cursor, the hash of the state of the log, and that of the layout.
_REVISION_SEPARATOR = "~"

Extents = Mapping[SeriesKey, Extent]


@dataclass(frozen=True)
class LineBuilder:
    """Compute the lines of one chart."""

    log: Source
    request: ChartsRequest
    chart: ChartRequest
    query: SeriesQuery

    def measure(self, keys: Sequence[SeriesKey]) -> dict[SeriesKey, Extent]:
        view = ExtentView(self.chart.start, self.chart.stop)
        extents = self.log.query(keys, replace(self.query, smoothing=None), view)
        return dict(zip(keys, extents, strict=True))

    def compute(self, keys: Sequence[SeriesKey], view: LineView) -> dict[SeriesKey, LineRow]:
        """Return the lines that have points."""
        lines = zip(keys, self.log.query(keys, self.query, view), strict=True)
        return {key: make_line_row(*key, line) for key, line in lines if line.points}

    def make_row(
        self, extents: Extents, view: LineView, lines: Mapping[SeriesKey, LineRow]
    ) -> ChartRow:
        """Return a chart of lines, in the order of the extents."""
        rows = [lines[key] for key in extents if key in lines]
        return ChartRow(
            self.chart.id,
            runs=len({run for run, _ in extents}),
            points=sum(extent.points for extent in extents.values()),
            reduced=any(extent.points > view.max_points for extent in extents.values()),
            grid=get_centers(view.edges) if any(line.x is None for line in rows) else None,
            lines=rows,
        )


def get_x_range(chart: ChartRequest, *ranges: tuple[float, float] | None) -> tuple[float, float]:
    """Return the visible range of x: the requested one, or that of all lines and bands."""
    given = [item for item in ranges if item is not None]
    low = min((item[0] for item in given), default=np.inf)
    high = max((item[1] for item in given), default=-np.inf)
    if low > high:
        low, high = 0.0, 1.0
    return (
        low if chart.start is None else chart.start,
        high if chart.stop is None else chart.stop,
    )


def plan_line_view(
    request: ChartsRequest,
    extents: Iterable[Extent],
    start: float,
    stop: float,
    *,
    can_grow: bool = False,
) -> LineView:
    """Choose the number of pixel columns of a chart, and which lines are sent without reduction.

    Args:
        request: The request.
        extents: The extents of all lines of the chart.
        start: The lowest visible x.
        stop: The highest visible x.
        can_grow: Whether to choose columns that stay in place when the lines get longer.
    """
    points = [extent.points for extent in extents]
    is_smoothed = request.smoothing is not None
    line_only = len(points) > _MAX_DETAILED_LINES
    values_per_column = 3 if not is_smoothed else 1 if line_only else 4
    cells_per_column = len(points) * values_per_column
    columns = min(request.width, max(_MAX_LINE_CELLS // cells_per_column, _MIN_COLUMNS))
    max_points = max(2 * columns, _MIN_REDUCED_POINTS // len(points))
    if sum(min(count, max_points) for count in points) > _MAX_UNREDUCED_POINTS:
        max_points = 0
    growing = make_growing_edges(start, stop, columns) if can_grow else None
    return LineView(
        edges=make_edges(start, stop, columns) if growing is None else growing,
        max_points=max_points,
        is_smoothed=is_smoothed,
        line_only=line_only,
        max_overwritten=2 * (columns + 1) if request.overwritten else 0,
        is_growing=growing is not None,
    )


# ---- charts of live logs


@dataclass(frozen=True)
class LogPosition:
    """The position in the stream of changes and the state of the log, before anything is read."""

    cursor: str
    state: str


@dataclass(frozen=True)
class ChartState:
    """A chart with what it was computed from."""

    position: LogPosition
    extents: dict[SeriesKey, Extent]
    view: LineView
    lines: dict[SeriesKey, LineRow]
    row: ChartRow

    def count_bytes(self) -> int:
        cells = sum(len(line.y) for line in self.row.lines)
        return _LINE_BYTES * len(self.extents) + _CELL_BYTES * cells


class LiveCharts:
    """Charts of lines, kept from one request to the next.

    Args:
        context: The context of the dashboard; charts are kept if it can tell what has changed.
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        self._cache = LruCache[str, ChartState](max_bytes=_MAX_STATE_BYTES, idle_s=_STATE_IDLE_S)

    def find_position(self, request: ChartsRequest) -> LogPosition | None:
        """Return the current position for the charts of a request; None if they are not kept.

        Lines that are compared with a baseline change with its run, and a band with all of its
        runs.
        """
        if request.groups is not None or request.baseline is not None:
            return None
        context = self._context
        if context.state is None or context.changed_runs is None:
            return None
        return LogPosition(context.cursor(), context.state())

    def draw(
        self, builder: LineBuilder, keys: Sequence[SeriesKey], position: LogPosition
    ) -> ChartRow:
        """Return a chart of at least one series, without the lines that the client has.

        Args:
            builder: Computes the lines.
            keys: The series.
            position: The position before the series were listed.
        """
        name = _make_name(builder)
        state = self._cache.find(name)
        if state is None or state.position.state != position.state:
            state = self._update(builder, keys, position, state)
            self._cache.put(name, state, state.count_bytes())
        return self._omit_known_lines(builder, state)

    def _update(
        self,
        builder: LineBuilder,
        keys: Sequence[SeriesKey],
        position: LogPosition,
        old: ChartState | None,
    ) -> ChartState:
        """Compute a chart from its last state, if it has one, and the runs that have changed."""
        changed = None
        if old is not None and [*old.extents] == keys:
            changed = self._find_changed_runs(builder, old.position.cursor, position)
        if old is None or changed is None:
            extents = builder.measure(keys)
            view = _plan_live_view(builder, extents)
            lines = builder.compute(keys, view)
        else:
            changed_keys = [key for key in keys if key[0] in changed]
            extents = {**old.extents, **builder.measure(changed_keys)}
            view = _plan_live_view(builder, extents)
            if _keeps_lines(builder.chart, old, view):
                lines = {key: line for key, line in old.lines.items() if key[0] not in changed}
                lines.update(builder.compute(changed_keys, view))
            else:
                lines = builder.compute(keys, view)
        row = builder.make_row(extents, view, lines)
        row.revision = _make_revision(position, _hash_layout(builder, row, view))
        return ChartState(position, extents, view, lines, row)

    def _find_changed_runs(
        self, builder: LineBuilder, since: str, position: LogPosition
    ) -> Collection[str] | None:
        if since == position.cursor or self._context.changed_runs is None:
            return None  # what a refresh in progress has read so far is not known
        metric = builder.query.metric
        tags = builder.chart.tags if metric is None else [*builder.chart.tags, metric]
        return self._context.changed_runs(since, tags)

    def _omit_known_lines(self, builder: LineBuilder, state: ChartState) -> ChartRow:
        """Return the chart of a state, without the lines that have not changed since the base."""
        chart, row = builder.chart, state.row
        changed: Collection[str] | None = None
        if chart.base == row.revision:
            changed = ()
        elif chart.base is not None:
            cursor, layout = _split_revision(chart.base)
            if layout == _split_revision(row.revision)[1]:
                changed = self._find_changed_runs(builder, cursor, state.position)
        if changed is None:
            return msgspec.structs.replace(row, id=chart.id)
        lines = [line for line in row.lines if line.run in changed]
        return msgspec.structs.replace(row, id=chart.id, base=chart.base, lines=lines)


def _plan_live_view(builder: LineBuilder, extents: Extents) -> LineView:
    start, stop = get_x_range(builder.chart, merge_extents(extents.values()))
    can_grow = builder.chart.stop is None
    return plan_line_view(builder.request, extents.values(), start, stop, can_grow=can_grow)


def _make_name(builder: LineBuilder) -> str:
    chart = msgspec.structs.replace(builder.chart, id="", base=None)
    request = msgspec.structs.replace(builder.request, charts=[chart])
    return msgspec.json.encode(request).decode()


def _keeps_lines(chart: ChartRequest, old: ChartState, view: LineView) -> bool:
    """Return whether the lines of runs that have not changed are the same in another view."""
    if view.settings != old.view.settings:
        return False
    has_all_points = not old.row.reduced and chart.start is None and chart.stop is None
    return has_all_points or view.columns == old.view.columns


def _make_revision(position: LogPosition, layout: str) -> str:
    state = hash_key(position.state, size_bytes=6)
    return _REVISION_SEPARATOR.join((position.cursor, state, layout))


def _split_revision(revision: str) -> tuple[str, str]:
    """Return the cursor and the layout of a revision."""
    cursor, _, rest = revision.partition(_REVISION_SEPARATOR)
    return cursor, rest.partition(_REVISION_SEPARATOR)[2]


def _hash_layout(builder: LineBuilder, row: ChartRow, view: LineView) -> str:
    """Return a hash of everything that all lines of a chart have in common, and of their series.

    The hash of another process may be different, but so are its cursors.
    """
    columns = "" if row.grid is None else view.columns
    series = tuple((line.run, line.tag) for line in row.lines)
    return f"{hash((_make_name(builder), view.settings, columns, series)) % 2**64:x}"


# ---- bands

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


# ---- selected series

#: Lines of all charts of one request.
_MAX_LINES = 50_000


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
    """Build the charts of one request.

    Args:
        context: The context of the dashboard.
        request: The request.
        live_charts: The charts of previous requests.
    """

    context: Context
    request: ChartsRequest
    live_charts: LiveCharts

    def build(self) -> list[ChartRow]:
        """Return the charts in the order of the request.

        Raises:
            UsageError: The charts have too many lines.
        """
        selection = SeriesSelection(self.context, self.request)
        position = self.live_charts.find_position(self.request)
        keys = [selection.list_keys(chart.tags) for chart in self.request.charts]
        if sum(map(len, keys)) > _MAX_LINES:
            raise UsageError(
                "scalars.too_many_lines",
                "these charts have more than {max_lines:,} lines: choose fewer runs",
                max_lines=_MAX_LINES,
            )
        return [
            self._build_chart(chart, chart_keys, selection, position)
            for chart, chart_keys in zip(self.request.charts, keys, strict=True)
        ]

    def _build_chart(
        self,
        chart: ChartRequest,
        keys: list[SeriesKey],
        selection: SeriesSelection,
        position: LogPosition | None,
    ) -> ChartRow:
        if not keys:
            return ChartRow(chart.id)
        try:
            query = selection.make_query(chart.tags)
            builder = LineBuilder(self.context.log, self.request, chart, query)
            if position is not None:
                return self.live_charts.draw(builder, keys, position)
            return self._draw(builder, keys)
        except (LogError, UsageError) as error:
            # One failed chart, such as one of a tag that was just removed, must not affect others.
            return ChartRow(chart.id, error=self.context.describe_error(error))

    def _draw(self, builder: LineBuilder, keys: Sequence[SeriesKey]) -> ChartRow:
        chart, query = builder.chart, builder.query
        grouped_runs = frozenset(run for group in self.request.groups or () for run in group.runs)
        line_keys = [key for key in keys if key[0] not in grouped_runs]
        grouped = [key for key in keys if key[0] in grouped_runs]
        extents = builder.measure(line_keys) if line_keys else {}
        measure = MeasureCurves(len(grouped), chart.start, chart.stop)
        measured = self.context.log.reduce(grouped, query, measure) if grouped else None
        band_range = None if measured is None else (measured.low, measured.high)
        start, stop = get_x_range(chart, merge_extents(extents.values()), band_range)
        row = ChartRow(chart.id)
        if extents:
            view = plan_line_view(self.request, extents.values(), start, stop)
            row = builder.make_row(extents, view, builder.compute(line_keys, view))
        row.runs = len({run for run, _ in keys})
        if measured is not None:
            row.points += int(measured.points.sum())
            bands = BandBuilder(self.context.log, self.request, query)
            row.bands = bands.build(grouped, start, stop, 2 * self.request.width)
            max_points = max((len(band.x) for band in row.bands), default=0)
            row.reduced |= bool((measured.points > max_points).any())
        return row
