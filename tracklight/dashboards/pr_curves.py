"""The PR curves dashboard: precision and recall of a classifier at every threshold.

Requests and responses (arrays are sent as columns), routes, reading of curves, metrics over steps
and the static export. Uses `tracklight.plugin`, `tracklight.analysis.pr_curves` and
`tracklight.analysis.media`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated

import msgspec
import numpy as np

from tracklight.analysis.media import (
    ExportPart,
    SeriesSteps,
    StepsRequest,
    StepsResponse,
    ValueReader,
    ValueRequest,
    export_values,
    has_fingerprint,
    list_steps,
    tag_path,
    thin_evenly,
    value_path,
)
from tracklight.analysis.pr_curves import PRCurve, PRCurveMetrics, compute_metrics, parse_pr_curve
from tracklight.errors import TracklightError, UsageError
from tracklight.formats.values import decode_value
from tracklight.index.downsampling import to_float32_if_exact
from tracklight.plugin import Context, Dashboard, Problem, Route
from tracklight.types import Float32, Float64, Int32, Int64, ValueLocations
from tracklight.util.files import JsonNumber, to_json_number
from tracklight.util.memory import LruCache

# ---- requests and responses

Tags = Annotated[list[str], msgspec.Meta(max_length=500)]
Column = Float32 | Float64


class CurvesRequest(msgspec.Struct, forbid_unknown_fields=True):
    """The curves of some tags at a step; without ``runs``, of all runs that have them.

    Of each run the last curve at or before ``step`` is returned; without it, the last curve.
    """

    tags: Tags
    runs: list[str] | None = None
    step: int | None = None


class HistoryRequest(msgspec.Struct, forbid_unknown_fields=True):
    """The metrics of some tags over all steps; without ``runs``, of all runs that have them."""

    tags: Tags
    runs: list[str] | None = None


class MeasuresRow(msgspec.Struct):
    """Metrics of a curve; null where they are not defined.

    ``average_precision`` is scikit-learn's ``average_precision_score``. ``area`` is the area under
    the curve by the trapezoidal rule, starting at recall 0 and precision 1 (scikit-learn's ``auc``
    of a ``precision_recall_curve``); ``roc_area`` is the area under the ROC curve from (0, 0) to
    (1, 1). ``best_f1`` is reached at ``best_threshold``; ``prevalence`` is the share of positive
    examples.
    """

    average_precision: float | None
    area: float | None
    roc_area: float | None
    best_f1: float | None
    best_threshold: float | None
    prevalence: float | None


class ColumnsRow(msgspec.Struct):
    """Columns with one row per threshold, thinned evenly if there are many.

    Counts are as logged and need not be integers, as examples may have weights. ``precision`` is
    NaN if no example is predicted positive, ``recall`` if no example is positive.
    ``false_positive_rate`` is null if there are no counts.
    """

    threshold: Column
    true_positives: Column
    false_positives: Column
    true_negatives: Column
    false_negatives: Column
    precision: Column
    recall: Column
    f1: Column
    false_positive_rate: Column | None


class CurveRow(msgspec.Struct):
    """The curve of one run and tag at one step.

    ``has_counts`` is false if only precision and recall were logged. ``thresholds`` is the number
    of logged thresholds.
    """

    run: str
    tag: str
    index: int
    fingerprint: int
    step: int
    wall_time: JsonNumber
    error: Problem | None = None
    thresholds: int = 0
    has_counts: bool = False
    measures: MeasuresRow | None = None
    columns: ColumnsRow | None = None


class CurvesResponse(msgspec.Struct):
    """A row for each run and tag with a curve at or before the step."""

    cursor: str
    curves: list[CurveRow]


class HistoryRow(msgspec.Struct):
    """The metrics of one run and tag over its steps, see `MeasuresRow`; NaN if not defined.

    ``steps`` is the number of logged steps, of which these are some, chosen evenly.
    """

    run: str
    tag: str
    steps: int
    index: Int32
    step: Int64
    wall_time: Float64
    average_precision: Float64
    area: Float64
    roc_area: Float64
    best_f1: Float64


class HistoryResponse(msgspec.Struct):
    cursor: str
    series: list[HistoryRow]


def make_measures_row(metrics: PRCurveMetrics) -> MeasuresRow:
    return MeasuresRow(
        average_precision=metrics.average_precision,
        area=metrics.pr_auc,
        roc_area=metrics.roc_auc,
        best_f1=metrics.best_f1,
        best_threshold=metrics.best_threshold,
        prevalence=metrics.prevalence,
    )


def make_columns_row(curve: PRCurve, rows: Int64) -> ColumnsRow:
    """Return a curve at some of its thresholds."""
    rate = curve.false_positive_rate
    return ColumnsRow(
        threshold=curve.threshold[rows],
        true_positives=to_float32_if_exact(curve.true_positives[rows]),
        false_positives=to_float32_if_exact(curve.false_positives[rows]),
        true_negatives=to_float32_if_exact(curve.true_negatives[rows]),
        false_negatives=to_float32_if_exact(curve.false_negatives[rows]),
        precision=to_float32_if_exact(curve.precision[rows]),
        recall=to_float32_if_exact(curve.recall[rows]),
        f1=curve.f1[rows],
        false_positive_rate=None if rate is None else rate[rows],
    )


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
