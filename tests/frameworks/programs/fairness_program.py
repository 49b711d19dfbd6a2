"""Train a small Keras model with the `Fairness` callback; arguments: the log directory."""

from __future__ import annotations

import json
import sys
import warnings

import keras
import numpy as np

import tracklight.keras


def main(logdir: str) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(400, 3)).astype("float32")
    y = (x[:, 0] > 0).astype(int)
    group = {"group": rng.choice(["a", "b"], 400)}
    model = keras.Sequential([keras.layers.Dense(1, activation="sigmoid")])
    model.compile(loss="binary_crossentropy")
    callback = tracklight.keras.Fairness(logdir, x, y, group, ["group"], thresholds=[0.5])
    model.fit(x, y, epochs=3, verbose=0, callbacks=[callback])
    scores = model.predict(x, verbose=0)[:, 0]
    mask = (group["group"] == "a") & (y == 1)
    result = callback.last_result
    assert result is not None
    # A mistake in the evaluation is a warning, and the training continues.
    wrong = tracklight.keras.Fairness(logdir, x, y, group, ["grup"])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(x, y, epochs=2, verbose=0, callbacks=[wrong])
    answer = {
        "recall": result.get("recall", "group:a"),
        "expected_recall": float((scores[mask] > 0.5).mean()),
        "warnings": [str(item.message) for item in caught if "Fairness" in str(item.message)],
        "file": [item.filename for item in caught if "Fairness" in str(item.message)],
    }
    print(json.dumps(answer))


if __name__ == "__main__":
    main(sys.argv[1])
