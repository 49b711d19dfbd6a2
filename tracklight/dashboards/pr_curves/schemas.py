"""Requests and responses of the PR curves dashboard; arrays are sent as columns."""

from __future__ import annotations

from typing import Annotated

import msgspec

from tracklight.analysis.pr_curves import PRCurve, PRCurveMetrics
from tracklight.index.downsampling import to_float32_if_exact
from tracklight.plugin import Problem
from tracklight.types import Float32, Float64, Int32, Int64
from tracklight.util.json_number import JsonNumber

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
