"""Metrics per slice, compared with scikit-learn and fairlearn on data sets that ship with them."""

from __future__ import annotations

import fairlearn.metrics as fl
import numpy as np
import pytest
import sklearn.metrics as sk

from tests.analysis.evaluation.helpers import (
    Example,
    load_breast_cancer,
    load_diabetes,
    load_wine,
    make_groups,
)
from tracklight.analysis.evaluation import (
    DEFAULT_THRESHOLDS,
    Chunk,
    EvaluationConfig,
    Evaluator,
    metrics,
)
from tracklight.analysis.evaluation.metrics import EXACT_BINS, get_direction, is_count
from tracklight.analysis.evaluation.models import LIFT_BUCKETS
from tracklight.analysis.evaluation.resampling import Resampling
from tracklight.analysis.evaluation.results import EvaluationResult
from tracklight.analysis.evaluation.slices import SliceSpec
from tracklight.errors import UsageError

NO_INTERVALS = Resampling("none")


def evaluate(data: Example, weights=None, chunks=1, counterfactuals=None, **config):
    options = {"resampling": NO_INTERVALS, "max_bins": EXACT_BINS, **config}
    evaluator = Evaluator(EvaluationConfig(**options))
    for part in np.array_split(np.arange(len(data.labels)), chunks):
        evaluator.update(
            Chunk(
                data.labels[part],
                data.scores[part],
                {name: column[part] for name, column in data.columns.items()},
                None if weights is None else weights[part],
                None if counterfactuals is None else counterfactuals[part],
            )
        )
    return evaluator.result()


def list_groups(data: Example, column: str):
    yield "Overall", np.ones(len(data.labels), bool)
    for value in np.unique(data.columns[column]):
        yield f"{column}:{value}", data.columns[column] == value


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    ("data", "column"), [(load_breast_cancer(), "texture"), (make_groups(), "group")]
)
def test_binary_metrics_equal_scikit_learn_and_fairlearn(data, column, weighted):
    weights = np.random.default_rng(3).random(len(data.labels)) if weighted else None
    result = evaluate(data, weights, slices=[SliceSpec(column)], metrics=list_without_flips())
    for name, mask in list_groups(data, column):
        y, score = data.labels[mask], data.scores[mask]
        w = None if weights is None else weights[mask]
        for threshold in DEFAULT_THRESHOLDS:
            predicted = (score > threshold).astype(int)
            expected = {
                "accuracy": sk.accuracy_score(y, predicted, sample_weight=w),
                "precision": sk.precision_score(
                    y, predicted, sample_weight=w, zero_division=np.nan
                ),
                "recall": sk.recall_score(y, predicted, sample_weight=w),
                "f1": sk.f1_score(y, predicted, sample_weight=w),
                "balanced_accuracy": sk.balanced_accuracy_score(y, predicted, sample_weight=w),
                "true_positive_rate": fl.true_positive_rate(y, predicted, sample_weight=w),
                "false_positive_rate": fl.false_positive_rate(y, predicted, sample_weight=w),
                "true_negative_rate": fl.true_negative_rate(y, predicted, sample_weight=w),
                "false_negative_rate": fl.false_negative_rate(y, predicted, sample_weight=w),
                "positive_rate": fl.selection_rate(y, predicted, sample_weight=w),
            }
            for metric, value in expected.items():
                actual = result.get_value(metric, name, threshold)
                assert actual == pytest.approx(value, abs=1e-12, nan_ok=True), (name, metric)
        expected = {
            "auc": sk.roc_auc_score(y, score, sample_weight=w),
            "auc_precision_recall": sk.average_precision_score(y, score, sample_weight=w),
            "average_loss": sk.log_loss(y, np.clip(score, 1e-7, 1 - 1e-7), sample_weight=w),
            "brier_score": sk.brier_score_loss(y, score, sample_weight=w),
            "label_mean": np.average(y, weights=w),
            "prediction_mean": fl.mean_prediction(y, score, sample_weight=w),
            "example_count": mask.sum(),
            "weighted_example_count": mask.sum() if w is None else w.sum(),
        }
        for metric, value in expected.items():
            assert result.get_value(metric, name) == pytest.approx(value, abs=1e-9), metric


