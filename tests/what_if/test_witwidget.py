"""The interface of the witwidget package, and the page in a notebook."""

from __future__ import annotations

from typing import Any
from urllib.request import urlopen

import numpy as np
import pytest

import tracklight
from tracklight.analysis.predictors.python_models import make_tf_examples
from tracklight.analysis.predictors.server_models import ServingGrpcPredictor
from tracklight.analysis.tables.objects import to_table
from tracklight.errors import UsageError
from tracklight.formats.media import encode_png
from tracklight.what_if import Session, WitConfigBuilder, WitWidget

ROWS = [{"age": age, "label": int(age > 40)} for age in (20, 30, 50, 60)]


def predict_dicts(rows: Any) -> Any:
    return [[1 - row["age"] / 100, row["age"] / 100] for row in rows]


def test_two_custom_functions_are_compared() -> None:
    builder = (
        WitConfigBuilder(ROWS)
        .set_model_type("classification")
        .set_target_feature("label")
        .set_label_vocab(["young", "old"])
        .set_custom_predict_fn(predict_dicts)
        .set_compare_custom_predict_fn(lambda rows: [[0.5, 0.5]] * len(rows))
        .set_multi_class(False)
        .set_max_classes_to_display(5)
    )
    session = WitWidget(builder, delay_rendering=True).session
    assert session.models == ["model 1", "model 2"]
    frame = session.predictions("model 1").to_pandas()
    assert frame["predicted (model 1)"].tolist() == ["young", "young", "old", "old"]
    assert frame["correct (model 1)"].tolist() == ["correct"] * 4
    assert builder.build()["label_vocab"] == ["young", "old"]


def test_lists_with_feature_names() -> None:
    builder = WitConfigBuilder([[1, 10.0], [2, 20.0]], ["a", "b"]).set_model_type("regression")
    builder.set_custom_predict_fn(lambda rows: [row[0] + row[1] for row in rows])
    session = WitWidget(builder, delay_rendering=True).session
    assert session.predictions()["value"].tolist() == [11, 22]


def test_lists_keep_the_places_of_their_values() -> None:
    """As in the notebook WIT_COMPAS_with_SHAP, which deletes columns by their position."""
    rows = [[20, 1, 0.5, 0], [40, 0, 0.25, 1]]
    names = ["age", "recidivism", "score", "determination"]
    unused = [names.index("recidivism"), names.index("determination")]

    def predict(examples: Any) -> Any:
        inputs = np.delete(np.array(examples), unused, axis=1)
        assert inputs.shape[1] == 2
        predictions = [[1 - score, score] for _, score in inputs]
        attributions = [{"age": age, "score": score} for age, score in inputs]
        return {"predictions": predictions, "attributions": attributions}

    builder = WitConfigBuilder(rows, feature_names=names).set_custom_predict_fn(predict)
    session = builder.set_target_feature("recidivism").make_session()
    frame = session.predictions().to_pandas()
    assert frame["score"].tolist() == [0.5, 0.25]
    assert frame["attribution:age"].tolist() == [20, 40]
    assert "recidivism" not in session.workspace.get_model_features()


def test_a_target_at_the_end_of_lists_is_not_passed() -> None:
    rows = [[1.0, 2.0, 0], [3.0, 4.0, 1]]
    seen: list[Any] = []

    def predict(examples: Any) -> Any:
        seen.extend(examples)
        return [0.5] * len(examples)

    builder = WitConfigBuilder(rows).set_custom_predict_fn(predict).set_target_feature(2)
    session = builder.make_session()
    session.predictions()
    assert seen == [[1.0, 2.0], [3.0, 4.0]]
    assert session.workspace.label == "2"  # values without a name are numbered


def test_dictionaries_are_passed_without_the_target() -> None:
    seen: list[Any] = []

    def predict(rows: Any) -> Any:
        seen.extend(rows)
        return [0.5] * len(rows)

    builder = WitConfigBuilder(ROWS).set_custom_predict_fn(predict).set_target_feature("label")
    builder.make_session().predictions()
    assert seen == [{"age": row["age"]} for row in ROWS]


def test_examples_are_passed_with_all_features_when_the_label_is_chosen_later() -> None:
    """As in the notebooks, in which the ground truth is chosen in the page."""
    examples = make_tf_examples(to_table(ROWS))
    seen: list[set[str]] = []

    def predict(messages: Any) -> Any:
        seen.extend(set(message.features.feature) for message in messages)
        return [0.25] * len(messages)

    session = WitConfigBuilder(examples).set_custom_predict_fn(predict).make_session()
    session.predictions()
    session.workspace.configure(label="label")
    assert session.workspace.is_predicted("model 1")
    session.edit(0, age=33)
    assert seen == [{"age", "label"}] * 5


