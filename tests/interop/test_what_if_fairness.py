"""Threshold strategies of What-If equal a search of all thresholds; rates equal fairlearn's."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
import pandas
import pytest
from numpy.typing import NDArray

from tests.interop.real_data import BINARY, ModelledData, load_binary

pytestmark = pytest.mark.slow

pytest.importorskip("sklearn")

LIMITS = np.arange(101) / 100
MAX_GAP = 0.05
#: The rate that each strategy makes equal.
EQUALIZED = {
    "demographic_parity": "positive_rate",
    "equal_opportunity": "true_positive_rate",
    "equal_accuracy": "accuracy",
    "predictive_parity": "precision",
}


def list_groups(data: ModelledData, column: str) -> list[tuple[str, NDArray[np.bool_]]]:
    """Return the rows of each group."""
    values = data.frame[column].fillna("missing")
    return [(name, (values == name).to_numpy()) for name in sorted(values.unique())]


def count(data: ModelledData, rows: NDArray[np.bool_]) -> dict[str, NDArray[np.float64]]:
    """Return the confusion counts of some rows at 101 thresholds."""
    truth = data.label[rows] == 1
    decided = data.scores[rows, 1] >= LIMITS[:, None]
    return {
        "tp": (decided & truth).sum(axis=1).astype(float),
        "fp": (decided & ~truth).sum(axis=1).astype(float),
        "tn": (~decided & ~truth).sum(axis=1).astype(float),
        "fn": (~decided & truth).sum(axis=1).astype(float),
    }


def compute_rate(counts: dict[str, NDArray[np.float64]], rate: str) -> NDArray[np.float64]:
    tp, fp, tn, fn = (counts[name] for name in ("tp", "fp", "tn", "fn"))
    above, below = {
        "positive_rate": (tp + fp, tp + fp + tn + fn),
        "true_positive_rate": (tp, tp + fn),
        "false_positive_rate": (fp, fp + tn),
        "accuracy": (tp + tn, tp + fp + tn + fn),
        "precision": (tp, tp + fp),
    }[rate]
    with np.errstate(invalid="ignore"):
        return above / below


def search_targets(rates: Sequence[Any], costs: Sequence[Any]) -> float:
    """Give each group the threshold nearest to a common rate; return the lowest total cost."""
    best = np.inf
    for target in np.unique(np.concatenate([rate[~np.isnan(rate)] for rate in rates])):
        total = 0.0
        for rate, cost in zip(rates, costs, strict=True):
            distance = np.nan_to_num(np.abs(rate - target), nan=np.inf)
            total += cost[np.flatnonzero(distance == distance.min())[-1]]
        best = min(best, total)
    return best


def search_within(rates: Sequence[Sequence[Any]], costs: Sequence[Any], max_gap: float) -> float:
    """Return the lowest cost of all thresholds with which no rate differs by more than a gap.

    Args:
        rates: For each of the limited rates, that of each group at each threshold.
        costs: The cost of each group at each threshold.
        max_gap: The largest difference.
    """
    # Thresholds with equal rates and a higher cost are never better.
    options = []
    for group, cost in enumerate(costs):
        cheapest: dict[Any, float] = {}
        for at in range(101):
            key = tuple(rate[group][at] for rate in rates)
            if not np.isnan(key).any():
                cheapest[key] = min(cost[at], cheapest.get(key, np.inf))
        options.append([(np.array(key), value) for key, value in cheapest.items()])
    first = np.array([key for key, _ in options[0]])
    best = np.inf
    for others in product(*options[1:]):
        stacked = np.array([key for key, _ in others])
        low = np.minimum(first, stacked.min(axis=0))
        high = np.maximum(first, stacked.max(axis=0))
        inside = (high - low <= max_gap + 1e-12).all(axis=1)
        if inside.any():
            rest = sum(value for _, value in others)
            own = min(value for (_, value), kept in zip(options[0], inside, strict=True) if kept)
            best = min(best, rest + own)
    return best


@pytest.mark.parametrize("column", ["group", "half"])
@pytest.mark.parametrize("name", BINARY)
def test_strategies_equal_a_search_of_all_thresholds(name: str, column: str) -> None:
    data = load_binary(name)
    session = data.make_session()
    counted = [count(data, rows) for _, rows in list_groups(data, column)]
    for ratio in (0.5, 1.0, 4.0):
        costs = [ratio * each["fp"] + each["fn"] for each in counted]
        total = np.sum(costs, axis=0)
        single = session.optimize("single", column, ratio, intervals="none")
        assert single.cost == single.single_cost == total.min()
        assert set(single["threshold"]) == {LIMITS[np.flatnonzero(total == total.min())[-1]]}
        group = session.optimize("group", column, ratio, intervals="none")
        assert group.cost == sum(cost.min() for cost in costs)
        names = [f"{column}:{name}" for name, _ in list_groups(data, column)]
        lowest = [LIMITS[np.flatnonzero(cost == cost.min())[-1]] for cost in costs]
        chosen = dict(zip(group["slice"], group["threshold"], strict=True))
        assert chosen == dict(zip(names, lowest, strict=True))
        for strategy, rate in EQUALIZED.items():
            found = session.optimize(strategy, column, ratio, intervals="none")  # type: ignore[arg-type]
            rates = [compute_rate(each, rate) for each in counted]
            assert found.cost == search_targets(rates, costs), strategy
            assert found.gap == pytest.approx(np.ptp(found[rate]))


@pytest.mark.parametrize("name", BINARY)
def test_limited_gaps_equal_a_search_of_all_thresholds(name: str) -> None:
    data = load_binary(name)
    session = data.make_session()
    for row in np.flatnonzero(data.frame["half"].isna()).tolist():
        session.delete(row)
    names = [key for key, _ in list_groups(data, "half") if key != "missing"]
    counted = [count(data, (data.frame["half"] == key).to_numpy()) for key in names]
    costs = [2.0 * each["fp"] + each["fn"] for each in counted]
    odds = [[compute_rate(each, rate) for each in counted]
            for rate in ("true_positive_rate", "false_positive_rate")]  # fmt: skip
    found = session.optimize("equalized_odds", "half", 2.0, max_gap=MAX_GAP, intervals="none")
    assert found.cost == search_within(odds, costs, MAX_GAP)
    assert found.gap <= MAX_GAP + 1e-12
    for rate in ("positive_rate", "accuracy", "precision"):
        limited = [[compute_rate(each, rate) for each in counted]]
        found = session.optimize(
            "bounded_gap", "half", 2.0, measure=rate, max_gap=MAX_GAP, intervals="none"  # type: ignore[arg-type]
        )  # fmt: skip
        assert found.cost == search_within(limited, costs, MAX_GAP), rate
        assert found.gap <= MAX_GAP + 1e-12


@pytest.mark.parametrize("strategy", ["single", "group", *EQUALIZED, "equalized_odds"])
@pytest.mark.parametrize("name", BINARY)
def test_rates_of_chosen_thresholds_equal_fairlearn(name: str, strategy: Any) -> None:
    fairlearn = pytest.importorskip("fairlearn.metrics")
    from sklearn.metrics import accuracy_score, precision_score

    data = load_binary(name)
    chosen = data.make_session().optimize(strategy, "group", intervals="none").to_pandas()
    chosen["slice"] = chosen["slice"].str.removeprefix("group:")
    chosen = chosen.set_index("slice")
    limits = data.frame["group"].map(chosen["threshold"]).to_numpy()
    decided = (data.scores[:, 1] >= limits).astype(int)

    def compute_precision(truth: Any, found: Any) -> float:
        return float(precision_score(truth, found, zero_division=np.nan))

    expected = fairlearn.MetricFrame(
        metrics={
            "positive_rate": fairlearn.selection_rate,
            "true_positive_rate": fairlearn.true_positive_rate,
            "false_positive_rate": fairlearn.false_positive_rate,
            "accuracy": accuracy_score,
            "precision": compute_precision,
            "count": fairlearn.count,
        },
        y_true=data.label,
        y_pred=decided,
        sensitive_features=data.frame["group"],
    ).by_group
    ours = chosen.loc[expected.index, list(expected.columns)]
    assert np.allclose(ours.to_numpy(float), expected.to_numpy(float), equal_nan=True)


@pytest.mark.parametrize("name", BINARY)
def test_gaps_equal_fairlearn(name: str) -> None:
    fairlearn = pytest.importorskip("fairlearn.metrics")
    data = load_binary(name)
    session = data.make_session()

    def decide(table: pandas.DataFrame) -> NDArray[np.int64]:
        by_group = dict(zip(table["slice"], table["threshold"], strict=True))
        limits = ("group:" + data.frame["group"]).map(by_group).to_numpy()
        return (data.scores[:, 1] >= limits).astype(int)

    for strategy, compute in (
        ("demographic_parity", fairlearn.demographic_parity_difference),
        ("equal_opportunity", fairlearn.equal_opportunity_difference),
        ("equalized_odds", fairlearn.equalized_odds_difference),
    ):
        found = session.optimize(strategy, "group", intervals="none")
        decided = decide(found.to_pandas())
        gap = compute(data.label, decided, sensitive_features=data.frame["group"])
        assert found.gap == pytest.approx(gap), strategy


@pytest.mark.parametrize("name", BINARY)
def test_frontier_equals_a_search_of_all_thresholds(name: str) -> None:
    data = load_binary(name)
    session = data.make_session()
    for row in np.flatnonzero(data.frame["half"].isna()).tolist():
        session.delete(row)
    counted = [count(data, (data.frame["half"] == key).to_numpy()) for key in ("even", "odd")]
    costs = [each["fp"] + each["fn"] for each in counted]
    for measure in ("positive_rate", "true_positive_rate"):
        rates = [[compute_rate(each, measure) for each in counted]]
        table = session.frontier("half", measure=measure).to_pandas()  # type: ignore[arg-type]
        for gap, cost in set(zip(table["gap"], table["cost"], strict=True)):
            assert cost == search_within(rates, costs, gap)
