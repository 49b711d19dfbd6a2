"""Effects of features and drift in What-If equal those of scikit-learn, SciPy and definitions."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pandas
import pytest

from tests.interop.real_data import (
    BINARY,
    MULTICLASS,
    REGRESSION,
    ModelledData,
    load_binary,
    load_multiclass,
    load_regression,
    read_frame,
)
from tracklight.what_if import Session

pytestmark = pytest.mark.slow

pytest.importorskip("sklearn")

LOADERS = {"binary": load_binary, "multiclass": load_multiclass, "regression": load_regression}
CASES = [
    *(("binary", name) for name in BINARY[:3]),
    *(("multiclass", name) for name in MULTICLASS[:2]),
    *(("regression", name) for name in REGRESSION[:3]),
]


def load(task: str, name: str) -> ModelledData:
    return LOADERS[task](name)


def read_means(table: pandas.DataFrame, column: str = "mean") -> Any:
    """Return the values of each class but the first of two, or of the only output."""
    if "class" not in table:
        return [table[column].to_numpy()]
    classes = table["class"].unique().tolist()
    shown = classes[1:] if len(classes) == 2 else classes
    return [table[table["class"] == each][column].to_numpy() for each in shown]


@pytest.mark.parametrize("grid", ["even", "quantiles"])
@pytest.mark.parametrize(("task", "name"), CASES)
def test_partial_dependence_equals_scikit_learn(task: str, name: str, grid: Any) -> None:
    from sklearn.inspection import partial_dependence

    data = load(task, name)
    session = data.make_session()
    options: dict[str, Any] = {"method": "brute", "kind": "both"}
    inputs = data.inputs.astype(float)
    for feature in data.features[:2]:
        values = inputs[feature]
        points = np.linspace(values.min(), values.max(), 10)
        if grid == "quantiles":
            points = values.quantile(np.linspace(0, 1, 10)).to_numpy()
        points = np.unique(points)
        expected = partial_dependence(
            data.model, inputs, [feature], custom_values={feature: points}, **options
        )
        ours = session.partial_dependence(feature, sample=None, grid=grid).to_pandas()
        assert np.allclose(ours["value"].unique(), points)
        for found, mean in zip(read_means(ours), expected["average"], strict=True):
            assert found == pytest.approx(mean)
        errors = read_means(ours, "standard_error")
        curves = session.partial_dependence(feature, sample=None, grid=grid, kind="individual")
        individual = read_means(curves.to_pandas(), "prediction")
        for found, error, by_row in zip(individual, errors, expected["individual"], strict=True):
            assert found.reshape(by_row.shape) == pytest.approx(by_row)
            assert error == pytest.approx(by_row.std(axis=0, ddof=1) / np.sqrt(len(by_row)))
    pair = (data.features[0], data.features[1])
    points_by_name = {each: np.linspace(inputs[each].min(), inputs[each].max(), 4) for each in pair}
    joint = partial_dependence(
        data.model, inputs, [*pair], custom_values=points_by_name, method="brute", kind="average"
    )["average"]
    table = session.partial_dependence(pair, points=4, sample=None).to_pandas()
    for found, mean in zip(read_means(table), joint, strict=True):
        assert found == pytest.approx(mean.reshape(-1))


@pytest.mark.parametrize("name", REGRESSION)
def test_partial_dependence_of_categories_equals_pandas(name: str) -> None:
    data = load_regression(name)
    feature = data.features[0]
    steps = {"low": -1.0, "middle": 0.5, "high": 2.0}

    def predict(frame: pandas.DataFrame) -> Any:
        return frame["group"].map(steps).to_numpy() * frame[feature].to_numpy()

    session = Session(data.frame[["group", feature]], predict, task="regression")
    found = session.partial_dependence("group", sample=None).to_pandas().set_index("value")["mean"]
    assert set(found.index) == set(steps)
    for value, step in steps.items():
        assert found[value] == pytest.approx(step * data.frame[feature].mean())
    ranked = session.partial_dependence(sample=None).to_pandas()["feature"].unique().tolist()
    means = [step * data.frame[feature].mean() for step in steps.values()]
    mean_step = data.frame["group"].map(steps).mean()
    varied = {"group": np.ptp(means), feature: abs(mean_step) * np.ptp(data.frame[feature])}
    assert ranked == sorted(varied, key=lambda each: -varied[each])


IMPORTANCE_CASES = [
    *(("binary", name, metric) for name in BINARY[:3] for metric in ("accuracy", "auc")),
    ("binary", "diabetes", "log_loss"),
    *(("multiclass", name, "accuracy") for name in MULTICLASS[:2]),
    ("multiclass", "wine", "log_loss"),
    *(("regression", name, "r2") for name in ("diabetes", "iris", "wine")),
    ("regression", "linnerud", "mean_absolute_error"),
    ("regression", "iris", "mean_squared_error"),
]
SCORING = {
    "auc": "roc_auc",
    "log_loss": "neg_log_loss",
    "mean_absolute_error": "neg_mean_absolute_error",
    "mean_squared_error": "neg_mean_squared_error",
}


@pytest.mark.parametrize(("task", "name", "metric"), IMPORTANCE_CASES)
def test_permutation_importance_agrees_with_scikit_learn(task: str, name: str, metric: str) -> None:
    from sklearn.inspection import permutation_importance
    from sklearn.metrics import get_scorer

    data = load(task, name)
    scoring = SCORING.get(metric, metric)
    repeats = 30
    expected = permutation_importance(
        data.model, data.inputs, data.label, n_repeats=repeats, random_state=0, scoring=scoring
    )
    found = data.make_session().permutation_importance(metric=metric, repeats=repeats).to_pandas()
    found = found.set_index("feature").loc[data.features]
    difference = np.abs(found["importance"].to_numpy() - expected.importances_mean)
    spread = np.hypot(found["std"].to_numpy(), expected.importances_std) / np.sqrt(repeats)
    assert (difference < 5 * spread + 1e-9).all()
    assert get_scorer(scoring)(data.model, data.inputs, data.label) == pytest.approx(
        _score(data, metric)
    )


def _score(data: ModelledData, metric: str) -> float:
    """Return the score from which importance is measured."""
    from tracklight.analysis.what_if.feature_effects import make_scorer
    from tracklight.analysis.what_if.performance import get_labels_and_scores

    labels, scores = get_labels_and_scores(data.make_session().workspace, None)
    return make_scorer(metric, labels, scores.ndim == 1)(scores)


def enumerate_shapley(
    predict: Any, inputs: pandas.DataFrame, row: int, background: pandas.DataFrame
) -> list[float]:
    """Return the exact Shapley values of one row from all sets of features."""
    names = list(inputs.columns)
    value = {}
    for size in range(len(names) + 1):
        for chosen in itertools.combinations(names, size):
            mixed = background.copy()
            for name in chosen:
                mixed[name] = inputs[name].iloc[row]
            value[chosen] = predict(mixed).mean()
    count = len(names)
    result = []
    for name in names:
        others = [each for each in names if each != name]
        total = 0.0
        for size in range(count):
            weight = math.factorial(size) * math.factorial(count - size - 1) / math.factorial(count)
            for chosen in itertools.combinations(others, size):
                joined = tuple(each for each in names if each in (*chosen, name))
                total += weight * (value[joined] - value[chosen])
        result.append(total)
    return result


@pytest.mark.parametrize(
    ("task", "name"), [case for case in CASES if case != ("regression", "diabetes")]
)
def test_shapley_values_equal_an_enumeration(task: str, name: str) -> None:
    data = load(task, name)
    session = data.make_session()
    rows = [0, len(data.frame) // 2]

    def predict(frame: pandas.DataFrame) -> Any:
        if task == "regression":
            return data.model.predict(frame)
        return data.model.predict_proba(frame)[:, -1]

    inputs = data.inputs.astype(float)
    found = session.shapley_values(rows, background=len(data.frame), permutations=1000).to_pandas()
    for row in rows:
        ours = found[found["row"] == row].set_index("feature").loc[data.features]
        expected = np.array(enumerate_shapley(predict, inputs, row, inputs))
        error = np.abs(ours["contribution"].to_numpy() - expected)
        assert (error < 5 * ours["standard_error"].to_numpy() + 1e-9).all(), (error, expected)
        total = predict(inputs.iloc[[row]])[0] - predict(inputs).mean()
        assert ours["contribution"].sum() == pytest.approx(total)


DRIFT = ["breast_cancer", "iris", "wine", "diabetes", "digits"]


def compute_shares(first: Any, second: Any, edges: Any) -> tuple[Any, Any]:
    bins = [-np.inf, *edges, np.inf]
    counts = [
        pandas.cut(each, bins, right=False).value_counts(sort=False).to_numpy()
        for each in (first, second)
    ]
    return counts[0], counts[1]


@pytest.mark.parametrize("name", DRIFT)
def test_drift_equals_scipy(name: str) -> None:
    from scipy.spatial.distance import jensenshannon
    from scipy.stats import ks_2samp

    frame, features = read_frame(name)
    random = np.random.default_rng(1)
    for feature in features[:6]:
        values = frame[feature].astype(float)
        values[random.uniform(size=len(frame)) < 0.1] = np.nan
        frame[feature] = values
    frame = frame.assign(group=np.where(frame.index % 5 == 1, "rare", "often"))
    middle = frame["label"].median()
    first, second = frame[frame["label"] < middle], frame[frame["label"] >= middle]
    names = [*features[:20], "group"]
    found = Session(first).drift(second, features=names).to_pandas().set_index("feature")
    for feature in features[:20]:
        one, two = first[feature].dropna(), second[feature].dropna()
        ours = found.loc[feature]
        assert ours["kolmogorov_smirnov"] == pytest.approx(ks_2samp(one, two).statistic)
        edges = np.unique(np.quantile(one, np.linspace(0, 1, 21)))[1:-1]
        u, v = compute_shares(one, two, edges)
        p, q = u / u.sum(), v / v.sum()
        assert ours["jensen_shannon"] == pytest.approx(jensenshannon(p, q, base=2))
        p, q = np.maximum(p, 1e-6), np.maximum(q, 1e-6)
        assert ours["population_stability"] == pytest.approx(((q - p) * np.log(q / p)).sum())
        variance = u / u.sum() ** 2 + v / v.sum() ** 2
        terms = (u / u.sum() - v / v.sum()) ** 2 / np.where(variance > 0, variance, 1)
        assert ours["chi_square"] == pytest.approx(terms.sum())
        share = second[feature].isna().mean() - first[feature].isna().mean()
        assert ours["missing_difference"] == pytest.approx(share)
    shares = [each["group"].value_counts(normalize=True).sort_index() for each in (first, second)]
    assert found.loc["group", "jensen_shannon"] == pytest.approx(jensenshannon(*shares, base=2))


@pytest.mark.parametrize("name", DRIFT)
def test_statistics_of_features_with_missing_values_equal_pandas(name: str) -> None:
    frame, features = read_frame(name)
    random = np.random.default_rng(2)
    frame = frame[features[:8]].astype(float)
    frame = frame.mask(random.uniform(size=frame.shape) < 0.05)
    frame["text"] = np.where(frame.index % 4 == 0, None, "v" + (frame.index % 3).astype(str))
    found = Session(frame).feature_statistics().to_pandas().set_index("feature")
    for feature in features[:8]:
        values, ours = frame[feature], found.loc[feature]
        assert (ours["rows"], ours["count"]) == (len(frame), values.count())
        assert ours["missing"] == values.isna().sum()
        assert ours["mean"] == pytest.approx(values.mean())
        assert ours["std"] == pytest.approx(values.std(ddof=0))
        assert ours["median"] == pytest.approx(values.median())
        assert (ours["minimum"], ours["maximum"]) == (values.min(), values.max())
        assert ours["zeros"] == (values == 0).sum() and ours["unique"] == values.nunique()
    text, ours = frame["text"], found.loc["text"]
    counts = text.value_counts()
    assert (ours["missing"], ours["unique"]) == (text.isna().sum(), text.nunique())
    assert ours["top_count"] == counts.iloc[0] and counts[ours["top"]] == counts.iloc[0]