def test_sparse_attributions_are_positions_and_values() -> None:
    def predict(rows: Any) -> Any:
        attributions = [{"age": [[0, 7], [0.5, 0.25]]}, *({"age": 1} for _ in rows[1:])]
        return {"predictions": [0.5] * len(rows), "attributions": attributions}

    session = WitConfigBuilder(ROWS).set_custom_predict_fn(predict).make_session()
    assert session.predictions()["attribution:age"].tolist() == [0.75, 1, 1, 1]


def test_other_examples_are_shown() -> None:
    builder = WitConfigBuilder(ROWS).set_custom_predict_fn(predict_dicts)
    widget = WitWidget(builder, delay_rendering=True)
    builder.set_examples(ROWS[:2])
    assert len(builder.make_session()) == 2 and len(widget.session) == 4


def test_a_widget_shows_its_page_and_other_examples(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[tuple[Any, int]] = []
    monkeypatch.setattr(
        tracklight.notebook,
        "show_session",
        lambda workspace, height: shown.append((workspace, height)),
    )
    builder = WitConfigBuilder([[20, 1], [40, 0], [60, 1]], ["age", "member"])
    widget = WitWidget(builder.set_custom_predict_fn(lambda rows: [[0.5, 0.5]] * len(rows)), 300)
    assert shown == [(widget.session.workspace, 300)]
    widget.set_examples([[30, 1]])
    assert len(widget.session) == 1 and widget.session.data()["age"].tolist() == [30]
    assert shown[1] == (widget.session.workspace, 300)


def test_serving_settings_are_used() -> None:
    pytest.importorskip("grpc")
    builder = WitConfigBuilder(ROWS).set_inference_address("localhost:1").set_model_name("census")
    builder.set_model_version("3").set_uses_predict_api(True).set_predict_output_tensor("scores")
    session = WitWidget(builder, delay_rendering=True).session
    assert session.models == ["census"]
    session.close()


def test_models_of_the_same_name_are_told_apart() -> None:
    builder = WitConfigBuilder(ROWS).set_custom_predict_fn(predict_dicts)
    builder.set_compare_custom_predict_fn(lambda rows: [[0.5, 0.5]] * len(rows))
    builder.set_model_name("census").set_compare_model_name("census")
    assert builder.make_session().models == ["census 1", "census 2"]
    builder.set_model_version(3).set_compare_model_version(5)
    session = builder.make_session()
    assert session.models == ["census v3", "census v5"]
    assert session.predictions("census v5")["score (census v5)"].tolist() == [0.5] * 4
    builder.set_compare_model_version(3)
    assert builder.make_session().models == ["census 1", "census 2"]


def test_versions_of_functions_are_any_text() -> None:
    builder = WitConfigBuilder(ROWS).set_custom_predict_fn(predict_dicts)
    builder.set_compare_custom_predict_fn(predict_dicts)
    builder.set_model_name("census").set_compare_model_name("census")
    builder.set_model_version("v2 beta").set_compare_model_version("7")
    assert builder.make_session().models == ["census v2 beta", "census v7"]
    served = WitConfigBuilder(ROWS).set_inference_address("localhost:1").set_model_name("m")
    with pytest.raises(UsageError, match='"latest" is not a version of a served model'):
        served.set_model_version("latest").make_session()


#: The public methods of the builder in witwidget 1.8, with arguments of its notebooks.
BUILDER_METHODS: dict[str, tuple[Any, ...]] = {
    "set_examples": (ROWS,),
    "set_model_type": ("classification",),
    "set_inference_address": ("localhost:8500",),
    "set_model_name": ("m",),
    "set_model_version": ("1",),
    "set_model_signature": ("serving_default",),
    "set_compare_inference_address": ("localhost:8500",),
    "set_compare_model_name": ("n",),
    "set_compare_model_version": (2,),
    "set_compare_model_signature": ("serving_default",),
    "set_uses_predict_api": (True,),
    "set_max_classes_to_display": (10,),
    "set_multi_class": (True,),
    "set_predict_input_tensor": ("examples",),
    "set_predict_output_tensor": ("scores",),
    "set_label_vocab": (["<=50K", ">50K"],),
    "set_estimator_and_feature_spec": (object(), {}),
    "set_compare_estimator_and_feature_spec": (object(), {}),
    "set_custom_predict_fn": (predict_dicts,),
    "set_compare_custom_predict_fn": (predict_dicts,),
    "set_custom_distance_fn": (len,),
    "set_target_feature": ("label",),
}


def test_all_setters_of_the_original_can_be_chained() -> None:
    builder = WitConfigBuilder(ROWS)
    assert not builder.has_model_name() and not builder.has_compare_model_name()
    for name, arguments in BUILDER_METHODS.items():
        assert getattr(builder, name)(*arguments) is builder, name
    assert builder.has_model_name() and builder.has_compare_model_name()
    session = builder.make_session()
    assert session.models == ["m", "n"] and session.workspace.label == "label"
    assert session.workspace.get_class_names("m") == ["<=50K", ">50K"]
    assert builder.build()["label_vocab"] == ["<=50K", ">50K"]


def test_attributions_and_other_outputs_are_columns() -> None:
    """As the documentation of set_custom_predict_fn has it, for each of two models."""

    def predict(rows: Any) -> Any:
        return {
            "predictions": [[1 - row["age"] / 100, row["age"] / 100] for row in rows],
            "attributions": [{"age": row["age"] / 50} for row in rows],
            "reason": ["old" if row["age"] > 30 else "young" for row in rows],
            "seconds": [0.5] * len(rows),
        }

    builder = WitConfigBuilder(ROWS).set_custom_predict_fn(predict)
    builder.set_target_feature("label").set_compare_custom_predict_fn(predict_dicts)
    session = builder.make_session()
    frame = session.predictions().to_pandas()
    ages = np.array([row["age"] for row in ROWS])
    assert frame["attribution:age (model 1)"].tolist() == (ages / 50).tolist()
    assert frame["reason (model 1)"].tolist() == ["old" if age > 30 else "young" for age in ages]
    assert frame["seconds (model 1)"].tolist() == [0.5] * len(ROWS)
    assert "reason (model 2)" not in frame
    nearest = session.counterfactuals(0, attributions_of="model 1", model="model 1")
    assert len(nearest) <= 1
    assert len(WitConfigBuilder([]).make_session()) == 0


def test_a_model_name_is_used_once_without_a_second_model() -> None:
    builder = WitConfigBuilder(ROWS).set_custom_predict_fn(predict_dicts)
    builder.set_model_name("model 2")
    assert builder.make_session().models == ["model 2"]


def test_versions_of_a_served_model_are_requested_by_its_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("grpc")
    requested: list[tuple[str, str, int]] = []

    def request(predictor: Any, method: str, message: Any, response: str) -> Any:
        spec = message.model_spec
        requested.append((predictor.name, spec.name.decode(), spec.version.value))
        raise UsageError("no server")

    monkeypatch.setattr(ServingGrpcPredictor, "_request", request)
    builder = WitConfigBuilder(ROWS)
    builder.set_inference_address("localhost:1").set_model_name("m").set_model_version(1)
    builder.set_compare_inference_address("localhost:1").set_compare_model_name("m")
    session = builder.set_compare_model_version(2).make_session()
    for name in session.models:
        with pytest.raises(UsageError, match="no server"):
            session.predictions(name)
    assert requested == [("m v1", "m", 1), ("m v2", "m", 2)]
    session.close()


def test_what_is_not_supported_says_what_to_do() -> None:
    builder = WitConfigBuilder(ROWS)
    with pytest.raises(UsageError, match="use set_custom_predict_fn"):
        builder.set_ai_platform_model("p", "m")
    with pytest.raises(UsageError, match="use set_custom_predict_fn"):
        builder.set_compare_ai_platform_model("p", "m", adjust_prediction=len)
    with pytest.raises(UsageError, match="is not a model type"):
        builder.set_model_type("ranking")  # type: ignore[arg-type]


@pytest.mark.parametrize("as_lists", [False, True])
def test_custom_distance_gets_the_examples(as_lists: bool) -> None:
    names = list(ROWS[0])
    examples = [list(row.values()) for row in ROWS] if as_lists else ROWS

    def get_age(example: Any) -> float:
        return float(example[names.index("age")] if as_lists else example["age"])

    def distance(query: Any, others: Any, parameters: dict[str, Any]) -> list[float]:
        return [abs(get_age(query) - get_age(other)) for other in others]

    builder = WitConfigBuilder(examples, names if as_lists else None)
    session = builder.set_custom_distance_fn(distance).make_session()
    ages = [row["age"] for row in ROWS]
    found = session.distances(1, "custom")["distance"]
    assert list(found) == [abs(ages[1] - age) for age in ages]


def test_images_as_in_the_smile_detector_notebook() -> None:
    shades = (0, 40, 200, 255)
    images = [encode_png(np.full((3, 2, 3), shade, np.uint8)) for shade in shades]
    columns = {"image/encoded": images, "image_id": ["1.jpg", "2.jpg", "3.jpg", "4.jpg"]}
    examples = make_tf_examples(to_table({**columns, "Smiling": [0, 0, 1, 1]}))

    def get_image(example: Any) -> bytes:
        return bytes(example.features.feature["image/encoded"].bytes_list.value[0])

    def custom_predict(examples_to_infer: Any) -> Any:
        found = np.array([images.index(get_image(example)) / 4 for example in examples_to_infer])
        return np.stack([1 - found, found], axis=1).astype(np.float32)

    def image_mean_distance(example: Any, others: Any, parameters: Any) -> list[float]:
        chosen = shades[images.index(get_image(example))]
        return [abs(chosen - shades[images.index(get_image(other))]) for other in others]

    config_builder = (
        WitConfigBuilder(examples[:250])
        .set_custom_predict_fn(custom_predict)
        .set_custom_distance_fn(image_mean_distance)
    )
    session = WitWidget(config_builder, height=700, delay_rendering=True).session
    assert session.workspace.table.get_column("image/encoded").type == "image"
    assert session.predictions()["score"].tolist() == [0, 0.25, 0.5, 0.75]
    nearest = session.counterfactuals(3, distance="custom").to_pandas()
    assert nearest["row"].tolist() == [1] and nearest["distance"].tolist() == [215]
    session.edit(0, **{"image/encoded": images[3]})
    assert session.predictions()["score"].tolist()[0] == 0.75


def test_texts_as_in_the_toxicity_notebook() -> None:
    comments = ["you are nice", "café", "stupid", "thanks"]
    rows = {"is_toxic": [0, 0, 1, 0], "comment": comments, "comment length": [3, 1, 1, 1]}
    examples = make_tf_examples(to_table(rows))

    def examples_to_strings(examples: Any) -> list[str]:
        texts = [ex.features.feature["comment"].bytes_list.value[0] for ex in examples]
        return [text.decode("utf-8") for text in texts]

    def custom_predict_1(examples_to_infer: Any) -> Any:
        toxic = [float("stupid" in text) for text in examples_to_strings(examples_to_infer)]
        return np.array([[1 - score, score] for score in toxic], np.float32)

    def distance(input_example: Any, examples_to_compare: Any, _: Any) -> list[float]:
        (chosen,) = examples_to_strings([input_example])
        return [float(abs(len(chosen) - len(t))) for t in examples_to_strings(examples_to_compare)]

    config_builder = (
        WitConfigBuilder(examples[:1000])
        .set_custom_predict_fn(custom_predict_1)
        .set_compare_custom_predict_fn(lambda found: [[0.5, 0.5] for _ in found])
        .set_custom_distance_fn(distance)
    )
    session = WitWidget(config_builder, height=720, delay_rendering=True).session
    session.workspace.configure(label="is_toxic")  # chosen in the page
    frame = session.predictions("model 1").to_pandas()
    assert frame["correct (model 1)"].tolist() == ["correct"] * 4
    assert session.distances(1, "custom")["distance"].tolist() == [8, 0, 2, 2]
    session.edit(1, comment="stupid café")
    assert session.predictions("model 1")["score (model 1)"].tolist() == [0, 1, 1, 0]


def test_lists_of_two_regressors_as_in_the_wine_notebook() -> None:
    """The endpoints of the notebook are functions here."""
    examples = np.hstack((np.arange(8.0).reshape(4, 2), np.array([[3], [5], [6], [8]])))
    config_builder = (
        WitConfigBuilder(examples.tolist(), ["pH", "alcohol", "quality"])
        .set_custom_predict_fn(lambda found: np.array(found).sum(axis=1, keepdims=True))
        .set_predict_output_tensor("sequential")
        .set_uses_predict_api(True)
        .set_target_feature("quality")
        .set_model_type("regression")
        .set_compare_custom_predict_fn(lambda found: [row[0] for row in found])
    )
    session = config_builder.make_session()
    assert session.predictions("model 1")["value (model 1)"].tolist() == [1, 5, 9, 13]
    errors = session.predictions("model 2")["error (model 2)"].tolist()
    assert errors == [-3, -3, -2, -2]


def test_page_is_served_from_this_process(capsys: pytest.CaptureFixture[str]) -> None:
    session = tracklight.what_if(ROWS, lambda rows: [r["age"] / 100 for r in rows], "label")
    assert isinstance(session, Session)
    board = tracklight.notebook.show_session(session.workspace)
    try:
        assert capsys.readouterr().out.count("tracklight at http://localhost:") == 2
        with urlopen(f"http://localhost:{board.port}/api/v1/what_if/sessions") as response:
            content = response.read()
        assert b'"title":"session"' in content and b'"row_count":4' in content
    finally:
        board.close()
