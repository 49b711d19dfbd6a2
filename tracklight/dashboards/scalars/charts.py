"""Build charts: any set of series as lines and bands, reduced to the pixels that will show them.

`ChartBuilder` answers a `ChartsRequest`. Runs outside of groups become lines
(`tracklight.dashboards.scalars.lines`), runs of a group become one band around their mean or median
(`tracklight.dashboards.scalars.bands`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import msgspec

from tracklight.dashboards.scalars.bands import BandBuilder
from tracklight.dashboards.scalars.lines import (
    LineBuilder,
    LiveCharts,
    LogPosition,
    get_x_range,
    plan_line_view,
)
from tracklight.dashboards.scalars.schemas import (
    BandsRequest,
    ChartRequest,
    ChartRow,
    ChartsRequest,
    RunGroup,
    SeriesRequest,
)
from tracklight.errors import LogError, UsageError
from tracklight.index.aggregation import MeasureCurves
from tracklight.index.downsampling import merge_extents
from tracklight.index.series_query import Baseline, SeriesQuery, make_baseline
from tracklight.index.shard import SeriesKey
from tracklight.plugin import Context

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
