"""Intervals of means, costs, gaps and differences equal direct computations with the replicates."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas
import pytest

from tracklight.analysis.evaluation.resampling import Resampling
from tracklight.analysis.what_if.performance import estimate_choice, estimate_means
from tracklight.what_if import Session

ROWS = 600
SAMPLES = 40


def make_data() -> Any:
    random = np.random.default_rng(5)
    signal = random.normal(size=ROWS)
    return pandas.DataFrame(
        {
            "x": signal,
            "group": random.choice(["a", "b", "c"], ROWS, p=[0.6, 0.38, 0.02]),
            "label": (signal + random.normal(size=ROWS) > 0).astype(int),
        }
    )


def good(frame: Any) -> Any:
    return 1 / (1 + np.exp(-2 * frame["x"].to_numpy()))


def noisy(frame: Any) -> Any:
    return 1 / (1 + np.exp(-2 * (frame["x"].to_numpy() + np.sin(np.arange(len(frame))))))


@pytest.fixture
def session() -> Session:
    return Session(make_data(), {"good": good, "noisy": noisy}, "label", features=["x"])


def get_margin(estimates: Any, resampling: Resampling) -> float:
    """Return half the width of an interval, from the value of each sample."""
    return resampling.half_width * float(np.std(estimates, ddof=1))


def test_means_by_slice_equal_pandas_and_have_intervals() -> None:
    data = make_data()
    values = data["x"].to_numpy().copy()
    values[::50] = np.nan
    codes = data["group"].astype("category").cat.codes.to_numpy().astype(np.int64)
    codes[1] = -1
    resampling = Resampling("bootstrap", SAMPLES)
    found = estimate_means([values, 2 * values], codes, 3, resampling)
    expected = pandas.Series(values)[codes >= 0].groupby(codes[codes >= 0]).mean()
    assert found.value[:, 0] == pytest.approx(expected.to_numpy())
    assert found.value[:, 1] == pytest.approx(2 * expected.to_numpy())
    repeats = resampling.draw_repeats(0, ROWS)
    inside = (codes == 1) & np.isfinite(values)
    means = [np.average(values[inside], weights=each[inside]) for each in repeats]
    assert found.upper[1, 0] - found.value[1, 0] == pytest.approx(get_margin(means, resampling))


def test_bounds_stay_in_the_range_of_their_metric() -> None:
    data = make_data()
    metrics = ["precision", "recall", "f1", "auc", "average_loss"]
    session = Session(data, good, "label", features=["x"])
    found = session.performance("group", [0.9, 0.98], metrics=metrics).to_pandas()
    rates = found[found["metric"] != "average_loss"]
    assert found["lower"].min() == 0 and rates["upper"].max() == 1
    assert (found["lower"].dropna() >= 0).all() and (found["lower"] <= found["value"]).sum() > 20
    moved = data.assign(y=data["x"] + 1)
    values = Session(moved, lambda frame: frame["x"], "y", task="regression", features=["x"])
    errors = values.performance().to_pandas().set_index("metric")
    assert errors.loc["mean_error", "upper"] < 0


@pytest.mark.parametrize("method", ["bootstrap", "jackknife"])
def test_means_do_not_depend_on_blocks(monkeypatch: pytest.MonkeyPatch, method: Any) -> None:
    data = make_data()
    codes = data["group"].astype("category").cat.codes.to_numpy().astype(np.int64)
    resampling = Resampling(method, SAMPLES)
    whole = estimate_means([data["x"].to_numpy()], codes, 3, resampling)
    monkeypatch.setattr("tracklight.analysis.what_if.performance._BLOCK_ROWS", 64)
    parts = estimate_means([data["x"].to_numpy()], codes, 3, resampling)
    assert parts.lower == pytest.approx(whole.lower, nan_ok=True)
    assert parts.upper == pytest.approx(whole.upper, nan_ok=True)


def test_cost_and_gap_equal_a_direct_computation() -> None:
    data = make_data()
    labels, scores = data["label"].to_numpy(), good(data)
    codes = (data["group"] == "a").to_numpy().astype(np.int64)
    thresholds = np.array([0.4, 0.6])
    resampling = Resampling("bootstrap", SAMPLES)
    found = estimate_choice(
        labels,
        scores,
        codes,
        thresholds,
        cost_ratio=2.0,
        equalized=["true_positive_rate"],
        resampling=resampling,
    )
    positive = scores >= thresholds[codes]
    cost = np.where(positive, 2.0 * (labels == 0), labels == 1)

    def get_gap(weights: Any) -> float:
        rates = [
            np.average(positive[mask], weights=weights[mask])
            for mask in ((codes == 0) & (labels == 1), (codes == 1) & (labels == 1))
        ]
        return abs(rates[1] - rates[0])

    repeats = resampling.draw_repeats(0, ROWS)
    assert found.cost.value == pytest.approx(cost.sum())
    costs = repeats @ cost
    assert found.cost.upper - found.cost.value == pytest.approx(get_margin(costs, resampling))
    assert found.gap.value == pytest.approx(get_gap(np.ones(ROWS)))
    gaps = [get_gap(weights) for weights in repeats]
    assert found.gap.upper - found.gap.value == pytest.approx(get_margin(gaps, resampling))


def test_thresholds_of_a_strategy_have_intervals(session: Session) -> None:
    table = session.optimize("equal_opportunity", "group", 2.0, model="good")
    low, high = table.cost_interval
    assert low < table.cost < high
    assert table.gap_interval[0] <= table.gap <= table.gap_interval[1]
    frame = table.to_pandas().set_index("slice")
    assert (frame["accuracy_lower"] < frame["accuracy_upper"]).loc["group:a"]
    single = session.optimize("single", model="good", intervals="none")
    assert np.isnan(single.cost_interval).all() and np.isnan(single.gap_interval).all()


def test_differences_of_models_are_paired(session: Session) -> None:
    table = session.compare_performance("good", "noisy", "group", samples=SAMPLES,
                                        second_thresholds={"": 0.4, "group:b": 0.7})  # fmt: skip
    frame = table.to_pandas().set_index(["slice", "metric"])
    data = make_data()
    labels = data["label"].to_numpy()
    resampling = Resampling("bootstrap", SAMPLES)
    repeats = resampling.draw_repeats(0, ROWS)
    for name, threshold in {"Overall": 0.4, "group:a": 0.4, "group:b": 0.7}.items():
        inside = np.ones(ROWS, bool)
        if name != "Overall":
            inside = (data["group"] == name[-1]).to_numpy()
        right = (noisy(data) >= threshold) == labels
        change = right.astype(float) - ((good(data) >= 0.5) == labels)
        row = frame.loc[name, "accuracy"]
        assert row["difference"] == pytest.approx(change[inside].mean())
        assert row["second"] == pytest.approx(right[inside].mean())
        means = [np.average(change[inside], weights=each[inside]) for each in repeats]
        margin = get_margin(means, resampling)
        assert row["upper"] - row["difference"] == pytest.approx(margin)
        assert row["difference"] - row["lower"] == pytest.approx(margin)
    assert {"f1", "auc"} <= set(table.to_pandas()["metric"])


def test_models_with_other_rows_are_compared_without_pairs() -> None:
    def failing(frame: Any) -> Any:
        scores = good(frame)
        scores[:50] = np.nan
        return scores

    session = Session(make_data(), {"good": good, "failing": failing}, "label", features=["x"])
    frame = session.compare_performance("good", "failing").to_pandas().set_index("metric")
    row = frame.loc["accuracy"]
    assert row["lower"] < row["difference"] < row["upper"]


def test_several_classes_and_values_are_compared() -> None:
    data = make_data()
    value = {"one": lambda f: f["x"].to_numpy(), "two": lambda f: 0.5 * f["x"].to_numpy()}
    session = Session(data, value, "label", features=["x"], task="regression")
    frame = session.compare_performance("one", "two", "group").to_pandas()
    errors = frame[frame["metric"] == "median_absolute_error"]
    assert len(errors) == 4 and (errors["lower"] <= errors["difference"]).all()


def test_small_slices_have_intervals_where_half_of_the_samples_are_defined() -> None:
    estimates = np.array([[1.0, 1.0], *([[0.5, np.nan], [1.5, np.nan], [1.0, 2.0]] * 5)])
    strict = Resampling("bootstrap", 15)
    assert np.isnan(strict.standard_error(estimates)[1])
    lenient = Resampling("bootstrap", 15, min_defined=0.3)
    spread = lenient.standard_error(estimates)
    assert spread[0] == strict.standard_error(estimates)[0] and spread[1] == 0
    assert np.isnan(Resampling("bootstrap", 15, min_defined=0.5).standard_error(estimates)[1])
