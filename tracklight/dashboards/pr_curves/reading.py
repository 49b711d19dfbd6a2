"""Reads curves at a step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from tracklight.dashboards.pr_curves.answers import CurveRow, columns_row, measures_row
from tracklight.dashboards.pr_curves.asks import CurvesAsk
from tracklight.errors import TracklightError, UsageError
from tracklight.formats.json_number import json_number
from tracklight.formats.pr_curve import make_curve, measure
from tracklight.media.reader import Reader, ValueAsk
from tracklight.media.steps import SeriesSteps, StepsAsk, list_steps
from tracklight.media.thinning import thin
from tracklight.plugin import Context
from tracklight.types import Int64

#: So many points a screen can show of one curve.
_MOST_SHOWN = 2000
#: So many curves are told at once.
_MOST_CURVES = 2000


class CurveReader:
    """May be asked from any thread."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._reader = Reader(context)

    def read_all(self, ask: CurvesAsk) -> list[CurveRow]:
        """A row for each run and tag; one that cannot be read says so in its place."""
        series = list_steps(self._context, StepsAsk(ask.tags, ask.runs)).series
        places = list(_iter_places(series, ask.step))
        if len(places) > _MOST_CURVES:
            raise UsageError(
                f"{len(places):,} curves are more than the {_MOST_CURVES:,} that are told at once; "
                "ask for fewer tags or runs"
            )
        return [self._read(steps, place) for steps, place in places]

    def read_one(self, ask: ValueAsk) -> CurveRow:
        """The value that is named; raises where it is no curve."""
        curve = make_curve(self._reader.read(ask))
        located = self._context.log.located(ask.run, ask.tag)
        kept = thin(len(curve.threshold), _MOST_SHOWN)
        return CurveRow(
            ask.run,
            ask.tag,
            ask.index,
            ask.mark or 0,
            int(located.step[ask.index]),
            json_number(float(located.wall_time[ask.index])),
            thresholds=len(curve.threshold),
            counted=curve.counted,
            measures=measures_row(measure(curve)),
            columns=columns_row(curve, kept),
        )

    def _read(self, steps: SeriesSteps, place: int) -> CurveRow:
        index, mark = int(steps.index[place]), int(steps.mark[place])
        try:
            return self.read_one(ValueAsk(steps.run, steps.tag, index, mark))
        except TracklightError as error:
            wall_time = json_number(float(steps.wall_time[place]))
            told = steps.run, steps.tag, index, mark, int(steps.step[place]), wall_time
            return CurveRow(*told, error=self._context.explain(error))


def _iter_places(
    series: Sequence[SeriesSteps], step: int | None
) -> Iterator[tuple[SeriesSteps, int]]:
    for steps in series:
        place = find_place(steps.step, step)
        if place is not None:
            yield steps, place


def find_place(steps: Int64, step: int | None) -> int | None:
    """Where the greatest step that is not beyond ``step`` stands; of equal ones the last."""
    there = np.arange(len(steps)) if step is None else np.flatnonzero(steps <= step)
    if not len(there):
        return None
    greatest = np.argmax(steps[there][::-1])
    return int(there[len(there) - 1 - greatest])