def list_without_flips():
    return [
        *metrics.RATES,
        *metrics.THRESHOLD_METRICS,
        *metrics.SCORE_METRICS,
        *metrics.COUNT_METRICS,
    ]


def test_complementary_rates():
    result = evaluate(make_groups(), slices=[SliceSpec("group")])
    for pair in (
        ("positive_rate", "negative_rate"),
        ("true_positive_rate", "false_negative_rate"),
        ("true_negative_rate", "false_positive_rate"),
        ("precision", "false_discovery_rate"),
    ):
        first, second = (result.get_column(name, 0.5) for name in pair)
        np.testing.assert_allclose(result.value[:, first] + result.value[:, second], 1)


def test_false_omission_rate():
    data = make_groups()
    negative = data.scores <= 0.4
    result = evaluate(data)
    expected = data.labels[negative].mean()
    assert result.get_value("false_omission_rate", threshold=0.4) == pytest.approx(expected)


def test_multiclass_equals_scikit_learn():
    data = load_wine()
    result = evaluate(data, task="multiclass", thresholds=(0.3,), slices=[SliceSpec("magnesium")])
    for name, mask in list_groups(data, "magnesium"):
        y, scores = data.labels[mask], data.scores[mask]
        predicted = scores.argmax(axis=1)
        assert get(result, "accuracy", name) == pytest.approx(sk.accuracy_score(y, predicted))
        for average in ("micro", "macro", "weighted"):
            for metric, function in (
                ("precision", sk.precision_score),
                ("recall", sk.recall_score),
                ("f1", sk.f1_score),
            ):
                expected = function(y, predicted, average=average)
                assert get(result, metric, name, average) == pytest.approx(expected), metric
        for average in ("macro", "weighted"):
            expected = sk.roc_auc_score(y, scores, multi_class="ovr", average=average)
            assert get(result, "auc", name, average) == pytest.approx(expected)
        one_hot = np.eye(3)[y]
        expected = sk.roc_auc_score(one_hot.ravel(), scores.ravel())
        assert get(result, "auc", name, "micro") == pytest.approx(expected)
        expected = sk.recall_score(one_hot, scores > 0.3, average=None)
        for number in range(3):
            actual = get(result, "recall", name, str(number), 0.3)
            assert actual == pytest.approx(expected[number])


def get(result: EvaluationResult, metric, slice_, output=None, threshold=None):
    at = [
        number
        for number, column in enumerate(result.columns)
        if (column.metric, column.output, column.threshold) == (metric, output, threshold)
    ]
    return result.value[result.get_slice(slice_), at[0]]


@pytest.mark.parametrize("weighted", [False, True])
def test_regression_equals_scikit_learn(weighted):
    data = load_diabetes()
    weights = np.random.default_rng(3).random(len(data.labels)) if weighted else None
    result = evaluate(data, weights, task="regression", slices=[SliceSpec("sex")], chunks=3)
    for name, mask in list_groups(data, "sex"):
        y, p = data.labels[mask], data.scores[mask]
        w = None if weights is None else weights[mask]
        expected = {
            "mean_absolute_error": sk.mean_absolute_error(y, p, sample_weight=w),
            "mean_squared_error": sk.mean_squared_error(y, p, sample_weight=w),
            "root_mean_squared_error": sk.root_mean_squared_error(y, p, sample_weight=w),
            "r2": sk.r2_score(y, p, sample_weight=w),
            "mean_error": np.average(p - y, weights=w),
            "label_mean": np.average(y, weights=w),
        }
        for metric, value in expected.items():
            assert result.get_value(metric, name) == pytest.approx(value), metric


