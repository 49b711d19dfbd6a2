"""What models may return, and the messages about what they may not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

from tracklight.analysis.predictors import ColumnPredictor, find_prediction_columns
from tracklight.analysis.predictors.model_files import load_model_file
from tracklight.analysis.predictors.python_models import wrap_model
from tracklight.analysis.tables.objects import to_table
from tracklight.errors import ModelError, UsageError

TABLE = to_table({"a": np.arange(5.0), "b": np.arange(5.0) ** 2})


def predict(function: Any, **options: Any) -> Any:
    return wrap_model(function, "m", **options).predict(TABLE)


def test_one_score_per_row_is_the_probability_of_class_1() -> None:
    result = predict(lambda columns: columns["a"] / 10)
    assert np.allclose(result.scores, [[1 - p, p] for p in (0, 0.1, 0.2, 0.3, 0.4)])
    assert np.allclose(predict(lambda c: c["a"][:, None] / 10).scores, result.scores)


def test_regression_and_logits() -> None:
    assert predict(lambda c: c["b"], task="regression").scores.tolist() == [0, 1, 4, 9, 16]
    sigmoid = predict(lambda c: c["a"], output="logits").scores[:, 1]
    assert np.allclose(sigmoid, 1 / (1 + np.exp(-np.arange(5.0))))
    softmax = predict(lambda c: np.stack([c["a"], c["b"], -c["a"]], 1), output="logits").scores
    assert np.allclose(softmax.sum(axis=1), 1)


@pytest.mark.parametrize(
    ("kind", "check"),
    [
        ("numpy", lambda rows: rows.shape == (5, 2)),
        ("pandas", lambda frame: list(frame.columns) == ["a", "b"]),
        ("rows", lambda rows: rows[2] == {"a": 2.0, "b": 4.0}),
        ("dict", lambda columns: columns["b"][3] == 9.0),
        ("arrow", lambda table: table.num_rows == 5),
        ("polars", lambda frame: frame["b"].to_list() == [0, 1, 4, 9, 16]),
        ("table", lambda table: len(table) == 5),
    ],
)
def test_callables_get_the_kind_of_table_they_want(kind: Any, check: Any) -> None:
    def model(table: Any) -> Any:
        assert check(table)
        return np.zeros(5)

    predict(model, input=kind)


def test_dictionary_with_attributions_and_extra_columns() -> None:
    result = predict(
        lambda columns: {
            "predictions": columns["a"] / 10,
            "attributions": {"a": columns["a"], "b": np.zeros(5)},
            "latency": [1, 2, 3, 4, 5],
            "route": list("vwxyz"),
        }
    )
    assert result.attributions["a"].tolist() == [0, 1, 2, 3, 4]
    assert result.extras["latency"].type == "integer"
    assert result.extras["route"].get_value(4) == "z"
    per_row = predict(lambda c: {"predictions": c["a"] / 9, "attributions": [{"a": [1, 2]}] * 5})
    assert per_row.attributions["a"].tolist() == [3] * 5


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda c: np.zeros(3), 'the model "m" returned predictions of shape 3 for 5 rows'),
        (lambda c: 0.5, "of shape a single number for 5 rows"),
        (lambda c: "abc", "did not return an array of numbers"),
        (lambda c: None, "did not return an array of numbers"),
        (lambda c: np.full(5, np.inf), "returned scores outside 0 to 1"),
        (lambda c: np.zeros((5, 2, 3)), "of shape 5 x 2 x 3; a classification model returns"),
        (lambda c: np.zeros((5, 1, 1)), "of shape 5 x 1 x 1; a classification model returns"),
        (lambda c: c["b"], 'returned scores outside 0 to 1; if they are logits, pass output="'),
        (lambda c: {"scores": [1]}, 'returned a dictionary without "predictions"'),
        (lambda c: {"predictions": [0] * 5, "x": [1]}, 'returned 1 values of "x" for 5 rows'),
        (lambda c: c["missing"], "failed with KeyError: 'missing'"),
        (lambda c: 1 / 0, "failed with ZeroDivisionError: division by zero"),
    ],
)
def test_invalid_predictions_are_one_sentence(function: Any, message: str) -> None:
    with pytest.raises(ModelError) as error:
        predict(function)
    assert message in str(error.value)


def test_nan_scores_are_kept_as_nan() -> None:
    scores = predict(lambda c: np.where(c["a"] > 2, np.nan, 0.5)).scores
    assert np.isnan(scores[:, 1]).tolist() == [False, False, False, True, True]


def test_batches_are_joined_and_progress_is_reported() -> None:
    sizes = []

    def model(columns: Any) -> Any:
        sizes.append(len(columns["a"]))
        return columns["a"] / 10

    predictor = wrap_model(model)
    predictor.batch_rows = 2
    reported: list[tuple[int, int]] = []
    result = predictor.predict(TABLE, lambda done, total: reported.append((done, total)))
    assert sizes == [2, 2, 1]
    assert reported == [(0, 5), (2, 5), (4, 5)]
    assert np.allclose(result.scores[:, 1], np.arange(5) / 10)


def test_missing_feature_is_named() -> None:
    with pytest.raises(ModelError, match='needs the feature "age" and 1 more, which the data lack'):
        predict(lambda c: c, features=["a", "age", "sex"])


def test_predictions_that_are_columns() -> None:
    table = TABLE.with_columns(
        to_table({"predictions__probabilities": [[0.2, 0.8]] * 5,
                  "attributions__a": np.ones(5)}).columns.values()
    )  # fmt: skip
    predictor = find_prediction_columns(table)
    assert predictor is not None and predictor.is_static
    result = predictor.predict(table)
    assert result.scores.tolist() == [[0.2, 0.8]] * 5
    assert result.attributions["a"].tolist() == [1] * 5
    values = find_prediction_columns(to_table({"predictions": [1.5, 2.5]}))
    assert values is not None and values.task == "regression"
    assert find_prediction_columns(TABLE) is None
    two = ColumnPredictor("p", ["x", "y"]).predict(to_table({"x": [0.25], "y": [0.75]}))
    assert two.scores.tolist() == [[0.25, 0.75]]


def test_other_objects_are_rejected() -> None:
    with pytest.raises(UsageError, match="a path is not a model"):
        wrap_model("model.onnx")
    with pytest.raises(UsageError, match="neither a known model nor callable"):
        wrap_model(3)


def test_file_that_cannot_be_loaded_leaves_no_process(tmp_path: Path) -> None:
    (tmp_path / "m.onnx").write_bytes(b"no model")
    before = psutil.Process().children()
    with pytest.raises(ModelError, match="cannot load"):
        load_model_file(tmp_path / "m.onnx")
    assert psutil.Process().children() == before
