"""Reads curves at a step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from tracklight.analysis.media.static_export import (
    ExportPart,
    export_values,
    tag_path,
    thin_evenly,
    value_path,
)
from tracklight.analysis.media.values import (
    SeriesSteps,
    StepsRequest,
    StepsResponse,
    ValueReader,
    ValueRequest,
    has_fingerprint,
    list_steps,
)
from tracklight.analysis.pr_curves import compute_metrics, parse_pr_curve
from tracklight.dashboards.pr_curves.schemas import (
    CurveRow,
    CurvesRequest,
    CurvesResponse,
    HistoryRequest,
    HistoryResponse,
    HistoryRow,
    make_columns_row,
    make_measures_row,
)
from tracklight.errors import TracklightError, UsageError
from tracklight.formats.values import decode_value
from tracklight.plugin import Context, Dashboard, Route
from tracklight.types import Float64, Int64, ValueLocations
from tracklight.util.json_number import to_json_number
from tracklight.util.lru_cache import LruCache

#: So many points a screen can show of one curve.
_MAX_THRESHOLDS = 2000

#: So many curves are told at once.
_MAX_CURVES = 2000


class CurveReader:
    """May be asked from any thread."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._reader = ValueReader(context)

    def read_all(self, ask: CurvesRequest) -> list[CurveRow]:
        """A row for each run and tag; one that cannot be read says so in its place."""
        series = list_steps(self._context, StepsRequest(ask.tags, ask.runs)).series
        places = list(_iter_curves(series, ask.step))
        if len(places) > _MAX_CURVES:
            raise UsageError(
                f"{len(places):,} curves are more than the {_MAX_CURVES:,} that are told at once; "
                "ask for fewer tags or runs"
            )
        return [self._read(steps, place) for steps, place in places]

    def read_one(self, ask: ValueRequest) -> CurveRow:
        """The value that is named; raises where it is no curve."""
        curve = parse_pr_curve(self._reader.read(ask))
        located = self._context.log.locate(ask.run, ask.tag)
        kept = thin_evenly(len(curve.threshold), _MAX_THRESHOLDS)
        return CurveRow(
            ask.run,
            ask.tag,
            ask.index,
            ask.mark or 0,
            int(located.step[ask.index]),
            to_json_number(float(located.wall_time[ask.index])),
            thresholds=len(curve.threshold),
            counted=curve.has_counts,
            measures=make_measures_row(compute_metrics(curve)),
            columns=make_columns_row(curve, kept),
        )

    def _read(self, steps: SeriesSteps, place: int) -> CurveRow:
        index, mark = int(steps.index[place]), int(steps.mark[place])
        try:
            return self.read_one(ValueRequest(steps.run, steps.tag, index, mark))
        except TracklightError as error:
            wall_time = to_json_number(float(steps.wall_time[place]))
            told = steps.run, steps.tag, index, mark, int(steps.step[place]), wall_time
            return CurveRow(*told, error=self._context.describe_error(error))


def _iter_curves(
    series: Sequence[SeriesSteps], step: int | None
) -> Iterator[tuple[SeriesSteps, int]]:
    for steps in series:
        place = find_step_index(steps.step, step)
        if place is not None:
            yield steps, place


def find_step_index(steps: Int64, step: int | None) -> int | None:
    """Where the greatest step that is not beyond ``step`` stands; of equal ones the last."""
    there = np.arange(len(steps)) if step is None else np.flatnonzero(steps <= step)
    if not len(there):
        return None
    greatest = np.argmax(steps[there][::-1])
    return int(there[len(there) - 1 - greatest])


# How curves went over the steps of a run, each in a few numbers.

#: So many steps of a series are measured, and so many of all series of one ask, if that leaves
#: each the first and the last.
_MAX_SERIES_STEPS = 200

_MAX_TOTAL_STEPS = 4000

_CACHE_BYTES = 8 << 20

#: About what one value takes in the cache with its key.
_CACHED_VALUE_BYTES = 256

MeasureValues = tuple[float, float, float, float]