def test_flips_are_shares_of_all_rows():
    data = make_groups()
    changed = np.clip(data.scores + np.random.default_rng(5).normal(0, 0.1, len(data.scores)), 0, 1)
    result = evaluate(data, counterfactuals=changed, slices=[SliceSpec("group")])
    mask = data.columns["group"] == "b"
    before, after = data.scores[mask] > 0.5, changed[mask] > 0.5
    values = {
        "flip_rate": (before != after).mean(),
        "positive_to_negative_flip_rate": (before & ~after).mean(),
        "negative_to_positive_flip_rate": (~before & after).mean(),
        "flip_count": (before != after).sum(),
    }
    for metric, value in values.items():
        assert result.get_value(metric, "group:b", 0.5) == pytest.approx(value)


def test_lift_of_binary_model():
    data = make_groups()
    result = evaluate(data, metrics=["lift"], slices=[SliceSpec("group")])
    mask = data.columns["group"] == "c"
    y, p = data.labels, data.scores
    expected = p[mask].mean() - sum(
        (y[mask] == label).mean() * p[y == label].mean() for label in (0, 1)
    )
    assert result.get_value("lift", "group:c") == pytest.approx(expected)
    assert result.get_value("lift") == pytest.approx(0, abs=1e-12)


def test_lift_of_regression_model_uses_label_buckets():
    data = load_diabetes()
    result = evaluate(
        data, task="regression", metrics=["lift"], slices=[SliceSpec("sex")], label_range=(0, 350)
    )
    bucket = np.floor(data.labels / 350 * LIFT_BUCKETS)
    mask = data.columns["sex"] == "1"
    background = {b: data.scores[bucket == b].mean() for b in np.unique(bucket)}
    expected = data.scores[mask].mean() - np.mean([background[b] for b in bucket[mask]])
    assert result.get_value("lift", "sex:1") == pytest.approx(expected)


def test_result_does_not_depend_on_chunks():
    data = make_groups()
    for method in ("jackknife", "bootstrap"):
        config = {"slices": [SliceSpec("group")], "resampling": Resampling(method)}
        whole, parts = evaluate(data, **config), evaluate(data, chunks=7, **config)
        for name in parts.slice_names:
            a, b = whole.get_slice(name), parts.get_slice(name)
            columns = [
                number
                for number, column in enumerate(whole.columns)
                if not column.metric.startswith("auc")
            ]
            np.testing.assert_allclose(whole.value[a, columns], parts.value[b, columns])
            np.testing.assert_allclose(whole.lower[a, columns], parts.lower[b, columns])


def test_histogram_of_many_scores_is_close_to_exact():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 50_000)
    data = Example(labels, rng.beta(1 + labels, 2, 50_000), {})
    result = evaluate(data, max_bins=1024)
    exact = sk.roc_auc_score(labels, data.scores)
    assert result.get_value("auc") == pytest.approx(exact, abs=1e-5)
    recall = (data.scores[labels == 1] > 0.3).mean()
    assert result.get_value("recall", threshold=0.3) == pytest.approx(recall, abs=1e-12)


def test_merged_bins_keep_threshold_metrics_exact():
    data = make_groups()
    evaluator = Evaluator(EvaluationConfig(slices=[SliceSpec("age")], resampling=NO_INTERVALS))
    evaluator.model.histogram.max_cells = 20_000
    evaluator.update(Chunk(data.labels, data.scores, data.columns))
    result = evaluator.result()
    assert evaluator.model.histogram.bins < 200
    mask = (data.columns["age"] == 40) & (data.labels == 1)
    expected = (data.scores[mask] > 0.5).mean()
    assert result.get_value("recall", "age:40", 0.5) == pytest.approx(expected)
    exact = sk.roc_auc_score(data.labels, data.scores)
    assert result.get_value("auc") == pytest.approx(exact, abs=2e-3)


def test_float32_scores_are_compared_in_float32():
    data = Example(np.array([1, 1, 0]), np.array([0.3, 0.7, 0.1], np.float32), {})
    result = evaluate(data, thresholds=(0.3,))
    assert result.get_value("recall", threshold=0.3) == 0.5


