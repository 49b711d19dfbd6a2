"""The JSON of models has connections that TensorBoard understands."""

from __future__ import annotations

from typing import Any

import pytest

from tests.frameworks.programs import need, run_keras
from tracklight.keras.model import is_supported_model_json

TENSOR = {"class_name": "__keras_tensor__", "config": {"keras_history": ["a", 0, 0]}}


def make_layer(*calls: Any, layers: Any = None) -> Any:
    config = {"name": "layer"} if layers is None else {"name": "layer", "layers": layers}
    return {"class_name": "Dense", "config": config, "inbound_nodes": list(calls)}


@pytest.mark.parametrize(
    ("layer", "is_supported"),
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
def test_detects_supported_model_json(layer: Any, is_supported: bool) -> None:
    assert is_supported_model_json({"config": {"layers": [layer]}}) is is_supported


@pytest.fixture(scope="module", params=["tensorflow", "jax", "torch"])
def results(request: pytest.FixtureRequest) -> Any:
    """Return the connections of models of every type."""
    need("keras", "tensorboard", request.param)
    return run_keras("keras_models.py", backend=request.param)


def test_connects_layers(results: Any) -> None:
    assert results["own"], "what readers understand is left as Keras has it"
    assert results["towers"] == [
        "- towers/left",
        "- towers/right",
        "towers/left towers/tower/first",
        "towers/right towers/tower/first",
        "towers/tower/first towers/tower/last",
        "towers/tower/last towers/join",
        "towers/tower/last towers/join",
        "towers/join towers/out",
    ]
    assert results["attention"] == [
        "- attention/query",
        "- attention/value",
        "attention/query attention/attend",
        "attention/value attention/attend",
        "attention/value attention/attend",
        "attention/attend attention/add",
    ]
    assert results["nested"] == [
        "- nested/a",
        "- nested/b",
        "nested/a nested/inner/add",
        "nested/b nested/inner/add",
        "nested/inner/add nested/out",
    ]


def test_connects_layers_of_a_subclassed_model(results: Any) -> None:
    assert results["class"] == [
        "- split/input_1",
        "split/input_1 split/flat",
        "split/flat split/left",
        "split/flat split/right",
        "split/left split/add",
        "split/right split/add",
        "split/add split/relu",
    ]
    assert results["opaque"] == ["- split/flat", "- split/left", "- split/right"]
    if "compiled" in results:
        assert results["compiled"][1:] == ["split/input_1 split/flat", "split/flat split/left"]


def test_symbolic_call_leaves_the_model_unchanged(results: Any) -> None:
    assert results["calls"] == 0
    # Names would differ if the first call had advanced Keras's name counters.
    assert results["again"] == results["class"]
