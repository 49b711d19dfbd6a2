"""Charts: the histograms of a tag, run by run, on one grid and as percentiles."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tracklight.dashboards.histograms.answers import (
    HistogramChartRow,
    HistogramFlaw,
    HistogramSeriesRow,
)
from tracklight.dashboards.histograms.asks import HistogramChartAsk, HistogramsAsk
from tracklight.dashboards.histograms.bins import (
    Reach,
    find_placed,
    find_reach,
    join_reaches,
    make_grid,
    rebin,
)
from tracklight.dashboards.histograms.choice import Chosen, choose_all, choose_some
from tracklight.dashboards.histograms.core import find_core
from tracklight.dashboards.histograms.percentiles import find_percentiles
from tracklight.errors import LogError, UsageError
from tracklight.formats.histograms import TOTALS, Histograms, decode_many
from tracklight.index.reduction import narrow_exactly
from tracklight.media.steps import make_marks
from tracklight.plugin import Context
from tracklight.types import Float32, Float64, Located

#: Histograms of all charts of one ask.
_MOST_HISTOGRAMS = 100_000
#: Of those that cannot be read so many are told of.
_MOST_FLAWS = 20


@dataclass(frozen=True)
class Part:
    """Some histograms of one series."""

    located: Located
    chosen: Chosen
    histograms: Histograms


@dataclass(frozen=True)
class Charts:
    """Answers one ask, chart by chart."""

    context: Context
    ask: HistogramsAsk

    def answer(self) -> list[HistogramChartRow]:
        runs = [self._find_runs(chart.tag) for chart in self.ask.charts]
        shown = sum(min(len(own), self.ask.most_runs) for own in runs)
        if shown * self.ask.most > _MOST_HISTOGRAMS:
            raise UsageError(
                f"these charts have more than {_MOST_HISTOGRAMS:,} histograms: choose fewer runs"
            )
        pairs = zip(self.ask.charts, runs, strict=True)
        return [self._chart(chart, own) for chart, own in pairs]

    def _find_runs(self, tag: str) -> list[str]:
        having = self.context.log.plugin_data(tag)
        runs = having if self.ask.runs is None else self.ask.runs
        return [run for run in runs if run in having]

    def _chart(self, chart: HistogramChartAsk, runs: Sequence[str]) -> HistogramChartRow:
        try:
            shown = runs[chart.skip : chart.skip + self.ask.most_runs]
            parts = [part for run in shown if (part := self._read(chart, run)) is not None]
            return draw(self.ask, chart, parts, len(runs))
        except LogError as error:
            # A tag that has just gone must not spoil the other charts of the page.
            return HistogramChartRow(chart.id, error=self.context.explain(error))

    def _read(self, chart: HistogramChartAsk, run: str) -> Part | None:
        located = self.context.log.located(run, chart.tag)
        among = choose_all(located, self.ask.x, chart.start, chart.stop)
        chosen = choose_some(located, among, self.ask.most)
        if not len(chosen.index):
            return None
        return Part(located, chosen, read_histograms(self.context, located, chosen))


def read_histograms(context: Context, located: Located, chosen: Chosen) -> Histograms:
    """What was chosen of a series; one that cannot be read is told of in its place."""
    indexes = chosen.index.tolist()
    try:
        return decode_many(context.log.read_many(located, indexes))
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
    histograms = decode_many(values)
    histograms.flaws.update(unread)
    return histograms


def draw(
    ask: HistogramsAsk, chart: HistogramChartAsk, parts: Sequence[Part], runs: int
) -> HistogramChartRow:
    """All series of a chart on one grid, so that they can be compared."""
    all_of_it = join_reaches(find_reach(part.histograms) for part in parts)
    grid = None
    if ask.bins and all_of_it is not None:
        low, high = _find_seen(ask, chart, parts, all_of_it)
        grid = make_grid(low, high, ask.bins)
    return HistogramChartRow(
        chart.id,
        runs=runs,
        grid=grid,
        cut=_is_cut(grid, all_of_it),
        series=[_series_row(ask, chart.tag, part, grid) for part in parts],
    )


def _is_cut(grid: Float64 | None, reach: Reach | None) -> bool:
    if grid is None or reach is None:
        return False
    return bool(grid[0] > reach[0] or grid[-1] < reach[1])


def _find_seen(
    ask: HistogramsAsk, chart: HistogramChartAsk, parts: Sequence[Part], reach: Reach
) -> Reach:
    """From where to where the grid reaches: what was asked for, else what there is."""
    if ask.ignore_outliers:
        reach = find_core([part.histograms for part in parts], reach)
    low, high = reach
    return low if chart.low is None else chart.low, high if chart.high is None else chart.high


def _series_row(
    ask: HistogramsAsk, tag: str, part: Part, grid: Float64 | None
) -> HistogramSeriesRow:
    located, chosen, histograms = part.located, part.chosen, part.histograms
    bins = None if grid is None else _narrow(rebin(histograms, grid).ravel())
    totals = dict(zip(TOTALS, histograms.totals.T, strict=True))
    low, high = _find_ends(histograms)
    counts = np.where(np.isnan(histograms.counts), 0.0, histograms.counts)
    return HistogramSeriesRow(
        run=located.run,
        tag=tag,
        count=chosen.count,
        index=chosen.index.astype(np.int32),
        mark=make_marks(located)[chosen.index],
        step=located.step[chosen.index],
        wall_time=located.wall_time[chosen.index],
        x=chosen.x,
        low=low,
        high=high,
        counted=_sum_up(histograms, counts),
        num=totals["num"],
        nan=totals["nan"],
        positive_infinity=totals["positive_infinity"],
        negative_infinity=totals["negative_infinity"],
        unplaced=_sum_up(histograms, np.where(find_placed(histograms), 0.0, counts)),
        spoiled=_sum_up(histograms, _find_spoiled(histograms)) > 0,
        bins=bins,
        percentiles=find_percentiles(histograms).ravel() if ask.percentiles else None,
        flaws=list(_iter_flaws(part)),
    )


def _narrow(counts: Float64) -> Float32 | Float64:
    with np.errstate(over="ignore"):  # where counts are that large, nothing is narrowed
        return narrow_exactly(counts)


def _find_spoiled(histograms: Histograms) -> Float64:
    edges = np.isnan(histograms.left) | np.isnan(histograms.right)
    return (edges | np.isnan(histograms.counts)).astype(np.float64)


def _sum_up(histograms: Histograms, column: Float64) -> Float64:
    sums = np.bincount(histograms.rows(), column, len(histograms))
    return sums.astype(np.float64)


def _find_ends(histograms: Histograms) -> tuple[Float64, Float64]:
    """The outermost edges of each; NaN for one without buckets."""
    begin, stop = histograms.begin[:-1], histograms.begin[1:]
    empty = stop == begin
    edges = []
    for column, at in ((histograms.left, begin), (histograms.right, stop - 1)):
        known = np.append(column, np.nan)
        edges.append(np.where(empty, np.nan, known[np.where(empty, -1, at)]))
    return edges[0], edges[1]


def _iter_flaws(part: Part) -> Iterator[HistogramFlaw]:
    steps = part.located.step[part.chosen.index]
    for place, what in sorted(part.histograms.flaws.items())[:_MOST_FLAWS]:
        yield HistogramFlaw(int(steps[place]), what)
