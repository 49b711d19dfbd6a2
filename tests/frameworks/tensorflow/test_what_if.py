"""What-If reads TensorFlow's files, and runs Keras models as objects and as files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.model_process import run_model_file
from tracklight.analysis.predictors.python_models import make_tf_examples, wrap_model
from tracklight.analysis.tables.examples import encode_examples
from tracklight.analysis.tables.files import read_files
from tracklight.analysis.tables.objects import to_table
from tracklight.what_if import WitConfigBuilder, WitWidget

tf: Any = pytest.importorskip("tensorflow")
keras: Any = pytest.importorskip("keras")

pytestmark = pytest.mark.slow

ROWS = np.random.default_rng(0).normal(size=(9, 4))


def test_keras_with_one_and_with_named_inputs() -> None:
    single = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, activation="softmax")])
    scores = wrap_model(single).predict(to_table(ROWS)).scores
    assert np.allclose(scores, single.predict(ROWS, verbose=0), atol=1e-6)
    first, second = keras.Input((1,), name="a"), keras.Input((1,), name="b")
    joined = keras.layers.Concatenate()([first, second])
    beside = to_table({"id": [f"row {n}" for n in range(9)], "rows": list(ROWS)})
    single = keras.Sequential([keras.Input((4,), name="rows"), *single.layers])
    assert np.allclose(wrap_model(single).predict(beside).scores, scores, atol=1e-6)
    named = keras.Model([first, second], keras.layers.Dense(1)(joined))
    table = to_table({"b": ROWS[:, 0], "a": ROWS[:, 1], "c": ROWS[:, 2]})
    values = wrap_model(named, task="regression").predict(table).scores
    expected = named.predict({"a": ROWS[:, 1:2], "b": ROWS[:, :1]}, verbose=0)[:, 0]
    assert np.allclose(values, expected, atol=1e-6)


@pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")  # of Keras
def test_keras_file_and_saved_model(tmp_path: Path) -> None:
    network = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, activation="softmax")])
    network.save(tmp_path / "m.keras")
    network.export(tmp_path / "saved", verbose=False)
    expected = network.predict(ROWS, verbose=0)
    for name in ("m.keras", "saved"):
        with run_model_file(tmp_path / name) as predictor:
            scores = predictor.predict(to_table(ROWS)).scores
            assert np.allclose(scores, expected, atol=1e-5), name


@pytest.mark.parametrize("compression", ["", "GZIP", "ZLIB"])
def test_files_written_by_tensorflow(tmp_path: Path, compression: str) -> None:
    path = tmp_path / "data"
    with tf.io.TFRecordWriter(str(path), compression) as writer:
        for number in range(500):
            feature = {
                "n": tf.train.Feature(int64_list=tf.train.Int64List(value=[number * 10**12])),
                "f": tf.train.Feature(float_list=tf.train.FloatList(value=[number / 3, -1.0])),
                "s": tf.train.Feature(bytes_list=tf.train.BytesList(value=[b"a" * (number % 3)])),
            }
            example = tf.train.Example(features=tf.train.Features(feature=feature))
            writer.write(example.SerializeToString())
    table = read_files([str(path)], lambda name: open(name, "rb"))
    assert len(table) == 500
    assert table.get_column("n").values.tolist() == [number * 10**12 for number in range(500)]
    floats = np.array([[number / 3, -1.0] for number in range(500)], np.float32)
    assert (table.get_column("f").to_array() == floats).all()
    parsed = tf.train.Example.FromString(encode_examples(table)[7])
    assert list(parsed.features.feature["n"].int64_list.value) == [7 * 10**12]


def test_example_messages_are_passed_on() -> None:
    people = [{"age": age, "label": int(age > 40)} for age in (20, 30, 50, 60)]
    examples = make_tf_examples(to_table(people))

    def predict(received: Any) -> Any:
        ages = [e.features.feature["age"].int64_list.value[0] for e in received]
        return np.array(ages) / 100

    builder = WitConfigBuilder(examples).set_custom_predict_fn(predict)
    session = WitWidget(builder.set_target_feature("label"), delay_rendering=True).session
    assert np.allclose(session.predictions()["score"], [0.2, 0.3, 0.5, 0.6])


class LinearEstimator:
    """Has the interface of a TF estimator: predictions of a function that returns a data set."""

    def __init__(self, factor: float, keys: tuple[str, ...]) -> None:
        self.factor = factor
        self.keys = keys

    def predict(self, input_fn: Any) -> Any:
        for batch in input_fn():
            for age in batch["age"].numpy().tolist():
                score = self.factor * age
                scores = {"probabilities": [1 - score, score], "predictions": [score]}
                yield {key: scores.get(key, [0]) for key in self.keys}


PEOPLE = [{"age": age, "label": int(age > 40)} for age in (20, 30, 50, 60)] * 20
FEATURE_SPEC = {
    "age": tf.io.FixedLenFeature(shape=(), dtype=tf.int64),
    "label": tf.io.FixedLenFeature(shape=(), dtype=tf.int64),
}


def test_estimators_get_parsed_examples() -> None:
    """As in the notebook WIT_Model_Comparison; the spec has the label."""
    examples = make_tf_examples(to_table(PEOPLE))
    builder = (
        WitConfigBuilder(examples)
        .set_estimator_and_feature_spec(
            LinearEstimator(0.01, ("logits", "probabilities")), FEATURE_SPEC
        )
        .set_compare_estimator_and_feature_spec(
            LinearEstimator(0.005, ("probabilities",)), FEATURE_SPEC
        )
        .set_label_vocab(["Under 50K", "Over 50K"])
    )
    session = builder.make_session()
    frame = session.predictions().to_pandas()
    ages = np.array([row["age"] for row in PEOPLE])
    assert np.allclose(frame["score (model 1)"], ages * 0.01)
    assert np.allclose(frame["score (model 2)"], ages * 0.005)
    assert frame["predicted (model 1)"].tolist()[2] == "Over 50K"
    session.workspace.configure(label="label")
    assert session.edit(0, age=70).to_pandas()["after"].tolist()[1] == pytest.approx(0.7)


def test_regression_estimator_returns_values() -> None:
    examples = make_tf_examples(to_table(PEOPLE))
    builder = WitConfigBuilder(examples).set_model_type("regression")
    builder.set_estimator_and_feature_spec(LinearEstimator(2, ("predictions",)), FEATURE_SPEC)
    values = builder.make_session().predictions()["value"]
    assert values.tolist() == [2 * row["age"] for row in PEOPLE]


def test_keras_model_with_a_feature_spec() -> None:
    age = keras.Input((1,), name="age")
    network = keras.Model([age], keras.layers.Dense(1, activation="sigmoid")(age))
    examples = make_tf_examples(to_table(PEOPLE))
    builder = WitConfigBuilder(examples).set_estimator_and_feature_spec(network, FEATURE_SPEC)
    scores = builder.make_session().predictions()["score"]
    ages = np.array([[float(row["age"])] for row in PEOPLE])
    assert np.allclose(scores, network.predict(ages, verbose=0)[:, 0], atol=1e-6)
