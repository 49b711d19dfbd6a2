"""Precision-recall curves: parse logged curves and compute their summary metrics.

Writers store 0 for 0 / 0. `parse_pr_curve` replaces such values by NaN, so that charts do not show
a drop to zero at thresholds where precision is undefined.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tracklight.errors import FormatError
from tracklight.formats.values import DecodedValue, Tensor
from tracklight.types import Float64

_ROWS = 6


@dataclass(frozen=True, eq=False, repr=False)
class PRCurve:
    """A classifier at ascending thresholds. Precision and recall are NaN where undefined."""

    threshold: Float64
    true_positives: Float64
    false_positives: Float64
    true_negatives: Float64
    false_negatives: Float64
    precision: Float64
    recall: Float64
    has_counts: bool
    """Whether counts were logged, and not only precision and recall."""

    @property
    @np.errstate(over="ignore", invalid="ignore")
    def f1(self) -> Float64:
        """The F1 score at each threshold; 0 where no example is predicted positive."""
        precision = np.where(np.isnan(self.precision), 0.0, self.precision)
        total = precision + self.recall
        return np.divide(2 * precision * self.recall, total, np.zeros_like(total), where=total != 0)

    @property
    def false_positive_rate(self) -> Float64 | None:
        """False positives per negative example; None without counts or negative examples."""
        negatives = self.false_positives + self.true_negatives
        if not self.has_counts or not np.all(negatives > 0):
            return None
        return self.false_positives / negatives

    @property
    def metrics(self) -> PRCurveMetrics:
        """Areas under the curve, the best F1 score and the prevalence of positive examples."""
        return compute_metrics(self)

    def __repr__(self) -> str:
        area = self.metrics.average_precision
        text = "undefined" if area is None else f"{area:.4g}"
        return f"<PRCurve: {len(self.threshold):,} thresholds, average precision {text}>"


@dataclass(frozen=True)
class PRCurveMetrics:
    """Summary metrics of a curve; None where undefined."""

    average_precision: float | None
    pr_auc: float | None
    roc_auc: float | None
    best_f1: float | None
    best_threshold: float | None
    prevalence: float | None


@np.errstate(over="ignore", invalid="ignore")
def parse_pr_curve(value: DecodedValue) -> PRCurve:
    """Return the curve in a logged value.

    Raises:
        FormatError: The value is not a PR curve.
    """
    rows = _get_rows(value)
    counts = rows[:4]
    true_positives, false_positives, true_negatives, false_negatives, precision, recall = rows
    counted = bool(np.isfinite(counts).all() and (counts >= 0).all() and counts.any())
    if counted:
        precision = _fill_undefined(precision, true_positives, true_positives + false_positives)
        recall = _fill_undefined(recall, true_positives, true_positives + false_negatives)
    else:
        precision = _clear_undefined_tail(precision, recall)
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
    """Return the summary metrics of a curve."""
    best_f1, best_threshold = _find_best_f1(curve)
    points = _sort_by_recall(curve)
    return PRCurveMetrics(
        average_precision=_compute_average_precision(*points),
        pr_auc=_compute_pr_auc(*points),
        roc_auc=_compute_roc_auc(curve),
        best_f1=best_f1,
        best_threshold=best_threshold,
        prevalence=_find_prevalence(curve),
    )


def _get_rows(value: DecodedValue) -> Float64:
    if not isinstance(value, Tensor) or value.array.dtype.kind not in "fiub":
        raise FormatError("pr_curves.not_numeric", "not a PR curve: the value is not numeric")
    shape = value.array.shape
    if len(shape) != 2 or shape[0] != _ROWS or shape[1] < 1:
        raise FormatError(
            "pr_curves.invalid_shape",
            "not a PR curve: it needs six rows (true and false positives, true "
            "and false negatives, precision, recall), but the shape is {shape}",
            shape=list(shape),
        )
    rows: Float64 = value.array.astype(np.float64)
    rows[~np.isfinite(rows)] = np.nan
    return rows


def _fill_undefined(ratio: Float64, part: Float64, whole: Float64) -> Float64:
    """Return a ratio as logged, or computed from the counts where it is missing or 0 / 0."""
    counted = np.divide(part, whole, np.full_like(part, np.nan), where=whole > 0)
    is_valid = np.isfinite(ratio) & ((whole > 0) | (ratio != 0))
    return np.where(is_valid, ratio, counted)


def _clear_undefined_tail(precision: Float64, recall: Float64) -> Float64:
    """Replace the zeros at the highest thresholds by NaN; without counts, these must be 0 / 0."""
    nonzero = np.flatnonzero((precision != 0) | (recall != 0))
    cleaned: Float64 = precision.copy()
    cleaned[nonzero[-1] + 1 if len(nonzero) else 0 :] = np.nan
    return cleaned


def _sort_by_recall(curve: PRCurve) -> tuple[Float64, Float64]:
    """Return the defined points by descending recall."""
    defined = np.isfinite(curve.precision) & np.isfinite(curve.recall)
    recall = curve.recall[defined]
    order = np.argsort(-recall, kind="stable")
    return curve.precision[defined][order], recall[order]


def _compute_average_precision(precision: Float64, recall: Float64) -> float | None:
    if not len(recall):
        return None
    return _to_finite(np.sum((recall - np.append(recall[1:], 0.0)) * precision))


def _compute_pr_auc(precision: Float64, recall: Float64) -> float | None:
    if not len(recall):
        return None
    return _integrate(np.append(recall, 0.0)[::-1], np.append(precision, 1.0)[::-1])


def _compute_roc_auc(curve: PRCurve) -> float | None:
    rate = curve.false_positive_rate
    if rate is None or not np.isfinite(curve.recall).all():
        return None
    order = np.lexsort((curve.recall, rate))
    x = np.concatenate([[0.0], rate[order], [1.0]])
    return _integrate(x, np.concatenate([[0.0], curve.recall[order], [1.0]]))


def _integrate(x: Float64, y: Float64) -> float | None:
    """Return the area under a piecewise linear curve."""
    return _to_finite(np.sum((x[1:] - x[:-1]) * (y[1:] + y[:-1])) / 2)


def _to_finite(number: np.float64) -> float | None:
    """Return None if a sum overflowed, which is possible for invalid input."""
    return float(number) if np.isfinite(number) else None


def _find_best_f1(curve: PRCurve) -> tuple[float | None, float | None]:
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
