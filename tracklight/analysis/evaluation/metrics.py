"""Metrics as functions of counts, and score histograms with the curves computed from them.

Arrays of counts may have any leading dimensions; 0 / 0 is NaN.

Sums are kept by slice and replicate and updated chunk by chunk: `GroupedSums` is a growing array of
sums, and `ScoreHistogram` counts scores by label and score bin. A histogram has shape (label, bin),
with bin ``i`` in ``(edges[i - 1], edges[i]]``. All thresholds are bin edges, so metrics at
thresholds are exact whatever the number of bins. `histogram_of` builds a histogram from arrays. The
curves are ROC, precision-recall and calibration.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tracklight.analysis.evaluation.resampling import Resampling
from tracklight.errors import UsageError
from tracklight.types import Float64, Int64

# ---- metrics

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

#: Metrics with a range other than 0 to 1.
_SIGNED_METRICS = frozenset(["mean_error", "median_error", "calibration", "lift"])
_UNLIMITED_METRICS = frozenset(
    [
        *METRICS_WITHOUT_INTERVAL,
        "true_positives",
        "false_positives",
        "true_negatives",
        "false_negatives",
        "average_loss",
        "mean_absolute_error",
        "median_absolute_error",
        "mean_squared_error",
        "median_squared_error",
        "root_mean_squared_error",
    ]
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


def get_range(metric: str, *, is_regression: bool = False) -> tuple[float, float]:
    """Return the smallest and the largest possible value of a metric."""
    if metric in _SIGNED_METRICS or (is_regression and metric in ("label_mean", "prediction_mean")):
        return -np.inf, np.inf
    if metric == "r2":
        return -np.inf, 1.0
    return 0.0, np.inf if metric in _UNLIMITED_METRICS else 1.0


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


# ---- sums

#: Bound on the cells of one histogram: 160 MB. Above it, neighboring score bins are merged.
MAX_CELLS = 20_000_000

#: Bins of a histogram over data of unknown size.
DEFAULT_BINS = 1024

#: Bins of a histogram over data in memory; with no more distinct scores, curves are exact.
EXACT_BINS = 1 << 16


@dataclass(frozen=True, eq=False)
class WeightedRows:
    """Rows of a chunk after slicing: slices per specification, row numbers and weights."""

    slices: Sequence[Int64]
    """Slice of each row for each specification; -1 for none."""
    start: int
    weights: Float64
    resampling: Resampling

    def iter_replicates(self) -> Iterator[tuple[int | NDArray[np.uint8], Float64]]:
        """Yield stored replicates (one, or one for each row) with the weights of the rows."""
        rows = len(self.weights)
        if self.resampling.method != "bootstrap":
            yield self.resampling.draw_groups(self.start, rows), self.weights
            return
        yield 0, self.weights
        for number, repeats in enumerate(self.resampling.draw_repeats(self.start, rows), 1):
            yield number, self.weights * repeats


class GroupedSums:
    """Sums of weights by slice, stored replicate and column."""

    def __init__(self, replicates: int, width: int) -> None:
        self.replicates = replicates
        self.width = width
        self._values: Float64 = np.zeros((0, replicates, width))

    @property
    def capacity(self) -> int:
        return len(self._values)

    def reserve(self, slices: int) -> None:
        """Allocate memory for slices; existing sums are kept."""
        capacity = self.capacity
        if slices > capacity:
            grown = np.zeros((max(slices, capacity * 5 // 4, 4), self.replicates, self.width))
            grown[:capacity] = self._values
            self._values = grown

    def get(self, slices: int) -> Float64:
        """Return the sums of the first slices: (slices, replicates, columns)."""
        self.reserve(slices)
        return self._values[:slices]

    def replace(self, values: Float64) -> None:
        """Replace all sums, with another number of columns."""
        self._values = values
        self.width = values.shape[-1]

    def add(
        self, rows: WeightedRows, columns: int | NDArray[Any], factor: Float64 | None = None
    ) -> None:
        """Add the weight of each row, times a factor, to a column of all slices of the row."""
        flat = self._values.reshape(-1)
        stride = self.replicates * self.width
        for replicate, weights in rows.iter_replicates():
            offsets = np.asarray(replicate, np.int64) * self.width + columns
            amounts = weights if factor is None else weights * factor
            for codes in rows.slices:
                inside = codes >= 0
                if inside.all():
                    np.add.at(flat, codes * stride + offsets, amounts)
                    continue
                at = np.broadcast_to(offsets, codes.shape)[inside]
                np.add.at(flat, codes[inside] * stride + at, amounts[inside])


class ScoreHistogram:
    """Weighted counts of rows by slice, replicate, label (0 or 1) and score bin.

    Bin ``i`` holds scores in ``(edges[i - 1], edges[i]]``. The edges are all distinct scores of the
    sample if these are few enough, otherwise quantiles; in both cases with all thresholds.

    Args:
        thresholds: Decision thresholds.
        resampling: Method of the confidence intervals.
        max_bins: Maximum number of bins.
        max_cells: Maximum size of the histogram; above it, neighboring bins are merged.
    """

    def __init__(
        self,
        thresholds: Sequence[float],
        resampling: Resampling,
        max_bins: int = DEFAULT_BINS,
        max_cells: int = MAX_CELLS,
    ) -> None:
        self.thresholds = np.asarray(thresholds, np.float64)
        self.resampling = resampling
        self.max_bins = max_bins
        self.max_cells = max_cells
        self.edges: Float64 | None = None
        self.is_exact = True
        """Whether every bin holds a single score, so that curves have no binning error."""
        self._sums = GroupedSums(resampling.stored, 0)
        self._threshold_edges = self.thresholds

    def choose_edges(self, sample: NDArray[Any]) -> None:
        """Choose the bin edges from a sample of scores; done once."""
        if sample.dtype == np.float32:
            # A float32 score of 0.3 is not greater than the threshold 0.3.
            self._threshold_edges = self.thresholds.astype(np.float32).astype(np.float64)
        values = np.unique(sample.astype(np.float64))
        if len(values) > self.max_bins:
            at = np.linspace(0, len(values) - 1, self.max_bins // 2).astype(np.int64)
            grid = np.linspace(0, 1, self.max_bins // 2 + 1)
            values = np.concatenate([values[at], grid[(grid > values[0]) & (grid < values[-1])]])
            self.is_exact = False
        self.edges = np.unique(np.concatenate([values, self._threshold_edges]))
        self._sums = GroupedSums(self._sums.replicates, 2 * (len(self.edges) + 1))

    @property
    def bins(self) -> int:
        return self._sums.width // 2

    @property
    def threshold_bins(self) -> Int64:
        """The last bin that is negative at each threshold."""
        assert self.edges is not None
        return np.searchsorted(self.edges, self._threshold_edges)

    def reserve(self, slices: int) -> None:
        """Allocate memory for slices, merging bins if the histogram becomes too large."""
        while (
            slices * self._sums.replicates * self._sums.width > self.max_cells
            and self.bins > 2 * len(self.thresholds) + 16
        ):
            self._merge_bins()
        self._sums.reserve(slices)

    def _merge_bins(self) -> None:
        assert self.edges is not None
        keep = np.isin(self.edges, self._threshold_edges)
        keep[1::2] = True
        kept = np.flatnonzero(keep)
        values = self._sums.get(self._sums.capacity)
        starts = np.concatenate([[0], kept + 1])
        shape = (*values.shape[:2], 2, self.bins)
        merged = np.add.reduceat(values.reshape(shape), starts, axis=-1)
        self.edges = self.edges[kept]
        self._sums.replace(merged.reshape(*values.shape[:2], 2 * len(starts)))
        self.is_exact = False

    def assign_bins(self, scores: NDArray[Any]) -> Int64:
        """Return the bin of each score."""
        assert self.edges is not None
        bins = np.searchsorted(self.edges, scores.astype(np.float64, copy=False), side="left")
        if self.is_exact and len(scores):
            known = np.append(self.edges, np.nan)[bins]
            self.is_exact = bool(np.all(known == scores))
        return bins

    def add(self, rows: WeightedRows, labels: NDArray[Any], scores: NDArray[Any]) -> None:
        """Count rows; `reserve` must have been called with the number of slices."""
        self._sums.add(rows, labels.astype(np.int64) * self.bins + self.assign_bins(scores))

    def get(self, slices: int) -> Float64:
        """Return the counts of the first slices: (slices, replicates, label, bin)."""
        values = self._sums.get(slices)
        return values.reshape(slices, self._sums.replicates, 2, self.bins)


# ---- curves

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
    at = _assign_buckets(np.append(edges, high), bounds)
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


def _assign_buckets(values: Float64, bounds: Float64) -> NDArray[Any]:
    """Return the bucket ``(a, b]`` of each value; the first one includes its lower bound."""
    at = np.searchsorted(bounds, values, side="left") - 1
    return np.clip(at, 0, len(bounds) - 2)