def test_undefined_metrics_are_nan():
    data = Example(np.array([0, 0, 0]), np.array([0.1, 0.2, 0.3]), {})
    result = evaluate(data, thresholds=(0.5,))
    for metric in ("recall", "precision", "auc", "auc_precision_recall"):
        assert np.isnan(result.value[0, result.get_column(metric)])
    assert result.get_value("false_positive_rate") == 0


def test_nan_predictions_are_left_out_and_reported():
    data = make_groups()
    scores = data.scores.copy()
    scores[:5] = np.nan
    scores[5] = np.inf
    result = evaluate(Example(data.labels, scores, data.columns), slices=[SliceSpec("group")])
    assert result.get_value("example_count") == len(scores) - 6
    assert tuple(map(str, result.warnings)) == (
        "6 rows have a prediction that is NaN or infinite; they were left out.",
    )
    exact = sk.roc_auc_score(data.labels[6:], data.scores[6:])
    assert result.get_value("auc") == pytest.approx(exact)


def test_small_slices_are_omitted():
    data = make_groups()
    result = evaluate(data, slices=[SliceSpec("group")], min_slice_size=1000)
    assert "group:c" not in result.slice_names
    assert result.omitted == ((("group", "c"),),)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"thresholds": (0.5, 1.5)}, "thresholds must be between 0 and 1, not 1.5"),
        ({"metrics": ["recal"]}, 'unknown metric "recal"; did you mean "recall"?'),
        ({"slices": [SliceSpec("grup")]}, 'no column "grup"; did you mean "group"?'),
        ({"task": "ranking"}, 'unknown task "ranking"'),
        ({"metrics": ["flip_rate"]}, "needs a counterfactual prediction"),
        ({"min_slice_size": 0}, "minimum slice size"),
    ],
)
def test_invalid_configuration_is_one_sentence(change, message):
    with pytest.raises(UsageError, match=message.replace("?", r"\?")):
        evaluate(make_groups(), **change)


def test_invalid_rows_are_one_sentence():
    evaluator = Evaluator(EvaluationConfig(resampling=NO_INTERVALS))
    with pytest.raises(UsageError, match="labels of a binary model must be 0 and 1"):
        evaluator.update(Chunk(np.array([0, 2]), np.array([0.1, 0.2])))
    with pytest.raises(UsageError, match="2 predictions, but labels has 3 rows"):
        evaluator.update(Chunk(np.array([0, 1, 1]), np.array([0.1, 0.2])))
    with pytest.raises(UsageError, match="weights must not be negative"):
        evaluator.update(Chunk(np.array([0]), np.array([0.1]), weights=np.array([-1.0])))
    with pytest.raises(UsageError, match="no rows"):
        Evaluator(EvaluationConfig()).result()


@pytest.mark.parametrize(
    ("task", "chunk", "message"),
    [
        ("binary", {"predictions": np.zeros((2, 2))}, "binary models have one score for each row"),
        ("binary", {"labels": np.array(["a", "b"])}, "must be numbers, not <U1"),
        ("regression", {"predictions": np.zeros((2, 2))}, "regression models have one prediction"),
        ("regression", {"counterfactuals": np.zeros(2)}, "flip rates are available for binary"),
        ("multiclass", {}, "multi-class predictions need one column of scores for each class"),
        ("multiclass", {"predictions": np.zeros((2, 1))}, "the number of classes must be 2 to"),
        ("multiclass", {"predictions": np.zeros((2, 4))}, "there are 4 classes, but 3 class names"),
        (
            "multiclass",
            {"predictions": np.zeros((2, 3)), "labels": np.array([0, 3])},
            "labels must be class numbers from 0 to 2",
        ),
        (
            "multiclass",
            {"predictions": np.zeros((2, 3)), "labels": np.array([0, 0.5])},
            "labels must be class numbers from 0 to 2",
        ),
        (
            "multiclass",
            {"predictions": np.zeros((2, 3)), "counterfactuals": np.zeros(2)},
            "flip rates are available for binary models only",
        ),
    ],
)
def test_rows_that_do_not_fit_the_task(task, chunk, message):
    names = ("a", "b", "c") if task == "multiclass" else None
    config = EvaluationConfig(task=task, resampling=NO_INTERVALS, class_names=names)
    fields = {"labels": np.array([0, 1]), "predictions": np.array([0.1, 0.2]), **chunk}
    with pytest.raises(UsageError, match=message):
        Evaluator(config).update(Chunk(**fields))


