"""Confidence intervals by resampling: means per slice, costs and gaps, differences of models.

All of them use the replicates of `tracklight.analysis.evaluation.resampling`, which depend on the
row numbers only. Two models that are evaluated on the same rows therefore have the same replicates,
so that the interval of their difference takes into account that both see the same rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tracklight.analysis.evaluation.metrics import (
    DEFAULT_BINARY_METRICS,
    ConfusionCounts,
    GroupedSums,
    WeightedRows,
    divide,
)
from tracklight.analysis.evaluation.resampling import Resampling
from tracklight.analysis.evaluation.results import (
    Difference,
    EvaluationResult,
    compute_difference,
)
from tracklight.analysis.jobs import LOCAL_TASKS, Tasks
from tracklight.analysis.what_if.performance import evaluate, get_labels_and_scores
from tracklight.analysis.what_if.thresholds import compute_rates
from tracklight.analysis.what_if.workspace import Workspace
from tracklight.types import Bool, Float64, Int64

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
        each.select(
            [list(each.slices).index(key) for key in slices],
            [list(each.columns).index(column) for column in columns],
        )
        for each in (one, other)
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
