"""How the layers of a model are joined is told so that TensorBoard understands it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.frameworks.programs import need, run_program
from tracklight.keras.model_json import is_supported_model_json

TENSOR = {"class_name": "__keras_tensor__", "config": {"keras_history": ["a", 0, 0]}}


def make_layer(*calls: Any, layers: Any = None) -> Any:
    config = {"name": "layer"} if layers is None else {"name": "layer", "layers": layers}
    return {"class_name": "Dense", "config": config, "inbound_nodes": list(calls)}


@pytest.mark.parametrize(
    ("layer", "understood"),
    [
        (make_layer(), True),
        (make_layer({"args": [TENSOR], "kwargs": {"training": False}}), True),
        (make_layer({"args": [[TENSOR, TENSOR]], "kwargs": {}}), True),
        (make_layer({"args": [TENSOR, 1.0], "kwargs": {}}), False),
        (make_layer({"args": [TENSOR], "kwargs": {"value": TENSOR}}), False),
        (make_layer({"args": [TENSOR], "kwargs": {}}, layers=[make_layer()]), True),
        (make_layer(*[{"args": [TENSOR], "kwargs": {}}] * 2, layers=[make_layer()]), False),
        (make_layer({"args": [[TENSOR, TENSOR]], "kwargs": {}}, layers=[make_layer()]), False),
    ],
)
def test_knows_what_readers_understand(layer: Any, understood: bool) -> None:
    assert is_supported_model_json({"config": {"layers": [layer]}}) is understood


@pytest.fixture(scope="module", params=["tensorflow", "jax", "torch"])
def said(request: pytest.FixtureRequest) -> Any:
    """Edges of models of every kind."""
    need("keras", "tensorboard", request.param)
    return run_program("keras_models.py", KERAS_BACKEND=request.param)


def test_joins_layers(said: Any) -> None:
    assert said["own"], "what readers understand is left as Keras has it"
    assert said["towers"] == [
        "- towers/left",
        "- towers/right",
        "towers/left towers/tower/first",
        "towers/right towers/tower/first",
        "towers/tower/first towers/tower/last",
        "towers/tower/last towers/join",
        "towers/tower/last towers/join",
        "towers/join towers/out",
    ]
    assert said["attention"] == [
        "- attention/query",
        "- attention/value",
        "attention/query attention/attend",
        "attention/value attention/attend",
        "attention/value attention/attend",
        "attention/attend attention/add",
    ]
    assert said["nested"] == [
        "- nested/a",
        "- nested/b",
        "nested/a nested/inner/add",
        "nested/b nested/inner/add",
        "nested/inner/add nested/out",
    ]


def test_joins_layers_of_a_class(said: Any) -> None:
    assert said["class"] == [
        "- split/input_1",
        "split/input_1 split/flat",
        "split/flat split/left",
        "split/flat split/right",
        "split/left split/add",
        "split/right split/add",
        "split/add split/relu",
    ]
    assert said["opaque"] == ["- split/flat", "- split/left", "- split/right"]
    if "compiled" in said:
        assert said["compiled"][1:] == ["split/input_1 split/flat", "split/flat split/left"]


def test_leaves_no_trace_in_a_model(said: Any) -> None:
    assert said["calls"] == 0
    # Had the first time used up names for what is between the layers, these would be others.
    assert said["again"] == said["class"]