def test_the_number_of_classes_stays_the_same():
    evaluator = Evaluator(EvaluationConfig(task="multiclass", resampling=NO_INTERVALS))
    evaluator.update(Chunk(np.array([0, 1]), np.eye(2)))
    with pytest.raises(UsageError, match="there were 2 classes, and now 3"):
        evaluator.update(Chunk(np.array([0, 1, 2]), np.eye(3)))


def test_rows_without_weight_or_counterfactual_are_left_out_and_reported():
    labels, scores = np.array([0, 1, 1, 0]), np.array([0.2, 0.9, 0.4, 0.8])
    changed = np.array([0.7, 0.9, np.nan, 0.1])
    weights = np.array([1.0, np.nan, 1.0, 3.0])
    result = evaluate(Example(labels, scores, {}), weights, counterfactuals=changed,
                      thresholds=(0.5,))  # fmt: skip
    assert sorted(map(str, result.warnings)) == [
        "1 rows have a counterfactual prediction that is NaN or infinite; they were left out.",
        "1 rows have a weight that is NaN or infinite; they were left out.",
    ]
    assert result.get_value("weighted_example_count") == 4
    assert result.get_value("flip_rate", threshold=0.5) == 1


def test_lift_needs_its_background():
    config = {"slices": [SliceSpec("group")], "metrics": ["lift"]}
    with pytest.raises(UsageError, match="the background slice of lift is not among the slices"):
        evaluate(make_groups(), background=(("group", "z"),), **config)


def test_slices_and_metrics_that_are_not_in_a_result():
    result = evaluate(make_groups(), slices=[SliceSpec("group")], thresholds=(0.3, 0.5))
    for call, message in (
        (lambda: result.get_slice("group:aa"), 'no slice "group:aa"; did you mean "group:a"?'),
        (lambda: result.get_slice("q"), 'no slice "q"'),
        (lambda: result.get_column("recall"), '"recall" was computed at several thresholds or for'),
        (lambda: result.get_column("recall", 0.7), 'no metric "recall" at threshold 0.7'),
    ):
        with pytest.raises(UsageError) as error:
            call()
        assert str(error.value).startswith(message)


def test_differences_between_groups_equal_fairlearn():
    data = make_groups()
    predicted = (data.scores > 0.5).astype(int)
    frame = fl.MetricFrame(
        metrics={"recall": sk.recall_score, "positive_rate": fl.selection_rate},
        y_true=data.labels,
        y_pred=predicted,
        sensitive_features=data.columns["group"],
    )
    result = evaluate(data, slices=[SliceSpec("group")], thresholds=(0.5,))
    difference = result.difference("group:a", "none")
    for metric in ("recall", "positive_rate"):
        column = result.get_column(metric)
        for group in "abc":
            row = result.get_slice(f"group:{group}")
            assert result.value[row, column] == pytest.approx(frame.by_group[metric][group])
            expected = frame.by_group[metric][group] - frame.by_group[metric]["a"]
            assert difference.absolute[row, column] == pytest.approx(expected)
    column = result.get_column("positive_rate")
    groups = [result.get_slice(f"group:{group}") for group in "abc"]
    gap = np.ptp(result.value[groups, column])
    assert gap == pytest.approx(
        fl.demographic_parity_difference(
            data.labels, predicted, sensitive_features=data.columns["group"]
        )
    )


def test_metrics_of_tfma_have_a_direction():
    names = ("binary_accuracy_diff", "loss", "accuracy (unweighted)", "positive_rate", "custom")
    directions = [get_direction(name) for name in names]
    assert directions == ["higher", "lower", "higher", "neutral", "neutral"]
    counts = ("true_positives", "example_count_diff", "flip_count", "flip_rate")
    assert [is_count(name) for name in counts] == [True, True, True, False]