_NO_MEASURES: MeasureValues = (np.nan, np.nan, np.nan, np.nan)


class CurveHistory:
    """Measures each curve once; may be asked from any thread."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._cache: LruCache[tuple[str, str, int, int], MeasureValues] = LruCache(
            max_bytes=_CACHE_BYTES
        )

    def compute(self, ask: HistoryRequest) -> list[HistoryRow]:
        series = list_steps(self._context, StepsRequest(ask.tags, ask.runs)).series
        most = max(2, min(_MAX_SERIES_STEPS, _MAX_TOTAL_STEPS // max(len(series), 1)))
        return [self._compute_series(steps, most) for steps in series]

    def _compute_series(self, steps: SeriesSteps, most: int) -> HistoryRow:
        order = np.argsort(steps.step, kind="stable")
        kept = order[thin_evenly(len(order), most)]
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
        located = self._context.log.locate(steps.run, steps.tag)
        rows = []
        for place in places:
            index = int(steps.index[place])
            key = (steps.run, steps.tag, index, int(steps.mark[place]))
            found = self._cache.find(key)
            if found is None:
                found = self._read(located, index)
                self._cache.put(key, found, _CACHED_VALUE_BYTES)
            rows.append(found)
        columns: Float64 = np.array(rows, np.float64).T
        return columns

    def _read(self, located: ValueLocations, index: int) -> MeasureValues:
        """A value that is no curve leaves a gap; the step itself says what is wrong with it."""
        try:
            data = self._context.log.read(located, index)
            told = compute_metrics(parse_pr_curve(decode_value(data, located.kind)))
        except TracklightError:
            return _NO_MEASURES
        numbers = (told.average_precision, told.pr_auc, told.roc_auc, told.best_f1)
        first, second, third, fourth = (np.nan if n is None else n for n in numbers)
        return first, second, third, fourth


# The curves that a copy of a board takes along.


def iter_static_export(
    context: Context,
    plugins: Sequence[str],
    runs: Sequence[str],
    curves: CurveReader,
    historian: CurveHistory,
) -> Iterator[ExportPart]:
    """Some curves of every tag, and how all of them went."""

    def copy_value(ask: ValueRequest) -> Iterator[ExportPart]:
        yield value_path("curve", ask), curves.read_one(ask)

    yield from export_values(context, plugins, runs, copy_value)
    for tag in context.log.shared_tags(runs):
        if tag.plugin in plugins:
            told = historian.compute(HistoryRequest([tag.tag], list(runs)))
            yield tag_path("history", tag.tag), HistoryResponse(context.cursor(), told)


class PrCurves(Dashboard):
    """Answers with curves as they were logged, and with what follows from them."""

    name = "pr_curves"
    title = "PR curves"
    plugins = ("pr_curves",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._curves = CurveReader(context)
        self._historian = CurveHistory(context)

    def routes(self) -> Sequence[Route]:
        return [
            Route("steps", StepsRequest, self.steps),
            Route("curves", CurvesRequest, self.curves),
            Route("curve", ValueRequest, self.curve, "GET", immutable=has_fingerprint),
            Route("history", HistoryRequest, self.history),
        ]

    def export_static(self, runs: Sequence[str]) -> Iterator[tuple[str, object]]:
        return iter_static_export(self.context, self.plugins, runs, self._curves, self._historian)

    def steps(self, ask: StepsRequest) -> StepsResponse:
        """At which steps curves were logged."""
        return list_steps(self.context, ask)

    def curves(self, ask: CurvesRequest) -> CurvesResponse:
        """The curve of each run and tag at a step, with areas, F1 and points of the ROC curve."""
        cursor = self.context.cursor()
        return CurvesResponse(cursor, self._curves.read_all(ask))

    def curve(self, ask: ValueRequest) -> CurveRow:
        """One curve, named by its place among the steps."""
        return self._curves.read_one(ask)

    def history(self, ask: HistoryRequest) -> HistoryResponse:
        """How the areas and the best F1 of each run and tag went over the steps."""
        cursor = self.context.cursor()
        return HistoryResponse(cursor, self._historian.compute(ask))
