"""Decision thresholds per slice: counts at 101 thresholds, and strategies that choose them.

A row is positive if its score is at least the threshold, as in the What-If Tool. The cost of a
threshold is ``cost_ratio * FP + FN``. Strategies that equalize a measure scan a common grid of
target values, so their result does not depend on the order of the slices; among equal costs the
higher thresholds win.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from tracklight.analysis.evaluation.metrics import ConfusionCounts, divide
from tracklight.errors import UsageError
from tracklight.types import Bool, Float64, Int64

Strategy = Literal[
    "single",
    "group",
    "demographic_parity",
    "equal_opportunity",
    "equal_accuracy",
    "predictive_parity",
    "equalized_odds",
    "bounded_gap",
]
Measure = Literal[
    "positive_rate", "true_positive_rate", "accuracy", "false_positive_rate", "precision"
]

STRATEGIES: tuple[Strategy, ...] = get_args(Strategy)
_TARGET_MEASURES: dict[str, Measure] = {
    "demographic_parity": "positive_rate",
    "equal_opportunity": "true_positive_rate",
    "equal_accuracy": "accuracy",
    "predictive_parity": "precision",
}

#: 0, 0.01 … 1, each the nearest float.
THRESHOLDS: Float64 = np.arange(101) / 100
DEFAULT_GAP = 0.05
_MAX_TARGETS = 2000
_MAX_ANCHORS = 120
_FRONTIER_POINTS = 21


def count_by_threshold(
    labels: NDArray[Any], scores: Float64, slices: Int64, slice_count: int
) -> ConfusionCounts:
    """Return the confusion counts [slices, thresholds] at `THRESHOLDS`.

    Args:
        labels: 1 for positive rows, 0 for negative ones, and -1 for unknown ones.
        scores: The score of each row; rows with NaN are left out.
        slices: The slice of each row; -1 for none.
        slice_count: The number of slices.
    """
    used = (labels >= 0) & (slices >= 0) & np.isfinite(scores)
    # The number of thresholds at or below a score: the row is positive at exactly these.
    bins = np.searchsorted(THRESHOLDS, scores[used], side="right")
    size = len(THRESHOLDS) + 1
    codes = (slices[used] * 2 + labels[used]) * size + bins
    counts = np.bincount(codes, minlength=slice_count * 2 * size).astype(np.float64)
    counts = counts.reshape(slice_count, 2, size)
    at_least = np.cumsum(counts[..., ::-1], axis=-1)[..., ::-1][..., 1:]
    totals = counts.sum(axis=-1, keepdims=True)
    negative, positive = at_least[:, 0], at_least[:, 1]
    return ConfusionCounts(
        tp=positive, fp=negative, tn=totals[:, 0] - negative, fn=totals[:, 1] - positive
    )


@dataclass(frozen=True, eq=False)
class ThresholdChoice:
    """One threshold per slice, and what it costs."""

    strategy: Strategy
    thresholds: Float64
    indexes: Int64
    """Positions in `THRESHOLDS`."""
    is_defined: Bool
    """False for slices without the rows that the measure needs, such as positives; they get the
    threshold of the strategy ``single``."""
    cost: float
    single_cost: float
    """The cost of the best single threshold."""
    measures: dict[str, Float64]
    """Rates of each slice at its threshold; NaN if undefined."""
    gap: float
    """Maximum minus minimum of the equalized measure over the slices; NaN for other strategies."""
    counts: ConfusionCounts
    """Confusion counts of each slice at its threshold."""


def choose_thresholds(
    counts: ConfusionCounts,
    strategy: Strategy,
    *,
    cost_ratio: float = 1.0,
    measure: Measure = "positive_rate",
    max_gap: float = DEFAULT_GAP,
) -> ThresholdChoice:
    """Choose a threshold for each slice.

    Args:
        counts: Confusion counts [slices, thresholds] of `count_by_threshold`.
        strategy: How to choose.
        cost_ratio: How much a false positive costs compared with a false negative.
        measure: The rate whose gap ``bounded_gap`` limits.
        max_gap: The largest allowed gap for ``bounded_gap`` and ``equalized_odds``.

    Raises:
        UsageError: An argument is invalid.
    """
    if strategy not in STRATEGIES:
        raise UsageError(
            "what_if.no_strategy",
            '"{strategy}" is not a strategy; use one of {known}',
            strategy=strategy,
            known=", ".join(STRATEGIES),
        )
    if not 0 <= cost_ratio < np.inf:
        raise UsageError("what_if.cost_ratio", "the cost ratio must be a number from 0")
    if not 0 <= max_gap <= 1:
        raise UsageError("what_if.max_gap", "the maximum gap must be between 0 and 1")
    cost = cost_ratio * counts.fp + counts.fn
    single = _find_last_minimum(cost.sum(axis=0))
    slices = len(cost)
    rates = _compute_rates(counts)
    equalized: tuple[str, ...] = ()
    if strategy == "single":
        indexes = np.full(slices, single)
    elif strategy == "group":
        indexes = np.array([_find_last_minimum(row) for row in cost])
    elif strategy in _TARGET_MEASURES:
        equalized = (_TARGET_MEASURES[strategy],)
        indexes = _equalize(rates[equalized[0]], cost, single)
    else:
        is_odds = strategy == "equalized_odds"
        equalized = ("true_positive_rate", "false_positive_rate") if is_odds else (measure,)
        indexes = _limit_gap([rates[name] for name in equalized], cost, single, max_gap)
    is_defined: Bool = np.ones(slices, np.bool_)
    for name in equalized:
        is_defined &= ~np.isnan(rates[name]).all(axis=1)
    indexes = np.where(is_defined, indexes, single)
    return _summarize(strategy, indexes, is_defined, counts, cost, single, rates, equalized)


def compute_frontier(
    counts: ConfusionCounts, measure: Measure = "positive_rate", *, cost_ratio: float = 1.0
) -> list[ThresholdChoice]:
    """Return the choices in which no smaller gap has the same cost, the smallest gap first.

    The first choice is the fairest, and the last one the cheapest: a threshold of its own for each
    slice.
    """
    cheapest = choose_thresholds(counts, "bounded_gap", cost_ratio=cost_ratio, measure=measure,
                                 max_gap=1.0)  # fmt: skip
    if np.isnan(cheapest.gap):
        return []
    choices = [
        choose_thresholds(
            counts, "bounded_gap", cost_ratio=cost_ratio, measure=measure, max_gap=float(gap)
        )
        for gap in np.linspace(0, cheapest.gap, _FRONTIER_POINTS)
    ]
    frontier: list[ThresholdChoice] = []
    for choice in sorted([*choices, cheapest], key=lambda each: (each.gap, each.cost)):
        if not frontier or choice.cost < frontier[-1].cost - 1e-9:
            frontier.append(choice)
    return frontier


def _summarize(
    strategy: Strategy,
    indexes: Int64,
    is_defined: Bool,
    counts: ConfusionCounts,
    cost: Float64,
    single: int,
    rates: dict[str, Float64],
    equalized: Sequence[str],
) -> ThresholdChoice:
    rows = np.arange(len(indexes))
    measures = {name: values[rows, indexes] for name, values in rates.items()}
    gaps = [np.ptp(measures[name][is_defined]) for name in equalized if is_defined.any()]
    return ThresholdChoice(
        strategy,
        THRESHOLDS[indexes],
        indexes,
        is_defined,
        cost=float(cost[rows, indexes].sum()),
        single_cost=float(cost[:, single].sum()),
        measures=measures,
        gap=float(max(gaps)) if gaps else np.nan,
        counts=ConfusionCounts(
            tp=counts.tp[rows, indexes],
            fp=counts.fp[rows, indexes],
            tn=counts.tn[rows, indexes],
            fn=counts.fn[rows, indexes],
        ),
    )


def _compute_rates(counts: ConfusionCounts) -> dict[str, Float64]:
    tp, fp, tn, fn = counts.tp, counts.fp, counts.tn, counts.fn
    total = tp + fp + tn + fn
    return {
        "positive_rate": divide(tp + fp, total),
        "true_positive_rate": divide(tp, tp + fn),
        "false_positive_rate": divide(fp, fp + tn),
        "accuracy": divide(tp + tn, total),
        # Undefined where nothing is predicted positive; other thresholds of a slice have it.
        "precision": divide(tp, tp + fp),
    }


def _find_last_minimum(values: Float64) -> int:
    """Return the index of the minimum; of equal ones the last, which is the higher threshold."""
    return len(values) - 1 - int(np.argmin(values[::-1]))


def _equalize(measure: Float64, cost: Float64, single: int) -> Int64:
    """Choose thresholds with the same value of a measure in all slices, at the lowest cost."""
    defined = ~np.isnan(measure).all(axis=1)
    if not defined.any():
        return np.full(len(measure), single)
    targets = np.unique(measure[~np.isnan(measure)])
    if len(targets) > _MAX_TARGETS:
        targets = np.unique(np.quantile(targets, np.linspace(0, 1, _MAX_TARGETS)))
    chosen = np.full((len(measure), len(targets)), single)
    total = np.zeros(len(targets))
    height = np.zeros(len(targets))
    for row in np.flatnonzero(defined):
        distance = np.abs(measure[row][None, :] - targets[:, None])
        distance[np.isnan(distance)] = np.inf
        nearest = distance.shape[1] - 1 - np.argmin(distance[:, ::-1], axis=1)
        chosen[row] = nearest
        total += cost[row, nearest]
        height += nearest
    best = np.lexsort((-height, np.round(total, 9)))[0]
    return chosen[:, best]


def _limit_gap(measures: Sequence[Float64], cost: Float64, single: int, max_gap: float) -> Int64:
    """Choose the cheapest thresholds with which all measures lie in windows of a width."""
    defined = ~np.any([np.isnan(measure).all(axis=1) for measure in measures], axis=0)
    chosen = np.full(len(cost), single)
    rows = np.flatnonzero(defined)
    if not len(rows):
        return chosen
    anchors = [_list_anchors(measure[rows], len(measures)) for measure in measures]
    best_cost, best = np.inf, None
    padded = np.where(np.isnan(cost[rows]), np.inf, cost[rows])
    slack = max_gap + 1e-12
    for first in anchors[0]:
        inside = (measures[0][rows] >= first - 1e-12) & (measures[0][rows] <= first + slack)
        if not inside.any(axis=1).all():
            continue
        for second in anchors[1] if len(anchors) > 1 else (None,):
            allowed = inside
            if second is not None:
                values = measures[1][rows]
                allowed = inside & (values >= second - 1e-12) & (values <= second + slack)
                if not allowed.any(axis=1).all():
                    continue
            options = np.where(allowed, padded, np.inf)
            picks = options.shape[1] - 1 - np.argmin(options[:, ::-1], axis=1)
            total = float(options[np.arange(len(rows)), picks].sum())
            if total < best_cost - 1e-9 or (
                best is not None and total <= best_cost + 1e-9 and picks.sum() > best.sum()
            ):
                best_cost, best = total, picks
    if best is not None:
        chosen[rows] = best
    return chosen


def _list_anchors(measure: Float64, dimensions: int) -> list[float]:
    """Return lower bounds of windows: with one measure all values, otherwise a selection."""
    values = np.unique(measure[~np.isnan(measure)])
    limit = _MAX_TARGETS if dimensions == 1 else _MAX_ANCHORS
    if len(values) > limit:
        values = np.unique(np.quantile(values, np.linspace(0, 1, limit)))
    return [float(value) for value in values]
