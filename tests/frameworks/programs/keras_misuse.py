"""Train with invalid arguments of the callback: ``keras_misuse.py LOGDIR``."""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import Any

import keras
import numpy as np
from keras import layers

from tracklight.errors import UsageWarning
from tracklight.keras import TensorBoard


class Strange(keras.callbacks.Callback):
    """Adds an array to the metrics."""

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        logs["strange"] = np.zeros(3)


class Interrupt(keras.callbacks.Callback):
    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        raise KeyboardInterrupt


def fit(*callbacks: Any) -> list[float]:
    model = keras.Sequential([layers.Input((4,)), layers.Embedding(9, 3), layers.Dense(2)])
    model.compile("sgd", "mse")
    x, y = np.ones((12, 4), "int32"), np.ones((12, 4, 2))
    history = model.fit(x, y, verbose=0, batch_size=4, epochs=2, callbacks=list(callbacks))
    losses: list[float] = history.history["loss"]
    return losses


def misuse(logdir: Path) -> dict[str, Any]:
    (logdir / "file").write_text("")
    output: dict[str, Any] = {}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        bad = TensorBoard(
            logdir / "bad",
            histogram_freq="often",  # type: ignore[arg-type]
            update_freq="never",
            profile_batch="some",
            embeddings_freq=1,
            embeddings_metadata={"unknown": "labels.tsv"},
        )
        fit(bad, Strange())
        fit(Strange(), TensorBoard(logdir / "strange"))
        fit(TensorBoard(logdir / "file" / "below", histogram_freq=1, embeddings_freq=1))
        interrupted = TensorBoard(logdir / "interrupted", update_freq=1)
        try:
            fit(interrupted, Interrupt())
        except KeyboardInterrupt:
            output["losses"] = fit(interrupted)
    mine = [item for item in caught if item.category is UsageWarning]
    output["warnings"] = [str(item.message) for item in mine]
    output["files"] = sorted({item.filename for item in mine})
    try:
        TensorBoard(logdir / "strict", update_freq="never", strict=True)
    except Exception as error:
        output["strict"] = str(error)
    return output


if __name__ == "__main__":
    print(json.dumps(misuse(Path(sys.argv[1]))))
