"""Metrics, curves and slices of What-If equal those of scikit-learn and pandas."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas
import pytest

from tests.interop.real_data import (
    BINARY,
    MULTICLASS,
    REGRESSION,
    SLICE_BY,
    ModelledData,
    list_slices,
    load_binary,
    load_multiclass,
    load_regression,
    or_nan,
)
from tracklight.analysis.evaluation.results import EvaluationResult
from tracklight.analysis.what_if.performance import (
    assign_slices,
    count_binary,
    count_one_vs_rest,
    evaluate,
)
from tracklight.analysis.what_if.thresholds import THRESHOLDS
from tracklight.dashboards.what_if.responses import make_performance_response
from tracklight.dashboards.what_if.schemas import PerformanceRequest, QuantileBuckets
from tracklight.what_if import Session

pytestmark = pytest.mark.slow

pytest.importorskip("sklearn")

LIMITS = [0.0, 0.29, 0.5, 0.57, 1.0]


@pytest.fixture(autouse=True)
def _allow_undefined_metrics() -> Iterator[None]:
    """Let scikit-learn warn about slices without positives."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def read_values(session: Session, **options: Any) -> dict[tuple[Any, ...], float]:
    """Return metrics by slice, metric and threshold; None for those without."""
    table = session.performance(intervals="none", **options).to_pandas()
    limits = [None if np.isnan(limit) else limit for limit in table["threshold"]]
    keys = zip(table["slice"], table["metric"], limits, strict=True)
    return dict(zip(keys, table["value"].tolist(), strict=True))


def compute_at_threshold(truth: Any, decided: Any) -> dict[str, float]:
    from sklearn import metrics

    tn, fp, fn, tp = metrics.confusion_matrix(truth, decided, labels=[0, 1]).ravel().tolist()
    precision, recall, f1, _ = metrics.precision_recall_fscore_support(
        truth, decided, average="binary", zero_division=np.nan
    )
    return {
        "accuracy": float(np.mean(truth == decided)),
        "precision": precision,
        "recall": recall,
        "f1": f1,
        "true_positive_rate": recall,
        "true_negative_rate": or_nan(lambda: tn / (fp + tn)),
        "false_positive_rate": or_nan(lambda: fp / (fp + tn)),
        "false_negative_rate": or_nan(lambda: fn / (fn + tp)),
        "false_discovery_rate": or_nan(lambda: fp / (fp + tp)),
        "false_omission_rate": or_nan(lambda: fn / (fn + tn)),
        "positive_rate": float(np.mean(decided)),
        "negative_rate": 1 - float(np.mean(decided)),
        "true_positives": tp,
        "false_positives": fp,
        "true_negatives": tn,
        "false_negatives": fn,
    }


@pytest.mark.parametrize(
    ("name", "decimals"), [*((name, 2) for name in BINARY), ("breast_cancer", None)]
)
def test_binary_metrics_equal_scikit_learn(name: str, decimals: int | None) -> None:
    """With two decimals many scores equal a threshold."""
    from sklearn import metrics

    data = load_binary(name)
    scores = data.scores[:, 1] if decimals is None else data.scores[:, 1].round(decimals)
    frame = data.frame.assign(score=scores)
    session = Session(frame, label="label", prediction="score", features=data.features)
    at_threshold = list(compute_at_threshold(np.array([0, 1]), np.array([0, 1])))
    without = ["auc", "auc_precision_recall", "average_loss", "brier_score", "label_mean",
               "prediction_mean"]  # fmt: skip
    values = read_values(
        session, slice_by=SLICE_BY, thresholds=LIMITS, metrics=[*at_threshold, *without]
    )
    slices = list_slices(frame)
    assert {key[0] for key in values} == set(slices)
    for slice_name, rows in slices.items():
        truth, score = data.label[rows], scores[rows]
        for limit in LIMITS:
            for metric, value in compute_at_threshold(truth, score >= limit).items():
                found = values[slice_name, metric, limit]
                assert found == pytest.approx(value, nan_ok=True), (slice_name, metric, limit)
        expected = {
            "average_loss": metrics.log_loss(truth, np.clip(score, 1e-7, 1 - 1e-7), labels=[0, 1]),
            "brier_score": metrics.brier_score_loss(truth, score, labels=[0, 1]),
            "label_mean": truth.mean(),
            "prediction_mean": score.mean(),
            "auc": np.nan,
        }
        if len(set(truth.tolist())) == 2:
            expected["auc"] = metrics.roc_auc_score(truth, score)
            expected["auc_precision_recall"] = metrics.average_precision_score(truth, score)
        for metric, value in expected.items():
            found = values[slice_name, metric, None]
            assert found == pytest.approx(value, nan_ok=True, rel=1e-6), (slice_name, metric)


