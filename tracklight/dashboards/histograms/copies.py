"""What a copy of a board carries: some histograms of each series, drawn and as logged."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Sequence

import numpy as np

from tracklight.dashboards.histograms.answers import BucketsAnswer, HistogramChartRow
from tracklight.dashboards.histograms.asks import HistogramChartAsk, HistogramsAsk
from tracklight.dashboards.histograms.charts import Part, draw, read_histograms
from tracklight.dashboards.histograms.choice import Chosen
from tracklight.media.addresses import tag_path, value_path
from tracklight.media.copies import iter_copies
from tracklight.media.reader import ValueAsk
from tracklight.media.steps import SeriesSteps, StepsAnswer
from tracklight.plugin import Context

#: A copy cannot be asked for other bins, so it has some to spare.
_BINS = 120


def iter_histogram_copies(
    context: Context,
    plugins: Container[str],
    runs: Sequence[str],
    exact: Callable[[ValueAsk], BucketsAnswer],
) -> Iterator[tuple[str, object]]:
    """Histograms as logged, the steps of them, and tag by tag the chart of these steps."""

    def copy_value(ask: ValueAsk) -> list[tuple[str, object]]:
        return [(value_path("exact", ask), exact(ask))]

    for path, answer in iter_copies(context, plugins, runs, copy_value):
        yield path, answer
        if isinstance(answer, StepsAnswer):
            tag = answer.series[0].tag
            yield tag_path("charts", tag), _draw_copy(context, tag, answer.series)


def _draw_copy(context: Context, tag: str, series: Sequence[SeriesSteps]) -> HistogramChartRow:
    ask = HistogramsAsk(
        charts=[HistogramChartAsk("copy", tag)], bins=_BINS, percentiles=True, ignore_outliers=True
    )
    parts = [_read_part(context, steps) for steps in series]
    return draw(ask, ask.charts[0], parts, len(parts))


def _read_part(context: Context, steps: SeriesSteps) -> Part:
    located = context.log.located(steps.run, steps.tag)
    count = int(np.count_nonzero(~located.overwritten))
    chosen = Chosen(steps.index.astype(np.int64), steps.step.astype(np.float64), count)
    return Part(located, chosen, read_histograms(context, located, chosen))
