"""Metrics per group equal those of fairlearn, on real data sets that ship with scikit-learn."""

from __future__ import annotations

from typing import NamedTuple

import fairlearn.metrics as fl
import numpy as np
import pytest
import sklearn.metrics as sk
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tracklight.fairness import FairnessResult, evaluate

THRESHOLD = 0.4


class GroupedData(NamedTuple):
    """Labels, scores of a model that was fitted to half of the rows, and groups."""

    labels: NDArray[np.int64]
    scores: NDArray[np.float64]
    groups: NDArray[np.str_]


def fit(features: NDArray[np.float64], labels: NDArray[np.bool_], groups: NDArray) -> GroupedData:
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    model.fit(features[::2], labels[::2])
    return GroupedData(labels.astype(np.int64), model.predict_proba(features)[:, 1], groups)


def load_diabetes_by_sex() -> GroupedData:
    data = load_diabetes(scaled=False)
    sex = np.where(data.data[:, data.feature_names.index("sex")] == 1, "one", "two")
    return fit(data.data, data.target > np.median(data.target), sex)


def load_cancer_by_size() -> GroupedData:
    data = load_breast_cancer()
    sizes = np.digitize(data.data[:, 0], [12, 14, 17]).astype(str)
    return fit(data.data[:, :5], data.target == 1, sizes)


def load_wine_by_alcohol() -> GroupedData:
    data = load_wine()
    return fit(
        data.data[:, 1:4], data.target == 1, np.where(data.data[:, 0] > 13, "strong", "light")
    )


@pytest.fixture(
    scope="module", params=[load_diabetes_by_sex, load_cancer_by_size, load_wine_by_alcohol]
)
def data(request: pytest.FixtureRequest) -> GroupedData:
    loaded: GroupedData = request.param()
    return loaded


@pytest.fixture(scope="module")
def result(data: GroupedData) -> FairnessResult:
    return evaluate(
        {"label": data.labels, "score": data.scores, "group": data.groups},
        label="label",
        prediction="score",
        slices=["group"],
        thresholds=[THRESHOLD],
    )


def make_frame(data: GroupedData) -> fl.MetricFrame:
    return fl.MetricFrame(
        metrics={
            "accuracy": sk.accuracy_score,
            "precision": sk.precision_score,
            "recall": sk.recall_score,
            "true_positive_rate": fl.true_positive_rate,
            "false_positive_rate": fl.false_positive_rate,
            "true_negative_rate": fl.true_negative_rate,
            "false_negative_rate": fl.false_negative_rate,
            "positive_rate": fl.selection_rate,
            "example_count": fl.count,
        },
        y_true=data.labels,
        y_pred=(data.scores > THRESHOLD).astype(int),
        sensitive_features=data.groups,
    )


def get_rates(result: FairnessResult, data: GroupedData, metric: str) -> NDArray[np.float64]:
    names = [f"group:{group}" for group in np.unique(data.groups)]
    return np.array([result.get(metric, name, threshold=THRESHOLD) for name in names])


def test_metrics_by_group_equal_a_metric_frame(data: GroupedData, result: FairnessResult) -> None:
    frame = make_frame(data)
    assert len(frame.by_group) == len(np.unique(data.groups)) > 1
    for metric in frame.by_group.columns:
        threshold = None if metric == "example_count" else THRESHOLD
        overall = result.get(metric, threshold=threshold)
        assert overall == pytest.approx(frame.overall[metric], abs=1e-12)
        for group, value in frame.by_group[metric].items():
            ours = result.get(metric, f"group:{group}", threshold=threshold)
            assert ours == pytest.approx(value, abs=1e-12), (metric, group)


def test_differences_equal_a_metric_frame(data: GroupedData, result: FairnessResult) -> None:
    frame = make_frame(data)
    table = result.difference("Overall").to_pandas().set_index(["slice", "metric"])
    for metric in ("accuracy", "recall", "false_positive_rate", "positive_rate"):
        values = frame.by_group[metric] - frame.overall[metric]
        ours = [table.loc[(f"group:{group}", metric), "difference"] for group in values.index]
        assert np.allclose(ours, values, atol=1e-12)
        spread = frame.difference(method="between_groups")[metric]
        assert np.ptp(get_rates(result, data, metric)) == pytest.approx(spread, abs=1e-12)
        ratios = [table.loc[(f"group:{group}", metric), "relative"] + 1 for group in values.index]
        assert np.allclose(ratios, frame.by_group[metric] / frame.overall[metric], atol=1e-12)


def test_measures_of_disparity_equal_fairlearn(data: GroupedData, result: FairnessResult) -> None:
    arguments = {
        "y_true": data.labels,
        "y_pred": (data.scores > THRESHOLD).astype(int),
        "sensitive_features": data.groups,
    }
    selected = get_rates(result, data, "positive_rate")
    recall = get_rates(result, data, "true_positive_rate")
    false_positive = get_rates(result, data, "false_positive_rate")
    parity = fl.demographic_parity_difference(**arguments)
    assert np.ptp(selected) == pytest.approx(parity, abs=1e-12)
    assert parity > 0.01
    assert selected.min() / selected.max() == pytest.approx(
        fl.demographic_parity_ratio(**arguments), abs=1e-12
    )
    assert max(np.ptp(recall), np.ptp(false_positive)) == pytest.approx(
        fl.equalized_odds_difference(**arguments), abs=1e-12
    )
    assert np.ptp(recall) == pytest.approx(fl.equal_opportunity_difference(**arguments), abs=1e-12)
