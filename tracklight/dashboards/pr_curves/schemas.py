"""What the page asks of the PR curves dashboard."""

from __future__ import annotations

from typing import Annotated

import msgspec

from tracklight.analysis.pr_curves import PRCurve, PRCurveMetrics
from tracklight.index.downsampling import to_float32_if_exact
from tracklight.plugin import Problem
from tracklight.types import Float32, Float64, Int32, Int64

Tags = Annotated[list[str], msgspec.Meta(max_length=500)]


class CurvesRequest(msgspec.Struct, forbid_unknown_fields=True):
    """The curves of some tags; ``runs`` null stands for all runs that have them.

    Of each run the last curve at or before ``step``; null asks for the last of all.
    """

    tags: Tags
    runs: list[str] | None = None
    step: int | None = None


class HistoryRequest(msgspec.Struct, forbid_unknown_fields=True):
    """The curves of some tags over all steps, each in a few numbers."""

    tags: Tags
    runs: list[str] | None = None


# What the PR curves dashboard answers; arrays travel as columns.

Column = Float32 | Float64


class MeasuresRow(msgspec.Struct):
    """What a whole curve comes to; null where that is not defined.

    ``average_precision`` adds up the precision over the steps of recall (scikit-learn's
    ``average_precision_score``), ``area`` joins the points by straight lines that begin at recall
    0 and precision 1 (its ``auc`` of a ``precision_recall_curve``), and ``roc_area`` does so from
    (0, 0) to (1, 1). ``best_f1`` is reached at ``best_threshold``; ``prevalence`` is the part of
    examples that is positive.
    """

    average_precision: float | None
    area: float | None
    roc_area: float | None
    best_f1: float | None
    best_threshold: float | None
    prevalence: float | None


class ColumnsRow(msgspec.Struct):
    """One cell for each threshold, or for ``shown`` of them where there are too many.

    Counts are as logged, and need not be whole: examples may have weights. ``precision`` is NaN
    where no example is called positive, and ``recall`` where no example is positive.
    ``false_positive_rate`` is null where counts do not tell it.
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

    ``counted`` is false where only precision and recall were logged. ``thresholds`` counts those
    that were logged.
    """

    run: str
    tag: str
    index: int
    mark: int
    step: int
    wall_time: float | str
    error: Problem | None = None
    thresholds: int = 0
    counted: bool = False
    measures: MeasuresRow | None = None
    columns: ColumnsRow | None = None


class CurvesResponse(msgspec.Struct):
    """A row for each run and tag that has a curve at or before the step."""

    cursor: str
    curves: list[CurveRow]


class HistoryRow(msgspec.Struct):
    """One run and tag over its steps, as `MeasuresRow` tells; NaN where that is not defined.

    ``steps`` counts those of the log; where they are many, only some, evenly chosen, are here.
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


def make_measures_row(measures: PRCurveMetrics) -> MeasuresRow:
    return MeasuresRow(
        average_precision=measures.average_precision,
        area=measures.pr_auc,
        roc_area=measures.roc_auc,
        best_f1=measures.best_f1,
        best_threshold=measures.best_threshold,
        prevalence=measures.prevalence,
    )


def make_columns_row(curve: PRCurve, kept: Int64) -> ColumnsRow:
    """A curve at some of its thresholds."""
    rate = curve.false_positive_rate
    return ColumnsRow(
        threshold=curve.threshold[kept],
        true_positives=to_float32_if_exact(curve.true_positives[kept]),
        false_positives=to_float32_if_exact(curve.false_positives[kept]),
        true_negatives=to_float32_if_exact(curve.true_negatives[kept]),
        false_negatives=to_float32_if_exact(curve.false_negatives[kept]),
        precision=to_float32_if_exact(curve.precision[kept]),
        recall=to_float32_if_exact(curve.recall[kept]),
        f1=curve.f1[kept],
        false_positive_rate=None if rate is None else rate[kept],
    )
