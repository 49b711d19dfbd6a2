"""Thresholds of slices, compared with a search of all combinations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tracklight.analysis.what_if.thresholds import (
    THRESHOLDS,
    choose_thresholds,
    compute_frontier,
    compute_rates,
    count_by_threshold,
)
from tracklight.errors import UsageError
from tracklight.types import Float64


def make_counts(slices: int = 2, rows: int = 300, seed: int = 0, **options: Any) -> Any:
    random = np.random.default_rng(seed)
    codes = random.integers(0, slices, rows)
    labels = (random.random(rows) < 0.3 + 0.4 * codes / slices).astype(int)
    labels = options.get("labels", labels)
    scores = np.clip(random.normal(0.3 + 0.3 * labels + 0.1 * codes / slices, 0.2), 0, 1)
    return count_by_threshold(labels, scores, codes, slices)


def list_combinations(counts: Any, names: list[str], cost_ratio: float) -> Any:
    """Return the cost and the gap of each pair of thresholds."""
    cost = cost_ratio * counts.fp + counts.fn
    total = cost[0][:, None] + cost[1][None, :]
    rates = compute_rates(counts)
    gaps: list[Float64] = [np.abs(rates[n][0][:, None] - rates[n][1][None, :]) for n in names]
    return total, np.max(gaps, axis=0)


@pytest.mark.parametrize("max_gap", [0.0, 0.02, 0.1, 1.0])
@pytest.mark.parametrize("cost_ratio", [0.5, 3.0])
@pytest.mark.parametrize(
    ("strategy", "names"),
    [
        ("bounded_gap", ["positive_rate"]),
        ("bounded_gap", ["true_positive_rate"]),
        ("equalized_odds", ["true_positive_rate", "false_positive_rate"]),
    ],
)
def test_no_other_thresholds_with_a_small_gap_cost_less(
    strategy: Any, names: list[str], cost_ratio: float, max_gap: float
) -> None:
    counts = make_counts()
    options: dict[str, Any] = {"cost_ratio": cost_ratio, "max_gap": max_gap}
    if strategy == "bounded_gap":
        options["measure"] = names[0]
    chosen = choose_thresholds(counts, strategy, **options)
    total, gap = list_combinations(counts, names, cost_ratio)
    assert chosen.cost == pytest.approx(total[gap <= max_gap + 1e-9].min())
    assert gap[tuple(chosen.indexes)] <= max_gap + 1e-9
    assert total[tuple(chosen.indexes)] == pytest.approx(chosen.cost)


def test_the_frontier_has_no_cheaper_choice_with_a_smaller_gap() -> None:
    counts = make_counts()
    total, gap = list_combinations(counts, ["positive_rate"], 1.0)
    choices = compute_frontier(counts)
    gaps, costs = [each.gap for each in choices], [each.cost for each in choices]
    assert gaps == sorted(gaps) and costs == sorted(costs, reverse=True)
    assert costs[-1] == pytest.approx(total.min())
    for choice in choices:
        assert choice.cost == pytest.approx(total[gap <= choice.gap + 1e-9].min())


@pytest.mark.parametrize("strategy", ["equal_opportunity", "equalized_odds", "bounded_gap"])
def test_slices_without_positive_rows_have_the_single_threshold(strategy: Any) -> None:
    negative = make_counts(labels=np.zeros(300, int))
    chosen = choose_thresholds(negative, strategy, measure="true_positive_rate")
    single = choose_thresholds(negative, "single")
    assert chosen.thresholds.tolist() == single.thresholds.tolist()
    assert not chosen.is_defined.any() and np.isnan(chosen.gap)
    assert compute_frontier(negative, "true_positive_rate") == []


@pytest.mark.parametrize("strategy", ["demographic_parity", "bounded_gap"])
def test_many_slices_have_similar_rates(strategy: Any) -> None:
    """With more distinct rates than are tried, the gap is still as small as was asked for."""
    counts = make_counts(slices=120, rows=60_000)
    rates = compute_rates(counts)["positive_rate"]
    assert len(np.unique(rates)) > 2000
    chosen = choose_thresholds(counts, strategy, max_gap=0.05)
    found = rates[np.arange(120), chosen.indexes]
    assert np.ptp(found) <= 0.05 + 1e-9
    assert chosen.cost >= choose_thresholds(counts, "group").cost


def test_rows_without_a_score_label_or_slice_are_left_out() -> None:
    labels, scores = np.array([0, 1, -1, 1, 0]), np.array([0.2, np.nan, 0.5, 0.8, 0.4])
    counts = count_by_threshold(labels, scores, np.array([0, 0, 0, 0, -1]), 1)
    half = int(np.searchsorted(THRESHOLDS, 0.5))
    found = [int(each[0, half]) for each in (counts.tp, counts.fp, counts.tn, counts.fn)]
    assert found == [1, 0, 1, 0]


@pytest.mark.parametrize(
    ("strategy", "options", "message"),
    [
        ("fair", {}, '"fair" is not a strategy; use one of '),
        ("single", {"cost_ratio": -1}, "the cost ratio must be a number from 0"),
        ("single", {"cost_ratio": np.inf}, "the cost ratio must be a number from 0"),
        ("bounded_gap", {"max_gap": 1.5}, "the maximum gap must be between 0 and 1"),
        ("bounded_gap", {"max_gap": np.nan}, "the maximum gap must be between 0 and 1"),
    ],
)
def test_invalid_arguments(strategy: Any, options: Any, message: str) -> None:
    with pytest.raises(UsageError) as error:
        choose_thresholds(make_counts(), strategy, **options)
    assert str(error.value).startswith(message)
