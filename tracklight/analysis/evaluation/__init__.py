"""Model evaluation: metrics per slice, with confidence intervals. NumPy only, no HTTP.

Call `Evaluator.update` for each chunk of rows, then `result`. Rows are reduced to weighted counts
by slice, replicate (of the jackknife or bootstrap), label and score bin. Every metric, curve and
interval is computed from these counts, so memory does not depend on the number of rows. The data of
the plots of each slice (score histograms, calibration sums and confusion matrices) is collected on
the way. Histograms are reduced to some 200 bins, from which ROC, PR and score distributions are
drawn. All thresholds stay bin edges.

- `slices` and `filters` define slices and assign rows to them; `resampling` assigns rows to
  replicates, and has the distributions behind intervals.
- `models` turns sums into metrics of binary, multi-class and regression models; `metrics` has the
  sums, the formulas, and ROC, PR and calibration curves.
- `results` is the table of metrics with intervals and differences; `report` stores it in event
  files and writes it as Markdown.

Thresholds: a prediction is positive when the score is **greater than** the threshold. Undefined
metrics (0 / 0) are NaN.

May import `tracklight.errors`, `tracklight.types` and `tracklight.util` only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracklight.analysis.evaluation.filters import ColumnData
from tracklight.analysis.evaluation.metrics import (
    CALIBRATION_BUCKETS,
    DEFAULT_BINS,
    GroupedSums,
    ScoreHistogram,
    WeightedRows,
)
from tracklight.analysis.evaluation.models import (
    BinaryModel,
    ModelSums,
    MulticlassModel,
    RegressionModel,
    Task,
)
from tracklight.analysis.evaluation.resampling import Resampling
from tracklight.analysis.evaluation.results import EvaluationResult, build_result
from tracklight.analysis.evaluation.slices import (
    OVERALL,
    Buckets,
    SliceEncoder,
    SliceKey,
    SliceSpec,
    make_sort_key,
)
from tracklight.errors import Message, UsageError
from tracklight.types import Float64, Int64

#: Rows that are summed at once; temporary arrays of this size stay in the processor's cache.
_BLOCK_ROWS = 1 << 16

DEFAULT_THRESHOLDS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)


@dataclass(frozen=True, eq=False)
class Chunk:
    """Some rows: labels, predictions and the columns to slice by.

    Labels are 0 and 1 for binary models, class numbers for multi-class models and numbers for
    regression. Predictions are scores; for multi-class models of shape (rows, classes).
    """

    labels: NDArray[Any]
    predictions: NDArray[Any]
    columns: Mapping[str, ColumnData] = field(default_factory=dict)
    weights: NDArray[Any] | None = None
    counterfactuals: NDArray[Any] | None = None
    """Predictions after a change that should not matter, for flip rates of binary models."""


@dataclass(frozen=True)
class EvaluationConfig:
    """What to compute.

    Args:
        slices: Slices; the overall slice is always computed.
        metrics: Metric names; None for the defaults of the task.
        thresholds: Decision thresholds of classifiers.
        resampling: Method of the confidence intervals.
        task: ``binary``, ``multiclass`` or ``regression``.
        min_slice_size: Slices with fewer rows are left out.
        background: Slice to which lift refers.
        class_names: Names of the classes of a multi-class model.
        label_range: Range of labels for lift of regression models.
        max_bins: Maximum number of score bins.
        plots: Whether to keep the sums that calibration curves need.
    """

    slices: Sequence[SliceSpec] = ()
    metrics: Sequence[str] | None = None
    thresholds: Sequence[float] = DEFAULT_THRESHOLDS
    resampling: Resampling = field(default_factory=Resampling)
    task: Task = "binary"
    min_slice_size: int = 1
    background: SliceKey = OVERALL
    class_names: Sequence[str] | None = None
    label_range: tuple[float, float] = (0.0, 1.0)
    max_bins: int = DEFAULT_BINS
    plots: bool = True

    def __post_init__(self) -> None:
        thresholds = tuple(sorted({float(t) for t in self.thresholds}))
        for threshold in thresholds:
            if not 0 <= threshold <= 1:
                raise UsageError(f"thresholds must be between 0 and 1, not {threshold:g}")
        object.__setattr__(self, "thresholds", thresholds)
        object.__setattr__(self, "slices", tuple(self.slices))
        if self.min_slice_size < 1:
            raise UsageError(f"the minimum slice size must be positive, not {self.min_slice_size}")


class Evaluator:
    """Accumulate chunks of rows and compute metrics per slice.

    Args:
        config: What to compute.
        edges: Edges of bucket rules that depend on the data, by column and rule; by default taken
            from the first chunk.

    Example:
        >>> evaluator = Evaluator(EvaluationConfig(slices=[SliceSpec("sex")]))
        >>> evaluator.update(Chunk(labels, scores, {"sex": sex}))
        >>> evaluator.result().get_value("recall", "sex:F", threshold=0.5)
    """

    def __init__(
        self,
        config: EvaluationConfig,
        edges: Mapping[tuple[str, Buckets], tuple[float, ...]] | None = None,
    ) -> None:
        self.config = config
        overall = SliceSpec()
        specs = [overall, *(spec for spec in config.slices if spec != overall)]
        self.encoder = SliceEncoder(specs, edges)
        self.model = _create_model(config)
        self.rows = 0
        self._examples = GroupedSums(1, 1)
        self._is_weighted = False
        self._dropped: dict[str, int] = {}

    def start(self, predictions: NDArray[Any]) -> None:
        """Choose score bins from a sample of predictions; by default from the first chunk."""
        finite = np.isfinite(predictions)
        self.model.start(predictions[finite if predictions.ndim == 1 else finite.all(axis=1)])

    def update(
        self, chunk: Chunk, report: Callable[[int, int], None] = lambda done, total: None
    ) -> None:
        """Add rows.

        Args:
            chunk: The rows.
            report: Called with the number of rows that were added, and of all in the chunk.

        Raises:
            UsageError: Columns have different lengths, a slice column is missing, or labels do not
                fit the task.
        """
        rows = len(chunk.predictions)
        _check_lengths(chunk, rows)
        keep = self._select_valid_rows(chunk, rows)
        if chunk.weights is None:
            weights = np.ones(rows)
        else:
            self._is_weighted = True
            weights = np.asarray(chunk.weights, np.float64)
            if self.config.resampling.method == "exact":
                raise UsageError("exact intervals need rows without weights; use the jackknife")
            if (weights[keep] < 0).any():
                raise UsageError("weights must not be negative")
        codes = [part.codes for part in self.encoder.encode(chunk.columns, rows)]
        start, self.rows = self.rows, self.rows + rows
        labels, predictions = np.asarray(chunk.labels), np.asarray(chunk.predictions)
        counterfactuals = chunk.counterfactuals
        if not keep.all():
            # Dropped rows keep their place in the random draws, with weight 0 and no slice.
            codes = [np.where(keep, part, -1) for part in codes]
            weights = np.where(keep, weights, 0.0)
            shape = keep if predictions.ndim == 1 else keep[:, None]
            labels, predictions = np.where(keep, labels, 0), np.where(shape, predictions, 0)
            if counterfactuals is not None:
                counterfactuals = np.where(keep, counterfactuals, 0)
        self._examples.reserve(len(self.encoder))
        self.model.start(predictions)
        for first in range(0, rows, _BLOCK_ROWS):
            part = slice(first, first + _BLOCK_ROWS)
            block = [spec[part] for spec in codes]
            ones = np.ones(len(block[0]))
            self._examples.add(WeightedRows(block, start + first, ones, Resampling("none")), 0)
            self.model.update(
                WeightedRows(block, start + first, weights[part], self.config.resampling),
                labels[part],
                predictions[part],
                None if counterfactuals is None else counterfactuals[part],
                len(self.encoder),
            )
            report(min(first + _BLOCK_ROWS, rows), rows)

    def result(self) -> EvaluationResult:
        """Return all metrics with intervals.

        Raises:
            UsageError: There are no rows, or a metric is unknown.
        """
        slices = len(self.encoder)
        counts = self._examples.get(slices)[:, 0, 0].astype(np.int64)
        if not slices or not counts[0]:
            dropped = self.warnings()
            if dropped:
                raise UsageError(
                    "data.no_rows_left",
                    "there are no rows to evaluate. {reason}",
                    reason=dropped[0],
                )
            raise UsageError("data.no_rows", "there are no rows to evaluate")
        background = self.config.background
        if background not in self.encoder.keys:
            raise UsageError("the background slice of lift is not among the slices")
        estimates = self.model.estimate(slices, self.encoder.keys.index(background), counts)
        keys = self.encoder.keys
        result = build_result(keys, counts, estimates, self.config.resampling, self.warnings())
        kept = self.select_kept_slices()
        small = np.flatnonzero(counts < self.config.min_slice_size).tolist()
        chosen = result.select(slices=kept.tolist())
        return replace(chosen, omitted=tuple(dict.fromkeys(keys[at] for at in small)))

    def select_kept_slices(self) -> Int64:
        """Return the numbers of the slices of the result, in its order.

        These are the slices that are large enough, by specification and value. A slice of several
        specifications, such as a column and one of its values, is in the result once.
        """
        counts = self._examples.get(len(self.encoder))[:, 0, 0]
        large = np.flatnonzero(counts >= self.config.min_slice_size).tolist()
        keys, specs = self.encoder.keys, self.encoder.key_specs
        order = sorted(large, key=lambda at: (specs[at], make_sort_key(keys[at])))
        first = {keys[at]: at for at in reversed(order)}
        return np.array([at for at in order if first[keys[at]] == at], np.int64)

    def warnings(self) -> list[Message]:
        """Return a sentence for each kind of row that was left out."""
        return [_describe_dropped(kind, count) for kind, count in self._dropped.items()]

    def _select_valid_rows(self, chunk: Chunk, rows: int) -> NDArray[np.bool_]:
        keep = np.ones(rows, bool)
        checks = {
            "prediction": chunk.predictions,
            "label": chunk.labels,
            "weight": chunk.weights,
            "counterfactual": chunk.counterfactuals,
        }
        for kind, values in checks.items():
            if values is None:
                continue
            array = np.asarray(values)
            if array.dtype.kind not in "fiub":
                raise UsageError(
                    f"labels, predictions and weights must be numbers, not {array.dtype}"
                )
            if array.dtype.kind != "f":
                continue
            valid = np.isfinite(array) if array.ndim == 1 else np.isfinite(array).all(axis=1)
            if bad := int((keep & ~valid).sum()):
                self._dropped[kind] = self._dropped.get(kind, 0) + bad
                keep &= valid
        return keep


def _describe_dropped(kind: str, count: int) -> Message:
    if kind == "prediction":
        return Message.format(
            "fairness.dropped_predictions",
            "{count:,} rows have a prediction that is NaN or infinite; they were left out.",
            count=count,
        )
    if kind == "label":
        return Message.format(
            "fairness.dropped_labels",
            "{count:,} rows have a missing label; they were left out.",
            count=count,
        )
    if kind == "weight":
        return Message.format(
            "fairness.dropped_weights",
            "{count:,} rows have a weight that is NaN or infinite; they were left out.",
            count=count,
        )
    return Message.format(
        "fairness.dropped_counterfactuals",
        "{count:,} rows have a counterfactual prediction that is NaN or infinite; "
        "they were left out.",
        count=count,
    )


def _create_model(config: EvaluationConfig) -> ModelSums:
    if config.task == "binary":
        return BinaryModel(
            config.metrics,
            config.thresholds,
            config.resampling,
            config.max_bins,
            plots=config.plots,
        )
    if config.task == "multiclass":
        return MulticlassModel(
            config.metrics,
            config.thresholds,
            config.resampling,
            config.max_bins,
            config.class_names,
            config.plots,
        )
    if config.task == "regression":
        return RegressionModel(config.metrics, config.resampling, config.label_range)
    raise UsageError(f'unknown task "{config.task}"; use binary, multiclass or regression')


def _check_lengths(chunk: Chunk, rows: int) -> None:
    arrays = {
        "labels": chunk.labels,
        "weights": chunk.weights,
        "counterfactual predictions": chunk.counterfactuals,
        **{f'column "{name}"': column for name, column in chunk.columns.items()},
    }
    for name, values in arrays.items():
        if values is not None and len(values) != rows:
            raise UsageError(f"there are {rows:,} predictions, but {name} has {len(values):,} rows")


# ---- data of plots

MAX_PLOT_BINS = 200
MIN_PLOT_BINS = 40

#: Bound on the histogram cells of one result; 8 MB before compression.
MAX_PLOT_CELLS = 1_000_000


def _no_matrix() -> Float64:
    return np.zeros((0, 0, 0))


@dataclass(frozen=True, eq=False)
class EvaluationPlots:
    """Data of the plots of some slices."""

    rows: Int64
    """Positions of these slices in the result; the largest ones if there are many slices."""
    outputs: Sequence[str]
    """Classes of a multi-class model; one empty name for a binary model."""
    edges: Float64
    counts: Float64
    """Weights: (outputs, slices, label, bin)."""
    calibration: Float64
    """See `metrics.calibration_curve`: (outputs, slices, 3, 20)."""
    confusion: Float64 = field(default_factory=_no_matrix)
    """Weights by label and predicted class: (slices, classes, classes)."""
    is_exact: bool = False
    """Whether every bin holds a single score, so that curves have no binning error."""

    def find_row(self, slice_at: int) -> int | None:
        """Return the position of a slice of the result among these slices."""
        found = np.flatnonzero(self.rows == slice_at)
        return int(found[0]) if len(found) else None


def collect_plots(evaluator: Evaluator, kept: Int64, counts: Int64) -> EvaluationPlots | None:
    """Return the plots of an evaluation; None for regression models.

    Args:
        evaluator: The evaluation.
        kept: Numbers of the slices of the result in the evaluator.
        counts: Number of rows of these slices.
    """
    model = evaluator.model
    if isinstance(model, BinaryModel):
        models, outputs = [model], [""]
    elif isinstance(model, MulticlassModel):
        models, outputs = model.models, list(model.class_names or [])
    else:
        return None
    limit = max(1, MAX_PLOT_CELLS // (2 * len(models) * MIN_PLOT_BINS))
    rows = np.sort(np.argsort(-counts, kind="stable")[:limit])
    chosen = kept[rows]
    bins = MAX_PLOT_CELLS // (2 * len(models) * max(len(rows), 1))
    first = models[0].histogram
    total = np.sum([_sum_replicates(part.histogram, len(evaluator.encoder)) for part in models], 0)
    edges = _choose_edges(first, total, min(max(bins, MIN_PLOT_BINS), MAX_PLOT_BINS))
    histograms = [
        _reduce(_sum_replicates(part.histogram, len(evaluator.encoder))[chosen], first, edges)
        for part in models
    ]
    calibration = [
        part.calibration.get(len(evaluator.encoder))[chosen, 0].reshape(-1, 3, CALIBRATION_BUCKETS)
        for part in models
    ]
    confusion = _no_matrix()
    if isinstance(model, MulticlassModel):
        classes = len(models)
        stored = _full_data(model.confusion.get(len(evaluator.encoder)), model.resampling)
        confusion = stored[chosen].reshape(-1, classes, classes)
    return EvaluationPlots(
        rows=rows,
        outputs=outputs,
        edges=edges,
        counts=np.stack(histograms),
        calibration=np.stack(calibration),
        confusion=confusion,
        is_exact=first.is_exact and len(edges) == len(_edges(first)),
    )


def _edges(histogram: ScoreHistogram) -> Float64:
    assert histogram.edges is not None
    return histogram.edges


def _full_data(stored: Float64, resampling: Resampling) -> Float64:
    """Return sums over the full data from stored replicates: (slices, replicates, ...)."""
    full: Float64 = stored.sum(axis=1) if resampling.method == "jackknife" else stored[:, 0]
    return full


def _sum_replicates(histogram: ScoreHistogram, slices: int) -> Float64:
    return _full_data(histogram.get(slices), histogram.resampling)


def _choose_edges(histogram: ScoreHistogram, total: Float64, bins: int) -> Float64:
    """Return at most ``bins`` of the edges: thresholds, an even grid, and quantiles of the rows."""
    edges = _edges(histogram)
    if len(edges) <= bins:
        return edges
    forced = edges[histogram.threshold_bins]
    grid = np.linspace(edges[0], edges[-1], 21)
    even = np.clip(np.searchsorted(edges, grid), 0, len(edges) - 1)
    weight = np.cumsum(total.sum(axis=(0, 1)))[:-1]
    remaining = max(bins - len(forced) - len(even), 2)
    targets = np.linspace(0, weight[-1], remaining)
    quantiles = np.clip(np.searchsorted(weight, targets), 0, len(edges) - 1)
    return np.unique(np.concatenate([forced, edges[even], edges[quantiles], edges[-1:]]))


def _reduce(counts: Float64, histogram: ScoreHistogram, edges: Float64) -> Float64:
    """Merge bins so that the given edges remain."""
    kept = np.searchsorted(_edges(histogram), edges)
    starts = np.concatenate([[0], kept + 1])
    return np.asarray(np.add.reduceat(counts, starts, axis=-1))
