"""A curve as it was logged, put right where writers could not say what they meant, and measured."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tracklight.errors import FormatError
from tracklight.formats.values import DecodedValue, Tensor
from tracklight.types import Float64

_ROWS = 6


@dataclass(frozen=True, eq=False, repr=False)
class PRCurve:
    """A classifier at rising thresholds. Precision and recall are NaN where undefined."""

    threshold: Float64
    true_positives: Float64
    false_positives: Float64
    true_negatives: Float64
    false_negatives: Float64
    precision: Float64
    recall: Float64
    has_counts: bool
    """False where only precision and recall were logged."""

    @property
    @np.errstate(over="ignore", invalid="ignore")
    def f1(self) -> Float64:
        """0 rather than undefined where no example is called positive, as elsewhere."""
        precision = np.where(np.isnan(self.precision), 0.0, self.precision)
        total = precision + self.recall
        return np.divide(2 * precision * self.recall, total, np.zeros_like(total), where=total != 0)

    @property
    def false_positive_rate(self) -> Float64 | None:
        """None where the counts do not tell it, or no example is negative."""
        negatives = self.false_positives + self.true_negatives
        if not self.has_counts or not np.all(negatives > 0):
            return None
        return self.false_positives / negatives

    @property
    def metrics(self) -> PRCurveMetrics:
        """Areas below the curve, the best F1 score and the share of positive examples."""
        return compute_metrics(self)

    def __repr__(self) -> str:
        area = self.metrics.average_precision
        told = "undefined" if area is None else f"{area:.4g}"
        return f"<PRCurve: {len(self.threshold):,} thresholds, average precision {told}>"


@dataclass(frozen=True)
class PRCurveMetrics:
    """What a whole curve comes to; None where that is not defined."""

    average_precision: float | None
    pr_auc: float | None
    roc_auc: float | None
    best_f1: float | None
    best_threshold: float | None
    prevalence: float | None


@np.errstate(over="ignore", invalid="ignore")
def parse_pr_curve(value: DecodedValue) -> PRCurve:
    """The curve that a value holds."""
    rows = _get_rows(value)
    counts = rows[:4]
    true_positives, false_positives, true_negatives, false_negatives, precision, recall = rows
    counted = bool(np.isfinite(counts).all() and (counts >= 0).all() and counts.any())
    if counted:
        precision = _settle(precision, true_positives, true_positives + false_positives)
        recall = _settle(recall, true_positives, true_positives + false_negatives)
    else:
        precision = _forget_tail(precision, recall)
    return PRCurve(
        threshold=np.arange(rows.shape[1]) / max(rows.shape[1] - 1, 1),
        true_positives=true_positives,
        false_positives=false_positives,
        true_negatives=true_negatives,
        false_negatives=false_negatives,
        precision=precision,
        recall=recall,
        has_counts=counted,
    )


@np.errstate(over="ignore", invalid="ignore")
def compute_metrics(curve: PRCurve) -> PRCurveMetrics:
    best_f1, best_threshold = _find_best(curve)
    points = _by_recall(curve)
    return PRCurveMetrics(
        average_precision=_add_up_steps(*points),
        pr_auc=_find_area(*points),
        roc_auc=_find_roc_area(curve),
        best_f1=best_f1,
        best_threshold=best_threshold,
        prevalence=_find_prevalence(curve),
    )


def _get_rows(value: DecodedValue) -> Float64:
    if not isinstance(value, Tensor) or value.array.dtype.kind not in "fiub":
        raise FormatError("a PR curve is made of numbers, and this value is not")
    shape = value.array.shape
    if len(shape) != 2 or shape[0] != _ROWS or shape[1] < 1:
        raise FormatError(
            "a PR curve has six rows (true and false positives, true and false negatives, "
            f"precision, recall), but this value has the shape {list(shape)}"
        )
    rows: Float64 = value.array.astype(np.float64)
    rows[~np.isfinite(rows)] = np.nan
    return rows


def _settle(ratio: Float64, part: Float64, whole: Float64) -> Float64:
    """A ratio as logged; where that says nothing, as the counts tell.

    Writers put 0 for 0 / 0, which would draw a fall to zero where there is no point at all.
    """
    counted = np.divide(part, whole, np.full_like(part, np.nan), where=whole > 0)
    known = np.isfinite(ratio) & ((whole > 0) | (ratio != 0))
    return np.where(known, ratio, counted)


def _forget_tail(precision: Float64, recall: Float64) -> Float64:
    """Without counts, zeros at the highest thresholds are all that tells 0 / 0."""
    there = np.flatnonzero((precision != 0) | (recall != 0))
    settled: Float64 = precision.copy()
    settled[there[-1] + 1 if len(there) else 0 :] = np.nan
    return settled


def _by_recall(curve: PRCurve) -> tuple[Float64, Float64]:
    """Precision and recall by falling recall, as they stand already in all but odd curves."""
    defined = np.isfinite(curve.precision) & np.isfinite(curve.recall)
    recall = curve.recall[defined]
    order = np.argsort(-recall, kind="stable")
    return curve.precision[defined][order], recall[order]


def _add_up_steps(precision: Float64, recall: Float64) -> float | None:
    if not len(recall):
        return None
    return _tell(np.sum((recall - np.append(recall[1:], 0.0)) * precision))


def _find_area(precision: Float64, recall: Float64) -> float | None:
    if not len(recall):
        return None
    return _join(np.append(recall, 0.0)[::-1], np.append(precision, 1.0)[::-1])


def _find_roc_area(curve: PRCurve) -> float | None:
    rate = curve.false_positive_rate
    if rate is None or not np.isfinite(curve.recall).all():
        return None
    order = np.lexsort((curve.recall, rate))
    x = np.concatenate([[0.0], rate[order], [1.0]])
    return _join(x, np.concatenate([[0.0], curve.recall[order], [1.0]]))


def _join(x: Float64, y: Float64) -> float | None:
    """The area below straight lines from point to point."""
    return _tell(np.sum((x[1:] - x[:-1]) * (y[1:] + y[:-1])) / 2)


def _tell(number: np.float64) -> float | None:
    """Numbers that were made up may be so large that their sum is none."""
    return float(number) if np.isfinite(number) else None


def _find_best(curve: PRCurve) -> tuple[float | None, float | None]:
    f1 = curve.f1
    f1[~np.isfinite(f1)] = -1.0
    best = int(np.argmax(f1))
    if f1[best] < 0:
        return None, None
    return float(f1[best]), float(curve.threshold[best])


def _find_prevalence(curve: PRCurve) -> float | None:
    if not curve.has_counts:
        return None
    positives = curve.true_positives + curve.false_negatives
    total = positives + curve.false_positives + curve.true_negatives
    known = np.flatnonzero(total > 0)
    return float(positives[known[0]] / total[known[0]])
