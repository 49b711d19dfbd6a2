"""A TensorFlow Serving process for tests: the official stubs, with Keras models behind them.

    python -m tests.serving_process

prints the port once it accepts requests. The models ``one`` and ``two`` classify examples with the
features ``a`` and ``b``; ``value`` is a regression model; ``slow`` does not respond in time. The
official server binary cannot be installed from a package index, so this process implements the
three methods that What-If uses, with the messages of ``tensorflow-serving-api``.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

#: Weights of ``a`` and ``b``, and the bias.
WEIGHTS = {"one": (2.0, -1.0, 0.25), "two": (0.5, 0.5, -0.5), "value": (3.0, 1.0, 10.0)}


def compute_expected(model: str, a: Any, b: Any) -> Any:
    """Return what a model should predict: the probability of class 1, or the value."""
    first, second, bias = WEIGHTS[model]
    linear = first * np.asarray(a) + second * np.asarray(b) + bias
    return linear if model == "value" else 1 / (1 + np.exp(-linear))


@contextmanager
def start_serving() -> Iterator[str]:
    """Start the process and return its address."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.serving_process"],
        cwd=Path(__file__).parents[1],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout is not None
    try:
        port = process.stdout.readline().strip()
        assert port, "the serving process did not start"
        yield f"localhost:{port}"
    finally:
        process.communicate()  # closes its standard input, which ends it


def main() -> None:
    import grpc
    import keras
    import tensorflow as tf
    from tensorflow_serving.apis import (
        classification_pb2,
        predict_pb2,
        prediction_service_pb2_grpc,
        regression_pb2,
    )

    models = {}
    for name, (first, second, bias) in WEIGHTS.items():
        activation = None if name == "value" else "sigmoid"
        model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1, activation=activation)])
        model.set_weights([np.array([[first], [second]]), np.array([bias])])
        models[name] = model

    def predict(name: str, examples: Any, context: Any) -> Any:
        if name == "slow":
            while context.is_active():  # until the client gives up
                time.sleep(0.05)
        if name not in models:
            context.abort(grpc.StatusCode.NOT_FOUND, f"Servable not found for request: {name}")
        rows = []
        for example in examples:
            feature = example.features.feature
            if "a" not in feature or "b" not in feature:
                context.abort(grpc.StatusCode.INVALID_ARGUMENT, "Feature: b is required")
            rows.append([feature["a"].float_list.value[0], feature["b"].float_list.value[0]])
        return np.asarray(models[name](np.array(rows, np.float32)))[:, 0]

    class Service(prediction_service_pb2_grpc.PredictionServiceServicer):  # type: ignore[misc]
        def Classify(self, request: Any, context: Any) -> Any:
            name = request.model_spec.name
            scores = predict(name, request.input.example_list.examples, context)
            response = classification_pb2.ClassificationResponse()
            for score in scores:
                classes = [("0", 1 - score), ("1", score)]
                added = response.result.classifications.add()
                for label, value in sorted(classes, key=lambda pair: -pair[1]):
                    added.classes.add(label=label, score=value)
            return response

        def Regress(self, request: Any, context: Any) -> Any:
            name = request.model_spec.name
            values = predict(name, request.input.example_list.examples, context)
            response = regression_pb2.RegressionResponse()
            for value in values:
                response.result.regressions.add(value=value)
            return response

        def Predict(self, request: Any, context: Any) -> Any:
            inputs = {key: tf.make_ndarray(value) for key, value in request.inputs.items()}
            if "examples" in inputs:
                examples = [tf.train.Example.FromString(data) for data in inputs["examples"]]
                scores = predict(request.model_spec.name, examples, context)
            else:
                columns = [inputs["a"].reshape(-1), inputs["b"].reshape(-1)]
                rows = np.stack(columns, axis=1)
                scores = np.asarray(models[request.model_spec.name](rows))[:, 0]
            response = predict_pb2.PredictResponse()
            probabilities = np.stack([1 - scores, scores], axis=1)
            response.outputs["probabilities"].CopyFrom(tf.make_tensor_proto(probabilities))
            return response

    server = grpc.server(ThreadPoolExecutor(4))
    prediction_service_pb2_grpc.add_PredictionServiceServicer_to_server(Service(), server)
    port = server.add_insecure_port("localhost:0")
    server.start()
    print(port, flush=True)
    sys.stdin.read()  # ends when the test closes the pipe


if __name__ == "__main__":
    main()
