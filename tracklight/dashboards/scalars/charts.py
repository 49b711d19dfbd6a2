"""Which series an ask means, and the lens it looks at them through."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tracklight.dashboards.scalars.schemas import (
    BandCenter,
    BandRow,
    BandSpread,
    ChartRequest,
    ChartRow,
    ChartsRequest,
    RunGroup,
    SeriesRequest,
    make_line_row,
)
from tracklight.errors import LogError, UsageError
from tracklight.index.downsampling import LineView, get_centers, make_edges
from tracklight.index.sampling import (
    Extent,
    ExtentView,
    ResampledCurve,
    ResampledView,
    SampleGridView,
    merge_extents,
    merge_sample_grids,
)
from tracklight.index.series_query import Baseline, SeriesQuery, make_baseline
from tracklight.plugin import Context, Source
from tracklight.types import Float64

#: A series: its run and its tag.
SeriesKey = tuple[str, str]


@dataclass(frozen=True)
class SeriesSelection:
    """The runs of one ask."""

    context: Context
    request: SeriesRequest

    def list_keys(self, tags: Iterable[str]) -> list[SeriesKey]:
        """Tag by tag, the chosen runs that have it, in natural order."""
        chosen = None if self.request.runs is None else frozenset(self.request.runs)
        return [
            (run, tag)
            for tag in tags
            for run in self.context.runs_with(tag)
            if chosen is None or run in chosen
        ]

    def make_query(self, tags: Iterable[str]) -> SeriesQuery:
        """With the baselines of some tags, where the ask names a run to compare with."""
        look = self.request
        lens = SeriesQuery(look.x, look.smoothing)
        if lens.metric is not None and not self.context.runs_with(lens.metric):
            raise UsageError(f'no run has a scalar "{lens.metric}" to put on the axis')
        if look.baseline is None:
            return lens
        baselines = self._compute_baselines(look.baseline.run, tags, lens)
        return SeriesQuery(look.x, look.smoothing, baselines, look.baseline.mode)

    def _compute_baselines(
        self, run: str, tags: Iterable[str], lens: SeriesQuery
    ) -> dict[str, Baseline]:
        shared = [tag for tag in tags if run in self.context.runs_with(tag)]
        if not shared:
            raise UsageError(f'the baseline "{run}" has none of the tags of this chart')
        found = self.context.log.query([(run, tag) for tag in shared], lens, make_baseline)
        return dict(zip(shared, found, strict=True))


# How many standard errors a 95 % confidence interval reaches, when the runs are few.

#: The 97.5 % quantile of Student's t-distribution with 1, 2, … degrees of freedom.
_T_QUANTILES = np.array([
    12.706205, 4.302653, 3.182446, 2.776445, 2.570582, 2.446912, 2.364624, 2.306004, 2.262157,
    2.228139, 2.200985, 2.178813, 2.160369, 2.144787, 2.131450, 2.119905, 2.109816, 2.100922,
    2.093024, 2.085963,
])  # fmt: skip

_NORMAL_QUANTILE = 1.959963985


def compute_t_quantiles(degrees: NDArray[np.integer]) -> Float64:
    """For each number of degrees of freedom, which are at least one."""
    few = _T_QUANTILES[np.minimum(degrees, len(_T_QUANTILES)) - 1]
    return np.where(
        degrees <= len(_T_QUANTILES), few, _approximate_t_quantiles(degrees.astype(np.float64))
    )


def _approximate_t_quantiles(freedom: Float64) -> Float64:
    """Fisher's expansion around the normal distribution, which is near where freedom is large."""
    z = _NORMAL_QUANTILE
    first = (z**3 + z) / 4
    second = (5 * z**5 + 16 * z**3 + 3 * z) / 96
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    return z + first / freedom + second / freedom**2 + third / freedom**3


# Runs of a group as one band: a line in their middle, and how far they spread around it.

#: Cells of all runs of one chart that are put together.
_MAX_BAND_CELLS = 4_000_000

