"""Models of scikit-learn, XGBoost and ONNX give their own predictions, as objects and as files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.model_process import run_model_file
from tracklight.analysis.predictors.model_files import ModelFilePredictor, load_model_file
from tracklight.analysis.predictors.python_models import wrap_model
from tracklight.analysis.tables.objects import to_table
from tracklight.errors import ModelError, UsageError

pytestmark = pytest.mark.slow

sklearn_datasets = pytest.importorskip("sklearn.datasets")


@pytest.fixture(scope="module")
def iris() -> Any:
    return sklearn_datasets.load_iris(as_frame=True)


def test_scikit_learn_by_name_and_by_position(iris: Any) -> None:
    from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier

    model = LogisticRegression(max_iter=500).fit(iris.data, iris.target_names[iris.target])
    predictor = wrap_model(model)
    assert predictor.class_names == ("setosa", "versicolor", "virginica")
    # Columns in another order, and one that the model does not know.
    shuffled = iris.data[iris.data.columns[::-1]].assign(extra="x")
    scores = predictor.predict(to_table(shuffled)).scores
    assert np.allclose(scores, model.predict_proba(iris.data))
    by_position = LogisticRegression(max_iter=500).fit(iris.data.to_numpy(), iris.target)
    scores = wrap_model(by_position).predict(to_table(iris.data)).scores
    assert np.allclose(scores, by_position.predict_proba(iris.data.to_numpy()))
    with pytest.raises(ModelError, match="trained with 4 features and gets 3"):
        wrap_model(by_position).predict(to_table(iris.data.iloc[:, :3]))
    ridge = Ridge().fit(iris.data, iris.target)
    values = wrap_model(ridge).predict(to_table(iris.data))
    assert np.allclose(values.scores, ridge.predict(iris.data))
    with pytest.raises(UsageError, match="RidgeClassifier has no predict_proba"):
        wrap_model(RidgeClassifier().fit(iris.data, iris.target))


def test_xgboost_booster_with_attributions(iris: Any) -> None:
    xgboost = pytest.importorskip("xgboost")
    target = (iris.target == 2).astype(int)
    matrix = xgboost.DMatrix(iris.data, target)
    booster = xgboost.train({"objective": "binary:logistic"}, matrix, 5)
    result = wrap_model(booster).predict(to_table(iris.data))
    assert np.allclose(result.scores[:, 1], booster.predict(matrix), atol=1e-6)
    logits = sum(result.attributions.values())
    bias = booster.predict(matrix, pred_contribs=True)[:, -1]
    assert np.allclose(1 / (1 + np.exp(-logits - bias)), result.scores[:, 1], atol=1e-4)


def test_xgboost_with_categories(tmp_path: Path) -> None:
    xgboost = pytest.importorskip("xgboost")
    pandas = pytest.importorskip("pandas")
    random = np.random.default_rng(0)
    rows = pandas.DataFrame(
        {"job": random.choice(["a", "b", "c"], 300), "age": random.integers(20, 70, 300)}
    )
    target = (rows.job == "b") & (rows.age > 40)
    categories = rows.astype({"job": "category"})
    classifier = xgboost.XGBClassifier(n_estimators=5, enable_categorical=True)
    classifier.fit(categories, target)
    expected = classifier.predict_proba(categories)[:, 1]
    booster = classifier.get_booster()
    booster.save_model(tmp_path / "m.ubj")
    with run_model_file(tmp_path / "m.ubj") as in_process:
        for model in (wrap_model(classifier), wrap_model(booster), in_process):
            assert np.allclose(model.predict(to_table(rows)).scores[:, 1], expected, atol=1e-6)
            # The categories of a few rows are not those of all.
            few = model.predict(to_table(rows[4:5])).scores[:, 1]
            assert np.allclose(few, expected[4:5], atol=1e-6)
            missing = to_table([{"job": None, "age": 30}])
            assert np.isfinite(model.predict(missing).scores).all()
            with pytest.raises(ModelError, match='does not know the value "z" of "job"'):
                model.predict(to_table([{"job": "z", "age": 30}]))


@pytest.mark.parametrize(
    ("objective", "classes"), [("binary:logitraw", 2), ("multi:softmax", 3), ("multi:softprob", 3)]
)
def test_xgboost_objectives_become_probabilities(iris: Any, objective: str, classes: int) -> None:
    xgboost = pytest.importorskip("xgboost")
    target = iris.target if classes == 3 else (iris.target == 2).astype(int)
    options = {"objective": objective, **({"num_class": 3} if classes == 3 else {})}
    booster = xgboost.train(options, xgboost.DMatrix(iris.data, target), 5)
    margin = booster.predict(xgboost.DMatrix(iris.data), output_margin=True)
    logits = margin if classes == 3 else np.stack([np.zeros(len(margin)), margin], axis=1)
    expected = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    result = wrap_model(booster).predict(to_table(iris.data))
    assert np.allclose(result.scores, expected, atol=1e-5)


def make_onnx(weights: Any, bias: Any, batch: int | None = None) -> Any:
    onnx = pytest.importorskip("onnx")
    from onnx import TensorProto, helper, numpy_helper

    width, classes = weights.shape
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["m"]),
        helper.make_node("Add", ["m", "b"], ["logits"]),
        helper.make_node("Softmax", ["logits"], ["probabilities"]),
    ]
    graph = helper.make_graph(
        nodes,
        "linear",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [batch, width])],
        [
            helper.make_tensor_value_info("logits", TensorProto.FLOAT, [batch, classes]),
            helper.make_tensor_value_info("probabilities", TensorProto.FLOAT, [batch, classes]),
        ],
        [
            numpy_helper.from_array(weights.astype(np.float32), "w"),
            numpy_helper.from_array(bias.astype(np.float32), "b"),
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    return model


def test_onnx_object_and_file_in_a_process(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    random = np.random.default_rng(0)
    weights, bias, rows = (
        random.normal(size=(3, 2)),
        random.normal(size=2),
        random.normal(size=(5, 3)),
    )
    model = make_onnx(weights, bias)
    logits = rows @ weights + bias
    expected = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    assert np.allclose(wrap_model(model).predict(to_table(rows)).scores, expected, atol=1e-5)
    fixed = wrap_model(make_onnx(weights, bias, batch=2))  # 5 rows are 3 batches
    assert np.allclose(fixed.predict(to_table(rows)).scores, expected, atol=1e-5)
    path = tmp_path / "m.onnx"
    path.write_bytes(model.SerializeToString())
    with run_model_file(path) as predictor:
        assert predictor.name == "m"
        assert np.allclose(predictor.predict(to_table(rows)).scores, expected, atol=1e-5)
        with pytest.raises(ModelError, match='the model "m" failed'):
            predictor.predict(to_table(rows[:, :2]))
        # The process still works after an error.
        assert np.allclose(predictor.predict(to_table(rows)).scores, expected, atol=1e-5)


def open_onnx(nodes: list[Any], inputs: dict[str, tuple[int, list[Any]]], outputs: Any) -> Any:
    """Return a session of a graph; inputs and outputs have a type and a shape."""
    onnx = pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    from onnx import helper

    graph = helper.make_graph(
        nodes,
        "graph",
        [helper.make_tensor_value_info(name, *info) for name, info in inputs.items()],
        outputs,
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    onnx.checker.check_model(model)
    return runtime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])


def test_onnx_session_with_an_input_per_feature() -> None:
    pytest.importorskip("onnx")
    from onnx import TensorProto, helper

    nodes = [
        helper.make_node("Cast", ["age"], ["years"], to=TensorProto.FLOAT),
        helper.make_node("LabelEncoder", ["job"], ["effect"], domain="ai.onnx.ml",
                         keys_strings=["a", "b"], values_floats=[10.0, 20.0],
                         default_float=0.0),
        helper.make_node("Sum", ["years", "effect", "pay"], ["value"]),
    ]  # fmt: skip
    inputs: Any = {
        "pay": (TensorProto.FLOAT, [None, 1]),
        "age": (TensorProto.INT64, [None, 1]),
        "job": (TensorProto.STRING, [None, 1]),
    }
    output = helper.make_tensor_value_info("value", TensorProto.FLOAT, [None, 1])
    predictor = wrap_model(open_onnx(nodes, inputs, [output]), task="regression")
    assert predictor.features == ("pay", "age", "job")
    table = to_table({"job": ["a", "b", "z"], "other": [9] * 3, "age": [1, 2, 3], "pay": [0.5] * 3})
    assert predictor.predict(table).scores.tolist() == [11.5, 22.5, 3.5]


@pytest.mark.parametrize("batch", [None, 2])
def test_onnx_model_with_a_dictionary_per_row(batch: int | None) -> None:
    pytest.importorskip("onnx")
    from onnx import TensorProto, helper

    # scikit-learn's converter adds this operator to classifiers.
    node = helper.make_node("ZipMap", ["x"], ["probability"], domain="ai.onnx.ml",
                            classlabels_strings=["no", "yes"])  # fmt: skip
    kind = helper.make_map_type_proto(
        TensorProto.STRING, helper.make_tensor_type_proto(TensorProto.FLOAT, [])
    )
    output = helper.make_value_info("probability", helper.make_sequence_type_proto(kind))
    session = open_onnx([node], {"x": (TensorProto.FLOAT, [batch, 2])}, [output])
    scores = [[0.25, 0.75], [0.5, 0.5], [1.0, 0.0]]
    predictor = wrap_model(session)
    assert predictor.predict(to_table(np.array(scores))).scores.tolist() == scores
    assert predictor.class_names == ("no", "yes")
    named = wrap_model(session, class_names=["0", "1"])
    assert named.predict(to_table(np.array(scores))).scores.tolist() == scores
    assert named.class_names == ("0", "1")


def test_onnx_model_of_images() -> None:
    pytest.importorskip("onnx")
    from onnx import TensorProto, helper

    node = helper.make_node("ReduceMean", ["x"], ["scores"], axes=[1], keepdims=0)
    output = helper.make_tensor_value_info("scores", TensorProto.DOUBLE, [None, 3])
    session = open_onnx([node], {"x": (TensorProto.DOUBLE, [None, 2, 3])}, [output])
    images = np.arange(24.0).reshape(4, 2, 3) / 24
    result = wrap_model(session).predict(to_table(images))
    assert np.allclose(result.scores, images.mean(axis=1))


def test_single_input_gets_the_column_of_its_name() -> None:
    pytest.importorskip("onnx")
    from onnx import TensorProto, helper

    node = helper.make_node("Identity", ["pixels"], ["scores"])
    output = helper.make_tensor_value_info("scores", TensorProto.DOUBLE, [None, 2])
    session = open_onnx([node], {"pixels": (TensorProto.DOUBLE, [None, 2])}, [output])
    pixels = [[0.25, 0.75], [0.5, 0.5]]
    predictor = wrap_model(session)
    table = to_table({"name": ["a", "b"], "ink": [1.0, 2.0], "pixels": pixels})
    assert predictor.predict(table).scores.tolist() == pixels
    assert predictor.features == ("pixels",)
    # A column with another number of values is no more than a part of the input.
    table = to_table({"pixels": [0.25, 0.5], "other": [0.75, 0.5]})
    assert wrap_model(session).predict(table).scores.tolist() == pixels
    table = to_table({"size": [1.0, 2.0], "city": ["Oslo", "Bergen"]})
    with pytest.raises(ModelError, match=r'"network" failed: "city" has no numbers.*without it'):
        wrap_model(session, "network").predict(table)


def test_onnx_input_of_an_unsupported_type() -> None:
    pytest.importorskip("onnx")
    from onnx import TensorProto, helper

    node = helper.make_node("Cast", ["x"], ["y"], to=TensorProto.FLOAT)
    output = helper.make_tensor_value_info("y", TensorProto.FLOAT, [None, 1])
    session = open_onnx([node], {"x": (TensorProto.UINT8, [None, 1])}, [output])
    with pytest.raises(ModelError, match="has an input of type uint8, which is not supported"):
        wrap_model(session).predict(to_table(np.ones((2, 1))))


def test_xgboost_regression_and_raw_objectives(iris: Any) -> None:
    xgboost = pytest.importorskip("xgboost")
    data = iris.data.to_numpy()  # without names of features
    matrix = xgboost.DMatrix(data, iris.target)
    regression = xgboost.train({"objective": "reg:squarederror"}, matrix, 2)
    result = wrap_model(regression).predict(to_table(data))
    assert np.allclose(result.scores, regression.predict(matrix), atol=1e-5)
    assert list(result.attributions) == [f"feature_{number}" for number in range(4)]
    options = {"objective": "multi:softmax", "num_class": 3}
    classes = xgboost.train(options, matrix, 2)
    scores = wrap_model(classes).predict(to_table(data)).scores
    assert scores.shape == (150, 3) and not wrap_model(classes).predict(to_table(data)).attributions
    assert np.array_equal(scores.argmax(axis=1), classes.predict(matrix))


def test_scikit_learn_file(tmp_path: Path, iris: Any) -> None:
    from sklearn.linear_model import LogisticRegression

    skops = pytest.importorskip("skops.io")
    estimator = LogisticRegression(max_iter=500).fit(iris.data, iris.target)
    skops.dump(estimator, tmp_path / "m.skops")
    with run_model_file(tmp_path / "m.skops") as predictor:
        scores = predictor.predict(to_table(iris.data)).scores
        assert np.allclose(scores, estimator.predict_proba(iris.data), atol=1e-5)


def test_pipeline_with_encoder_and_imputer_is_trusted(tmp_path: Path) -> None:
    from sklearn.compose import make_column_transformer
    from sklearn.ensemble import VotingClassifier
    from sklearn.feature_selection import SelectKBest
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    skops = pytest.importorskip("skops.io")
    pandas = pytest.importorskip("pandas")
    random = np.random.default_rng(0)
    rows = pandas.DataFrame({"job": random.choice(["a", "b"], 90), "age": random.normal(size=90)})
    rows.loc[::7, "age"] = np.nan
    columns = make_column_transformer((OneHotEncoder(), ["job"]), (SimpleImputer(), ["age"]))
    vote = VotingClassifier([("one", LogisticRegression())], voting="soft")
    model = make_pipeline(columns, SelectKBest(k=2), vote).fit(rows, random.integers(0, 2, 90))
    skops.dump(model, tmp_path / "m.skops")
    with run_model_file(tmp_path / "m.skops") as predictor:
        scores = predictor.predict(to_table(rows)).scores
        assert np.allclose(scores, model.predict_proba(rows), atol=1e-5)


def test_trees_are_trusted_and_functions_are_not(tmp_path: Path, iris: Any) -> None:
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer

    skops = pytest.importorskip("skops.io")
    forest = RandomForestClassifier(3, random_state=0).fit(iris.data, iris.target)
    skops.dump(forest, tmp_path / "forest.skops")
    with run_model_file(tmp_path / "forest.skops") as predictor:
        scores = predictor.predict(to_table(iris.data)).scores
        assert np.allclose(scores, forest.predict_proba(iris.data), atol=1e-5)
    skops.dump(make_pipeline(FunctionTransformer(eval), forest), tmp_path / "code.skops")
    with pytest.raises(ModelError, match=r"not trusted: builtins\.eval"):
        load_model_file(tmp_path / "code.skops")


def test_pickles_and_other_files_are_refused(tmp_path: Path) -> None:
    import pickle

    path = tmp_path / "m.pkl"
    path.write_bytes(pickle.dumps({}))
    with pytest.raises(ModelError, match="is a pickle, which can run any code"):
        load_model_file(path)
    with pytest.raises(ModelError, match="no model file"):
        load_model_file(tmp_path / "none.onnx")
    (tmp_path / "x.txt").write_text("hello")
    with pytest.raises(ModelError, match="is not a model file"):
        load_model_file(tmp_path / "x.txt")
    (tmp_path / "folder").mkdir()
    with pytest.raises(ModelError, match=r"a folder without saved_model.pb"):
        load_model_file(tmp_path / "folder")


def test_time_and_memory_limits(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    path = tmp_path / "m.onnx"
    path.write_bytes(make_onnx(np.ones((2, 2)), np.zeros(2)).SerializeToString())
    predictor = ModelFilePredictor("m", str(path), timeout_s=0.0)
    with pytest.raises(ModelError, match="did not finish within 0 seconds"):
        predictor.predict(to_table(np.zeros((200_000, 2))))
    predictor.close()
    with pytest.raises(ModelError, match=r"memory|MemoryError|allocate"):
        ModelFilePredictor("m", str(path), max_memory_bytes=20 << 20).predict(
            to_table(np.zeros((2_000_000, 2)))
        )