@pytest.mark.parametrize("name", BINARY)
def test_curves_at_101_thresholds_equal_scikit_learn(name: str) -> None:
    """The counts from which the page draws ROC and PR curves and moves thresholds."""
    from sklearn import metrics

    data = load_binary(name)
    scores = data.scores[:, 1].round(2)
    frame = data.frame.assign(score=scores)
    session = Session(frame, label="label", prediction="score")
    assignment, counts = count_binary(session.workspace, None, ["group"])
    for at, slice_name in enumerate(assignment.names):
        rows = (frame["group"] == slice_name.removeprefix("group:")).to_numpy()
        for number, limit in [*enumerate(THRESHOLDS)][at::3]:
            matrix = metrics.confusion_matrix(data.label[rows], scores[rows] >= limit,
                                              labels=[0, 1]).ravel()  # fmt: skip
            ours = [each[at, number] for each in (counts.tn, counts.fp, counts.fn, counts.tp)]
            assert ours == matrix.tolist(), (slice_name, limit)
    # All scores are multiples of 0.01, so that the points of the curve are all of them.
    _, counts = count_binary(session.workspace, None, [])
    false_rate, true_rate, limits = metrics.roc_curve(data.label, scores, drop_intermediate=False)
    at = np.round(limits[1:] * 100).astype(int)
    assert counts.fp[0, at] / (data.label == 0).sum() == pytest.approx(false_rate[1:])
    assert counts.tp[0, at] / (data.label == 1).sum() == pytest.approx(true_rate[1:])
    precision, recall, limits = metrics.precision_recall_curve(data.label, scores)
    at = np.round(limits * 100).astype(int)
    tp, fp = counts.tp[0, at], counts.fp[0, at]
    assert tp / (tp + fp) == pytest.approx(precision[:-1])
    assert tp / data.label.sum() == pytest.approx(recall[:-1])


@pytest.mark.parametrize("name", BINARY)
def test_calibration_and_confusion_equal_scikit_learn_and_pandas(name: str) -> None:
    from sklearn.calibration import calibration_curve

    data = load_binary(name)
    session = data.make_session()
    request = PerformanceRequest("", None, ["group"], intervals="none")  # type: ignore[arg-type]
    response = make_performance_response(session.workspace, request)
    size = len(response.calibration_count) // len(response.slices)
    slices = list_slices(data.frame)
    for at, slice_name in enumerate(response.slices):
        rows = slices[slice_name]
        part = slice(at * size, (at + 1) * size)
        used = response.calibration_count[part] > 0
        share, mean = calibration_curve(data.label[rows], data.scores[rows, 1], n_bins=size)
        assert response.calibration_share[part][used] == pytest.approx(share)
        assert response.calibration_score[part][used] == pytest.approx(mean)
        assert response.calibration_count[part].sum() == rows.sum()
    decided = np.where(data.scores[:, 1] >= 0.4, "1", "0")
    table = session.confusion(("group", "half"), thresholds=0.4).to_pandas()
    half = data.frame["half"].fillna("missing")
    counted = data.frame.groupby([data.frame["group"], half, data.label, decided]).size()
    for row in table.itertuples():
        one, two = row.slice.removeprefix("group_X_half:").split("_X_")
        assert row.count == counted.get((one, two, int(row.label), row.predicted), 0)
    assert table["count"].sum() == len(data.frame)


