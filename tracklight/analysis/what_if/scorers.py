"""Functions that say how good predictions are, for permutation importance."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tracklight.analysis.evaluation.curves import histogram_of
from tracklight.analysis.evaluation.metrics import compute_auc, compute_log_loss
from tracklight.errors import UsageError
from tracklight.types import Float64

_CLASSIFICATION = ("accuracy", "auc", "log_loss")
_REGRESSION = ("r2", "mean_absolute_error", "mean_squared_error")


def make_scorer(metric: str | None, labels: Any, is_regression: bool) -> Callable[[Float64], float]:
    """Return a function of scores that is higher for better predictions.

    Args:
        metric: The name of the metric; losses and errors are negated. None for the accuracy, or
            R² for regression.
        labels: The true classes or values; rows with a negative class or NaN are left out.
        is_regression: Whether the scores are values.

    Raises:
        UsageError: The metric does not fit the task, or there are no labels.
    """
    known = _REGRESSION if is_regression else _CLASSIFICATION
    metric = metric or known[0]
    if metric not in known:
        raise UsageError(
            "what_if.no_score_metric",
            '"{metric}" is not a metric here; use one of {known}',
            metric=metric,
            known=", ".join(known),
        )
    used = np.isfinite(labels) if is_regression else labels >= 0
    truth = labels[used]
    if not len(truth):
        raise UsageError("what_if.no_labels", "no row has a label")

    def score(predictions: Float64) -> float:
        return _SCORERS[metric](truth, predictions[used])

    return score


def _score_auc(labels: Any, scores: Float64) -> float:
    if scores.shape[1] != 2:
        raise UsageError(
            "what_if.auc_classes",
            '"auc" needs a model with two classes; use "accuracy" or "log_loss"',
        )
    histogram = histogram_of(labels, scores[:, 1], max_bins=max(len(labels), 2))
    return float(compute_auc(histogram.get(1)[0, 0]))


def _score_log_loss(labels: Any, scores: Float64) -> float:
    chosen = scores[np.arange(len(labels)), labels]
    return -float(np.mean(compute_log_loss(np.ones(len(labels)), chosen)))


def _score_r2(values: Float64, predictions: Float64) -> float:
    total = float(np.sum((values - values.mean()) ** 2))
    residual = float(np.sum((values - predictions) ** 2))
    return 1 - residual / total if total else np.nan


_SCORERS: dict[str, Callable[[Any, Float64], float]] = {
    "accuracy": lambda labels, scores: float(np.mean(np.argmax(scores, axis=1) == labels)),
    "auc": _score_auc,
    "log_loss": _score_log_loss,
    "r2": _score_r2,
    "mean_absolute_error": lambda values, p: -float(np.mean(np.abs(p - values))),
    "mean_squared_error": lambda values, p: -float(np.mean((p - values) ** 2)),
}
