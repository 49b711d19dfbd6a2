"""Performance per slice: metrics, curves and thresholds from the workspace, with intervals.

The metrics are those of `tracklight.analysis.evaluation`. What-If counts a score that equals the
threshold as positive, as the What-If Tool does; the evaluation package does not. Scores are
therefore raised by the smallest possible amount before they are passed on.

Intervals of means per slice, of costs and gaps, and of differences of models use the replicates of
`tracklight.analysis.evaluation.resampling`, which depend on the row numbers only. Two models that
are evaluated on the same rows therefore have the same replicates, so that the interval of their
difference takes into account that both see the same rows.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracklight.analysis.evaluation import Chunk, EvaluationConfig, Evaluator
from tracklight.analysis.evaluation.filters import Categorical, ColumnData
from tracklight.analysis.evaluation.metrics import (
    DEFAULT_BINARY_METRICS,
    DEFAULT_BINS,
    EXACT_BINS,
    ConfusionCounts,
    GroupedSums,
    WeightedRows,
    divide,
    get_range,
)
from tracklight.analysis.evaluation.resampling import Resampling
from tracklight.analysis.evaluation.results import (
    Difference,
    EvaluationResult,
    MetricColumn,
    compute_difference,
)
from tracklight.analysis.evaluation.slices import (
    Buckets,
    SliceEncoder,
    SliceSpec,
    format_slice,
)
from tracklight.analysis.jobs import LOCAL_TASKS, JobProgress, Tasks
from tracklight.analysis.tables import DataTable
from tracklight.analysis.tables.columns import DataColumn
from tracklight.analysis.what_if.thresholds import compute_rates, count_by_threshold
from tracklight.analysis.what_if.workspace import Workspace
from tracklight.errors import Message, UsageError
from tracklight.types import Bool, Float64, Int64

DEFAULT_BUCKETS = 4
#: The slice of rows whose column is missing.
MISSING = "missing"
#: Numeric columns with more distinct values are divided into buckets.
_MAX_PLAIN_VALUES = 20
#: Larger tables are evaluated on the cluster, if there is one, with progress. A million rows with
#: bootstrap intervals take about a second of CPU time; starting a process there takes two.
MIN_TASK_ROWS = 1_000_000
_COMPUTING = Message("what_if.computing_metrics", "computing metrics")
#: With more scores, areas below curves are computed from bins of scores; the error is about 0.0001.
_MAX_EXACT_SCORES = 20_000
#: The areas below the curves of each class are shown with their intervals.
_MULTICLASS_METRICS = (
    "accuracy",
    "precision",
    "recall",
    "f1",
    "auc",
    "auc_precision_recall",
    "example_count",
    "weighted_example_count",
)
#: An X between underscores, or between one and an end of the text, with its backslashes.
_CROSSING = re.compile(r"(?:(?<=_)|^)\\*X(?=_)|(?<=_)\\*X$|^\\+X$")
#: Of the normal distribution, for intervals of 95 %.
_NORMAL_QUANTILE = 1.96


@dataclass(frozen=True, eq=False)
class SliceAssignment:
    """The slice of each row."""

    names: Sequence[str]
    codes: Int64
    """-1 for rows in no slice."""


def make_slice_spec(
    table: DataTable, columns: Sequence[str], buckets: Mapping[str, Any] | int | None = None
) -> SliceSpec:
    """Return the slices by some columns. Missing values have a slice of their own, `MISSING`.

    A category of this name is the slice ``"missing"``, with quotes.

    Args:
        table: The data.
        columns: The columns; several are crossed.
        buckets: How numeric columns are divided: a number of buckets of equal width for all, or
            by column a number, a list of edges, or a `Buckets` rule. Columns with few distinct
            values are not divided unless they are named.
    """
    rules: dict[str, Buckets] = {}
    for name in columns:
        column = table.get_column(name)
        if column.is_list or column.type in ("image", "bytes"):
            raise UsageError(
                "what_if.not_sliceable",
                '"{column}" is not a column of single values, so it has no slices',
                column=name,
            )
        rule = buckets.get(name) if isinstance(buckets, Mapping) else buckets
        if not column.is_numeric:
            continue
        if isinstance(rule, Buckets):
            rules[name] = rule
        elif isinstance(rule, (list, tuple)):
            rules[name] = Buckets(edges=tuple(rule))
        else:
            distinct = len(np.unique(column.values))
            limit = rule if rule is not None else _MAX_PLAIN_VALUES
            if distinct > limit:
                rules[name] = Buckets(count=rule or DEFAULT_BUCKETS)
    return SliceSpec(tuple(columns), buckets=rules, missing=MISSING)


def resolve_buckets(
    table: DataTable, columns: Sequence[str], buckets: Mapping[str, Any] | int | None = None
) -> dict[str, Buckets]:
    """Return the rules of `make_slice_spec` with fixed edges, which do not depend on other rows."""
    resolved = {}
    for name, rule in make_slice_spec(table, columns, buckets).buckets.items():
        edges = rule.compute_edges(table.get_column(name).to_float64())
        if edges:
            resolved[name] = Buckets(edges=edges)
    return resolved


def to_column_data(column: DataColumn) -> ColumnData:
    """Return a column for the evaluation package.

    A category that is spelled as `MISSING` gets quotes, and with quotes one more of each. An X
    that could be read as the ``_X_`` between the values of crossed columns gets a backslash.
    """
    if column.type == "string":
        return Categorical([_escape_value(text) for text in column.categories], column.values)
    if column.missing is not None:
        texts = [str(value) for value in np.unique(column.values).tolist()]
        codes = np.searchsorted(np.unique(column.values), column.values)
        return Categorical(texts, np.where(column.missing, -1, codes))
    return column.values


def _escape_value(text: str) -> str:
    if text.strip('"') == MISSING:
        return f'"{text}"'
    return _CROSSING.sub(r"\\\g<0>", text) if "X" in text else text


def assign_slices(
    table: DataTable, columns: Sequence[str], buckets: Mapping[str, Any] | int | None = None
) -> SliceAssignment:
    """Return the slice of each row; without columns all rows are in one slice.

    Rows whose column is missing are in the slice `MISSING`.
    """
    spec = make_slice_spec(table, columns, buckets)
    encoder = SliceEncoder([spec])
    data = {name: to_column_data(table.get_column(name)) for name in columns}
    codes = encoder.encode(data, len(table))[0].codes
    return SliceAssignment([format_slice(key) for key in encoder.keys], codes)


def is_large(workspace: Workspace) -> bool:
    """Return whether the metrics of a table take so long that they should be a job."""
    return int(np.count_nonzero(workspace.is_active)) >= MIN_TASK_ROWS


def evaluate(
    workspace: Workspace,
    model: str | None = None,
    *,
    slice_by: Sequence[Sequence[str]] = (),
    buckets: Mapping[str, Any] | int | None = None,
    thresholds: Sequence[float] = (0.5,),
    metrics: Sequence[str] | None = None,
    resampling: Resampling | None = None,
    tasks: Tasks = LOCAL_TASKS,
    progress: JobProgress | None = None,
) -> EvaluationResult:
    """Return the metrics of a model, overall and per slice.

    Args:
        workspace: The data and models.
        model: The name of the model.
        slice_by: Columns, or groups of columns that are crossed.
        buckets: See `make_slice_spec`.
        thresholds: Decision thresholds of binary models.
        metrics: Names of metrics; None for the defaults of the task.
        resampling: How intervals are computed.
        tasks: Where the metrics of large tables are computed.
        progress: Follows the computation, and can cancel it.
    """
    names = {name for columns in slice_by for name in columns}
    rows = np.flatnonzero(workspace.is_active)
    table = workspace.table.select(names).take(rows)
    labels, scores = get_labels_and_scores(workspace, model)
    specs = [make_slice_spec(table, columns, buckets) for columns in slice_by]
    predictor = workspace.get_model(model)
    task: Any = "regression"
    if predictor.task == "classification":
        task = "binary" if scores.shape[1] == 2 else "multiclass"
    labels, scores = labels[rows], scores[rows]
    columns = {name: to_column_data(table.get_column(name)) for name in names}
    if task != "regression":
        scores = np.nextafter(scores[:, 1] if task == "binary" else scores, np.inf)
    known = np.isfinite(labels) & (labels >= 0 if task != "regression" else True)
    errors = np.where(known, scores - labels, np.nan) if task == "regression" else None
    if not known.all():
        columns = {name: _take(data, known) for name, data in columns.items()}
        labels, scores = labels[known], scores[known]
    config = EvaluationConfig(
        slices=specs,
        metrics=_MULTICLASS_METRICS if metrics is None and task == "multiclass" else metrics,
        thresholds=thresholds,
        resampling=resampling or Resampling(),
        task=task,
        class_names=workspace.get_class_names(model) if task == "multiclass" else None,
        max_bins=EXACT_BINS if scores.size <= _MAX_EXACT_SCORES else DEFAULT_BINS,
    )
    assignments: list[SliceAssignment] = []
    if errors is not None and metrics is None:
        used = np.isfinite(errors)
        errors = errors[used]
        for group in [(), *slice_by]:
            assignment = assign_slices(table, group, buckets)
            assignments.append(SliceAssignment(assignment.names, assignment.codes[used]))
    run = tasks.run if is_large(workspace) else LOCAL_TASKS.run
    chunk = Chunk(labels, scores, columns)
    progress = progress or JobProgress()
    result = run(_compute_metrics, config, chunk, errors, assignments, progress=progress)
    ranges = [get_range(each.metric, is_regression=task == "regression") for each in result.columns]
    low, high = np.array(ranges, np.float64).reshape(-1, 2).T
    return replace(
        result, lower=np.maximum(result.lower, low), upper=np.minimum(result.upper, high)
    )


def _compute_metrics(
    config: EvaluationConfig,
    chunk: Chunk,
    errors: Float64 | None,
    assignments: Sequence[SliceAssignment],
    *,
    progress: JobProgress,
) -> EvaluationResult:
    """Evaluate a model; with the slices of its errors, add their medians."""
    evaluator = Evaluator(config)
    evaluator.update(chunk, partial(progress.step, _COMPUTING))
    result = evaluator.result()
    if errors is None or not assignments:
        return result
    rows_by_slice = {
        name: np.flatnonzero(assignment.codes == number)
        for assignment in assignments
        for number, name in enumerate(assignment.names)
    }
    none = np.empty(0, np.int64)
    return _add_medians(
        result, errors, [rows_by_slice.get(name, none) for name in result.slice_names]
    )


def _add_medians(
    result: EvaluationResult, errors: Float64, slices: Sequence[Int64]
) -> EvaluationResult:
    """Add median errors with intervals, given the rows of each slice."""
    resampling = result.resampling
    kinds: dict[str, Float64] = {
        "median_error": errors,
        "median_absolute_error": np.abs(errors),
        "median_squared_error": np.square(errors),
    }
    repeats = resampling.draw_replicates(0, len(errors))
    estimates = np.empty((1 + len(repeats), len(slices), len(kinds)))
    for at, rows in enumerate(slices):
        for number, values in enumerate(kinds.values()):
            estimates[:, at, number] = _compute_medians(values[rows], repeats[:, rows])
    value = estimates[0]
    if resampling.method == "exact":
        bounds = np.array(
            [[_compute_exact_bounds(v[rows]) for v in kinds.values()] for rows in slices]
        ).reshape(*value.shape, 2)
        lower, upper = bounds[..., 0], bounds[..., 1]
    else:
        margin = np.full(value.shape, np.nan)
        if resampling.has_replicates:
            margin = resampling.half_width * resampling.standard_error(estimates)
        lower, upper = value - margin, value + margin
    replicates = result.replicates
    if replicates is not None:
        replicates = np.concatenate([replicates, estimates[1:]], axis=2)
    return replace(
        result,
        columns=[*result.columns, *(MetricColumn(name) for name in kinds)],
        value=np.concatenate([result.value, value], axis=1),
        lower=np.concatenate([result.lower, lower], axis=1),
        upper=np.concatenate([result.upper, upper], axis=1),
        replicates=replicates,
    )


def _compute_medians(values: Float64, repeats: NDArray[np.uint8]) -> Float64:
    """Return the median of all values, followed by that of each replicate; NaN without rows."""
    medians = np.full(1 + len(repeats), np.nan)
    if not len(values):
        return medians
    order = np.argsort(values)
    ordered = values[order]
    medians[0] = np.median(ordered)
    for number, counts in enumerate(repeats, 1):
        last = np.cumsum(counts[order], dtype=np.int64)
        if total := int(last[-1]):
            middle = np.searchsorted(last, [(total - 1) // 2, total // 2], side="right")
            medians[number] = ordered[middle].mean()
    return medians


def _compute_exact_bounds(values: Float64) -> tuple[float, float]:
    """Return the order statistics around the median, which hold for any distribution."""
    if not len(values):
        return np.nan, np.nan
    ordered = np.sort(values)
    margin = _NORMAL_QUANTILE * np.sqrt(len(ordered)) / 2
    low = max(0, math.floor(len(ordered) / 2 - margin))
    high = min(len(ordered) - 1, math.ceil(len(ordered) / 2 + margin))
    return float(ordered[low]), float(ordered[high])


def _take(data: ColumnData, rows: Bool) -> ColumnData:
    if isinstance(data, Categorical):
        return Categorical(data.values, data.codes[rows])
    return data[rows]


def get_labels_and_scores(workspace: Workspace, model: str | None) -> tuple[Any, Float64]:
    """Return the true label or value of each row, and the scores."""
    scores = workspace.predict(model).scores
    if scores.ndim == 1:
        return workspace.get_values(), scores
    return workspace.get_labels(model), scores


def count_binary(
    workspace: Workspace,
    model: str | None,
    slice_by: Sequence[str],
    buckets: Mapping[str, Any] | int | None = None,
    *,
    drop_empty: bool = False,
) -> tuple[SliceAssignment, ConfusionCounts]:
    """Return the slices, and their confusion counts at 101 thresholds.

    Args:
        workspace: The data and models.
        model: The name of the model.
        slice_by: The columns; several are crossed.
        buckets: See `make_slice_spec`.
        drop_empty: Leave out slices whose rows are all deleted or unlabelled, unless all are.

    Raises:
        UsageError: The model is not a binary classifier, or there is no label.
    """
    labels, scores = get_labels_and_scores(workspace, model)
    if scores.ndim == 1 or scores.shape[1] != 2:
        raise UsageError("what_if.needs_two_classes", "thresholds need a model with two classes")
    assignment = assign_slices(workspace.table, slice_by, buckets)
    codes = np.where(workspace.is_active, assignment.codes, -1)
    counts = count_by_threshold(labels, scores[:, 1], codes, len(assignment.names))
    if drop_empty:
        return _drop_empty_slices(assignment, counts)
    return assignment, counts


def _drop_empty_slices(
    assignment: SliceAssignment, counts: ConfusionCounts
) -> tuple[SliceAssignment, ConfusionCounts]:
    """Leave out slices without rows that are counted, unless all slices are empty."""
    kept = np.flatnonzero(counts.tp[:, 0] + counts.fp[:, 0])  # at 0 all rows are positive
    if len(kept) in (0, len(assignment.names)):
        return assignment, counts
    numbers = np.full(len(assignment.names) + 1, -1)
    numbers[kept] = np.arange(len(kept))
    return (
        SliceAssignment([assignment.names[at] for at in kept.tolist()], numbers[assignment.codes]),
        ConfusionCounts(
            tp=counts.tp[kept], fp=counts.fp[kept], tn=counts.tn[kept], fn=counts.fn[kept]
        ),
    )


def count_confusion(
    workspace: Workspace,
    model: str | None,
    slice_by: Sequence[str] = (),
    buckets: Mapping[str, Any] | int | None = None,
    thresholds: Mapping[str, float] | float = 0.5,
) -> tuple[SliceAssignment, Int64]:
    """Return the confusion matrices [slices, true class, predicted class].

    Args:
        thresholds: For two classes: one threshold, or one for each slice by name.
    """
    labels, scores = get_labels_and_scores(workspace, model)
    if scores.ndim == 1:
        raise UsageError("what_if.no_confusion", "a regression model has no confusion matrix")
    assignment = assign_slices(workspace.table, slice_by, buckets)
    threshold: Any = thresholds
    if isinstance(thresholds, Mapping):
        by_slice = np.array([*(thresholds.get(name, 0.5) for name in assignment.names), 0.5])
        threshold = by_slice[assignment.codes]
    decisions = workspace.get_decisions(model, threshold)
    codes = np.where(workspace.is_active, assignment.codes, -1)
    used = (labels >= 0) & (decisions >= 0) & (codes >= 0)
    size = scores.shape[1]
    flat = (codes[used] * size + labels[used]) * size + decisions[used]
    matrices = np.bincount(flat, minlength=len(assignment.names) * size * size)
    return assignment, matrices.reshape(len(assignment.names), size, size)


def count_one_vs_rest(
    workspace: Workspace, model: str | None, assignment: SliceAssignment
) -> Float64:
    """Return true and false positives of each class against all others, at 101 thresholds.

    Returns:
        An array [2, slices, classes, thresholds].
    """
    labels, scores = get_labels_and_scores(workspace, model)
    codes = np.where(workspace.is_active, assignment.codes, -1)
    size = len(assignment.names)
    parts = []
    for number in range(scores.shape[1]):
        is_class = np.where(labels < 0, -1, labels == number)
        counts = count_by_threshold(is_class, scores[:, number], codes, size)
        parts.append([counts.tp, counts.fp])
    counted: Float64 = np.array(parts, np.float64).transpose(1, 2, 0, 3)
    return counted


_BLOCK_ROWS = 1 << 16
DEFAULT_THRESHOLD = 0.5
#: Key of the threshold of all slices that have none of their own.
ALL_SLICES = ""


@dataclass(frozen=True, eq=False)
class Interval:
    """Values with their bounds, arrays of the same shape; NaN where there is no interval."""

    value: Float64
    lower: Float64
    upper: Float64


def make_interval(
    estimates: Float64, resampling: Resampling, low: float = -np.inf, high: float = np.inf
) -> Interval:
    """Return the interval of estimates of shape (full data and replicates, ...).

    Args:
        estimates: The value of the full data, followed by that of each replicate.
        resampling: How the replicates were drawn.
        low: No lower bound is below it.
        high: No upper bound is above it.
    """
    margin = resampling.half_width * resampling.standard_error(estimates)
    value = estimates[0]
    return Interval(value, np.maximum(value - margin, low), np.minimum(value + margin, high))


def estimate_means(
    columns: Sequence[Float64], slices: Int64, slice_count: int, resampling: Resampling
) -> Interval:
    """Return the mean of columns by slice: arrays [slices, columns]. NaN values are left out.

    Args:
        columns: The values of all rows.
        slices: The slice of each row; -1 for none.
        slice_count: The number of slices.
        resampling: How intervals are computed.
    """
    replicates = resampling.samples if resampling.has_replicates else 0
    shape = (slice_count, 1 + replicates, len(columns))
    totals, counts = np.zeros(shape), np.zeros(shape)
    for start in range(0, len(slices), _BLOCK_ROWS):
        codes = slices[start : start + _BLOCK_ROWS]
        values = np.stack([column[start : start + _BLOCK_ROWS] for column in columns], axis=1)
        known = np.isfinite(values)
        values = np.where(known, values, 0.0)
        repeats = resampling.draw_replicates(start, len(codes))
        order = np.argsort(codes, kind="stable")
        present, first = np.unique(codes[order], return_index=True)
        for code, rows in zip(present.tolist(), np.split(order, first[1:]), strict=True):
            if code < 0:
                continue
            weights = np.concatenate([np.ones((1, len(rows))), repeats[:, rows]])
            totals[code] += weights @ values[rows]
            counts[code] += weights @ known[rows].astype(np.float64)
    return make_interval(divide(totals, counts).swapaxes(0, 1), resampling)


@dataclass(frozen=True, eq=False)
class ChoiceIntervals:
    """Intervals of a choice of thresholds. The thresholds are those of the full data."""

    cost: Interval
    gap: Interval
    """NaN if there is no rate to compare."""
    rates: Mapping[str, Interval]
    """Rates of each slice."""


def estimate_choice(
    labels: Int64,
    scores: Float64,
    slices: Int64,
    thresholds: Float64,
    *,
    cost_ratio: float = 1.0,
    equalized: Sequence[str] = (),
    is_defined: Bool | None = None,
    resampling: Resampling,
) -> ChoiceIntervals:
    """Return the intervals of the cost, the gap and the rates of thresholds.

    Args:
        labels: 1 for positive rows, 0 for negative ones, and -1 for unknown ones.
        scores: The score of each row.
        slices: The slice of each row; -1 for none.
        thresholds: The threshold of each slice.
        cost_ratio: How much a false positive costs compared with a false negative.
        equalized: The rates whose largest difference between slices is the gap.
        is_defined: The slices that are compared; by default all.
        resampling: How intervals are computed.
    """
    count = len(thresholds)
    used = (labels >= 0) & (slices >= 0) & np.isfinite(scores)
    codes = np.where(used, slices, -1)
    is_positive = scores >= thresholds[codes]
    # Columns: true negatives, false positives, false negatives, true positives.
    outcomes = np.where(used, 2 * labels + is_positive, 0)
    sums = GroupedSums(resampling.stored, 4)
    sums.reserve(count)
    for start in range(0, len(codes), _BLOCK_ROWS):
        part = slice(start, start + _BLOCK_ROWS)
        rows = WeightedRows([codes[part]], start, np.ones(len(codes[part])), resampling)
        sums.add(rows, outcomes[part])
    # Each of them: full data and replicates, slices.
    tn, fp, fn, tp = resampling.estimates(sums.get(count)).transpose(2, 1, 0)
    counts = ConfusionCounts(tp=tp, fp=fp, tn=tn, fn=fn)
    rates = compute_rates(counts)
    kept = np.ones(count, np.bool_) if is_defined is None else is_defined
    cost = (cost_ratio * counts.fp + counts.fn).sum(axis=1)
    gaps = [_compute_gap(rates[name][:, kept]) for name in equalized if kept.any()]
    gap = np.max(gaps, axis=0) if gaps else np.full(len(cost), np.nan)
    return ChoiceIntervals(
        make_interval(cost, resampling, low=0.0),
        make_interval(gap, resampling, low=0.0, high=1.0),
        {name: make_interval(values, resampling, 0.0, 1.0) for name, values in rates.items()},
    )


def _compute_gap(rates: Float64) -> Float64:
    """Return the largest difference between slices; those without a rate are left out."""
    known = ~np.isnan(rates)
    high = np.where(known, rates, -np.inf).max(axis=1)
    low = np.where(known, rates, np.inf).min(axis=1)
    result: Float64 = np.where(known.any(axis=1), high - low, np.nan)
    return result


def compare_performance(
    workspace: Workspace,
    first: str,
    second: str,
    *,
    slice_by: Sequence[Sequence[str]] = (),
    buckets: Mapping[str, Any] | int | None = None,
    thresholds: Mapping[str, float] | float = DEFAULT_THRESHOLD,
    second_thresholds: Mapping[str, float] | float | None = None,
    metrics: Sequence[str] | None = None,
    resampling: Resampling | None = None,
    tasks: Tasks = LOCAL_TASKS,
    progress: JobProgress | None = None,
) -> tuple[EvaluationResult, Difference]:
    """Return the metrics of one model, and how those of a second one differ from them.

    Args:
        workspace: The data and models.
        first: The name of the first model.
        second: The name of the second model.
        slice_by: Columns, or groups of columns that are crossed.
        buckets: How numeric columns are divided.
        thresholds: For two classes: the threshold of the first model, or one for each slice by
            name, with the key `ALL_SLICES` for the others. The columns of the results have none.
        second_thresholds: Those of the second model; by default the same.
        metrics: Names of metrics; None for the defaults of the task.
        resampling: How intervals are computed.
        tasks: Where the metrics of large tables are computed.
        progress: Follows the computation, and can cancel it.
    """
    limits = [thresholds, thresholds if second_thresholds is None else second_thresholds]
    results = []
    for name, limit in zip((first, second), limits, strict=True):
        by_slice = limit if isinstance(limit, Mapping) else {ALL_SLICES: limit}
        scores = workspace.predict(name).scores
        is_binary = scores.ndim == 2 and scores.shape[1] == 2
        options = {DEFAULT_THRESHOLD, *by_slice.values()}
        result = evaluate(
            workspace,
            name,
            slice_by=slice_by,
            buckets=buckets,
            thresholds=sorted(options) if is_binary else (DEFAULT_THRESHOLD,),
            metrics=(*DEFAULT_BINARY_METRICS, "f1") if is_binary and metrics is None else metrics,
            resampling=resampling,
            tasks=tasks,
            progress=progress,
        )
        results.append(_choose_columns(result, by_slice) if is_binary else result)
    one, other = _align(*results)
    replicates = one.replicates if _has_same_rows(workspace, first, second) else None
    return one, compute_difference(other, one.value, (one.lower, one.upper, replicates), "none")


def _choose_columns(result: EvaluationResult, thresholds: Mapping[str, float]) -> EvaluationResult:
    """Return each metric at the threshold of the slice."""
    default = thresholds.get(ALL_SLICES, DEFAULT_THRESHOLD)
    wanted = [thresholds.get(name, default) for name in result.slice_names]
    columns = list(dict.fromkeys(replace(column, threshold=None) for column in result.columns))
    places = {column: at for at, column in enumerate(result.columns)}
    at = np.array(
        [[places.get(replace(c, threshold=t), places.get(c, -1)) for c in columns] for t in wanted],
        np.int64,
    )
    value, lower, upper = (
        np.take_along_axis(values, at, axis=1)
        for values in (result.value, result.lower, result.upper)
    )
    replicates = result.replicates
    if replicates is not None:
        replicates = np.take_along_axis(replicates, at[None], axis=2)
    return replace(
        result, columns=columns, value=value, lower=lower, upper=upper, replicates=replicates
    )


def _align(
    one: EvaluationResult, other: EvaluationResult
) -> tuple[EvaluationResult, EvaluationResult]:
    """Return the slices and metrics that both results have, in the order of the first."""
    slices = [key for key in one.slices if key in other.slices]
    columns = [column for column in one.columns if column in other.columns]
    first, second = (
        item.select(
            [list(item.slices).index(key) for key in slices],
            [list(item.columns).index(column) for column in columns],
        )
        for item in (one, other)
    )
    return first, second


def _has_same_rows(workspace: Workspace, first: str, second: str) -> bool:
    """Return whether two models are evaluated on the same rows, so that replicates are too."""
    used = []
    for name in (first, second):
        labels, scores = get_labels_and_scores(workspace, name)
        known = np.isfinite(labels) if scores.ndim == 1 else labels >= 0
        used.append(known & np.isfinite(scores.reshape(len(scores), -1)).all(axis=1))
    return bool((used[0] == used[1]).all())