@pytest.mark.parametrize("name", MULTICLASS)
def test_multiclass_metrics_equal_scikit_learn(name: str) -> None:
    """Without a threshold by the most likely class, with one each class against the others."""
    from sklearn import metrics

    data = load_multiclass(name)
    scores = data.scores.round(1)
    size = scores.shape[1]
    names = [f"p{number}" for number in range(size)]
    frame = data.frame.assign(**dict(zip(names, scores.T, strict=True)))
    session = Session(frame, label="label", prediction=names)
    at_threshold = ["precision", "recall", "f1", "false_positive_rate"]
    names = ["accuracy", "auc", "auc_precision_recall", *at_threshold]
    table = session.performance("group", metrics=names, intervals="none").to_pandas()
    columns = [
        table["slice"],
        table["metric"],
        table["class"].fillna(""),
        table["threshold"] == 0.5,
    ]
    values = dict(zip(zip(*columns, strict=True), table["value"], strict=True))
    decided = scores.argmax(axis=1)
    slices = {key: rows for key, rows in list_slices(frame).items() if "half" not in key}
    undefined: dict[str, Any] = {"zero_division": np.nan}
    for slice_name, rows in slices.items():
        truth, score, decision = data.label[rows], scores[rows], decided[rows]
        for number in range(size):
            is_class, by_score = truth == number, score[:, number]
            for is_limited, chosen in ((False, decision == number), (True, by_score >= 0.5)):
                expected = compute_at_threshold(is_class, chosen)
                for metric in at_threshold:
                    found = values[slice_name, metric, str(number), is_limited]
                    assert found == pytest.approx(expected[metric], nan_ok=True), (
                        slice_name, metric, number, is_limited)  # fmt: skip
            known = 0 < is_class.sum() < len(is_class)
            auc = metrics.roc_auc_score(is_class, by_score) if known else np.nan
            precision = metrics.average_precision_score(is_class, by_score) if known else np.nan
            for metric, value in (("auc", auc), ("auc_precision_recall", precision)):
                found = values[slice_name, metric, str(number), False]
                assert not known or found == pytest.approx(value)
        for average in ("micro", "macro", "weighted"):
            for metric, compute in (
                ("precision", metrics.precision_score),
                ("recall", metrics.recall_score),
                ("f1", metrics.f1_score),
            ):
                value = compute(truth, decision, average=average, labels=range(size), **undefined)
                found = values[slice_name, metric, average, False]
                assert found == pytest.approx(value, nan_ok=True), (slice_name, metric, average)
        accuracy = values[slice_name, "accuracy", "", False]
        assert accuracy == pytest.approx(metrics.accuracy_score(truth, decision))
    matrix = session.confusion()["count"].reshape(size, size)
    assert (matrix == metrics.confusion_matrix(data.label, decided)).all()
    assignment = assign_slices(session.workspace.table, ["group"])
    counts = count_one_vs_rest(session.workspace, None, assignment)
    for at, slice_name in enumerate(assignment.names):
        rows = slices[slice_name]
        for number in range(size):
            above = scores[rows, number] >= THRESHOLDS[:, None]
            is_class = data.label[rows] == number
            assert (counts[0, at, number] == (above & is_class).sum(axis=1)).all()
            assert (counts[1, at, number] == (above & ~is_class).sum(axis=1)).all()


