"""How curves went over the steps of a run, each in a few numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tracklight.dashboards.pr_curves.answers import HistoryRow
from tracklight.dashboards.pr_curves.asks import HistoryAsk
from tracklight.errors import TracklightError
from tracklight.formats.pr_curve import make_curve, measure
from tracklight.formats.values import decode_value
from tracklight.media.steps import SeriesSteps, StepsAsk, list_steps
from tracklight.media.thinning import thin
from tracklight.plugin import Context
from tracklight.types import Float64, Located
from tracklight.util.lru_cache import LruCache

#: So many steps of a series are measured, and so many of all series of one ask, if that leaves
#: each the first and the last.
_MOST_STEPS = 200
_MOST_VALUES = 4000
_KEPT_BYTES = 8 << 20
#: About what one value takes in the cache with its key.
_VALUE_BYTES = 256

Measured = tuple[float, float, float, float]
_NOTHING: Measured = (np.nan, np.nan, np.nan, np.nan)


class Historian:
    """Measures each curve once; may be asked from any thread."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._measured: LruCache[tuple[str, str, int, int], Measured] = LruCache(
            max_bytes=_KEPT_BYTES
        )

    def tell(self, ask: HistoryAsk) -> list[HistoryRow]:
        series = list_steps(self._context, StepsAsk(ask.tags, ask.runs)).series
        most = max(2, min(_MOST_STEPS, _MOST_VALUES // max(len(series), 1)))
        return [self._tell_series(steps, most) for steps in series]

    def _tell_series(self, steps: SeriesSteps, most: int) -> HistoryRow:
        order = np.argsort(steps.step, kind="stable")
        kept = order[thin(len(order), most)]
        columns = self._measure(steps, kept.tolist())
        return HistoryRow(
            steps.run,
            steps.tag,
            len(order),
            steps.index[kept],
            steps.step[kept],
            steps.wall_time[kept],
            *columns,
        )

    def _measure(self, steps: SeriesSteps, places: Sequence[int]) -> Float64:
        located = self._context.log.located(steps.run, steps.tag)
        rows = []
        for place in places:
            index = int(steps.index[place])
            key = (steps.run, steps.tag, index, int(steps.mark[place]))
            found = self._measured.find(key)
            if found is None:
                found = self._read(located, index)
                self._measured.put(key, found, _VALUE_BYTES)
            rows.append(found)
        columns: Float64 = np.array(rows, np.float64).T
        return columns

    def _read(self, located: Located, index: int) -> Measured:
        """A value that is no curve leaves a gap; the step itself says what is wrong with it."""
        try:
            data = self._context.log.read(located, index)
            told = measure(make_curve(decode_value(data, located.kind)))
        except TracklightError:
            return _NOTHING
        numbers = (told.average_precision, told.area, told.roc_area, told.best_f1)
        first, second, third, fourth = (np.nan if n is None else n for n in numbers)
        return first, second, third, fourth
