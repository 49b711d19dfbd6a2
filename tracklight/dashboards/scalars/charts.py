"""Charts of lines: any set of series, reduced to the pixels that will show them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tracklight.dashboards.scalars.answers import ChartRow, LineRow, line_row
from tracklight.dashboards.scalars.asks import ChartAsk, QueryAsk
from tracklight.dashboards.scalars.choice import Choice, Key
from tracklight.errors import LogError, UsageError
from tracklight.index.drawing import Draw
from tracklight.index.lens import Lens
from tracklight.index.measuring import Extent, Measure, span
from tracklight.index.reduction import centres, make_edges
from tracklight.plugin import Context
from tracklight.types import Float64

#: A chart with more lines has no room for what surrounds each of them.
_MANY_LINES = 100
#: Cells of all lines of one chart: with more lines there are fewer columns, but never too few.
_MOST_CELLS = 380_000
_FEWEST_COLUMNS = 100
#: Points of all lines of one chart that may be sent whole.
_MOST_WHOLE = 300_000
#: A chart with fewer points in all is not worth reducing.
_FEW_POINTS = 2000
#: Lines of all charts of one ask.
_MOST_LINES = 50_000


@dataclass(frozen=True)
class Charts:
    """Answers one ask, chart by chart."""

    context: Context
    ask: QueryAsk

    def answer(self) -> list[ChartRow]:
        choice = Choice(self.context, self.ask)
        keys = [choice.keys(chart.tags) for chart in self.ask.charts]
        if sum(map(len, keys)) > _MOST_LINES:
            raise UsageError(
                f"these charts have more than {_MOST_LINES:,} lines: choose fewer runs"
            )
        return [
            self._chart(chart, own, choice)
            for chart, own in zip(self.ask.charts, keys, strict=True)
        ]

    def _chart(self, chart: ChartAsk, keys: list[Key], choice: Choice) -> ChartRow:
        if not keys:
            return ChartRow(chart.id)
        try:
            return self._draw(chart, keys, choice.make_lens(chart.tags))
        except (LogError, UsageError) as error:
            # A tag that has just gone must not spoil the other charts of the page.
            return ChartRow(chart.id, error=self.context.explain(error))

    def _draw(self, chart: ChartAsk, keys: Sequence[Key], lens: Lens) -> ChartRow:
        measure = Measure(chart.start, chart.stop)
        extents = self.context.log.look(keys, replace(lens, smoothing=None), measure)
        draw = self._plan(chart, extents, lens)
        lines = self._lines(keys, lens, draw)
        on_grid = any(line.x is None for line in lines)
        return ChartRow(
            chart.id,
            runs=len({run for run, _ in keys}),
            points=sum(extent.points for extent in extents),
            reduced=any(extent.points > draw.most_whole for extent in extents),
            grid=centres(draw.edges) if on_grid else None,
            lines=lines,
        )

    def _plan(self, chart: ChartAsk, extents: Sequence[Extent], lens: Lens) -> Draw:
        """How many columns there are, and which lines are short enough to be sent whole."""
        smoothed, lines = lens.smoothing is not None, len(extents)
        plain = lines > _MANY_LINES
        tables = 1 if plain and smoothed else 4 if smoothed else 3
        columns = max(_MOST_CELLS // (lines * tables), min(_FEWEST_COLUMNS, self.ask.width))
        columns = min(columns, self.ask.width)
        most_whole = max(2 * columns, _FEW_POINTS // lines)
        if sum(min(extent.points, most_whole) for extent in extents) > _MOST_WHOLE:
            most_whole = 0
        edges = _make_edges(chart, extents, columns)
        return Draw(edges, most_whole, smoothed, plain, self.ask.overwritten)

    def _lines(self, keys: Sequence[Key], lens: Lens, draw: Draw) -> list[LineRow]:
        lines = self.context.log.look(keys, lens, draw)
        pairs = zip(keys, lines, strict=True)
        return [line_row(run, tag, line) for (run, tag), line in pairs if line.points]


def _make_edges(chart: ChartAsk, extents: Sequence[Extent], columns: int) -> Float64:
    low, high = span(extents) or (0.0, 1.0)
    start = low if chart.start is None else chart.start
    stop = high if chart.stop is None else chart.stop
    return make_edges(start, stop, columns)
