"""Feature importance of any model: permutation importance and Shapley values by sampling.

Permutation importance needs a score, which tells how good predictions are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tracklight.analysis.evaluation.metrics import compute_auc, compute_log_loss, histogram_of
from tracklight.analysis.tables.table import DataTable
from tracklight.errors import UsageError
from tracklight.types import Float64, Int64

#: Returns one number per row: the score of the explained class, or the predicted value.
PredictOutput = Callable[[DataTable], Float64]
#: Returns how good predictions of all rows are; higher is better.
Scorer = Callable[[Float64], float]
Report = Callable[[int, int], None]

_BATCH_ROWS = 100_000


@dataclass(frozen=True, eq=False)
class PermutationImportance:
    """How much worse a model gets when one feature is shuffled."""

    baseline: float
    drops: Mapping[str, Float64]
    """The decrease of the score by feature, one number per repetition."""


def compute_permutation_importance(
    table: DataTable,
    features: Sequence[str],
    predict: Callable[[DataTable], Float64],
    scorer: Scorer,
    *,
    repeats: int = 5,
    seed: int = 0,
    report: Report | None = None,
) -> PermutationImportance:
    """Shuffle each feature several times and measure how much the score decreases.

    Args:
        table: The data.
        features: The features to shuffle.
        predict: Returns the predictions of a table.
        scorer: Returns how good predictions are.
        repeats: How often each feature is shuffled.
        seed: Seed of the permutations.
        report: Called with the number of finished calls, and of all; raises to cancel.
    """
    if repeats < 1:
        raise UsageError("what_if.repeats", "the number of repetitions must be at least 1")
    baseline = scorer(predict(table))
    random = np.random.default_rng(seed)
    drops: dict[str, Float64] = {}
    done = 0
    for name in features:
        column = table.get_column(name)
        values = np.empty(repeats)
        for number in range(repeats):
            if report is not None:
                report(done, len(features) * repeats)
            shuffled = column.take(random.permutation(len(table)))
            values[number] = baseline - scorer(predict(table.with_columns([shuffled])))
            done += 1
        drops[name] = values
    return PermutationImportance(baseline, drops)


@dataclass(frozen=True, eq=False)
class ShapleyValues:
    """Contributions of features to predictions, relative to the mean of a background sample.

    For each row, the values of all features and the expected value add up to the prediction.
    """

    values: Mapping[str, Float64]
    """One number per row for each feature."""
    standard_error: Mapping[str, Float64]
    expected: float
    """The mean prediction of the background."""
    predictions: Float64


def compute_shapley_values(
    table: DataTable,
    rows: Int64,
    features: Sequence[str],
    predict: PredictOutput,
    *,
    background: Int64,
    permutations: int = 50,
    seed: int = 0,
    report: Report | None = None,
) -> ShapleyValues:
    """Estimate Shapley values by sampling permutations, in pairs of opposite order.

    Each permutation replaces the features of a random background row by those of the explained
    row, one after the other; the change of the prediction is the feature's contribution.

    Args:
        table: The data.
        rows: The rows to explain.
        features: The features among which the prediction is divided.
        predict: Returns one number per row.
        background: The rows that represent the data.
        permutations: Number of permutations per row.
        seed: Seed of the permutations.
        report: Called with the number of explained rows, and of all; raises to cancel.
    """
    if not len(background):
        raise UsageError("what_if.background_rows", "the background must have at least one row")
    if permutations < 2:
        raise UsageError("what_if.permutations", "at least 2 permutations are needed")
    if not features:
        raise UsageError("what_if.no_feature", "there is no feature to explain")
    count = len(features)
    means = np.zeros((len(rows), count))
    errors = np.zeros((len(rows), count))
    expected = float(np.mean(predict(table.take(background))))
    predictions = predict(table.take(rows)) if len(rows) else np.empty(0)
    random = np.random.default_rng(seed)
    rows_per_batch = max(1, _BATCH_ROWS // (permutations * (count + 1)))
    for start in range(0, len(rows), rows_per_batch):
        if report is not None:
            report(start, len(rows))
        part = rows[start : start + rows_per_batch]
        contributions = _sample_contributions(
            table, part, features, predict, background, permutations, random
        )
        means[start : start + len(part)] = contributions.mean(axis=1)
        errors[start : start + len(part)] = contributions.std(axis=1, ddof=1) / np.sqrt(
            permutations
        )
    # Background rows are drawn at random, so the sum differs from prediction - expected by the
    # sampling error, which is divided among the features in proportion to their uncertainty.
    gap = predictions - expected - means.sum(axis=1)
    share = np.divide(
        errors**2,
        (errors**2).sum(axis=1, keepdims=True),
        out=np.full_like(errors, 1 / count),
        where=(errors**2).sum(axis=1, keepdims=True) > 0,
    )
    means += share * gap[:, None]
    return ShapleyValues(
        {name: means[:, at] for at, name in enumerate(features)},
        {name: errors[:, at] for at, name in enumerate(features)},
        expected,
        predictions,
    )


def _sample_contributions(
    table: DataTable,
    rows: Int64,
    features: Sequence[str],
    predict: PredictOutput,
    background: Int64,
    permutations: int,
    random: np.random.Generator,
) -> Float64:
    """Return contributions [rows, permutations, features]."""
    count, paths = len(features), len(rows) * permutations
    half = -(-permutations // 2)
    orders = np.argsort(random.random((len(rows), half, count)), axis=2)
    orders = np.concatenate([orders, orders[:, :, ::-1]], axis=1)[:, :permutations]
    orders = orders.reshape(paths, count)
    positions = np.argsort(orders, axis=1)  # when each feature is replaced
    sources = background[random.integers(0, len(background), paths)]
    targets = np.repeat(rows, permutations)
    # Row `step` of a path has the explained values of the first `step` features of its order.
    steps = np.arange(count + 1)
    columns = []
    for name, column in table.columns.items():
        if name in features:
            is_replaced = positions[:, [features.index(name)]] < steps
            chosen = np.where(is_replaced, targets[:, None], sources[:, None])
        else:
            chosen = np.broadcast_to(targets[:, None], (paths, count + 1))
        columns.append(column.take(chosen.reshape(-1)))
    outputs = predict(DataTable(columns, row_count=paths * (count + 1))).reshape(paths, count + 1)
    changes = np.diff(outputs, axis=1)
    contributions = np.empty((paths, count))
    np.put_along_axis(contributions, orders, changes, axis=1)
    return contributions.reshape(len(rows), permutations, count)


# ---- scores

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
