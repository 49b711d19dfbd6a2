"""The interface of the witwidget package, and the page in a notebook."""

from __future__ import annotations

from typing import Any
from urllib.request import urlopen

import pytest

import tracklight
from tracklight.errors import UsageError
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


def test_serving_settings_are_used() -> None:
    pytest.importorskip("grpc")
    builder = WitConfigBuilder(ROWS).set_inference_address("localhost:1").set_model_name("census")
    builder.set_model_version("3").set_uses_predict_api(True).set_predict_output_tensor("scores")
    session = WitWidget(builder, delay_rendering=True).session
    assert session.models == ["census"]
    session.close()


def test_what_is_not_supported_says_what_to_do() -> None:
    builder = WitConfigBuilder(ROWS)
    with pytest.raises(UsageError, match="use set_custom_predict_fn"):
        builder.set_ai_platform_model("p", "m")
    with pytest.raises(UsageError, match="use set_custom_predict_fn"):
        builder.set_estimator_and_feature_spec(None, None)
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
