"""What-If's numbers equal those of scikit-learn, pandas, SciPy and fairlearn on real data sets."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas
import pytest

from tracklight.what_if import Session

pytestmark = pytest.mark.slow

pytest.importorskip("sklearn")


def load_cancer() -> tuple[Any, Any]:
    from sklearn.datasets import load_breast_cancer

    data = load_breast_cancer(as_frame=True)
    frame = data.frame.rename(columns={"target": "label"})
    frame["size"] = np.where(frame["mean radius"] > 14, "large", "small")
    return frame, list(data.data.columns)


def load_iris() -> tuple[Any, Any]:
    from sklearn.datasets import load_iris as load

    data = load(as_frame=True)
    return data.frame.rename(columns={"target": "label"}), list(data.data.columns)


def load_wine() -> tuple[Any, Any]:
    from sklearn.datasets import load_wine as load

    data = load(as_frame=True)
    return data.frame.rename(columns={"target": "label"}), list(data.data.columns)


def load_diabetes() -> tuple[Any, Any]:
    from sklearn.datasets import load_diabetes as load

    data = load(as_frame=True)
    return data.frame.rename(columns={"target": "label"}), list(data.data.columns)


@pytest.fixture(scope="module")
def cancer() -> tuple[Any, Any, Session]:
    from sklearn.ensemble import RandomForestClassifier

    frame, features = load_cancer()
    model = RandomForestClassifier(20, max_depth=3, random_state=0)
    model.fit(frame[features][::2], frame["label"][::2])
    return frame, model, Session(frame, model, "label", features=features)


def test_binary_metrics_by_slice_equal_scikit_learn_and_fairlearn(cancer: Any) -> None:
    from sklearn import metrics

    fairlearn = pytest.importorskip("fairlearn.metrics")
    frame, model, session = cancer
    scores = model.predict_proba(frame[list(model.feature_names_in_)])[:, 1]
    names = ["accuracy", "precision", "recall", "f1", "auc", "auc_precision_recall",
             "positive_rate", "false_positive_rate", "brier_score"]  # fmt: skip
    table = session.performance("size", 0.7, metrics=names, intervals="none").to_pandas()
    values = table.set_index(["slice", "metric"])["value"]
    decisions = scores >= 0.7
    for name, mask in {
        "Overall": np.ones(len(frame), bool),
        "size:large": (frame["size"] == "large").to_numpy(),
        "size:small": (frame["size"] == "small").to_numpy(),
    }.items():
        truth, decided, score = frame["label"][mask], decisions[mask], scores[mask]
        expected = {
            "accuracy": metrics.accuracy_score(truth, decided),
            "precision": metrics.precision_score(truth, decided),
            "recall": metrics.recall_score(truth, decided),
            "f1": metrics.f1_score(truth, decided),
            "auc": metrics.roc_auc_score(truth, score),
            "auc_precision_recall": metrics.average_precision_score(truth, score),
            "brier_score": metrics.brier_score_loss(truth, score),
            "positive_rate": fairlearn.selection_rate(truth, decided),
            "false_positive_rate": fairlearn.false_positive_rate(truth, decided),
        }
        for metric, value in expected.items():
            assert values[name, metric] == pytest.approx(value, abs=1e-9), (name, metric)
    parity = fairlearn.demographic_parity_difference(
        frame["label"], decisions, sensitive_features=frame["size"]
    )
    ours = values["size:small", "positive_rate"] - values["size:large", "positive_rate"]
    assert abs(ours) == pytest.approx(parity)


def test_confusion_matrix_equals_scikit_learn(cancer: Any) -> None:
    from sklearn.metrics import confusion_matrix

    frame, model, session = cancer
    scores = model.predict_proba(frame[list(model.feature_names_in_)])[:, 1]
    counts = session.confusion(thresholds=0.3)["count"].reshape(2, 2)
    assert (counts == confusion_matrix(frame["label"], scores >= 0.3)).all()


def test_partial_dependence_equals_scikit_learn(cancer: Any) -> None:
    from sklearn.inspection import partial_dependence

    frame, model, session = cancer
    inputs = frame[list(model.feature_names_in_)]
    for feature in ("worst area", "mean concave points"):
        grid = np.linspace(inputs[feature].min(), inputs[feature].max(), 10)
        expected = partial_dependence(
            model, inputs, [feature], kind="both", custom_values={feature: grid},
            response_method="predict_proba", method="brute",
        )  # fmt: skip
        ours = session.partial_dependence(feature, sample=None).to_pandas()
        ours = ours[ours["class"] == "1"]
        assert np.allclose(ours["value"], grid)
        assert np.allclose(ours["mean"], expected["average"][0])
        ice = session.partial_dependence(feature, sample=None, kind="individual").to_pandas()
        ice = ice[ice["class"] == "1"]["prediction"].to_numpy().reshape(len(frame), 10)
        assert np.allclose(ice, expected["individual"][0])
    pair = ("worst area", "worst texture")
    grids = {name: np.linspace(inputs[name].min(), inputs[name].max(), 4) for name in pair}
    joint = partial_dependence(
        model, inputs, list(pair), custom_values=grids, response_method="predict_proba",
        method="brute",
    )["average"][0]  # fmt: skip
    ours = session.partial_dependence(pair, points=4, sample=None).to_pandas()
    assert np.allclose(ours[ours["class"] == "1"]["mean"].to_numpy().reshape(4, 4), joint)


@pytest.mark.parametrize("load", [load_cancer, load_iris, load_wine, load_diabetes])
def test_feature_statistics_equal_pandas(load: Any) -> None:
    frame, features = load()
    ours = Session(frame).feature_statistics(features).to_pandas().set_index("feature")
    described = frame[features].describe()
    for feature in features:
        row = ours.loc[feature]
        assert row["mean"] == pytest.approx(described.loc["mean", feature])
        assert row["std"] == pytest.approx(frame[feature].std(ddof=0))
        assert row["median"] == pytest.approx(described.loc["50%", feature])
        assert (row["minimum"], row["maximum"]) == (frame[feature].min(), frame[feature].max())
        assert row["zeros"] == (frame[feature] == 0).sum()
        assert row["unique"] == frame[feature].nunique()
        first, third = frame[feature].quantile([0.25, 0.75])
        margin = 1.5 * (third - first)
        outside = (frame[feature] < first - margin) | (frame[feature] > third + margin)
        assert row["outliers"] == outside.sum()


@pytest.mark.parametrize("load", [load_iris, load_wine])
def test_multiclass_metrics_equal_scikit_learn(load: Any) -> None:
    from sklearn import metrics
    from sklearn.ensemble import RandomForestClassifier

    frame, features = load()
    model = RandomForestClassifier(10, max_depth=2, random_state=1)
    model.fit(frame[features][::3], frame["label"][::3])
    session = Session(frame, model, "label", features=features)
    table = session.performance(metrics=["accuracy", "auc"], intervals="none").to_pandas()
    scores = model.predict_proba(frame[features])
    by_class = table[table["metric"] == "auc"].set_index("class")["value"]
    for number in range(3):
        expected = metrics.roc_auc_score(frame["label"] == number, scores[:, number])
        assert by_class[str(number)] == pytest.approx(expected)
    decisions = scores.argmax(axis=1)
    counts = session.confusion()["count"].reshape(3, 3)
    assert (counts == metrics.confusion_matrix(frame["label"], decisions)).all()
    predicted = session.predictions()["predicted"].astype(int)
    assert (predicted == decisions).all()


def test_regression_equals_scikit_learn() -> None:
    from sklearn import metrics
    from sklearn.linear_model import LinearRegression

    frame, features = load_diabetes()
    model = LinearRegression().fit(frame[features], frame["label"])
    session = Session(frame, model, "label", features=features)
    table = session.performance(intervals="none").to_pandas().set_index("metric")["value"]
    predicted = model.predict(frame[features])
    assert table["mean_absolute_error"] == pytest.approx(
        metrics.mean_absolute_error(frame["label"], predicted)
    )
    assert table["r2"] == pytest.approx(metrics.r2_score(frame["label"], predicted))
    errors = session.predictions()["error"]
    assert np.allclose(errors, predicted - frame["label"])
    # Shapley values of a linear model are known: coefficient times the deviation from the mean.
    rows = [3, 7]
    ours = session.shapley_values(rows, background=442, permutations=400, seed=1).to_pandas()
    expected = (frame[features].iloc[rows] - frame[features].mean()) * model.coef_
    ours_table = ours["contribution"].to_numpy().reshape(2, -1)
    error = ours["standard_error"].to_numpy().reshape(2, -1)
    assert (np.abs(ours_table - expected.to_numpy()) < 5 * error + 1e-9).all()
    total = predicted[rows] - predicted.mean()
    assert np.allclose(ours_table.sum(axis=1), total)


def test_permutation_importance_agrees_with_scikit_learn(cancer: Any) -> None:
    from sklearn.inspection import permutation_importance

    frame, model, session = cancer
    inputs = frame[list(model.feature_names_in_)]
    expected = permutation_importance(
        model, inputs, frame["label"], n_repeats=20, random_state=0, scoring="roc_auc"
    )
    ours = session.permutation_importance(metric="auc", repeats=20).to_pandas()
    ours = ours.set_index("feature").loc[list(inputs.columns)]
    difference = np.abs(ours["importance"].to_numpy() - expected.importances_mean)
    spread = np.hypot(ours["std"].to_numpy(), expected.importances_std) / np.sqrt(20)
    assert (difference < 5 * spread + 1e-9).all()


def test_distances_equal_a_direct_computation() -> None:
    frame, features = load_wine()
    session = Session(frame.assign(kind=frame["label"].map(str)), lambda f: f["alcohol"] / 20,
                      "label")  # fmt: skip
    ours = session.distances(5)["distance"]
    standard = frame[features] / frame[features].std()
    expected = (standard - standard.iloc[5]).abs().sum(axis=1)
    shares = frame["label"].value_counts(normalize=True)
    expected += (frame["label"] != frame["label"][5]) * (shares**2).sum()
    assert np.allclose(ours, expected)
    cdist = pytest.importorskip("scipy.spatial.distance").cdist
    squared = session.distances(5, "l2")["distance"]
    direct = cdist(standard, standard.iloc[[5]], "sqeuclidean")[:, 0]
    mismatch = (frame["label"] != frame["label"][5]) * (shares**2).sum() ** 2
    assert np.allclose(squared, direct + mismatch)


def test_drift_equals_scipy() -> None:
    from scipy.spatial.distance import jensenshannon
    from scipy.stats import ks_2samp

    frame, features = load_cancer()
    first, second = frame[frame["label"] == 0], frame[frame["label"] == 1]
    ours = (
        Session(first).drift(second, features=[*features, "size"]).to_pandas().set_index("feature")
    )
    for feature in features:
        expected = ks_2samp(first[feature], second[feature]).statistic
        assert ours.loc[feature, "kolmogorov_smirnov"] == pytest.approx(expected)
    shares = [each["size"].value_counts(normalize=True).reindex(["large", "small"])
              for each in (first, second)]  # fmt: skip
    assert ours.loc["size", "jensen_shannon"] == pytest.approx(jensenshannon(*shares, base=2))


def brute_force(frame: Any, groups: Any, cost: Any, accept: Any) -> float:
    """Return the lowest cost of all pairs of 101 thresholds that are acceptable."""
    thresholds = np.arange(101) / 100
    parts = [frame[groups == name] for name in pandas.unique(groups)]
    rates = [np.array([accept(p["label"], p["score"] >= t) for t in thresholds]) for p in parts]
    costs = [np.array([cost(p["label"], p["score"] >= t) for t in thresholds]) for p in parts]
    gap = np.abs(rates[0][:, None] - rates[1][None, :]).reshape(101, 101, -1).max(axis=2)
    total = costs[0][:, None] + costs[1][None, :]
    return float(total[gap <= 0.05 + 1e-12].min())


@pytest.mark.parametrize("ratio", [0.5, 1.0, 3.0])
def test_threshold_strategies_equal_an_exhaustive_search(cancer: Any, ratio: float) -> None:
    frame, model, session = cancer
    scored = frame.assign(score=model.predict_proba(frame[list(model.feature_names_in_)])[:, 1])

    def cost(label: Any, decided: Any) -> float:
        return float(ratio * (decided & (label == 0)).sum() + (~decided & (label == 1)).sum())

    thresholds = np.arange(101) / 100
    single = [cost(scored["label"], scored["score"] >= t) for t in thresholds]
    ours = session.optimize("single", "size", ratio)
    assert ours.cost == min(single) == ours.single_cost
    best = 100 - int(np.argmin(single[::-1]))
    assert (ours["threshold"] == best / 100).all()
    group = session.optimize("group", "size", ratio)
    expected = sum(
        min(cost(part["label"], part["score"] >= t) for t in thresholds)
        for _, part in scored.groupby("size")
    )
    assert group.cost == expected
    bounded = session.optimize("bounded_gap", "size", ratio, max_gap=0.05)
    found = brute_force(scored, scored["size"], cost, lambda label, d: [d.mean()])
    assert bounded.cost == found and bounded.gap <= 0.05 + 1e-9
    rates = lambda label, d: [d[label == 1].mean(), d[label == 0].mean()]  # noqa: E731
    odds = session.optimize("equalized_odds", "size", ratio, max_gap=0.05)
    assert odds.cost == brute_force(scored, scored["size"], cost, rates)
    assert odds.gap <= 0.05 + 1e-9
    for strategy, (rate, compute) in EQUALIZED.items():
        result = session.optimize(strategy, "size", ratio)  # type: ignore[arg-type]
        assert np.ptp(result[rate]) == pytest.approx(result.gap)
        assert result.cost == search_targets(scored, scored["size"], cost, compute)


EQUALIZED: dict[str, Any] = {
    "demographic_parity": ("positive_rate", lambda label, d: d.mean()),
    "equal_opportunity": ("true_positive_rate", lambda label, d: d[label == 1].mean()),
    "equal_accuracy": ("accuracy", lambda label, d: (d == label).mean()),
    "predictive_parity": ("precision", lambda label, d: (label[d] == 1).mean()),
}


def search_targets(frame: Any, groups: Any, cost: Any, rate: Any) -> float:
    """Give each group the threshold nearest to a common target; return the lowest total cost."""
    thresholds = np.arange(101) / 100
    tables = []
    for name in pandas.unique(groups):
        part = frame[groups == name]
        decided = [part["score"] >= t for t in thresholds]
        rates = np.array([rate(part["label"], d) for d in decided])
        tables.append((rates, [cost(part["label"], d) for d in decided]))
    totals = []
    known = np.concatenate([rates[~np.isnan(rates)] for rates, _ in tables])
    for target in np.unique(known):
        total = 0.0
        for rates, costs in tables:
            distance = np.nan_to_num(np.abs(rates - target), nan=np.inf)
            nearest = max(at for at in range(101) if distance[at] == distance.min())
            total += costs[nearest]
        totals.append(total)
    return min(totals)


@pytest.mark.parametrize("max_gap", [0.005, 0.01, 0.02])
def test_equalized_odds_of_many_scores_is_the_cheapest_choice(max_gap: float) -> None:
    from sklearn.datasets import load_digits
    from sklearn.linear_model import LogisticRegression

    pixels, digits = load_digits(return_X_y=True)
    label = (digits >= 5).astype(int)
    scores = LogisticRegression(C=1e-4, max_iter=200).fit(pixels, label).predict_proba(pixels)
    center = np.where(pixels[:, 36] > 8, "dark", "light")
    frame = pandas.DataFrame({"score": scores[:, 1], "label": label, "center": center})
    session = Session(frame, prediction="score", label="label")
    chosen = session.optimize("equalized_odds", "center", 2.0, max_gap=max_gap)
    # All pairs of thresholds.
    tables = []
    for _, part in frame.groupby("center"):
        at = part.score.to_numpy() >= (np.arange(101) / 100)[:, None]
        positive = part.label.to_numpy() == 1
        true_rate, false_rate = at[:, positive].mean(axis=1), at[:, ~positive].mean(axis=1)
        cost = 2 * at[:, ~positive].sum(axis=1) + (~at[:, positive]).sum(axis=1)
        tables.append((true_rate, false_rate, cost))
    (one_true, one_false, one_cost), (other_true, other_false, other_cost) = tables
    gap = np.maximum(abs(one_true[:, None] - other_true), abs(one_false[:, None] - other_false))
    total = one_cost[:, None] + other_cost
    assert chosen.cost == total[gap <= max_gap + 1e-12].min()
    assert chosen.gap <= max_gap + 1e-9


def test_frontier_equals_an_exhaustive_search(cancer: Any) -> None:
    frame, model, session = cancer
    score = model.predict_proba(frame[list(model.feature_names_in_)])[:, 1]
    pairs = []
    for size in ("large", "small"):
        part = (frame["size"] == size).to_numpy()
        label, scores = frame["label"][part].to_numpy(), score[part]
        decided = scores >= (np.arange(101) / 100)[:, None]
        errors = (decided & (label == 0)).sum(axis=1) + (~decided & (label == 1)).sum(axis=1)
        pairs.append((decided.mean(axis=1), errors))
    gaps = np.abs(pairs[0][0][:, None] - pairs[1][0][None, :])
    costs = pairs[0][1][:, None] + pairs[1][1][None, :]
    ours = session.frontier("size").to_pandas().drop_duplicates("choice")
    assert len(ours) > 2 and (np.diff(ours["gap"]) > 0).all() and (np.diff(ours["cost"]) < 0).all()
    for gap, cost in zip(ours["gap"], ours["cost"], strict=True):
        assert cost == costs[gaps <= gap + 1e-9].min()
    assert ours["cost"].iloc[-1] == session.optimize("group", "size").cost


def test_result_of_strategies_does_not_depend_on_the_order_of_rows(cancer: Any) -> None:
    frame, model, session = cancer
    shuffled = frame.sample(frac=1, random_state=3).reset_index(drop=True)
    other = Session(shuffled, model, "label")
    for strategy in EQUALIZED:
        a = session.optimize(strategy, "size").to_pandas().set_index("slice")["threshold"]  # type: ignore[arg-type]
        b = other.optimize(strategy, "size").to_pandas().set_index("slice")["threshold"]  # type: ignore[arg-type]
        assert a.to_dict() == b.to_dict()


def test_slice_without_positives_is_reported_as_undefined() -> None:
    frame = pandas.DataFrame(
        {"group": ["a"] * 4 + ["b"] * 4, "p": [0.1, 0.6, 0.7, 0.9] * 2,
         "label": [0, 1, 0, 1, 0, 0, 0, 0]}
    )  # fmt: skip
    table = Session(frame, label="label", prediction="p").optimize("equal_opportunity", "group")
    assert dict(zip(table["slice"], table["is_defined"], strict=True)) == {
        "group:a": True,
        "group:b": False,
    }
    assert np.isnan(table["true_positive_rate"][1])


def test_intervals_contain_the_value(cancer: Any) -> None:
    _, _, session = cancer
    table = session.performance("size", metrics=["accuracy", "auc"]).to_pandas()
    assert (table["lower"] <= table["value"]).all() and (table["value"] <= table["upper"]).all()
