"""Charts: any set of series as lines and bands, reduced to the pixels that will show them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from tracklight.dashboards.scalars.answers import ChartRow, line_row
from tracklight.dashboards.scalars.asks import ChartAsk, QueryAsk
from tracklight.dashboards.scalars.bands import Bands
from tracklight.dashboards.scalars.choice import Choice, Key
from tracklight.dashboards.scalars.plan import plan_lines
from tracklight.errors import LogError, UsageError
from tracklight.index.drawing import Draw
from tracklight.index.lens import Lens
from tracklight.index.measuring import Extent, Measure, span
from tracklight.index.reduction import centres
from tracklight.plugin import Context

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
        pairs = zip(self.ask.charts, keys, strict=True)
        return [self._chart(chart, own, choice) for chart, own in pairs]

    def _chart(self, chart: ChartAsk, keys: list[Key], choice: Choice) -> ChartRow:
        if not keys:
            return ChartRow(chart.id)
        try:
            return self._draw(chart, keys, choice.make_lens(chart.tags))
        except (LogError, UsageError) as error:
            # A tag that has just gone must not spoil the other charts of the page.
            return ChartRow(chart.id, error=self.context.explain(error))

    def _draw(self, chart: ChartAsk, keys: Sequence[Key], lens: Lens) -> ChartRow:
        extents = self._measure(chart, keys, lens)
        start, stop = _find_ends(chart, extents.values())
        row = ChartRow(
            chart.id,
            runs=len({run for run, _ in keys}),
            points=sum(extent.points for extent in extents.values()),
        )
        grouped = frozenset(run for group in self.ask.groups or () for run in group.runs)
        alone = {key: extent for key, extent in extents.items() if key[0] not in grouped}
        together = {key: extent for key, extent in extents.items() if key[0] in grouped}
        if alone:
            self._add_lines(
                row, alone, plan_lines(self.ask, list(alone.values()), start, stop), lens
            )
        if together:
            self._add_bands(row, together, Bands(self.context.log, self.ask, lens), start, stop)
        return row

    def _measure(self, chart: ChartAsk, keys: Sequence[Key], lens: Lens) -> dict[Key, Extent]:
        view = Measure(chart.start, chart.stop)
        seen = self.context.log.query(keys, replace(lens, smoothing=None), view)
        return dict(zip(keys, seen, strict=True))

    def _add_lines(
        self, row: ChartRow, extents: Mapping[Key, Extent], draw: Draw, lens: Lens
    ) -> None:
        lines = zip(extents, self.context.log.query(list(extents), lens, draw), strict=True)
        row.lines = [line_row(*key, line) for key, line in lines if line.points]
        row.reduced = any(extent.points > draw.most_whole for extent in extents.values())
        if any(line.x is None for line in row.lines):
            row.grid = centres(draw.edges)

    def _add_bands(
        self, row: ChartRow, extents: Mapping[Key, Extent], bands: Bands, start: float, stop: float
    ) -> None:
        row.bands = bands.make(list(extents), start, stop)
        places = max((len(band.x) for band in row.bands), default=0)
        row.reduced |= any(extent.points > places for extent in extents.values())


def _find_ends(chart: ChartAsk, extents: Iterable[Extent]) -> tuple[float, float]:
    """From where to where the chart shows its lines."""
    low, high = span(extents) or (0.0, 1.0)
    return (
        low if chart.start is None else chart.start,
        high if chart.stop is None else chart.stop,
    )
