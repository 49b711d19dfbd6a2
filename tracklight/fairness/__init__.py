"""Evaluate a model per slice of the data, with confidence intervals.

    result = tracklight.fairness.evaluate(
        frame, label="approved", prediction="score", slices=["sex", ["sex", "age_group"]]
    )
    result.to_pandas()                       # slice, metric, threshold, value, lower, upper, count
    result.difference(baseline="Overall")    # gaps with intervals and corrected p-values
    result.write("logs/run1", step=epoch)    # appears in the Fairness dashboard

`evaluate` reads pandas, Arrow and Polars tables, NumPy arrays and Parquet files of any size;
`data` adapts them. The metrics are in `tracklight.analysis.evaluation`. May import that package,
`tracklight.writer` and `tracklight.formats`.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Any

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
from tracklight.analysis.evaluation.report import (
    PLUGIN_NAME,
    StoredEvaluation,
    encode_evaluation,
    format_report,
)
from tracklight.analysis.evaluation.resampling import Correction, IntervalMethod, Resampling
from tracklight.analysis.evaluation.results import Difference, EvaluationResult
from tracklight.analysis.evaluation.slices import Buckets, SliceSpec, format_slice, parse_slice
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
from tracklight.util.frames import CategoryColumn, Column, Frame

if TYPE_CHECKING:
    from tracklight.formats.proto import Message as ProtoMessage
    from tracklight.writer.event_writer import EventWriter

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
    plots = collect_plots(evaluator, evaluator.select_kept_slices(), result.counts)
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
        number = _parse_number(self._positive)
        if isinstance(labels, Categorical):
            matches = [v == self._positive or _parse_number(v) == number for v in labels.values]
            table = np.array([*map(float, matches), np.nan])
            return np.asarray(table[labels.codes])
        return np.where(labels == labels, labels == number, np.nan)

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
    """Return the number or boolean that a text is, or NaN."""
    if text in ("True", "False"):
        return float(text == "True")
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
        edges[name, rule] = rule.compute_edges(_sample_column(source, name))
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


class FairnessResult(Frame):
    """Metrics per slice: ``slice``, ``metric``, ``threshold``, ``value``, ``lower``, ``upper``,
    ``count``, and ``output`` (class or average) for multi-class models.

    Convert it with ``to_pandas()``, ``to_polars()`` or ``to_arrow()``.
    """

    _noun = "value"

    def __init__(self, stored: StoredEvaluation) -> None:
        self._stored = stored
        result = stored.result
        super().__init__(
            {
                **_make_key_columns(result),
                "value": result.value.ravel(),
                "lower": result.lower.ravel(),
                "upper": result.upper.ravel(),
                "count": np.repeat(result.counts, len(result.columns)),
            }
        )

    @property
    def evaluation(self) -> EvaluationResult:
        """The values as a matrix of slices and metrics."""
        return self._stored.result

    @property
    def stored(self) -> StoredEvaluation:
        """The result with the data of its plots, in the form in which it is written."""
        return self._stored

    @property
    def slices(self) -> list[str]:
        """The names of the slices."""
        return self._stored.result.slice_names

    @property
    def omitted(self) -> list[str]:
        """The names of slices that have fewer rows than ``min_slice_size``."""
        return [format_slice(key) for key in self._stored.result.omitted]

    @property
    def warnings(self) -> tuple[str, ...]:
        """What was left out, one sentence each."""
        return tuple(str(message) for message in self._stored.result.warnings)

    def get(
        self,
        metric: str,
        slice: str = "Overall",
        *,
        threshold: float | None = None,
        output: str | None = None,
    ) -> float:
        """Return one value.

        Args:
            metric: Name of the metric.
            slice: Name of the slice, such as ``"sex:F"``.
            threshold: Needed if the metric was computed at several thresholds.
            output: Class or average of a multi-class model.

        Raises:
            UsageError: There is no such value.
        """
        return self._stored.result.get_value(metric, slice, threshold, output)

    def difference(
        self, baseline: str = "Overall", correction: Correction = "holm"
    ) -> DifferenceTable:
        """Compare every slice with a baseline slice.

        Args:
            baseline: Name of the baseline slice.
            correction: Adjustment of p-values for the number of comparisons: ``holm``,
                ``bonferroni``, ``benjamini-hochberg`` or ``none``.

        Returns:
            A table with absolute and relative differences, their intervals and p-values.

        Raises:
            UsageError: There is no such slice.

        Example:
            >>> result.difference(baseline="sex:M").to_pandas().query("significant")
        """
        return DifferenceTable(self._stored.result.difference(baseline, correction))

    def to_markdown(
        self,
        baseline: str = "Overall",
        metrics: Sequence[str] | None = None,
        *,
        threshold: float | None = None,
    ) -> str:
        """Return a section for a model card.

        Args:
            baseline: Name of the baseline slice.
            metrics: Metrics to show; by default the most common ones.
            threshold: The threshold to show; by default the middle one.
        """
        return format_report(self._stored, baseline, metrics, threshold)

    def write(
        self,
        logdir: str | os.PathLike[str] | EventWriter,
        step: int = 0,
        *,
        tag: str = "fairness",
        data_path: str | os.PathLike[str] | None = None,
    ) -> None:
        """Write the result to a run, where the Fairness dashboard shows it.

        Args:
            logdir: The directory of the run, which gets a new event file, or an open writer such as
                that of `tracklight.summary.create_file_writer`.
            step: The step or epoch of the model.
            tag: Name of the evaluation. Use several to tell data sets apart.
            data_path: The file with the rows that were evaluated (Parquet, CSV, JSON lines or
                TFRecord, or a pattern with ``*``), so that the dashboard can open the rows of a
                slice in What-If. By default the Parquet file that was evaluated. The dashboard
                looks for a relative path that does not exist here below the log directory.

        Raises:
            UsageError: The tag is empty.

        Example:
            >>> result.write("logs/run1", step=epoch)
        """
        from tracklight.writer.event_writer import EventWriter

        value = self.to_summary(tag, data_path)
        if isinstance(logdir, EventWriter):
            logdir.add([value], int(step))
            return
        with EventWriter(logdir) as writer:
            writer.add([value], int(step))

    def to_summary(
        self, tag: str = "fairness", data_path: str | os.PathLike[str] | None = None
    ) -> ProtoMessage:
        """Return the ``Summary.Value`` message that `write` logs.

        Args:
            tag: The tag.
            data_path: The file with the evaluated rows, which links slices to What-If.

        Raises:
            UsageError: The tag is empty.
        """
        from tracklight.formats import summary

        if not tag:
            raise UsageError("the tag must not be empty")
        stored = self._stored
        if data_path is not None:
            path = os.path.expanduser(os.fspath(data_path))
            if os.path.exists(path) or glob.has_magic(path):
                path = os.path.abspath(path)
            stored = replace(stored, data_path=path)
        parts = np.array(encode_evaluation(stored), object)
        return summary.tensor(tag, parts, summary.make_metadata(PLUGIN_NAME))


class DifferenceTable(Frame):
    """Differences of slices to a baseline.

    ``difference`` is value minus baseline, ``relative`` is value / baseline - 1; both have
    intervals. ``adjusted_p_value`` takes the number of comparisons into account, and
    ``significant`` tells whether it is below 1 - confidence.
    """

    _noun = "difference"

    def __init__(self, difference: Difference) -> None:
        self._difference = difference
        result = difference.result
        baseline = np.broadcast_to(result.value[difference.baseline], result.value.shape)
        super().__init__(
            {
                **_make_key_columns(result),
                "value": result.value.ravel(),
                "baseline": baseline.ravel(),
                "difference": difference.absolute.ravel(),
                "lower": difference.lower.ravel(),
                "upper": difference.upper.ravel(),
                "relative": difference.relative.ravel(),
                "relative_lower": difference.relative_lower.ravel(),
                "relative_upper": difference.relative_upper.ravel(),
                "p_value": difference.p_value.ravel(),
                "adjusted_p_value": difference.adjusted_p_value.ravel(),
                "significant": difference.is_significant.ravel(),
                "count": np.repeat(result.counts, len(result.columns)),
            }
        )

    @property
    def differences(self) -> Difference:
        """The differences as matrices of slices and metrics."""
        return self._difference


def _make_key_columns(result: EvaluationResult) -> dict[str, Column]:
    """Return the columns that say which value a row is."""
    width, height = len(result.columns), len(result.slices)
    names = list(dict.fromkeys(column.metric for column in result.columns))
    metric_codes = np.array([names.index(column.metric) for column in result.columns], np.int32)
    thresholds = [
        np.nan if column.threshold is None else column.threshold for column in result.columns
    ]
    columns: dict[str, Column] = {
        "slice": CategoryColumn(
            result.slice_names, np.repeat(np.arange(height, dtype=np.int32), width)
        ),
        "metric": CategoryColumn(names, np.tile(metric_codes, height)),
        "threshold": np.tile(np.array(thresholds, np.float64), height),
    }
    outputs = [column.output or "" for column in result.columns]
    if any(outputs):
        names = list(dict.fromkeys(outputs))
        codes = np.array([names.index(output) for output in outputs], np.int32)
        columns["output"] = CategoryColumn(names, np.tile(codes, height))
    return columns