@pytest.mark.parametrize("name", REGRESSION)
def test_regression_errors_equal_scikit_learn(name: str) -> None:
    from sklearn import metrics

    data = load_regression(name)
    values = read_values(data.make_session(), slice_by=SLICE_BY)
    predicted = data.model.predict(data.inputs)
    for slice_name, rows in list_slices(data.frame).items():
        truth, found = data.label[rows], predicted[rows]
        expected = {
            "mean_error": np.mean(found - truth),
            "median_error": np.median(found - truth),
            "mean_absolute_error": metrics.mean_absolute_error(truth, found),
            "median_absolute_error": metrics.median_absolute_error(truth, found),
            "mean_squared_error": metrics.mean_squared_error(truth, found),
            "median_squared_error": np.median((found - truth) ** 2),
            "root_mean_squared_error": metrics.root_mean_squared_error(truth, found),
            "r2": metrics.r2_score(truth, found) if len(set(truth)) > 1 else np.nan,
            "label_mean": truth.mean(),
            "prediction_mean": found.mean(),
        }
        for metric, value in expected.items():
            ours = values[slice_name, metric, None]
            assert ours == pytest.approx(value, nan_ok=True, rel=1e-6), (slice_name, metric)


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("rule", ["equal width", "quantiles", "edges"])
def test_slices_of_numbers_equal_pandas(name: str, rule: str) -> None:
    data = load_binary(name)
    size = data.frame["size"]
    low, high = size.min(), size.max()
    if rule == "quantiles":
        buckets: Any = {"size": QuantileBuckets(4)}
        edges = np.unique(size.quantile([0.25, 0.5, 0.75]))
        edges = edges[edges > low]
    elif rule == "edges":
        edges = np.array([low + (high - low) * 0.2, size.median(), high])
        buckets = {"size": edges.tolist()}
    else:
        buckets = {"size": 5}
        digits = 1 - math.floor(math.log10(size.std(ddof=0)))
        edges = np.linspace(low, high, 6)[1:-1].round(digits)
    request = PerformanceRequest(
        "", None, ["size"], buckets=buckets, intervals="none"  # type: ignore[arg-type]
    )  # fmt: skip
    response = make_performance_response(data.make_session().workspace, request)
    bins = pandas.cut(size, [-np.inf, *edges, np.inf], right=False)
    hits = (data.scores[:, 1] >= 0.5) == data.label
    grouped = pandas.DataFrame({"bin": bins, "hit": hits}).groupby("bin", observed=True)["hit"]
    assert response.counts[1:].tolist() == grouped.size().tolist()
    (accuracy,) = [each.value for each in response.metrics if each.metric == "accuracy"]
    assert accuracy[1:] == pytest.approx(grouped.mean().to_numpy())


def _evaluate_exactly(data: ModelledData) -> EvaluationResult:
    from tracklight.analysis.evaluation.resampling import Resampling

    session = data.make_session()
    return evaluate(
        session.workspace, slice_by=[["group"]], metrics=["accuracy", "recall", "precision"],
        resampling=Resampling("exact"),
    )  # fmt: skip


@pytest.mark.parametrize("name", BINARY)
def test_exact_intervals_equal_scipy(name: str) -> None:
    stats = pytest.importorskip("scipy.stats")
    data = load_binary(name)
    result = _evaluate_exactly(data)
    decided = data.scores[:, 1] >= 0.5
    truth = data.label == 1
    slices = list_slices(data.frame)
    for at, slice_name in enumerate(result.slice_names):
        rows = slices[slice_name]
        parts = {
            "accuracy": (decided == truth)[rows],
            "recall": decided[rows & truth],
            "precision": truth[rows & decided],
        }
        for number, column in enumerate(result.columns):
            hits = parts[column.metric]
            if not len(hits):
                continue
            interval = stats.binomtest(int(hits.sum()), len(hits)).proportion_ci(0.95, "exact")
            ours = (result.lower[at, number], result.upper[at, number])
            assert ours == pytest.approx((interval.low, interval.high), abs=1e-6)


@pytest.mark.parametrize("name", BINARY)
def test_differences_of_two_models_equal_scikit_learn(name: str) -> None:
    from sklearn import metrics
    from sklearn.linear_model import LogisticRegression

    data = load_binary(name)
    other = LogisticRegression().fit(data.inputs, data.label)
    models = {"one": data.model, "two": other}
    session = Session(data.frame, models, "label", features=data.features)
    table = session.compare_performance("one", "two", SLICE_BY).to_pandas()
    values = table.set_index(["slice", "metric"])["difference"]
    scores = [model.predict_proba(data.inputs)[:, 1] for model in models.values()]
    for slice_name, rows in list_slices(data.frame).items():
        truth = data.label[rows]
        one, two = (compute_at_threshold(truth, score[rows] >= 0.5) for score in scores)
        for metric in ("accuracy", "f1", "positive_rate", "false_positive_rate", "recall"):
            found = values[slice_name, metric]
            assert found == pytest.approx(two[metric] - one[metric], nan_ok=True)
        if len(set(truth)) == 2:
            areas = [metrics.roc_auc_score(truth, score[rows]) for score in scores]
            assert values[slice_name, "auc"] == pytest.approx(areas[1] - areas[0])
    compared = session.compare("one", "two").to_pandas().set_index("row").sort_index()
    assert compared["delta"].to_numpy() == pytest.approx(scores[1] - scores[0])
    flipped = (scores[0] >= 0.5) != (scores[1] >= 0.5)
    assert (compared["flipped"].to_numpy() == flipped).all()
