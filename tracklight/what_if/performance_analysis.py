"""The part of `Session` about performance: metrics, confusion matrices, thresholds, comparison."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tracklight.analysis.evaluation.resampling import IntervalMethod, Resampling
from tracklight.analysis.evaluation.slices import OVERALL_NAME
from tracklight.analysis.what_if.performance import (
    compare_performance,
    count_binary,
    count_confusion,
    estimate_choice,
    evaluate,
    get_labels_and_scores,
)
from tracklight.analysis.what_if.thresholds import (
    DEFAULT_GAP,
    Measure,
    Strategy,
    choose_thresholds,
    compute_frontier,
    list_equalized,
)
from tracklight.errors import UsageError
from tracklight.util.frames import Column, Frame, ObjectColumn
from tracklight.what_if.feature_analysis import SessionBase, take_rows

#: One column, several that are crossed, or a list of such groups.
SliceBy = str | Sequence[str]
BucketRules = Mapping[str, Any] | int | None

#: Small slices have an interval if a metric is defined in half of the samples.
_MIN_DEFINED = 0.5


class ThresholdTable(Frame):
    """Thresholds per slice, with what they cost.

    Attributes:
        cost: ``cost_ratio * FP + FN`` over all slices.
        cost_interval: Its 95 % interval, for these thresholds.
        single_cost: The cost of the best single threshold.
        gap: Maximum minus minimum of the equalized rate over the slices; NaN for strategies that
            equalize nothing.
        gap_interval: Its 95 % interval, for these thresholds.

    Example:
        >>> table = session.optimize("equal_opportunity", slice_by="sex")
        >>> table["threshold"], table.cost
    """

    _noun = "slice"

    def __init__(
        self,
        columns: Mapping[str, Column],
        cost: float,
        single_cost: float,
        gap: float,
        cost_interval: tuple[float, float] = (np.nan, np.nan),
        gap_interval: tuple[float, float] = (np.nan, np.nan),
    ) -> None:
        super().__init__(columns)
        self.cost = cost
        self.single_cost = single_cost
        self.gap = gap
        self.cost_interval = cost_interval
        self.gap_interval = gap_interval


class PerformanceAnalysis(SessionBase):
    """Methods of a session that evaluate decisions."""

    def performance(
        self,
        slice_by: SliceBy | Sequence[SliceBy] = (),
        thresholds: float | Sequence[float] = 0.5,
        *,
        metrics: Sequence[str] | None = None,
        buckets: BucketRules = None,
        intervals: IntervalMethod = "bootstrap",
        samples: int = 20,
        model: str | None = None,
    ) -> Frame:
        """Return metrics overall and per slice, with 95 % confidence intervals.

        Args:
            slice_by: Columns; each gives its own slices. A tuple of columns is crossed.
            thresholds: Decision thresholds of models with two classes; a score that equals the
                threshold is positive.
            metrics: Names of metrics; None for the defaults of the task.
            buckets: How numeric columns are divided: a number of buckets of equal width, or by
                column a number or a list of edges.
            intervals: ``"bootstrap"``, ``"jackknife"``, ``"exact"`` or ``"none"``.
            samples: Number of bootstrap samples or jackknife groups.
            model: The model; by default all models.

        Returns:
            A table with ``model``, ``slice``, ``metric``, ``class`` (more than two classes),
            ``threshold``, ``value``, ``lower``, ``upper`` and ``count``.
        """
        limits = [thresholds] if isinstance(thresholds, (int, float)) else list(thresholds)
        parts: list[dict[str, Any]] = []
        for predictor in self._choose_models(model):
            self._warn_of_unknown_labels(predictor.name)
            result = evaluate(
                self.workspace,
                predictor.name,
                slice_by=_parse_slices(slice_by),
                buckets=buckets,
                thresholds=limits,
                metrics=metrics,
                resampling=Resampling(intervals, samples, min_defined=_MIN_DEFINED),
            )
            slices, width = result.slice_names, len(result.columns)
            column_list = list(result.columns) * len(slices)
            parts.append(
                {
                    "model": [predictor.name] * len(column_list),
                    "slice": [name for name in slices for _ in range(width)],
                    "metric": [item.metric for item in column_list],
                    "class": [item.output for item in column_list],
                    "threshold": [
                        np.nan if item.threshold is None else item.threshold for item in column_list
                    ],
                    "value": result.value.reshape(-1),
                    "lower": result.lower.reshape(-1),
                    "upper": result.upper.reshape(-1),
                    "count": np.repeat(result.counts, width),
                }
            )
        columns: dict[str, Column] = {}
        for name in ("model", "slice", "metric", "class"):
            texts = [text for part in parts for text in part[name]]
            if any(text is not None for text in texts):
                columns[name] = ObjectColumn(texts, "string")
        for name in ("threshold", "value", "lower", "upper", "count"):
            columns[name] = np.concatenate([np.asarray(part[name]) for part in parts])
        return Frame(columns)

    def confusion(
        self,
        slice_by: SliceBy = (),
        *,
        thresholds: Mapping[str, float] | float = 0.5,
        buckets: BucketRules = None,
        model: str | None = None,
    ) -> Frame:
        """Return confusion matrices: ``slice``, ``label``, ``predicted`` and ``count``.

        Args:
            slice_by: One column, or several that are crossed; by default all rows.
            thresholds: A threshold for all slices, or one for each slice by name.
            buckets: As in `performance`.
            model: The model; by default the first.
        """
        self._warn_of_unknown_labels(model)
        columns = [slice_by] if isinstance(slice_by, str) else list(slice_by)
        assignment, matrices = count_confusion(self.workspace, model, columns, buckets, thresholds)
        classes = self.workspace.get_class_names(model)
        size = len(classes)
        return Frame(
            {
                "slice": ObjectColumn(
                    [n for n in assignment.names for _ in range(size**2)], "string"
                ),
                "label": ObjectColumn(
                    [c for _ in assignment.names for c in classes for _ in classes], "string"
                ),
                "predicted": ObjectColumn(classes * (size * len(assignment.names)), "string"),
                "count": matrices.reshape(-1),
            }
        )

    def optimize(
        self,
        strategy: Strategy,
        slice_by: SliceBy = (),
        cost_ratio: float = 1.0,
        *,
        measure: Measure = "positive_rate",
        max_gap: float = DEFAULT_GAP,
        buckets: BucketRules = None,
        intervals: IntervalMethod = "bootstrap",
        samples: int = 20,
        model: str | None = None,
    ) -> ThresholdTable:
        """Choose a decision threshold for each slice.

        Args:
            strategy: ``"single"`` (one threshold for all), ``"group"`` (the cheapest of each
                slice), ``"demographic_parity"`` (equal positive rate), ``"equal_opportunity"``
                (equal true positive rate), ``"equal_accuracy"``, ``"predictive_parity"`` (equal
                precision), ``"equalized_odds"`` (true and false positive rates that differ by at
                most ``max_gap``) or ``"bounded_gap"`` (``measure`` differs by at most
                ``max_gap``).
            slice_by: One column, or several that are crossed.
            cost_ratio: How much a false positive costs compared with a false negative.
            measure: The rate that ``bounded_gap`` limits.
            max_gap: The largest allowed difference between slices.
            buckets: As in `performance`.
            intervals: ``"bootstrap"``, ``"jackknife"`` or ``"none"``.
            samples: Number of bootstrap samples or jackknife groups.
            model: The model; by default the first.

        Returns:
            A table with ``slice``, ``threshold``, ``count``, ``tp``, ``fp``, ``tn``, ``fn``,
            ``accuracy``, ``positive_rate``, ``true_positive_rate``, ``false_positive_rate``,
            ``precision``, each rate with the bounds of its interval (``accuracy_lower``,
            ``accuracy_upper``), and ``is_defined``; its attributes ``cost``, ``single_cost`` and
            ``gap`` say what the strategy costs.
        """
        columns = [slice_by] if isinstance(slice_by, str) else list(slice_by)
        if not columns and strategy != "single":
            raise UsageError(f'the strategy "{strategy}" needs slices; pass slice_by')
        self._warn_of_unknown_labels(model)
        assignment, counts = count_binary(self.workspace, model, columns, buckets, drop_empty=True)
        choice = choose_thresholds(
            counts, strategy, cost_ratio=cost_ratio, measure=measure, max_gap=max_gap
        )
        chosen = choice.counts
        total = chosen.tp + chosen.fp + chosen.tn + chosen.fn
        frame: dict[str, Column] = {
            "slice": ObjectColumn(list(assignment.names) or [OVERALL_NAME], "string"),
            "threshold": choice.thresholds,
            "count": total.astype(np.int64),
        }
        for name in ("tp", "fp", "tn", "fn"):
            frame[name] = getattr(chosen, name).astype(np.int64)
        labels, scores = get_labels_and_scores(self.workspace, model)
        estimates = estimate_choice(
            labels,
            scores[:, 1],
            np.where(self.workspace.is_active, assignment.codes, -1),
            choice.thresholds,
            cost_ratio=cost_ratio,
            equalized=list_equalized(strategy, measure),
            is_defined=choice.is_defined,
            resampling=Resampling(intervals, samples, min_defined=_MIN_DEFINED),
        )
        for name in ("accuracy", "positive_rate", "true_positive_rate", "false_positive_rate",
                     "precision"):  # fmt: skip
            frame[name] = choice.measures[name]
            frame[f"{name}_lower"] = estimates.rates[name].lower
            frame[f"{name}_upper"] = estimates.rates[name].upper
        frame["is_defined"] = choice.is_defined
        return ThresholdTable(
            frame,
            choice.cost,
            choice.single_cost,
            choice.gap,
            (float(estimates.cost.lower), float(estimates.cost.upper)),
            (float(estimates.gap.lower), float(estimates.gap.upper)),
        )

    def frontier(
        self,
        slice_by: SliceBy,
        cost_ratio: float = 1.0,
        *,
        measure: Measure = "positive_rate",
        buckets: BucketRules = None,
        model: str | None = None,
    ) -> Frame:
        """Return what equal rates cost: choices that no other beats in both cost and gap.

        Args:
            slice_by: One column, or several that are crossed.
            cost_ratio: How much a false positive costs compared with a false negative.
            measure: The rate whose difference between slices is the gap.
            buckets: As in `performance`.
            model: The model; by default the first.

        Returns:
            A table with ``gap``, ``cost`` and the ``threshold`` of each ``slice``; rows with the
            same ``choice`` belong together, and the smallest gap comes first.
        """
        columns = [slice_by] if isinstance(slice_by, str) else list(slice_by)
        if not columns:
            raise UsageError("a frontier needs slices; pass slice_by")
        self._warn_of_unknown_labels(model)
        assignment, counts = count_binary(self.workspace, model, columns, buckets, drop_empty=True)
        choices = compute_frontier(counts, measure, cost_ratio=cost_ratio)
        size = len(assignment.names)
        thresholds = [choice.thresholds for choice in choices]
        return Frame(
            {
                "choice": np.repeat(np.arange(len(choices)), size),
                "gap": np.repeat(np.array([choice.gap for choice in choices], np.float64), size),
                "cost": np.repeat(np.array([choice.cost for choice in choices], np.float64), size),
                "slice": ObjectColumn(list(assignment.names) * len(choices), "string"),
                "threshold": np.concatenate(thresholds) if thresholds else np.empty(0),
            }
        )

    def compare(self, first: str, second: str, *, threshold: float = 0.5) -> Frame:
        """Compare two models row by row, the largest difference first.

        Returns:
            A table with ``row``, the score or value of each model, ``delta`` (second minus first),
            and for classification ``predicted`` of each model and ``flipped``.
        """
        workspace = self.workspace
        rows = np.flatnonzero(workspace.is_active)
        a, b = (workspace.predict(name).scores[rows] for name in (first, second))
        if a.shape[1:] != b.shape[1:]:
            raise UsageError(f'"{first}" and "{second}" do not have the same classes')
        frame: dict[str, Column] = {"row": rows}
        if a.ndim == 2:
            decisions = [workspace.get_decisions(n, threshold)[rows] for n in (first, second)]
            names = np.array([*workspace.get_class_names(first), None], object)
            shown = [a[:, 1], b[:, 1]] if a.shape[1] == 2 else [a.max(axis=1), b.max(axis=1)]
            delta = b[:, 1] - a[:, 1] if a.shape[1] == 2 else np.abs(b - a).max(axis=1)
            for name, scores, decision in zip((first, second), shown, decisions, strict=True):
                frame[f"score ({name})"] = scores
                frame[f"predicted ({name})"] = ObjectColumn(names[decision].tolist(), "string")
            frame["flipped"] = decisions[0] != decisions[1]
        else:
            delta = b - a
            frame[f"value ({first})"], frame[f"value ({second})"] = a, b
        frame["delta"] = delta
        order = np.argsort(-np.abs(delta), kind="stable")
        return Frame({name: take_rows(column, order) for name, column in frame.items()})

    def compare_performance(
        self,
        first: str,
        second: str,
        slice_by: SliceBy | Sequence[SliceBy] = (),
        *,
        thresholds: Mapping[str, float] | float = 0.5,
        second_thresholds: Mapping[str, float] | float | None = None,
        metrics: Sequence[str] | None = None,
        buckets: BucketRules = None,
        intervals: IntervalMethod = "bootstrap",
        samples: int = 20,
    ) -> Frame:
        """Compare the metrics of two models, overall and per slice.

        Both models are resampled together: the interval of a difference takes into account that
        they predict the same rows.

        Args:
            first: The name of the first model.
            second: The name of the second model.
            slice_by: As in `performance`.
            thresholds: For two classes: the threshold of the first model, or one for each slice by
                name, with the key ``""`` for the others.
            second_thresholds: Those of the second model; by default the same.
            metrics: Names of metrics; None for the defaults of the task.
            buckets: As in `performance`.
            intervals: As in `performance`.
            samples: Number of bootstrap samples or jackknife groups.

        Returns:
            A table with ``slice``, ``metric``, ``class`` and ``threshold`` (more than two classes),
            ``first``, ``second``, ``difference`` (second minus first), ``lower``, ``upper`` and
            ``count``.
        """
        for name in (first, second):
            self._warn_of_unknown_labels(name)
        one, difference = compare_performance(
            self.workspace,
            first,
            second,
            slice_by=_parse_slices(slice_by),
            buckets=buckets,
            thresholds=thresholds,
            second_thresholds=second_thresholds,
            metrics=metrics,
            resampling=Resampling(intervals, samples, min_defined=_MIN_DEFINED),
        )
        width = len(one.columns)
        columns = list(one.columns) * len(one.slices)
        frame: dict[str, Column] = {
            "slice": ObjectColumn([n for n in one.slice_names for _ in range(width)], "string"),
            "metric": ObjectColumn([column.metric for column in columns], "string"),
        }
        if any(column.output is not None for column in columns):
            frame["class"] = ObjectColumn([column.output for column in columns], "string")
            limits = [np.nan if item.threshold is None else item.threshold for item in columns]
            frame["threshold"] = np.array(limits)
        frame["first"] = one.value.reshape(-1)
        frame["second"] = difference.result.value.reshape(-1)
        frame["difference"] = difference.absolute.reshape(-1)
        frame["lower"] = difference.lower.reshape(-1)
        frame["upper"] = difference.upper.reshape(-1)
        frame["count"] = np.repeat(one.counts, width)
        return Frame(frame)


def _parse_slices(slice_by: Any) -> list[list[str]]:
    if isinstance(slice_by, str):
        return [[slice_by]]
    if isinstance(slice_by, tuple) and slice_by and all(isinstance(n, str) for n in slice_by):
        return [list(slice_by)]
    return [[item] if isinstance(item, str) else list(item) for item in slice_by]
