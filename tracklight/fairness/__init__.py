"""Evaluate a model per slice of the data, with confidence intervals.

    result = tracklight.fairness.evaluate(
        frame, label="approved", prediction="score", slices=["sex", ["sex", "age_group"]]
    )
    result.to_pandas()                       # slice, metric, threshold, value, lower, upper, count
    result.difference(baseline="Overall")    # gaps with intervals and corrected p-values
    result.write("logs/run1", step=epoch)    # appears in the Fairness dashboard

`evaluate` reads pandas, Arrow and Polars tables, NumPy arrays and Parquet files of any size;
`data` adapts them, `tables` has the results. The metrics are in `tracklight.analysis.evaluation`.
May import that package, `tracklight.writer` and `tracklight.formats`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracklight.analysis.evaluation import (
    DEFAULT_THRESHOLDS,
    Chunk,
    EvaluationConfig,
    Evaluator,
    collect_plots,
)
from tracklight.analysis.evaluation.filters import (
    Categorical,
    ColumnData,
    Filter,
    factorize,
    is_missing,
    parse_filter,
)
from tracklight.analysis.evaluation.metrics import DEFAULT_BINS, EXACT_BINS
from tracklight.analysis.evaluation.models import Task
from tracklight.analysis.evaluation.report import StoredEvaluation
from tracklight.analysis.evaluation.resampling import IntervalMethod, Resampling
from tracklight.analysis.evaluation.slices import Buckets, SliceSpec, parse_slice
from tracklight.errors import Message, UsageError
from tracklight.fairness.data import (
    ArraySource,
    DataSource,
    PandasSource,
    PolarsSource,
    check_columns,
    get_data_path,
    open_source,
    stack_scores,
    to_array,
)
from tracklight.fairness.tables import DifferenceTable, FairnessResult

__all__ = ["Buckets", "DifferenceTable", "FairnessResult", "SliceSpec", "evaluate"]

#: Up to this number of rows, curves and areas are exact; above it, scores are binned.
_MAX_EXACT_ROWS = 1_000_000
_SAMPLE_ROWS = 1_000_000


def evaluate(
    data: Any,
    *,
    label: str | Any,
    prediction: str | Sequence[str] | Any,
    slices: Sequence[Any] = (),
    thresholds: Sequence[float] | None = None,
    metrics: Sequence[str] | None = None,
    weight: str | Any | None = None,
    counterfactual: str | Any | None = None,
    where: str | None = None,
    task: Task | None = None,
    classes: Sequence[Any] | None = None,
    positive_label: Any = None,
    intervals: IntervalMethod = "jackknife",
    samples: int = 20,
    confidence: float = 0.95,
    seed: int = 0,
    min_slice_size: int = 1,
    background: Mapping[str, str] | None = None,
    label_range: tuple[float, float] = (0.0, 1.0),
    model: str = "",
) -> FairnessResult:
    """Compute metrics per slice, with confidence intervals.

    A prediction is positive if the score is greater than the threshold. Metrics that are not
    defined, such as the recall of a slice without positive labels, are NaN. Rows with a missing
    label or a NaN prediction are left out and counted in ``result.warnings``; a row with a missing
    value in a slice column is in no slice of that column.

    Args:
        data: A pandas, Arrow or Polars table, a dict of arrays, a structured NumPy array, or the
            path of Parquet files (a file, a folder, a pattern or a list), which are streamed.
        label: Column with labels, or an array. 0 and 1 or booleans for binary models, class numbers
            or names for multi-class models, numbers for regression.
        prediction: Column with scores, or an array. For multi-class models a list of columns, a
            column of lists, or a matrix with one score per class. Of two scores for labels 0 and 1,
            the second is used.
        slices: What to slice by: a column, a list of columns to cross, a mapping of fixed values, a
            filter such as ``"age > 60 and sex = 'F'"``, or a `SliceSpec` with bucket rules. The
            overall slice is always included.
        thresholds: Decision thresholds; by default 0.1 to 0.9 for binary models.
        metrics: Metric names; by default those that suit the task.
        weight: Column with example weights, or an array.
        counterfactual: Column with predictions after a change that should not matter (such as a
            replaced name), or an array; adds flip rates.
        where: Filter that rows must match.
        task: ``binary``, ``multiclass`` or ``regression``; by default inferred from the first rows.
        classes: Class names of a multi-class model, in the order of the scores.
        positive_label: The label that counts as positive, if labels are not 0 and 1.
        intervals: ``jackknife``, ``bootstrap``, ``exact`` (binomial) or ``none``.
        samples: Number of jackknife groups or bootstrap samples.
        confidence: Coverage of the intervals.
        seed: Seed of the random groups or samples.
        min_slice_size: Slices with fewer rows are left out.
        background: Values of the slice to which lift refers; by default all rows.
        label_range: Range of labels for lift of regression models.
        model: Name of the model, to tell several apart in the dashboard.

    Returns:
        A table with the columns ``slice``, ``metric``, ``threshold``, ``value``, ``lower``,
        ``upper`` and ``count``.

    Raises:
        UsageError: An argument is invalid, or a column is missing.
        FormatError: A Parquet file is damaged.

    Example:
        >>> result = tracklight.fairness.evaluate(
        ...     "predictions.parquet", label="label", prediction="score", slices=["sex"]
        ... )
        >>> result.get("recall", "sex:F", threshold=0.5)
        0.83
    """
    source = open_source(data)
    specs = [parse_slice(spec) for spec in ([slices] if isinstance(slices, str) else slices)]
    columns = _Columns.create(source, label, prediction, weight, counterfactual, specs, where)
    edges = _compute_bucket_edges(source, specs)
    chunks = columns.iter_rows(source)
    first = next(chunks, None)
    if first is None:
        raise UsageError("the data has no rows")
    labels = _LabelEncoder(classes, positive_label)
    task = task or _infer_task(first, labels)
    if task == "binary" and first.predictions.ndim == 2:
        chunks = (_take_second_score(rows) for rows in chunks)
        first = _take_second_score(first)
    if thresholds is None:
        thresholds = DEFAULT_THRESHOLDS if task == "binary" else ()
    is_small = source.rows is not None and source.rows <= _MAX_EXACT_ROWS
    config = EvaluationConfig(
        slices=specs,
        metrics=metrics,
        thresholds=thresholds,
        resampling=Resampling(intervals, samples, confidence, seed),
        task=task,
        min_slice_size=min_slice_size,
        background=tuple((background or {}).items()),
        class_names=None if classes is None else [str(name) for name in classes],
        label_range=label_range,
        max_bins=EXACT_BINS if is_small else DEFAULT_BINS,
    )
    evaluator = Evaluator(config, edges)
    if isinstance(source, ArraySource | PandasSource | PolarsSource) and task != "regression":
        sample = _sample_predictions(source, columns)
        evaluator.start(sample[:, 1] if task == "binary" and sample.ndim == 2 else sample)
    is_outside = False
    for rows in chain([first], chunks):
        chunk = Chunk(
            labels.encode(rows.labels, task),
            rows.predictions,
            rows.columns,
            rows.weights,
            rows.counterfactuals,
        )
        evaluator.update(chunk)
        with np.errstate(invalid="ignore"):
            is_outside |= bool(((chunk.predictions < 0) | (chunk.predictions > 1)).any())
    result = evaluator.result()
    if is_outside and task != "regression":
        warning = Message(
            "fairness.scores_outside",
            "Some predictions are outside 0 to 1; thresholds refer to probabilities.",
        )
        result = replace(result, warnings=(*result.warnings, warning))
    plots = collect_plots(evaluator, evaluator.find_kept_slices(), result.counts)
    used = {"label": columns.label or "", "prediction": ", ".join(columns.prediction)}
    if columns.weight:
        used["weight"] = columns.weight
    stored = StoredEvaluation(
        result,
        plots,
        task,
        model,
        used,
        data_path=get_data_path(data),
        where=where or "",
        bucket_edges=evaluator.encoder.bucket_edges,
    )
    return FairnessResult(stored)


@dataclass(frozen=True, eq=False)
class _Rows:
    """A chunk before labels are encoded."""

    labels: ColumnData
    predictions: NDArray[Any]
    columns: dict[str, ColumnData]
    weights: NDArray[Any] | None
    counterfactuals: NDArray[Any] | None


@dataclass(frozen=True, eq=False)
class _Columns:
    """Which columns to read, and the arrays that were passed instead of columns."""

    label: str | None
    prediction: tuple[str, ...]
    weight: str | None
    counterfactual: str | None
    slice_columns: tuple[str, ...]
    where: Filter | None
    arrays: dict[str, NDArray[Any]]

    @classmethod
    def create(
        cls,
        source: DataSource,
        label: Any,
        prediction: Any,
        weight: Any,
        counterfactual: Any,
        specs: Sequence[SliceSpec],
        where: str | None,
    ) -> _Columns:
        arrays: dict[str, NDArray[Any]] = {}

        def get_name(role: str, value: Any) -> str | None:
            if value is None or isinstance(value, str):
                return value
            arrays[role] = to_array(value)
            if source.rows is not None and len(arrays[role]) != source.rows:
                raise UsageError(
                    f"the data has {source.rows:,} rows, but {role} has {len(arrays[role]):,}"
                )
            return None

        names = [prediction] if isinstance(prediction, str) else prediction
        is_list = isinstance(names, list | tuple) and all(isinstance(name, str) for name in names)
        scores = tuple(names) if is_list else ()
        if not scores:
            get_name("prediction", prediction)
        filter_ = parse_filter(where) if where else None
        needed = dict.fromkeys(name for spec in specs for name in spec.required_columns)
        result = cls(
            label=get_name("label", label),
            prediction=scores,
            weight=get_name("weight", weight),
            counterfactual=get_name("counterfactual", counterfactual),
            slice_columns=tuple(needed),
            where=filter_,
            arrays=arrays,
        )
        check_columns(source, result.names)
        return result

    @property
    def names(self) -> list[str]:
        """All columns to read."""
        single = [name for name in (self.label, self.weight, self.counterfactual) if name]
        filtered = self.where.columns if self.where else ()
        return list(dict.fromkeys([*single, *self.prediction, *self.slice_columns, *filtered]))

    def iter_rows(self, source: DataSource) -> Iterator[_Rows]:
        """Yield the rows that match the filter, in chunks."""
        start = 0
        names = self.names or list(source.names)[:1]
        for columns in source.iter_chunks(names):
            rows = len(next(iter(columns.values())))
            yield self._build(columns, slice(start, start + rows), rows)
            start += rows

    def _build(self, columns: dict[str, ColumnData], part: slice, rows: int) -> _Rows:
        def get(role: str, name: str | None) -> Any:
            if name is not None:
                return columns[name]
            return self.arrays[role][part] if role in self.arrays else None

        if self.prediction:
            parts = [stack_scores(name, columns[name]) for name in self.prediction]
            predictions = parts[0] if len(parts) == 1 else np.stack(parts, axis=1)
        else:
            predictions = stack_scores("prediction", self.arrays["prediction"][part])
        if predictions.ndim == 2 and predictions.shape[1] == 1:
            predictions = predictions[:, 0]
        result = _Rows(
            labels=get("label", self.label),
            predictions=predictions,
            columns={name: columns[name] for name in self.slice_columns},
            weights=_to_numbers("weights", get("weight", self.weight)),
            counterfactuals=_to_numbers(
                "counterfactual predictions", get("counterfactual", self.counterfactual)
            ),
        )
        if self.where is None:
            return result
        keep = np.flatnonzero(self.where.evaluate(columns, rows))
        return _Rows(
            labels=_take(result.labels, keep),
            predictions=predictions[keep],
            columns={name: _take(column, keep) for name, column in result.columns.items()},
            weights=None if result.weights is None else result.weights[keep],
            counterfactuals=(
                None if result.counterfactuals is None else result.counterfactuals[keep]
            ),
        )


def _take_second_score(rows: _Rows) -> _Rows:
    """Return rows with the score of class 1 of a binary model that has a score for each class."""
    if rows.predictions.ndim != 2 or rows.predictions.shape[1] != 2:
        raise UsageError("a binary model has one score for each row, or two")
    return replace(rows, predictions=rows.predictions[:, 1])


def _take(column: ColumnData, rows: NDArray[Any]) -> ColumnData:
    if isinstance(column, Categorical):
        return Categorical(column.values, column.codes[rows])
    return np.asarray(column[rows])


def _to_numbers(what: str, column: ColumnData | None) -> NDArray[Any] | None:
    if column is None or (not isinstance(column, Categorical) and column.dtype.kind in "fiub"):
        return column
    raise UsageError(f"{what} must be numbers")


class _LabelEncoder:
    """Turn labels into 0 and 1, class numbers, or numbers."""

    def __init__(self, classes: Sequence[Any] | None, positive_label: Any) -> None:
        self._positive = None if positive_label is None else str(positive_label)
        self._classes = (
            None if classes is None else {str(name): at for at, name in enumerate(classes)}
        )

    def encode(self, labels: ColumnData, task: Task) -> NDArray[Any]:
        if not isinstance(labels, Categorical) and labels.dtype.kind == "O":
            labels = _parse_objects(labels)
        if self._positive is not None and task == "binary":
            return self._is_positive(labels)
        if not isinstance(labels, Categorical) and labels.dtype.kind in "fiub":
            if self._classes is None or not self._has_other_names(labels):
                return labels
        if self._classes is not None and task == "multiclass":
            return self._to_class_numbers(labels)
        if isinstance(labels, Categorical) and {*labels.values} <= {"True", "False", "0", "1"}:
            table = np.array([float(v in ("True", "1")) for v in labels.values] + [np.nan])
            return np.asarray(table[labels.codes])
        raise UsageError(
            "the labels are text; give positive_label for a binary model or classes for a "
            "multi-class model"
        )

    def _is_positive(self, labels: ColumnData) -> NDArray[Any]:
        if isinstance(labels, Categorical):
            table = np.array([float(value == self._positive) for value in labels.values] + [np.nan])
            return np.asarray(table[labels.codes])
        texts = np.array([str(value) for value in labels.tolist()])
        result: NDArray[Any] = (texts == self._positive).astype(np.float64)
        if labels.dtype.kind == "f":
            result[np.isnan(labels)] = np.nan
            result[labels == _parse_number(self._positive)] = 1
        return result

    def _has_other_names(self, labels: NDArray[Any]) -> bool:
        """Return whether the class names are numbers other than positions."""
        assert self._classes is not None
        return (
            any(name != str(at) for name, at in self._classes.items())
            and {str(value) for value in np.unique(labels[:10_000]).tolist()}
            <= self._classes.keys()
        )

    def _to_class_numbers(self, labels: ColumnData) -> NDArray[Any]:
        assert self._classes is not None
        if not isinstance(labels, Categorical):
            values, codes = np.unique(labels, return_inverse=True)
            labels = Categorical([str(value) for value in values.tolist()], codes.reshape(-1))
        unknown = [value for value in labels.values if value not in self._classes]
        if unknown:
            raise UsageError(f'the label "{unknown[0]}" is not among the classes')
        table = np.array([float(self._classes[value]) for value in labels.values] + [np.nan])
        return np.asarray(table[labels.codes])


def _parse_objects(labels: NDArray[Any]) -> ColumnData:
    """Return Python objects as numbers, or as categories if some are text."""
    try:
        return np.array([np.nan if is_missing(value) else float(value) for value in labels])
    except (TypeError, ValueError):
        return factorize("label", labels, len(labels))


def _parse_number(text: str | None) -> float:
    try:
        return float(text or "nan")
    except ValueError:
        return float("nan")


def _infer_task(rows: _Rows, labels: _LabelEncoder) -> Task:
    if rows.predictions.ndim == 2 and rows.predictions.shape[1] != 2:
        return "multiclass"
    try:
        return _infer_from_labels(rows, labels)
    except UsageError:
        if rows.predictions.ndim == 2:
            return "multiclass"
        raise


def _infer_from_labels(rows: _Rows, labels: _LabelEncoder) -> Task:
    encoded = labels.encode(rows.labels, "binary")
    known = encoded[~np.isnan(encoded)] if encoded.dtype.kind == "f" else encoded
    if ((known == 0) | (known == 1)).all():
        return "binary"
    return "regression" if rows.predictions.ndim == 1 else "multiclass"


def _compute_bucket_edges(
    source: DataSource, specs: Sequence[SliceSpec]
) -> dict[tuple[str, Buckets], tuple[float, ...]]:
    """Return the edges of bucket rules that depend on the data, from a sample of each column."""
    rules = {
        (name, rule) for spec in specs for name, rule in spec.buckets.items() if rule.edges is None
    }
    if rules and not source.is_repeatable:
        raise UsageError("this data can be read only once; give the edges of the buckets")
    edges = {}
    for name, rule in rules:
        edges[name, rule] = rule.find_edges(_sample_column(source, name))
    return edges


def _sample_column(source: DataSource, name: str) -> NDArray[np.float64]:
    """Return all values of a column, or a random sample if there are many."""
    rng = np.random.default_rng(0)
    share = 1.0 if not source.rows else min(1.0, _SAMPLE_ROWS / source.rows)
    parts = []
    for columns in source.iter_chunks([name]):
        values = columns[name]
        if isinstance(values, Categorical) or values.dtype.kind not in "fiub":
            raise UsageError(f'column "{name}" is not numeric, so it has no buckets')
        chosen = values if share == 1 else values[rng.random(len(values)) < share]
        parts.append(chosen.astype(np.float64))
    return np.concatenate(parts) if parts else np.zeros(0)


def _sample_predictions(source: DataSource, columns: _Columns) -> NDArray[Any]:
    """Return all predictions, or a random sample if there are many."""
    rng = np.random.default_rng(0)
    share = 1.0 if not source.rows else min(1.0, _SAMPLE_ROWS / source.rows)
    parts = [
        rows.predictions
        if share == 1
        else rows.predictions[rng.random(len(rows.predictions)) < share]
        for rows in columns.iter_rows(source)
    ]
    return np.concatenate(parts)
