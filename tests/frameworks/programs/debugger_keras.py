"""Train Keras models under `tracklight.debugger`: ``python debugger_keras.py FOLDER``."""

from __future__ import annotations

import json
import sys
from typing import Any

import keras
import numpy as np

from tracklight.debugger import watch
from tracklight.errors import NonFiniteError


class LogLayer(keras.layers.Layer):  # type: ignore[misc]
    def call(self, x: Any) -> Any:
        return keras.ops.log(x)


def make_model(*layers: Any) -> keras.Model:
    return keras.Sequential([keras.Input((8,)), keras.layers.Dense(16, "relu"), *layers])


def fit(
    folder: str, model: keras.Model, x: Any, jit_compile: bool | str = "auto", **options: Any
) -> None:
    model.compile("sgd", "mse", jit_compile=jit_compile)
    y = np.zeros((len(x), 4), np.float32)
    callback = watch(model, folder, **options)
    model.fit(
        x,
        y,
        batch_size=16,
        epochs=2,
        verbose=0,
        callbacks=[callback],
        shuffle=False,
        validation_data=(np.full_like(x[:16], 7), y[:16]),
    )


def main() -> None:
    folder = sys.argv[1]
    keras.utils.set_random_seed(0)
    x = np.random.default_rng(0).normal(size=(96, 8)).astype(np.float32)
    dense = keras.layers.Dense
    fit(f"{folder}/healthy", make_model(dense(4)), x)
    fit(f"{folder}/log", make_model(dense(4, "relu"), LogLayer()), x)
    dirty = x.copy()
    dirty[40, 2] = np.nan
    fit(f"{folder}/data", make_model(dense(4)), dirty)
    dead = make_model(dense(4, name="last"))
    dead.layers[0].set_weights([np.zeros((8, 16)), np.full(16, -1.0)])
    fit(f"{folder}/dead", dead, x)
    options = {"names": "dense|input", "every": 4, "first": 0, "history": 0}
    fit(f"{folder}/few", make_model(dense(4)), x, gradients=False, parameters=False, **options)
    half = keras.Sequential([keras.Input((8,)), dense(4, dtype="float16")])
    half.layers[0].set_weights([np.full((8, 4), 1e-7), np.full(4, 6e4)])
    fit(f"{folder}/half", half, np.full((32, 8), 1e3, np.float32))
    words = keras.layers.Embedding(10, 4, name="words")
    embedding = keras.Sequential([keras.Input((2,), dtype="int32"), words, keras.layers.Flatten()])
    embedding.add(dense(4))
    fit(f"{folder}/words", embedding, np.arange(64).reshape(32, 2) % 10)
    compiled = make_model(dense(4))
    fit(f"{folder}/compiled", compiled, x, jit_compile=keras.backend.backend() != "torch")
    stopped = make_model(dense(4))
    message = ""
    try:
        fit(f"{folder}/stopped", stopped, dirty, on_problem="stop")
    except NonFiniteError as error:
        message = str(error)
    print(
        json.dumps(
            {
                "message": message,
                "wrapped": [it.name for it in stopped.layers if "call" in it.__dict__],
                "jit_compile": compiled.jit_compile,
            }
        )
    )


if __name__ == "__main__":
    main()
