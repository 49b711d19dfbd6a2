"""Metrics per slice with intervals, and differences between slices.

A result is a matrix of slices and metric columns; a metric column is a metric at one threshold and,
for multi-class models, of one class or average. `EvaluationResult.rows` lists it as a table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from tracklight.analysis.evaluation.metrics import METRICS_WITHOUT_INTERVAL
from tracklight.analysis.evaluation.resampling import (
    Correction,
    Resampling,
    adjust_p_values,
    binomial_interval,
    student_t_p_value,
)
from tracklight.analysis.evaluation.slices import SliceKey, format_slice
from tracklight.errors import Message, UsageError, list_similar_names
from tracklight.types import Bool, Float64, Int64

#: Replicates above this number of cells (200 MB) are not kept after intervals were computed.
MAX_REPLICATE_CELLS = 25_000_000
#: Relative width of an interval that has no width.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class MetricColumn:
    """What one column of a result holds."""

    metric: str
    threshold: float | None = None
    output: str | None = None
    """A class of a multi-class model, or ``micro``, ``macro`` or ``weighted``."""

    @property
    def label(self) -> str:
        """The metric with class and threshold, such as ``recall@0.5``."""
        at = "" if self.threshold is None else f"@{self.threshold:g}"
        return f"{self.metric}{f'[{self.output}]' if self.output is not None else ''}{at}"


@dataclass(frozen=True, eq=False)
class Estimates:
    """Values of one metric column: (slices, full data and replicates)."""

    column: MetricColumn
    values: Float64
    numerator: Float64 | None = None
    """For rates of the full data, by slice."""
    denominator: Float64 | None = None


@dataclass(frozen=True, eq=False)
class EvaluationResult:
    """Values and intervals of metrics by slice. Matrices have shape (slices, columns)."""

    slices: Sequence[SliceKey]
    columns: Sequence[MetricColumn]
    counts: Int64
    """Number of rows of each slice."""
    value: Float64
    lower: Float64
    upper: Float64
    resampling: Resampling
    replicates: Float64 | None = None
    """Replicates of all values: (replicates, slices, columns)."""
    warnings: Sequence[Message] = ()
    omitted: Sequence[SliceKey] = field(default_factory=tuple)
    """Slices below the minimum size."""

    @property
    def slice_names(self) -> list[str]:
        return [format_slice(key) for key in self.slices]

    def find_slice(self, slice_: SliceKey | str) -> int | None:
        """Return the position of a slice, given by key or name."""
        names: Sequence[SliceKey | str] = (
            self.slice_names if isinstance(slice_, str) else self.slices
        )
        return names.index(slice_) if slice_ in names else None

    def get_slice(self, slice_: SliceKey | str) -> int:
        """Return the position of a slice.

        Raises:
            UsageError: There is no such slice.
        """
        at = self.find_slice(slice_)
        if at is None:
            name = slice_ if isinstance(slice_, str) else format_slice(slice_)
            similar = list_similar_names(name, self.slice_names)
            if similar:
                raise UsageError(
                    "fairness.no_slice_similar",
                    'no slice "{slice}"; did you mean "{similar}"?',
                    slice=name,
                    similar=similar[0],
                )
            raise UsageError("fairness.no_slice", 'no slice "{slice}"', slice=name)
        return at

    def get_column(
        self, metric: str, threshold: float | None = None, output: str | None = None
    ) -> int:
        """Return the position of a metric column; the threshold may be left out if unique.

        Raises:
            UsageError: There is no such column, or several.
        """
        exact = MetricColumn(metric, threshold, output)
        if exact in self.columns:
            return self.columns.index(exact)
        found = [
            at
            for at, column in enumerate(self.columns)
            if column.metric == metric
            and (threshold is None or column.threshold == threshold)
            and (output is None or column.output == output)
        ]
        if len(found) != 1:
            if found:
                raise UsageError(
                    "fairness.several_columns",
                    '"{metric}" was computed at several thresholds or for several classes',
                    metric=metric,
                )
            if threshold is not None:
                raise UsageError(
                    "fairness.no_metric_at",
                    'no metric "{metric}" at threshold {threshold:g}',
                    metric=metric,
                    threshold=threshold,
                )
            raise UsageError("fairness.no_metric", 'no metric "{metric}"', metric=metric)
        return found[0]

    def get_value(
        self,
        metric: str,
        slice_: SliceKey | str = (),
        threshold: float | None = None,
        output: str | None = None,
    ) -> float:
        """Return one value."""
        at = self.get_slice(slice_)
        return float(self.value[at, self.get_column(metric, threshold, output)])

    def select(
        self, slices: Sequence[int] | None = None, columns: Sequence[int] | None = None
    ) -> EvaluationResult:
        """Return a result with some slices and columns, by position."""
        rows = np.arange(len(self.slices)) if slices is None else np.asarray(slices, np.int64)
        cols = np.arange(len(self.columns)) if columns is None else np.asarray(columns, np.int64)
        at = np.ix_(rows, cols)
        return replace(
            self,
            slices=[self.slices[row] for row in rows],
            columns=[self.columns[col] for col in cols],
            counts=self.counts[rows],
            value=self.value[at],
            lower=self.lower[at],
            upper=self.upper[at],
            replicates=None if self.replicates is None else self.replicates[:, rows][:, :, cols],
        )

    def difference(
        self, baseline: SliceKey | str = (), correction: Correction = "holm"
    ) -> Difference:
        """Compare every slice with a baseline slice.

        Args:
            baseline: Key or name of the baseline slice.
            correction: How p-values are adjusted; all slices and columns are one family.
        """
        at = self.get_slice(baseline)
        return compute_difference(self, self.value[at], self._get_row(at), correction, at)

    def _get_row(self, at: int) -> tuple[Float64, Float64, Float64 | None]:
        replicates = None if self.replicates is None else self.replicates[:, at : at + 1]
        return self.lower[at], self.upper[at], replicates


@dataclass(frozen=True, eq=False)
class Difference:
    """Differences to a baseline. Matrices have shape (slices, columns)."""

    result: EvaluationResult
    baseline: int
    absolute: Float64
    lower: Float64
    upper: Float64
    relative: Float64
    """Value / baseline - 1; NaN where the baseline is 0."""
    relative_lower: Float64
    relative_upper: Float64
    p_value: Float64
    """Two-sided, not adjusted."""
    adjusted_p_value: Float64
    correction: Correction

    @property
    def is_significant(self) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
        """Whether each adjusted p-value is below 1 - confidence; False where unknown."""
        alpha = 1 - self.result.resampling.confidence
        return np.nan_to_num(self.adjusted_p_value, nan=1.0) < alpha


def build_result(
    slices: Sequence[SliceKey],
    counts: Int64,
    estimates: Sequence[Estimates],
    resampling: Resampling,
    warnings: Sequence[Message] = (),
    omitted: Sequence[SliceKey] = (),
) -> EvaluationResult:
    """Return the result with intervals for estimates of all slices."""
    shape = (len(slices), len(estimates))
    value, lower, upper = (np.full(shape, np.nan) for _ in range(3))
    samples = resampling.samples if resampling.has_replicates else 0
    keep = samples > 0 and samples * shape[0] * shape[1] <= MAX_REPLICATE_CELLS
    replicates = np.empty((samples, *shape)) if keep else None
    for at, estimate in enumerate(estimates):
        value[:, at] = estimate.values[:, 0]
        if replicates is not None:
            replicates[:, :, at] = estimate.values[:, 1:].T
        if estimate.column.metric in METRICS_WITHOUT_INTERVAL:
            continue
        if resampling.has_replicates:
            margin = resampling.half_width * resampling.standard_error(estimate.values.T)
            lower[:, at] = value[:, at] - margin
            upper[:, at] = value[:, at] + margin
        elif resampling.method == "exact" and estimate.numerator is not None:
            assert estimate.denominator is not None
            lower[:, at], upper[:, at] = binomial_interval(
                estimate.numerator, estimate.denominator, resampling.confidence
            )
    return EvaluationResult(
        slices=list(slices),
        columns=[estimate.column for estimate in estimates],
        counts=counts,
        value=value,
        lower=lower,
        upper=upper,
        resampling=resampling,
        replicates=replicates,
        warnings=tuple(warnings),
        omitted=tuple(omitted),
    )


def compute_difference(
    result: EvaluationResult,
    baseline: Float64,
    baseline_spread: tuple[Float64, Float64, Float64 | None],
    correction: Correction = "holm",
    baseline_at: int = -1,
) -> Difference:
    """Return differences of all slices to a row of baseline values.

    With replicates, the interval is that of the difference itself, which takes into account that
    slices share rows. Otherwise the intervals of both values are combined (square-and-add), which
    assumes that they are independent. A value whose replicates are all equal, such as a rate of 0
    or 1 in a small slice, has no known variation, so its differences have no interval.
    """
    low, high, replicates = baseline_spread
    resampling = result.resampling
    absolute = result.value - baseline
    relative = _relative(result.value, baseline)
    if result.replicates is not None and replicates is not None:
        spread = np.concatenate([absolute[None], result.replicates - replicates])
        error = resampling.standard_error(spread)
        ratios = np.concatenate([relative[None], _relative(result.replicates, replicates)])
        relative_margin = resampling.half_width * resampling.standard_error(ratios)
        margin = resampling.half_width * error
        lower, upper = absolute - margin, absolute + margin
        relative_lower, relative_upper = relative - relative_margin, relative + relative_margin
    else:
        lower = absolute - np.hypot(result.value - result.lower, high - baseline)
        upper = absolute + np.hypot(result.upper - result.value, baseline - low)
        error = (upper - lower) / (2 * resampling.half_width)
        with np.errstate(divide="ignore", invalid="ignore"):
            # A negative baseline exchanges the bounds.
            scale = np.where(baseline == 0, np.nan, baseline)
            ends = lower / scale, upper / scale
            relative_lower, relative_upper = np.minimum(*ends), np.maximum(*ends)
    with np.errstate(divide="ignore", invalid="ignore"):
        statistic = np.where(error > 0, absolute / error, np.nan)
    p_value = student_t_p_value(statistic, resampling.samples - 1)
    is_constant = _is_constant(result.lower, result.upper) | _is_constant(low, high)
    for bounds in (lower, upper, relative_lower, relative_upper, p_value):
        bounds[is_constant] = np.nan
    if baseline_at >= 0:
        p_value[baseline_at] = np.nan
        lower[baseline_at] = upper[baseline_at] = absolute[baseline_at]
        relative_lower[baseline_at] = relative_upper[baseline_at] = relative[baseline_at]
    return Difference(
        result=result,
        baseline=baseline_at,
        absolute=absolute,
        lower=lower,
        upper=upper,
        relative=relative,
        relative_lower=relative_lower,
        relative_upper=relative_upper,
        p_value=p_value,
        adjusted_p_value=adjust_p_values(p_value, correction),
        correction=correction,
    )


def _is_constant(lower: Float64, upper: Float64) -> Bool:
    """Return where an interval has no width, apart from rounding."""
    result: Bool = upper - lower <= _ROUNDING * np.maximum(np.abs(upper), 1)
    return result


def _relative(value: Float64, baseline: Float64) -> Float64:
    with np.errstate(divide="ignore", invalid="ignore"):
        result: Float64 = np.where(baseline == 0, np.nan, value / baseline - 1)
    return result
