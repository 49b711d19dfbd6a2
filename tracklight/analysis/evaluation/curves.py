"""ROC, precision-recall and calibration curves and score distributions, from score histograms.

A histogram has shape (label, bin), with bin ``i`` in ``(edges[i - 1], edges[i]]``; see
`accumulators.ScoreHistogram`. `histogram_of` builds one from arrays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracklight.analysis.evaluation.accumulators import EXACT_BINS, ScoreHistogram, WeightedRows
from tracklight.analysis.evaluation.metrics import divide
from tracklight.analysis.evaluation.resampling import Resampling
from tracklight.errors import UsageError
from tracklight.types import Float64

#: Buckets for which sums are kept; curves with fewer buckets are sums of these.
CALIBRATION_BUCKETS = 20


@dataclass(frozen=True, eq=False)
class RocCurve:
    """False and true positive rate at descending thresholds, starting with "none positive"."""

    threshold: Float64
    false_positive_rate: Float64
    true_positive_rate: Float64


@dataclass(frozen=True, eq=False)
class PrecisionRecallCurve:
    """Precision and recall at descending thresholds, without those that predict no positive."""

    threshold: Float64
    precision: Float64
    recall: Float64


@dataclass(frozen=True, eq=False)
class CalibrationCurve:
    """Mean score and share of positives by score bucket; NaN in empty buckets."""

    edges: Float64
    mean_score: Float64
    positive_share: Float64
    weight: Float64


@dataclass(frozen=True, eq=False)
class ScoreDistribution:
    """Weight of negative and positive rows by score bucket."""

    edges: Float64
    negative: Float64
    positive: Float64


def histogram_of(
    labels: NDArray[Any],
    scores: NDArray[Any],
    weights: NDArray[Any] | None = None,
    thresholds: Sequence[float] = (),
    max_bins: int = EXACT_BINS,
) -> ScoreHistogram:
    """Return the histogram of one slice; get its counts with ``histogram.get(1)[0, 0]``."""
    histogram = ScoreHistogram(thresholds, Resampling("none"), max_bins)
    histogram.choose_edges(np.asarray(scores))
    histogram.reserve(1)
    rows = len(scores)
    amounts = np.ones(rows) if weights is None else np.asarray(weights, np.float64)
    chunk = WeightedRows([np.zeros(rows, np.int64)], 0, amounts, Resampling("none"))
    histogram.add(chunk, np.asarray(labels), np.asarray(scores))
    return histogram


def roc_curve(counts: Float64, edges: Float64) -> RocCurve:
    """Return the ROC curve; NaN rates when a label does not occur."""
    totals = counts.sum(axis=-1)
    above = _count_above(counts)
    used = _changes(above)
    return RocCurve(
        threshold=_descending_thresholds(edges)[used],
        false_positive_rate=divide(above[0], totals[0])[used],
        true_positive_rate=divide(above[1], totals[1])[used],
    )


def precision_recall_curve(counts: Float64, edges: Float64) -> PrecisionRecallCurve:
    """Return the precision-recall curve."""
    above = _count_above(counts)
    used = _changes(above) & (above.sum(axis=0) > 0)
    return PrecisionRecallCurve(
        threshold=_descending_thresholds(edges)[used],
        precision=divide(above[1], above.sum(axis=0))[used],
        recall=divide(above[1], counts[1].sum())[used],
    )


def calibration_sums(labels: NDArray[Any], scores: NDArray[Any]) -> tuple[NDArray[Any], ...]:
    """Return the bucket of each row, and the factors whose sums `calibration_curve` needs."""
    bounds = np.linspace(0, 1, CALIBRATION_BUCKETS + 1)[1:-1]
    return np.searchsorted(bounds, scores, side="left"), scores, labels


def calibration_curve(sums: Float64, buckets: int = 10) -> CalibrationCurve:
    """Return the calibration curve over buckets ``(a, b]`` of equal width from 0 to 1.

    Args:
        sums: Sums of weight, weight times score and weight times label: (3, 20).
        buckets: Number of buckets; must divide 20.
    """
    if CALIBRATION_BUCKETS % buckets:
        raise UsageError(f"the number of calibration buckets must divide {CALIBRATION_BUCKETS}")
    weight, scores, labels = sums.reshape(3, buckets, -1).sum(axis=-1)
    return CalibrationCurve(
        edges=np.linspace(0, 1, buckets + 1),
        mean_score=divide(scores, weight),
        positive_share=divide(labels, weight),
        weight=weight,
    )


def score_distribution(counts: Float64, edges: Float64, buckets: int = 50) -> ScoreDistribution:
    """Return the distribution of scores by label, over buckets of equal width.

    The buckets span 0 to 1, or the range of the scores if some are outside.
    """
    low, high = min(0.0, float(edges[0])), max(1.0, float(edges[-1]))
    bounds = np.linspace(low, high, buckets + 1)
    at = _find_buckets(np.append(edges, high), bounds)
    negative, positive = (
        np.bincount(at, values, minlength=buckets)[:buckets] for values in (counts[0], counts[1])
    )
    return ScoreDistribution(bounds, np.asarray(negative, "f8"), np.asarray(positive, "f8"))


def _count_above(counts: Float64) -> Float64:
    """Return weights above each edge, from the highest to the lowest: (label, edge)."""
    above = np.cumsum(counts[:, ::-1], axis=-1)
    return np.concatenate([np.zeros((2, 1)), above], axis=-1)


def _changes(above: Float64) -> NDArray[np.bool_]:
    """Return which points to keep: the first, and each that differs from its predecessor."""
    moved = (np.diff(above, axis=-1) != 0).any(axis=0)
    return np.concatenate([[True], moved])


def _descending_thresholds(edges: Float64) -> Float64:
    """Return the threshold of each point: scores greater than it are positive."""
    return np.concatenate([[np.inf], edges[::-1], [-np.inf]])


def _find_buckets(values: Float64, bounds: Float64) -> NDArray[Any]:
    """Return the bucket ``(a, b]`` of each value; the first one includes its lower bound."""
    at = np.searchsorted(bounds, values, side="left") - 1
    return np.clip(at, 0, len(bounds) - 2)
