"""A result as Markdown, for a model card, and the gaps that it names first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tracklight.analysis.evaluation.encoding import StoredEvaluation
from tracklight.analysis.evaluation.metrics import get_direction, is_count
from tracklight.analysis.evaluation.results import Difference, EvaluationResult

_REPORT_METRICS = (
    "accuracy",
    "precision",
    "recall",
    "false_positive_rate",
    "false_negative_rate",
    "positive_rate",
    "auc",
    "mean_error",
    "mean_absolute_error",
    "root_mean_squared_error",
    "r2",
)
_MAX_SLICES = 50
_MAX_GAPS = 10

#: Slices with fewer rows are marked in reports.
SMALL_SLICE_ROWS = 100

_METHODS = {
    "jackknife": "delete-a-group jackknife",
    "bootstrap": "Poisson bootstrap",
    "exact": "exact binomial",
    "none": "no intervals",
}
_CORRECTIONS = {
    "none": "not corrected for the number of comparisons",
    "bonferroni": "corrected for the number of comparisons (Bonferroni)",
    "holm": "corrected for the number of comparisons (Holm)",
    "benjamini-hochberg": "corrected for the number of comparisons (Benjamini-Hochberg)",
}


@dataclass(frozen=True)
class Gap:
    """A difference between a slice and the baseline."""

    slice_at: int
    column_at: int
    difference: float
    is_significant: bool


def rank_gaps(
    difference: Difference, columns: Sequence[int] | None = None, limit: int = 100
) -> list[Gap]:
    """Return the largest differences: significant ones first, each by absolute size."""
    result = difference.result
    usable = np.array([not is_count(column.metric) for column in result.columns], bool)
    if columns is not None:
        usable &= np.isin(np.arange(len(usable)), columns)
    size = np.where(usable, np.abs(difference.absolute), np.nan)
    if difference.baseline >= 0:
        size[difference.baseline] = np.nan
    significant = difference.is_significant
    known = np.flatnonzero(~np.isnan(size.ravel()))
    order = np.lexsort((-size.ravel()[known], ~significant.ravel()[known]))[:limit]
    rows, cols = np.unravel_index(known[order], size.shape)
    return [
        Gap(int(row), int(col), float(difference.absolute[row, col]), bool(significant[row, col]))
        for row, col in zip(rows, cols, strict=True)
    ]


def format_report(
    stored: StoredEvaluation,
    baseline: str = "Overall",
    metrics: Sequence[str] | None = None,
    threshold: float | None = None,
) -> str:
    """Return a section for a model card: conditions, values with intervals, and gaps."""
    result = stored.result
    columns = _choose_columns(result, metrics, threshold)
    chosen = result.select(columns=columns)
    difference = chosen.difference(baseline)
    order = np.argsort(-chosen.counts, kind="stable")[:_MAX_SLICES]
    labels = [column.label for column in chosen.columns]
    lines = ["## Performance by group", "", *_describe(stored, baseline), ""]
    lines.append("| " + " | ".join(["Slice", "Rows", *map(_escape, labels)]) + " |")
    lines.append("|" + "---|" * (len(labels) + 2))
    names = chosen.slice_names
    for row in order.tolist():
        small = " (small)" if chosen.counts[row] < SMALL_SLICE_ROWS else ""
        cells = [_format_value(chosen, row, column) for column in range(len(labels))]
        head = [_escape(names[row]) + small, f"{chosen.counts[row]:,}"]
        lines.append("| " + " | ".join([*head, *cells]) + " |")
    if len(names) > len(order):
        lines += ["", f"The {len(order)} largest of {len(names):,} slices are shown."]
    lines += ["", *_format_gaps(difference, baseline)]
    return "\n".join(lines) + "\n"


def _choose_columns(
    result: EvaluationResult, metrics: Sequence[str] | None, threshold: float | None
) -> list[int]:
    thresholds = sorted({c.threshold for c in result.columns if c.threshold is not None})
    if threshold is None and thresholds:
        threshold = thresholds[len(thresholds) // 2]
    wanted = _REPORT_METRICS if metrics is None else tuple(metrics)
    for metric in metrics or ():
        if all(column.metric != metric for column in result.columns):
            result.get_column(metric)  # raises
    averages = (None, "macro") if metrics is None else (None, "micro", "macro", "weighted")
    return [
        at
        for metric in wanted
        for at, column in enumerate(result.columns)
        if column.metric == metric
        and column.threshold in (None, threshold)
        and column.output in averages
    ]


def _describe(stored: StoredEvaluation, baseline: str) -> list[str]:
    result = stored.result
    method = _METHODS[result.resampling.method]
    text = f"{int(result.counts.max()):,} rows, {len(result.slices):,} slices, baseline {baseline}."
    if result.resampling.method != "none":
        text += f" Intervals: {result.resampling.confidence:.0%}, {method}."
    notes = [text]
    if result.omitted:
        notes.append(f"{len(result.omitted):,} slices below the minimum size were left out.")
    return [*notes, *map(str, result.warnings)]


def _format_gaps(difference: Difference, baseline: str) -> list[str]:
    result = difference.result
    gaps = [gap for gap in rank_gaps(difference, limit=_MAX_GAPS) if gap.is_significant]
    correction = _CORRECTIONS[difference.correction]
    if not gaps:
        return [f"No significant difference to {baseline} ({correction})."]
    lines = [f"Largest significant differences to {baseline} ({correction}):", ""]
    names = result.slice_names
    for gap in gaps:
        column = result.columns[gap.column_at]
        low = difference.lower[gap.slice_at, gap.column_at]
        high = difference.upper[gap.slice_at, gap.column_at]
        direction = get_direction(column.metric)
        better = direction != "neutral" and (gap.difference > 0) == (direction == "higher")
        verdict = "" if direction == "neutral" else ", better" if better else ", worse"
        lines.append(
            f"- {_escape(names[gap.slice_at])}, {column.label}: {gap.difference:+.3f} "
            f"({low:+.3f} to {high:+.3f}){verdict}"
        )
    return lines


def _format_value(result: EvaluationResult, row: int, column: int) -> str:
    value = result.value[row, column]
    if np.isnan(value):
        return "undefined"
    low, high = result.lower[row, column], result.upper[row, column]
    return f"{value:.3f}" if np.isnan(low) else f"{value:.3f} ({low:.3f} to {high:.3f})"


def _escape(text: str) -> str:
    """Return a name that does not end a table cell or start markup."""
    for character in "\\|<>*_`[]":
        text = text.replace(character, "\\" + character)
    return text.replace("\n", " ")
