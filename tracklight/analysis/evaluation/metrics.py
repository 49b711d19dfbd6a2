"""Metrics as functions of counts. Arrays may have any leading dimensions; 0 / 0 is NaN."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tracklight.types import Float64

Direction = Literal["higher", "lower", "neutral"]

#: Bounds of probabilities in the logarithmic loss, as in Keras.
_LOSS_EPSILON = 1e-7


@dataclass(frozen=True, eq=False)
class ConfusionCounts:
    """Weighted counts of true and false positives and negatives."""

    tp: Float64
    fp: Float64
    tn: Float64
    fn: Float64

    @classmethod
    def from_predictions(
        cls,
        labels: NDArray[Any],
        scores: NDArray[Any],
        threshold: float,
        weights: NDArray[Any] | None = None,
    ) -> ConfusionCounts:
        """Count the predictions of one array of scores at one threshold."""
        positive = np.asarray(scores) > threshold
        actual = np.asarray(labels).astype(bool)
        amounts = np.ones(len(actual)) if weights is None else np.asarray(weights, np.float64)

        def total(mask: NDArray[Any]) -> Float64:
            return np.asarray(amounts[mask].sum())

        return cls(
            tp=total(positive & actual),
            fp=total(positive & ~actual),
            tn=total(~positive & ~actual),
            fn=total(~positive & actual),
        )


Ratio = Callable[[ConfusionCounts], tuple[Float64, Float64]]

#: Metrics that are the share of some rows in others: numerator and denominator.
RATES: Mapping[str, Ratio] = {
    "accuracy": lambda c: (c.tp + c.tn, c.tp + c.fp + c.tn + c.fn),
    "precision": lambda c: (c.tp, c.tp + c.fp),
    "recall": lambda c: (c.tp, c.tp + c.fn),
    "true_positive_rate": lambda c: (c.tp, c.tp + c.fn),
    "false_positive_rate": lambda c: (c.fp, c.fp + c.tn),
    "true_negative_rate": lambda c: (c.tn, c.fp + c.tn),
    "false_negative_rate": lambda c: (c.fn, c.tp + c.fn),
    "positive_rate": lambda c: (c.tp + c.fp, c.tp + c.fp + c.tn + c.fn),
    "negative_rate": lambda c: (c.tn + c.fn, c.tp + c.fp + c.tn + c.fn),
    "false_discovery_rate": lambda c: (c.fp, c.tp + c.fp),
    "false_omission_rate": lambda c: (c.fn, c.tn + c.fn),
}

#: Other metrics at a threshold.
THRESHOLD_METRICS: Mapping[str, Callable[[ConfusionCounts], Float64]] = {
    "f1": lambda c: divide(2 * c.tp, 2 * c.tp + c.fp + c.fn),
    "balanced_accuracy": lambda c: (divide(c.tp, c.tp + c.fn) + divide(c.tn, c.tn + c.fp)) / 2,
    "true_positives": lambda c: c.tp,
    "false_positives": lambda c: c.fp,
    "true_negatives": lambda c: c.tn,
    "false_negatives": lambda c: c.fn,
}

#: Metrics of a binary classifier that need no threshold.
SCORE_METRICS = (
    "auc",
    "auc_precision_recall",
    "average_loss",
    "brier_score",
    "label_mean",
    "prediction_mean",
    "calibration",
    "lift",
)

#: Metrics that need a counterfactual prediction. All rates are shares of all rows, as in TFMA.
FLIP_METRICS = (
    "flip_rate",
    "positive_to_negative_flip_rate",
    "negative_to_positive_flip_rate",
    "flip_count",
    "positive_to_negative_flip_count",
    "negative_to_positive_flip_count",
)

REGRESSION_METRICS = (
    "mean_error",
    "mean_absolute_error",
    "mean_squared_error",
    "root_mean_squared_error",
    "r2",
    "label_mean",
    "prediction_mean",
    "calibration",
    "lift",
)

COUNT_METRICS = ("example_count", "weighted_example_count")

#: Metrics without a confidence interval.
METRICS_WITHOUT_INTERVAL = frozenset(
    [*COUNT_METRICS, *(name for name in FLIP_METRICS if name.endswith("count"))]
)

DEFAULT_BINARY_METRICS = (
    "accuracy",
    "precision",
    "recall",
    "auc",
    "false_positive_rate",
    "false_negative_rate",
    "true_positive_rate",
    "true_negative_rate",
    "positive_rate",
    "negative_rate",
    "false_discovery_rate",
    "false_omission_rate",
    "auc_precision_recall",
    "average_loss",
    "label_mean",
    "prediction_mean",
    "example_count",
    "weighted_example_count",
)

_HIGHER_IS_BETTER = frozenset(
    "accuracy precision recall true_positive_rate true_negative_rate auc auc_precision_recall f1 "
    "balanced_accuracy r2".split()
)
_LOWER_IS_BETTER = frozenset(
    "false_positive_rate false_negative_rate false_discovery_rate false_omission_rate average_loss "
    "brier_score mean_absolute_error mean_squared_error root_mean_squared_error flip_rate".split()
)


#: Names of Keras and TensorFlow Model Analysis for metrics above.
_ALIASES = {
    "binary_accuracy": "accuracy",
    "categorical_accuracy": "accuracy",
    "sparse_categorical_accuracy": "accuracy",
    "loss": "average_loss",
    "binary_cross_entropy": "average_loss",
    "binary_crossentropy": "average_loss",
    "categorical_cross_entropy": "average_loss",
    "categorical_crossentropy": "average_loss",
    "sparse_categorical_crossentropy": "average_loss",
    "f1_score": "f1",
    "fall_out": "false_positive_rate",
    "mean_label": "label_mean",
    "mean_prediction": "prediction_mean",
    "miss_rate": "false_negative_rate",
    "specificity": "true_negative_rate",
}


def get_standard_name(metric: str) -> str:
    """Return the name of a metric here, such as ``accuracy`` for ``binary_accuracy_diff``."""
    name = metric.removesuffix("_diff").removesuffix(" (unweighted)")
    return _ALIASES.get(name, name)


def get_direction(metric: str) -> Direction:
    """Return whether higher or lower values of a metric are better."""
    name = get_standard_name(metric)
    if name in _HIGHER_IS_BETTER:
        return "higher"
    return "lower" if name in _LOWER_IS_BETTER else "neutral"


def is_count(metric: str) -> bool:
    """Return whether a metric counts rows, so that it depends on the size of a slice."""
    return re.search(r"(^|_)(count|positives|negatives)$", get_standard_name(metric)) is not None


def divide(numerator: Float64, denominator: Float64) -> Float64:
    """Divide, with NaN where the denominator is 0."""
    numerator, denominator = np.broadcast_arrays(
        np.asarray(numerator, np.float64), np.asarray(denominator, np.float64)
    )
    result: Float64 = np.full(numerator.shape, np.nan)
    np.divide(numerator, denominator, out=result, where=denominator != 0)
    return result


def compute_threshold_metric(metric: str, counts: ConfusionCounts) -> Float64:
    """Return a metric of `RATES` or `THRESHOLD_METRICS`."""
    if metric in RATES:
        return divide(*RATES[metric](counts))
    return np.asarray(THRESHOLD_METRICS[metric](counts), np.float64)


def count_at_thresholds(histogram: Float64, threshold_bins: NDArray[Any]) -> ConfusionCounts:
    """Return counts at thresholds from (..., label, bin); the result has shape (..., threshold)."""
    below = np.cumsum(histogram, axis=-1)
    negative, positive = below[..., 0, :], below[..., 1, :]
    tn, fn = negative[..., threshold_bins], positive[..., threshold_bins]
    return ConfusionCounts(tp=positive[..., -1:] - fn, fp=negative[..., -1:] - tn, tn=tn, fn=fn)


def compute_auc(histogram: Float64) -> Float64:
    """Return the area under the ROC curve from (..., label, bin); ties count half."""
    negative, positive = histogram[..., 0, :], histogram[..., 1, :]
    before = np.cumsum(negative, axis=-1) - negative / 2
    area = np.einsum("...i,...i->...", positive, before)
    return divide(area, positive.sum(axis=-1) * negative.sum(axis=-1))


def compute_average_precision(histogram: Float64) -> Float64:
    """Return the area under the PR curve from (..., label, bin), as average precision.

    Sums precision times the increase of recall at each score, like scikit-learn. Linear
    interpolation between points would be too optimistic.
    """
    above = np.cumsum(histogram[..., ::-1], axis=-1)[..., ::-1]
    positive = histogram[..., 1, :]
    predicted = above[..., 0, :] + above[..., 1, :]
    precision = np.zeros(predicted.shape)
    np.divide(above[..., 1, :], predicted, out=precision, where=predicted > 0)
    return divide(np.einsum("...i,...i->...", positive, precision), positive.sum(axis=-1))


def compute_log_loss(labels: NDArray[Any], scores: NDArray[Any]) -> Float64:
    """Return the binary cross-entropy of each row."""
    chosen = np.where(labels.astype(bool), scores, 1 - scores).astype(np.float64)
    result: Float64 = -np.log(np.clip(chosen, _LOSS_EPSILON, 1 - _LOSS_EPSILON))
    return result


def compute_lift(
    weights: Float64, scores: Float64, background_weights: Float64, background_scores: Float64
) -> Float64:
    """Return lift from sums of weights and scores by label bucket (last dimension).

    Lift is the mean prediction of a slice minus the mean prediction of the background, after
    weighting the background so that its labels are distributed as in the slice.
    """
    background_mean = divide(background_scores, background_weights)
    expected = np.where(weights > 0, weights * background_mean, 0.0)
    return divide(scores.sum(axis=-1) - expected.sum(axis=-1), weights.sum(axis=-1))
