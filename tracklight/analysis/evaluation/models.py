"""Sums and metrics of the three kinds of models: binary, multi-class and regression."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from tracklight.analysis.evaluation.metrics import (
    CALIBRATION_BUCKETS,
    COUNT_METRICS,
    DEFAULT_BINARY_METRICS,
    FLIP_METRICS,
    MAX_CELLS,
    RATES,
    REGRESSION_METRICS,
    SCORE_METRICS,
    THRESHOLD_METRICS,
    ConfusionCounts,
    GroupedSums,
    ScoreHistogram,
    WeightedRows,
    calibration_sums,
    compute_auc,
    compute_average_precision,
    compute_lift,
    compute_log_loss,
    compute_threshold_metric,
    count_at_thresholds,
    divide,
)
from tracklight.analysis.evaluation.resampling import Resampling
from tracklight.analysis.evaluation.results import Estimates, MetricColumn
from tracklight.errors import UsageError, list_similar_names
from tracklight.types import Float64, Int64

Task = Literal["binary", "multiclass", "regression"]

MAX_CLASSES = 256
LIFT_BUCKETS = 23

#: Slices whose replicates are computed at once are bounded by this number of histogram cells.
_BLOCK_CELLS = 2_000_000

_DEFAULT_MULTICLASS_METRICS = ("accuracy", "precision", "recall", "f1", "auc", *COUNT_METRICS)
_SCORE_SUM_METRICS = frozenset(["prediction_mean", "calibration", "lift"])
_WITHOUT_REPLICATES = Resampling("none")


class ModelSums(Protocol):
    """Sums over rows from which the metrics of a model are computed."""

    def start(self, predictions: NDArray[Any]) -> None:
        """Choose score bins from the first predictions; later calls do nothing."""

    def update(
        self,
        rows: WeightedRows,
        labels: NDArray[Any],
        predictions: NDArray[Any],
        counterfactuals: NDArray[Any] | None,
        slices: int,
    ) -> None:
        """Add rows."""

    def estimate(self, slices: int, background: int, counts: Int64) -> list[Estimates]:
        """Return metrics of the first slices, with replicates."""


class BinaryModel:
    """A classifier with a score for the positive class.

    Args:
        metrics: Metrics to compute; None for the defaults.
        thresholds: Decision thresholds.
        resampling: Method of the confidence intervals.
        max_bins: Maximum number of score bins.
        max_cells: Maximum size of the histogram of scores.
        plots: Whether to keep the sums that calibration curves need.
    """

    def __init__(
        self,
        metrics: Sequence[str] | None,
        thresholds: Sequence[float],
        resampling: Resampling,
        max_bins: int,
        max_cells: int = MAX_CELLS,
        plots: bool = True,
    ) -> None:
        self.metrics = DEFAULT_BINARY_METRICS if metrics is None else tuple(metrics)
        check_metrics(
            self.metrics,
            (*RATES, *THRESHOLD_METRICS, *SCORE_METRICS, *FLIP_METRICS, *COUNT_METRICS),
        )
        self._has_default_metrics = metrics is None
        self._plots = plots
        self.thresholds = tuple(thresholds)
        self.resampling = resampling
        self.histogram = ScoreHistogram(thresholds, resampling, max_bins, max_cells)
        #: Columns: sum of scores of negative and of positive rows, of losses, of squared errors.
        self._sums = GroupedSums(resampling.stored, 4)
        self.calibration = GroupedSums(1, 3 * CALIBRATION_BUCKETS)
        self._flips: GroupedSums | None = None

    def start(self, predictions: NDArray[Any]) -> None:
        if predictions.ndim != 1:
            raise UsageError("binary models have one score for each row; give the task otherwise")
        if self.histogram.edges is None:
            self.histogram.choose_edges(predictions)

    def update(
        self,
        rows: WeightedRows,
        labels: NDArray[Any],
        predictions: NDArray[Any],
        counterfactuals: NDArray[Any] | None,
        slices: int,
    ) -> None:
        if not ((labels == 0) | (labels == 1)).all():
            raise UsageError("data.binary_labels", "labels of a binary model must be 0 and 1")
        self.histogram.reserve(slices)
        self.histogram.add(rows, labels, predictions)
        actual = labels.astype(np.int64)
        scores = predictions.astype(np.float64)
        self._sums.reserve(slices)
        if not _SCORE_SUM_METRICS.isdisjoint(self.metrics):
            self._sums.add(rows, actual, scores)
        if "average_loss" in self.metrics:
            self._sums.add(rows, 2, compute_log_loss(labels, scores))
        if "brier_score" in self.metrics:
            self._sums.add(rows, 3, (scores - actual) ** 2)
        if self._plots:
            self._add_calibration(rows, actual.astype(np.float64), scores, slices)
        if counterfactuals is not None:
            self._add_flips(rows, predictions, counterfactuals, slices)

    def _add_calibration(
        self, rows: WeightedRows, labels: Float64, scores: Float64, slices: int
    ) -> None:
        full = WeightedRows(rows.slices, rows.start, rows.weights, _WITHOUT_REPLICATES)
        bucket, *factors = calibration_sums(labels, scores)
        self.calibration.reserve(slices)
        self.calibration.add(full, bucket)
        for number, factor in enumerate(factors, 1):
            self.calibration.add(full, bucket + number * CALIBRATION_BUCKETS, factor)

    def _add_flips(
        self,
        rows: WeightedRows,
        scores: NDArray[Any],
        counterfactuals: NDArray[Any],
        slices: int,
    ) -> None:
        """Count rows by the number of thresholds below the score, before and after the change."""
        size = len(self.thresholds) + 1
        if self._flips is None:
            self._flips = GroupedSums(self.resampling.stored, size * size)
        edges = np.asarray(self.thresholds).astype(
            scores.dtype if scores.dtype.kind == "f" else "f8"
        )
        before = np.searchsorted(edges, scores, side="left")
        after = np.searchsorted(edges, counterfactuals, side="left")
        self._flips.reserve(slices)
        self._flips.add(rows, before * size + after)

    def estimate(self, slices: int, background: int, counts: Int64) -> list[Estimates]:
        chosen = self.metrics
        if self._has_default_metrics and self._flips is not None:
            chosen = (*chosen, *FLIP_METRICS)
        summary = self.summarize(slices, background, chosen)
        return list(_list_binary_estimates(summary, chosen, self.thresholds, counts, None))

    def summarize(self, slices: int, background: int, metrics: Sequence[str]) -> BinarySummary:
        """Return counts at thresholds and areas of all slices, with replicates."""
        histogram = self.histogram.get(slices)
        parts = [
            _summarize_histogram(
                self.resampling.estimates(histogram[start:stop]),
                self.histogram.threshold_bins,
                metrics,
            )
            for start, stop in _iter_blocks(slices, int(np.prod(histogram.shape[1:])))
        ]
        flips = self._flips
        return BinarySummary(
            weights=np.concatenate([part[0] for part in parts]),
            confusion=ConfusionCounts(
                *(np.concatenate([getattr(part[1], name) for part in parts]) for name in _CONFUSION)
            ),
            auc=np.concatenate([part[2] for part in parts]),
            average_precision=np.concatenate([part[3] for part in parts]),
            sums=self.resampling.estimates(self._sums.get(slices)),
            flips=None if flips is None else self.resampling.estimates(flips.get(slices)),
            background=background,
        )


_CONFUSION = ("tp", "fp", "tn", "fn")


def _iter_blocks(slices: int, cells: int) -> Iterator[tuple[int, int]]:
    size = max(1, _BLOCK_CELLS // max(cells, 1))
    for start in range(0, slices, size):
        yield start, min(start + size, slices)


def _summarize_histogram(
    estimates: Float64, threshold_bins: Int64, metrics: Sequence[str]
) -> tuple[Float64, ConfusionCounts, Float64, Float64]:
    unknown = np.full(estimates.shape[:2], np.nan)
    return (
        estimates.sum(axis=-1),
        count_at_thresholds(estimates, threshold_bins),
        compute_auc(estimates) if "auc" in metrics else unknown,
        compute_average_precision(estimates) if "auc_precision_recall" in metrics else unknown,
    )


class BinarySummary:
    """Counts of a binary model: (slices, full data and replicates, ...)."""

    def __init__(
        self,
        weights: Float64,
        confusion: ConfusionCounts,
        auc: Float64,
        average_precision: Float64,
        sums: Float64,
        flips: Float64 | None,
        background: int,
    ) -> None:
        self.weights = weights
        self.confusion = confusion
        self.auc = auc
        self.average_precision = average_precision
        self.sums = sums
        self.flips = flips
        self.background = background

    def compute_score_metric(self, metric: str) -> Float64:
        """Return a metric of `SCORE_METRICS`."""
        weight = self.weights.sum(axis=-1)
        scores = self.sums[..., :2]
        at = self.background
        compute: dict[str, Callable[[], Float64]] = {
            "auc": lambda: self.auc,
            "auc_precision_recall": lambda: self.average_precision,
            "average_loss": lambda: divide(self.sums[..., 2], weight),
            "brier_score": lambda: divide(self.sums[..., 3], weight),
            "label_mean": lambda: divide(self.weights[..., 1], weight),
            "prediction_mean": lambda: divide(scores.sum(axis=-1), weight),
            "calibration": lambda: divide(scores.sum(axis=-1), self.weights[..., 1]),
            "lift": lambda: compute_lift(self.weights, scores, self.weights[at], scores[at]),
        }
        return compute[metric]()

    def compute_flip_metric(self, metric: str, threshold: int) -> tuple[Float64, Float64]:
        """Return the flips of one kind at a threshold, and the weight of all rows."""
        if self.flips is None:
            raise UsageError(f'"{metric}" needs a counterfactual prediction for each row')
        size = round(self.flips.shape[-1] ** 0.5)
        table = self.flips.reshape(*self.flips.shape[:2], size, size)
        cut = threshold + 1
        to_negative = table[..., cut:, :cut].sum(axis=(-2, -1))
        to_positive = table[..., :cut, cut:].sum(axis=(-2, -1))
        if metric.startswith("positive_to_negative"):
            flipped = to_negative
        elif metric.startswith("negative_to_positive"):
            flipped = to_positive
        else:
            flipped = to_negative + to_positive
        return flipped, table.sum(axis=(-2, -1))


def _list_binary_estimates(
    summary: BinarySummary,
    metrics: Sequence[str],
    thresholds: Sequence[float],
    counts: Int64,
    output: str | None,
) -> Iterator[Estimates]:
    for metric in metrics:
        if metric in SCORE_METRICS:
            yield Estimates(
                MetricColumn(metric, None, output), summary.compute_score_metric(metric)
            )
        elif metric in COUNT_METRICS:
            yield _count_estimate(metric, summary.weights.sum(axis=-1), counts)
        elif metric in FLIP_METRICS:
            for at, threshold in enumerate(thresholds):
                flipped, total = summary.compute_flip_metric(metric, at)
                column = MetricColumn(metric, threshold, output)
                if metric.endswith("count"):
                    yield Estimates(column, flipped)
                else:
                    yield Estimates(column, divide(flipped, total), flipped[:, 0], total[:, 0])
        else:
            yield from _threshold_estimates(summary.confusion, metric, thresholds, output)


def _threshold_estimates(
    confusion: ConfusionCounts, metric: str, thresholds: Sequence[float | None], output: str | None
) -> Iterator[Estimates]:
    values = compute_threshold_metric(metric, confusion)
    parts = RATES[metric](confusion) if metric in RATES else None
    for at, threshold in enumerate(thresholds):
        yield Estimates(
            MetricColumn(metric, threshold, output),
            values[..., at],
            None if parts is None else parts[0][:, 0, at],
            None if parts is None else parts[1][:, 0, at],
        )


def _count_estimate(metric: str, weights: Float64, counts: Int64) -> Estimates:
    if metric == "weighted_example_count":
        return Estimates(MetricColumn(metric), weights)
    values = np.broadcast_to(counts[:, None].astype(np.float64), weights.shape)
    return Estimates(MetricColumn(metric), values)


def check_metrics(metrics: Sequence[str], available: Sequence[str]) -> None:
    """Raise `UsageError` for an unknown metric."""
    for metric in metrics:
        if metric not in available:
            similar = list_similar_names(metric, available)
            hint = f'; did you mean "{similar[0]}"?' if similar else ""
            raise UsageError(f'unknown metric "{metric}"{hint}')


class MulticlassModel:
    """A classifier with a score for each class; labels are class numbers.

    Metrics without a threshold refer to the class with the highest score; metrics at a threshold
    treat each class as a binary problem (one-vs-rest). ``micro`` pools all classes, ``macro``
    averages the classes for which a metric is defined, ``weighted`` weights them by their labels.
    """

    def __init__(
        self,
        metrics: Sequence[str] | None,
        thresholds: Sequence[float],
        resampling: Resampling,
        max_bins: int,
        class_names: Sequence[str] | None = None,
        plots: bool = True,
    ) -> None:
        self.metrics = _DEFAULT_MULTICLASS_METRICS if metrics is None else tuple(metrics)
        check_metrics(self.metrics, (*RATES, *THRESHOLD_METRICS, *SCORE_METRICS, *COUNT_METRICS))
        self._plots = plots
        self.thresholds = tuple(thresholds)
        self.resampling = resampling
        self.class_names = None if class_names is None else [str(name) for name in class_names]
        self.models: list[BinaryModel] = []
        self.confusion = GroupedSums(resampling.stored, 0)
        self._max_bins = max_bins

    def update(
        self,
        rows: WeightedRows,
        labels: NDArray[Any],
        predictions: NDArray[Any],
        counterfactuals: NDArray[Any] | None,
        slices: int,
    ) -> None:
        if counterfactuals is not None:
            raise UsageError("flip rates are available for binary models only")
        classes = predictions.shape[1]
        if classes != len(self.models):
            raise UsageError(f"there were {len(self.models)} classes, and now {classes}")
        numbers = labels.astype(np.int64)
        if (numbers != labels).any() or (numbers < 0).any() or (numbers >= classes).any():
            raise UsageError(
                "data.class_labels",
                "labels must be class numbers from 0 to {last}",
                last=classes - 1,
            )
        for number, model in enumerate(self.models):
            model.update(rows, numbers == number, predictions[:, number], None, slices)
        self.confusion.reserve(slices)
        self.confusion.add(rows, numbers * classes + predictions.argmax(axis=1))

    def start(self, predictions: NDArray[Any]) -> None:
        if predictions.ndim != 2:
            raise UsageError("multi-class predictions need one column of scores for each class")
        if self.models:
            return
        classes = predictions.shape[1]
        if not 2 <= classes <= MAX_CLASSES:
            raise UsageError(f"the number of classes must be 2 to {MAX_CLASSES}, not {classes}")
        if self.class_names is None:
            self.class_names = [str(number) for number in range(classes)]
        if len(self.class_names) != classes:
            raise UsageError(
                f"there are {classes} classes, but {len(self.class_names)} class names"
            )
        max_cells = MAX_CELLS // classes
        self.models = [
            BinaryModel(
                self.metrics,
                self.thresholds,
                self.resampling,
                self._max_bins,
                max_cells,
                self._plots,
            )
            for _ in range(classes)
        ]
        for model in self.models:
            # The same edges for all classes, so that histograms can be added for micro averages.
            model.histogram.choose_edges(predictions.reshape(-1))
        self.confusion = GroupedSums(self.resampling.stored, classes * classes)

    def estimate(self, slices: int, background: int, counts: Int64) -> list[Estimates]:
        chosen = self.metrics
        classes = len(self.models)
        matrix = self.resampling.estimates(self.confusion.get(slices))
        matrix = matrix.reshape(*matrix.shape[:2], classes, classes)
        support = matrix.sum(axis=-1)
        names = self.class_names or []
        summaries = [model.summarize(slices, background, chosen) for model in self.models]
        micro = self._summarize_micro(slices, background, chosen, summaries)
        result = []
        for metric in chosen:
            if metric in COUNT_METRICS:
                result.append(_count_estimate(metric, support.sum(axis=-1), counts))
                continue
            if metric == "accuracy":
                hits = np.einsum("...ii->...", matrix)
                total = support.sum(axis=-1)
                values = divide(hits, total)
                result.append(Estimates(MetricColumn(metric), values, hits[:, 0], total[:, 0]))
            elif metric not in SCORE_METRICS:
                pooled, single = _confusion_of_argmax(matrix)
                parts = [
                    list(_threshold_estimates(_at(single, k), metric, [None], names[k]))
                    for k in range(classes)
                ]
                pooled_part = list(_threshold_estimates(pooled, metric, [None], "micro"))
                result += _with_averages(parts, pooled_part, support)
            parts = [
                list(_list_binary_estimates(summary, [metric], self.thresholds, counts, name))
                for summary, name in zip(summaries, names, strict=True)
            ]
            pooled_part = list(
                _list_binary_estimates(micro, [metric], self.thresholds, counts, "micro")
            )
            result += _with_averages(parts, pooled_part, support)
        return result

    def _summarize_micro(
        self,
        slices: int,
        background: int,
        metrics: Sequence[str],
        summaries: Sequence[BinarySummary],
    ) -> BinarySummary:
        histograms = [model.histogram.get(slices) for model in self.models]
        bins = self.models[0].histogram.threshold_bins
        parts = [
            _summarize_histogram(
                self.resampling.estimates(
                    np.sum([part[start:stop] for part in histograms], axis=0)
                ),
                bins,
                metrics,
            )
            for start, stop in _iter_blocks(slices, int(np.prod(histograms[0].shape[1:])))
        ]
        return BinarySummary(
            weights=np.concatenate([part[0] for part in parts]),
            confusion=ConfusionCounts(
                *(np.concatenate([getattr(part[1], name) for part in parts]) for name in _CONFUSION)
            ),
            auc=np.concatenate([part[2] for part in parts]),
            average_precision=np.concatenate([part[3] for part in parts]),
            sums=np.sum([summary.sums for summary in summaries], axis=0),
            flips=None,
            background=background,
        )


def _confusion_of_argmax(matrix: Float64) -> tuple[ConfusionCounts, ConfusionCounts]:
    """Return one-vs-rest counts of the predicted class: pooled, and by class in the last axis."""
    tp = np.einsum("...ii->...i", matrix)
    fn, fp = matrix.sum(axis=-1) - tp, matrix.sum(axis=-2) - tp
    tn = matrix.sum(axis=(-2, -1))[..., None] - tp - fn - fp
    single = ConfusionCounts(tp, fp, tn, fn)
    pooled = ConfusionCounts(*(part.sum(axis=-1, keepdims=True) for part in (tp, fp, tn, fn)))
    return pooled, single


def _at(counts: ConfusionCounts, number: int) -> ConfusionCounts:
    return ConfusionCounts(
        *(getattr(counts, name)[..., number : number + 1] for name in _CONFUSION)
    )


def _with_averages(
    classes: Sequence[Sequence[Estimates]], pooled: Sequence[Estimates], support: Float64
) -> Iterator[Estimates]:
    """Yield the estimates of each class, followed by micro, macro and weighted averages."""
    for number in range(len(pooled)):
        parts = [estimates[number] for estimates in classes]
        yield from parts
        yield pooled[number]
        column = pooled[number].column
        values = np.stack([part.values for part in parts], axis=-1)
        known = ~np.isnan(values)
        for output, weights in (("macro", known.astype(np.float64)), ("weighted", known * support)):
            mean = divide(np.nansum(values * weights, axis=-1), weights.sum(axis=-1))
            yield Estimates(MetricColumn(column.metric, column.threshold, output), mean)


class RegressionModel:
    """A model that predicts a number."""

    def __init__(
        self,
        metrics: Sequence[str] | None,
        resampling: Resampling,
        label_range: tuple[float, float],
    ) -> None:
        default = (*(name for name in REGRESSION_METRICS if name != "lift"), *COUNT_METRICS)
        self.metrics = default if metrics is None else tuple(metrics)
        check_metrics(self.metrics, (*REGRESSION_METRICS, *COUNT_METRICS))
        self.resampling = resampling
        self.label_range = label_range
        #: Columns: weight, label, prediction, squared label, error, absolute and squared error.
        self._sums = GroupedSums(resampling.stored, 7)
        #: Weights and predictions by label bucket; the first and last bucket are out of range.
        self._label_buckets = GroupedSums(resampling.stored, 2 * (LIFT_BUCKETS + 2))
        self._shift: float | None = None

    def start(self, predictions: NDArray[Any]) -> None:
        if predictions.ndim != 1:
            raise UsageError("regression models have one prediction for each row")

    def update(
        self,
        rows: WeightedRows,
        labels: NDArray[Any],
        predictions: NDArray[Any],
        counterfactuals: NDArray[Any] | None,
        slices: int,
    ) -> None:
        if counterfactuals is not None:
            raise UsageError("flip rates are available for binary models only")
        actual, predicted = labels.astype(np.float64), predictions.astype(np.float64)
        if self._shift is None:
            # Sums of squares lose precision when the mean is large, so labels are centered.
            self._shift = float(actual.mean()) if len(actual) else 0.0
        error = predicted - actual
        centered = actual - self._shift
        self._sums.reserve(slices)
        columns = (None, centered, predicted, centered**2, error, np.abs(error), error**2)
        for number, factor in enumerate(columns):
            self._sums.add(rows, number, factor)
        if "lift" not in self.metrics:
            return
        low, high = self.label_range
        with np.errstate(over="ignore", invalid="ignore"):
            position = np.floor((actual - low) / (high - low) * LIFT_BUCKETS) + 1
        bucket = np.clip(position, 0, LIFT_BUCKETS + 1).astype(np.int64)
        self._label_buckets.reserve(slices)
        self._label_buckets.add(rows, bucket)
        self._label_buckets.add(rows, bucket + LIFT_BUCKETS + 2, predicted)

    def estimate(self, slices: int, background: int, counts: Int64) -> list[Estimates]:
        sums = self.resampling.estimates(self._sums.get(slices))
        weight, label, prediction, squared, error, absolute, squared_error = np.moveaxis(
            sums, -1, 0
        )
        shift = self._shift or 0.0
        label_mean = divide(label, weight) + shift
        buckets = self.resampling.estimates(self._label_buckets.get(slices))
        weights, scores = buckets[..., : LIFT_BUCKETS + 2], buckets[..., LIFT_BUCKETS + 2 :]
        mean_squared = divide(squared_error, weight)
        variance = squared - divide(label * label, weight)
        compute: dict[str, Callable[[], Float64]] = {
            "mean_error": lambda: divide(error, weight),
            "mean_absolute_error": lambda: divide(absolute, weight),
            "mean_squared_error": lambda: mean_squared,
            "root_mean_squared_error": lambda: np.sqrt(mean_squared),
            "r2": lambda: 1 - divide(squared_error, variance),
            "label_mean": lambda: label_mean,
            "prediction_mean": lambda: divide(prediction, weight),
            "calibration": lambda: divide(divide(prediction, weight), label_mean),
            "lift": lambda: compute_lift(weights, scores, weights[background], scores[background]),
        }
        return [
            _count_estimate(metric, weight, counts)
            if metric in COUNT_METRICS
            else Estimates(MetricColumn(metric), compute[metric]())
            for metric in self.metrics
        ]
