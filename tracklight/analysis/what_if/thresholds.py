"""Decision thresholds per slice: counts at 101 thresholds, and strategies that choose them.

A row is positive if its score is at least the threshold, as in the What-If Tool. The cost of a
threshold is ``cost_ratio * FP + FN``. Strategies that equalize a measure scan a common grid of
target values, so their result does not depend on the order of the slices; among equal costs the
higher thresholds win.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
#: Windows of two rates: all of them are searched with up to 12 slices, otherwise a selection.
_MAX_LOOKUPS = 20_000_000
_MIN_ANCHORS = 120
_ROUNDING = 1e-12
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
    single = _locate_last_minimum(cost.sum(axis=0))
    slices = len(cost)
    rates = compute_rates(counts)
    equalized = list_equalized(strategy, measure)
    if strategy == "single":
        indexes = np.full(slices, single)
    elif strategy == "group":
        indexes = np.array([_locate_last_minimum(row) for row in cost])
    elif strategy in _TARGET_MEASURES:
        indexes = _equalize(rates[equalized[0]], cost, single)
    else:
        indexes = _limit_gap([rates[name] for name in equalized], cost, single, max_gap)
    is_defined: Bool = np.ones(slices, np.bool_)
    for name in equalized:
        is_defined &= ~np.isnan(rates[name]).all(axis=1)
    indexes = np.where(is_defined, indexes, single)
    return _summarize(strategy, indexes, is_defined, counts, cost, single, rates, equalized)


def list_equalized(strategy: Strategy, measure: Measure) -> tuple[str, ...]:
    """Return the rates whose gap between slices a strategy makes small."""
    if strategy in _TARGET_MEASURES:
        return (_TARGET_MEASURES[strategy],)
    if strategy == "equalized_odds":
        return "true_positive_rate", "false_positive_rate"
    return (measure,) if strategy == "bounded_gap" else ()


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
    for choice in sorted([*choices, cheapest], key=lambda item: (item.gap, item.cost)):
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


def compute_rates(counts: ConfusionCounts) -> dict[str, Float64]:
    """Return the rates that strategies compare; NaN where they are undefined."""
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


def _locate_last_minimum(values: Float64) -> int:
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
    used = [measure[rows] for measure in measures]
    if len(used) == 1:
        best = _search_windows(used[0], cost[rows], max_gap)
    else:
        best = _search_window_pairs(used[0], used[1], cost[rows], max_gap)
    if best is not None:
        chosen[rows] = best
    return chosen


def _search_windows(measure: Float64, cost: Float64, max_gap: float) -> Int64 | None:
    """Choose the cheapest thresholds with which a measure lies in a window."""
    best_cost, best = np.inf, None
    padded = np.where(np.isnan(cost), np.inf, cost)
    for anchor in _list_anchors(measure, _MAX_TARGETS):
        inside = (measure >= anchor - _ROUNDING) & (measure <= anchor + max_gap + _ROUNDING)
        if not inside.any(axis=1).all():
            continue
        options = np.where(inside, padded, np.inf)
        picks = options.shape[1] - 1 - np.argmin(options[:, ::-1], axis=1)
        total = float(options[np.arange(len(cost)), picks].sum())
        if total < best_cost - 1e-9 or (
            best is not None and total <= best_cost + 1e-9 and picks.sum() > best.sum()
        ):
            best_cost, best = total, picks
    return best


def _search_window_pairs(
    first: Float64, second: Float64, cost: Float64, max_gap: float
) -> Int64 | None:
    """Choose the cheapest thresholds with which two measures lie in a window each.

    The measures do not increase with the threshold, so that the thresholds of a slice that lie in
    a window are a range. The cheapest of each range is looked up (sparse table), which takes the
    same time for every range.
    """
    slices = len(cost)
    limit = max(_MIN_ANCHORS, int((_MAX_LOOKUPS / slices) ** 0.5))
    ranges = []
    for measure in (first, second):
        anchors = _list_anchors(measure, limit)
        high = anchors + max_gap + _ROUNDING
        start = (measure[:, None, :] > high[None, :, None]).sum(axis=2)
        end = (measure[:, None, :] >= anchors[None, :, None] - _ROUNDING).sum(axis=2) - 1
        is_possible = (start <= end).all(axis=0)
        ranges.append((start[:, is_possible], end[:, is_possible]))
    cheapest = _make_range_minimum(cost)
    (starts, ends), (other_starts, other_ends) = ranges
    best_key, best = (np.inf, 0), None
    for at in range(starts.shape[1]):
        start = np.maximum(starts[:, at, None], other_starts)
        end = np.minimum(ends[:, at, None], other_ends)
        possible = (start <= end).all(axis=0)
        if not possible.any():
            continue
        picks = cheapest(start[:, possible], end[:, possible])
        totals = np.round(np.take_along_axis(cost, picks, axis=1).sum(axis=0), 9)
        heights = picks.sum(axis=0)
        pick = np.lexsort((-heights, totals))[0]
        key = (float(totals[pick]), -int(heights[pick]))
        if key < best_key:
            best_key, best = key, picks[:, pick]
    return best


def _make_range_minimum(cost: Float64) -> Callable[[Int64, Int64], Int64]:
    """Return a function of the first and last thresholds of ranges, for arrays [slices, ranges].

    It returns the cheapest threshold of each range; of equal ones the highest.
    """
    rows = np.arange(len(cost))[:, None]
    # Level k has the cheapest of 2^k thresholds from each threshold on.
    levels = [np.broadcast_to(np.arange(cost.shape[1]), cost.shape)]
    while 2 ** len(levels) <= cost.shape[1]:
        half = 2 ** (len(levels) - 1)
        left, right = levels[-1][:, :-half], levels[-1][:, half:]
        better = np.where(cost[rows, right] <= cost[rows, left], right, left)
        levels.append(np.concatenate([better, levels[-1][:, -half:]], axis=1))
    table = np.stack(levels)
    sizes = np.arange(1, cost.shape[1] + 1)
    level_of = np.concatenate([[0], np.floor(np.log2(sizes)).astype(np.int64)])

    def get_cheapest(start: Int64, end: Int64) -> Int64:
        level = level_of[end - start + 1]
        left = table[level, rows, start]
        right = table[level, rows, end + 1 - (1 << level)]
        result: Int64 = np.where(cost[rows, right] <= cost[rows, left], right, left)
        return result

    return get_cheapest


def _list_anchors(measure: Float64, limit: int) -> Float64:
    """Return lower bounds of windows: all values, or a selection if there are many."""
    values: Float64 = np.unique(measure[~np.isnan(measure)])
    if len(values) > limit:
        values = np.unique(np.quantile(values, np.linspace(0, 1, limit)))
    return values
