"""Train Keras models under `tracklight.debugger`: ``python debugger_keras.py FOLDER``."""

from __future__ import annotations

import sys
from typing import Any

import keras
import numpy as np

from tracklight.debugger import watch


class LogLayer(keras.layers.Layer):  # type: ignore[misc]
    def call(self, x: Any) -> Any:
        return keras.ops.log(x)


def make_model(*layers: Any) -> keras.Model:
    return keras.Sequential([keras.Input((8,)), keras.layers.Dense(16, "relu"), *layers])


def fit(folder: str, model: keras.Model, x: Any, **options: Any) -> None:
    model.compile("sgd", "mse")
    y = np.zeros((len(x), 4), np.float32)
    callback = watch(model, folder, **options)
    model.fit(x, y, batch_size=16, epochs=2, verbose=0, callbacks=[callback], shuffle=False)


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


if __name__ == "__main__":
    main()
    print("null")
