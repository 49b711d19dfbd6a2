"""The PR curves dashboard: routes, reading of curves, metrics over steps, and static export."""

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

#: Limit on the thresholds of one curve; more points are not visible.
_MAX_THRESHOLDS = 2000
#: Limit on the curves of one response.
MAX_CURVES = 2000

#: Limits on the measured steps of one series and of all series of a request. The first and the
#: last step of each series are always measured.
_MAX_SERIES_STEPS = 200
MAX_TOTAL_STEPS = 4000
_CACHE_BYTES = 8 << 20
#: Approximate size of a cached value with its key.
_CACHED_VALUE_BYTES = 256

#: Average precision, area under the PR curve and the ROC curve, and best F1; NaN if not defined.
MeasureValues = tuple[float, float, float, float]
_NO_MEASURES: MeasureValues = (np.nan, np.nan, np.nan, np.nan)


class PrCurves(Dashboard):
    """Precision-recall curves as logged, and metrics computed from them."""

    name = "pr_curves"
    title = "PR curves"
    plugins = ("pr_curves",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._curves = CurveReader(context)
        self._history = CurveHistory(context)

    def routes(self) -> Sequence[Route]:
        return [
            Route("steps", StepsRequest, self.steps),
            Route("curves", CurvesRequest, self.curves),
            Route("curve", ValueRequest, self.curve, "GET", immutable=has_fingerprint),
            Route("history", HistoryRequest, self.history),
        ]

    def export_static(self, runs: Sequence[str]) -> Iterator[tuple[str, object]]:
        return iter_static_export(self.context, self.plugins, runs, self._curves, self._history)

    def steps(self, request: StepsRequest) -> StepsResponse:
        """Return the steps at which curves were logged."""
        return list_steps(self.context, request)

    def curves(self, request: CurvesRequest) -> CurvesResponse:
        """Return the curve of each run and tag at a step, with metrics and the ROC curve."""
        cursor = self.context.cursor()
        return CurvesResponse(cursor, self._curves.read_all(request))

    def curve(self, request: ValueRequest) -> CurveRow:
        """Return one curve, given by its index among the steps."""
        return self._curves.read_one(request)

    def history(self, request: HistoryRequest) -> HistoryResponse:
        """Return areas and best F1 of each run and tag over the steps."""
        cursor = self.context.cursor()
        return HistoryResponse(cursor, self._history.compute(request))


class CurveReader:
    """Read curves. Thread-safe."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._reader = ValueReader(context)

    def read_all(self, request: CurvesRequest) -> list[CurveRow]:
        """Return a row for each run and tag; if a curve cannot be read, the row has the error.

        Raises:
            UsageError: Too many curves are requested.
        """
        series = list_steps(self._context, StepsRequest(request.tags, request.runs)).series
        curves = list(_iter_curves(series, request.step))
        if len(curves) > MAX_CURVES:
            raise UsageError(
                "pr_curves.too_many",
                "{curves:,} curves are more than the limit of {max_curves:,}; "
                "select fewer tags or runs",
                curves=len(curves),
                max_curves=MAX_CURVES,
            )
        return [self._read_row(steps, row) for steps, row in curves]

    def read_one(self, request: ValueRequest) -> CurveRow:
        """Return one curve.

        Raises:
            LogError: The log does not have the value any more.
            FormatError: The value is not a curve.
        """
        curve = parse_pr_curve(self._reader.read(request))
        locations = self._context.log.locate(request.run, request.tag)
        rows = thin_evenly(len(curve.threshold), _MAX_THRESHOLDS)
        return CurveRow(
            request.run,
            request.tag,
            request.index,
            request.fingerprint or 0,
            int(locations.step[request.index]),
            to_json_number(float(locations.wall_time[request.index])),
            thresholds=len(curve.threshold),
            has_counts=curve.has_counts,
            measures=make_measures_row(compute_metrics(curve)),
            columns=make_columns_row(curve, rows),
        )

    def _read_row(self, steps: SeriesSteps, row: int) -> CurveRow:
        index, fingerprint = int(steps.index[row]), int(steps.fingerprint[row])
        try:
            return self.read_one(ValueRequest(steps.run, steps.tag, index, fingerprint))
        except TracklightError as error:
            return CurveRow(
                steps.run,
                steps.tag,
                index,
                fingerprint,
                int(steps.step[row]),
                to_json_number(float(steps.wall_time[row])),
                error=self._context.describe_error(error),
            )


def _iter_curves(
    series: Sequence[SeriesSteps], step: int | None
) -> Iterator[tuple[SeriesSteps, int]]:
    for steps in series:
        row = find_step_index(steps.step, step)
        if row is not None:
            yield steps, row


def find_step_index(steps: Int64, step: int | None) -> int | None:
    """Return the index of the highest step up to ``step``; of equal ones the last."""
    candidates = np.arange(len(steps)) if step is None else np.flatnonzero(steps <= step)
    if not len(candidates):
        return None
    from_end = np.argmax(steps[candidates][::-1])
    return int(candidates[len(candidates) - 1 - from_end])


class CurveHistory:
    """Compute metrics over steps, with a cache of the metrics of each curve. Thread-safe."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._cache: LruCache[tuple[str, str, int, int], MeasureValues] = LruCache(
            max_bytes=_CACHE_BYTES
        )

    def compute(self, request: HistoryRequest) -> list[HistoryRow]:
        series = list_steps(self._context, StepsRequest(request.tags, request.runs)).series
        max_steps = max(2, min(_MAX_SERIES_STEPS, MAX_TOTAL_STEPS // max(len(series), 1)))
        return [self._compute_series(steps, max_steps) for steps in series]

    def _compute_series(self, steps: SeriesSteps, max_steps: int) -> HistoryRow:
        order = np.argsort(steps.step, kind="stable")
        rows = order[thin_evenly(len(order), max_steps)]
        columns = self._measure(steps, rows.tolist())
        return HistoryRow(
            steps.run,
            steps.tag,
            len(order),
            steps.index[rows],
            steps.step[rows],
            steps.wall_time[rows],
            *columns,
        )

    def _measure(self, steps: SeriesSteps, rows: Sequence[int]) -> Float64:
        locations = self._context.log.locate(steps.run, steps.tag)
        values = []
        for row in rows:
            index = int(steps.index[row])
            key = (steps.run, steps.tag, index, int(steps.fingerprint[row]))
            measures = self._cache.find(key)
            if measures is None:
                measures = self._read_measures(locations, index)
                self._cache.put(key, measures, _CACHED_VALUE_BYTES)
            values.append(measures)
        columns: Float64 = np.array(values, np.float64).T
        return columns

    def _read_measures(self, locations: ValueLocations, index: int) -> MeasureValues:
        """Return the metrics of a curve; NaN, a gap in the chart, if it cannot be read."""
        try:
            data = self._context.log.read(locations, index)
            metrics = compute_metrics(parse_pr_curve(decode_value(data, locations.kind)))
        except TracklightError:
            return _NO_MEASURES
        return (
            _none_to_nan(metrics.average_precision),
            _none_to_nan(metrics.pr_auc),
            _none_to_nan(metrics.roc_auc),
            _none_to_nan(metrics.best_f1),
        )


def _none_to_nan(number: float | None) -> float:
    return np.nan if number is None else number


def iter_static_export(
    context: Context,
    plugins: Sequence[str],
    runs: Sequence[str],
    curves: CurveReader,
    history: CurveHistory,
) -> Iterator[ExportPart]:
    """Yield some curves of every tag, and the history of each tag."""

    def export_curve(request: ValueRequest) -> Iterator[ExportPart]:
        yield value_path("curve", request), curves.read_one(request)

    yield from export_values(context, plugins, runs, export_curve)
    for tag in context.log.shared_tags(runs):
        if tag.plugin in plugins:
            rows = history.compute(HistoryRequest([tag.tag], list(runs)))
            yield tag_path("history", tag.tag), HistoryResponse(context.cursor(), rows)