_MIN_BAND_POINTS = 100


@dataclass(frozen=True)
class BandBuilder:
    """The bands of one chart."""

    log: Source
    request: ChartsRequest
    query: SeriesQuery

    def build(self, keys: Sequence[SeriesKey], start: float, stop: float) -> list[BandRow]:
        """A band for each group and tag that some of these series belong to."""
        most = max(_MIN_BAND_POINTS, min(2 * self.request.width, _MAX_BAND_CELLS // len(keys)))
        seen = self.log.query(keys, self.query, SampleGridView(start, stop, most))
        places = merge_sample_grids(seen, start, stop, most)
        if not len(places):
            return []
        view = ResampledView(places, with_extremes=self.request.band == "minmax")
        samples = dict(zip(keys, self.log.query(keys, self.query, view), strict=True))
        return [
            self._band(group.key, tag, places, [samples[key] for key in own])
            for group, tag, own in _iter_members(self.request.groups or (), keys)
        ]

    @np.errstate(all="ignore")
    def _band(
        self, group: str, tag: str, places: Float64, samples: list[ResampledCurve]
    ) -> BandRow:
        values = np.array([one.value for one in samples])
        reached = ~np.isnan(values).all(axis=0)
        values = values[:, reached]
        center = compute_center(values, self.request.center)
        if self.request.band == "minmax":
            low = np.fmin.reduce([one.low[reached] for one in samples])
            high = np.fmax.reduce([one.high[reached] for one in samples])
        else:
            reach = compute_half_width(values, self.request.band)
            low, high = center - reach, center + reach
        return BandRow(group, tag, len(samples), places[reached], center, low, high)


def compute_center(values: Float64, center: BandCenter) -> Float64:
    """The middle of each column, which has at least one value."""
    middle: Float64 = (
        np.nanmean(values, axis=0) if center == "mean" else np.nanmedian(values, axis=0)
    )
    return middle


def compute_half_width(values: Float64, spread: BandSpread) -> Float64:
    """How far a band reaches to each side of its middle; a run alone has no band."""
    count = np.sum(~np.isnan(values), axis=0)
    several = np.maximum(count - 1, 1)
    squares = (values - np.nanmean(values, axis=0)) ** 2
    deviation: Float64 = np.sqrt(np.nansum(squares, axis=0) / several)
    if spread == "std":
        return deviation
    error: Float64 = deviation / np.sqrt(count)
    return error if spread == "stderr" else error * compute_t_quantiles(several)


def _iter_members(
    groups: Sequence[RunGroup], keys: Sequence[SeriesKey]
) -> Iterator[tuple[RunGroup, str, list[SeriesKey]]]:
    tags = dict.fromkeys(tag for _, tag in keys)
    there = frozenset(keys)
    for tag in tags:
        for group in groups:
            own = [(run, tag) for run in group.runs if (run, tag) in there]
            if own:
                yield group, tag, own


# How the lines of a chart are drawn: on how many columns, and which of them whole.

#: A chart with more lines has no room for what surrounds each of them.
_MAX_DETAILED_LINES = 100

#: Cells of all lines of one chart: with more lines there are fewer columns, but never too few.
_MAX_LINE_CELLS = 380_000

_MIN_COLUMNS = 100

#: Points of all lines of one chart that may be sent whole.
_MAX_UNREDUCED_POINTS = 300_000

#: A chart with fewer points in all is not worth reducing.
_MIN_REDUCED_POINTS = 2000


def plan_line_view(
    request: ChartsRequest, extents: Sequence[Extent], start: float, stop: float
) -> LineView:
    """The view that sees every line of a chart as it is going to be drawn."""
    smoothed, plain = request.smoothing is not None, len(extents) > _MAX_DETAILED_LINES
    tables = 3 if not smoothed else 1 if plain else 4
    columns = _count_columns(len(extents) * tables, request.width)
    most_whole = max(2 * columns, _MIN_REDUCED_POINTS // len(extents))
    if sum(min(extent.points, most_whole) for extent in extents) > _MAX_UNREDUCED_POINTS:
        most_whole = 0
    edges = make_edges(start, stop, columns)
    return LineView(edges, most_whole, smoothed, plain, request.overwritten)


def _count_columns(rows: int, width: int) -> int:
    return min(width, max(_MAX_LINE_CELLS // rows, _MIN_COLUMNS))


# Charts: any set of series as lines and bands, reduced to the pixels that will show them.

#: Lines of all charts of one ask.
_MAX_LINES = 50_000


@dataclass(frozen=True)
class ChartBuilder:
    """Answers one ask, chart by chart."""

    context: Context
    request: ChartsRequest

    def build(self) -> list[ChartRow]:
        choice = SeriesSelection(self.context, self.request)
        keys = [choice.list_keys(chart.tags) for chart in self.request.charts]
        if sum(map(len, keys)) > _MAX_LINES:
            raise UsageError(f"these charts have more than {_MAX_LINES:,} lines: choose fewer runs")
        pairs = zip(self.request.charts, keys, strict=True)
        return [self._build_chart(chart, own, choice) for chart, own in pairs]

    def _build_chart(
        self, chart: ChartRequest, keys: list[SeriesKey], choice: SeriesSelection
    ) -> ChartRow:
        if not keys:
            return ChartRow(chart.id)
        try:
            return self._draw(chart, keys, choice.make_query(chart.tags))
        except (LogError, UsageError) as error:
            # A tag that has just gone must not spoil the other charts of the page.
            return ChartRow(chart.id, error=self.context.describe_error(error))

    def _draw(self, chart: ChartRequest, keys: Sequence[SeriesKey], lens: SeriesQuery) -> ChartRow:
        extents = self._measure(chart, keys, lens)
        start, stop = _get_x_range(chart, extents.values())
        row = ChartRow(
            chart.id,
            runs=len({run for run, _ in keys}),
            points=sum(extent.points for extent in extents.values()),
        )
        grouped = frozenset(run for group in self.request.groups or () for run in group.runs)
        alone = {key: extent for key, extent in extents.items() if key[0] not in grouped}
        together = {key: extent for key, extent in extents.items() if key[0] in grouped}
        if alone:
            self._add_lines(
                row, alone, plan_line_view(self.request, list(alone.values()), start, stop), lens
            )
        if together:
            self._add_bands(
                row, together, BandBuilder(self.context.log, self.request, lens), start, stop
            )
        return row

    def _measure(
        self, chart: ChartRequest, keys: Sequence[SeriesKey], lens: SeriesQuery
    ) -> dict[SeriesKey, Extent]:
        view = ExtentView(chart.start, chart.stop)
        seen = self.context.log.query(keys, replace(lens, smoothing=None), view)
        return dict(zip(keys, seen, strict=True))

    def _add_lines(
        self, row: ChartRow, extents: Mapping[SeriesKey, Extent], draw: LineView, lens: SeriesQuery
    ) -> None:
        lines = zip(extents, self.context.log.query(list(extents), lens, draw), strict=True)
        row.lines = [make_line_row(*key, line) for key, line in lines if line.points]
        row.reduced = any(extent.points > draw.max_points for extent in extents.values())
        if any(line.x is None for line in row.lines):
            row.grid = get_centers(draw.edges)

    def _add_bands(
        self,
        row: ChartRow,
        extents: Mapping[SeriesKey, Extent],
        bands: BandBuilder,
        start: float,
        stop: float,
    ) -> None:
        row.bands = bands.build(list(extents), start, stop)
        places = max((len(band.x) for band in row.bands), default=0)
        row.reduced |= any(extent.points > places for extent in extents.values())


def _get_x_range(chart: ChartRequest, extents: Iterable[Extent]) -> tuple[float, float]:
    """From where to where the chart shows its lines."""
    low, high = merge_extents(extents) or (0.0, 1.0)
    return (
        low if chart.start is None else chart.start,
        high if chart.stop is None else chart.stop,
    )
