"""Train a small model with every option of the callback: ``keras_training.py LOGDIR``."""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import Any

import keras
import numpy as np
from keras import layers

from tracklight import summary
from tracklight.errors import UsageWarning
from tracklight.keras import TensorBoard


class Own(keras.callbacks.Callback):
    """Logs to the default writer and to a separate one, as tutorials do."""

    def __init__(self, logdir: Path) -> None:
        super().__init__()
        self.writer = summary.create_file_writer(logdir / "own")

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        summary.scalar("mine", batch)

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        with self.writer.as_default():
            summary.scalar("loss", logs["loss"], step=epoch)


def make_model() -> Any:
    keras.utils.set_random_seed(0)
    model = keras.Sequential(
        [
            layers.Input((6,), dtype="int32"),
            layers.Embedding(50, 8, name="words"),
            layers.Conv1D(4, 3, name="conv"),
            layers.GlobalAveragePooling1D(),
            layers.Dense(1, name="out"),
        ],
        name="net",
    )
    model.compile("adam", "mse", metrics=["mae"])
    return model


def train(logdir: Path) -> dict[str, Any]:
    model = make_model()
    random = np.random.default_rng(0)
    x, y = random.integers(0, 50, (50, 6)).astype("int32"), random.random((50, 1))
    options: dict[str, Any] = {
        "histogram_freq": 2,
        "write_steps_per_second": True,
        "update_freq": 2,
    }
    profiled = TensorBoard(
        logdir / "ours",
        **options,
        write_images=True,
        profile_batch="3,5",
        embeddings_freq=1,
        embeddings_metadata={"words": "words.tsv"},
    )
    rate = keras.callbacks.LearningRateScheduler(lambda epoch: 0.1 / (epoch + 1))
    callbacks = [rate, profiled, Own(logdir)]
    if "--original" in sys.argv:
        callbacks.append(keras.callbacks.TensorBoard(str(logdir / "theirs"), **options))
    split = {"validation_data": (x[40:], y[40:])}
    history = model.fit(
        x[:40], y[:40], batch_size=10, epochs=3, verbose=0, callbacks=callbacks, **split
    )
    return {
        "history": history.history,
        "words": np.asarray(keras.ops.convert_to_numpy(model.get_layer("words").embeddings))
        .astype(float)
        .tolist(),
    }


if __name__ == "__main__":
    warnings.simplefilter("error", UsageWarning)
    target = Path(sys.argv[1])
    (target / "ours").mkdir(parents=True)
    (target / "ours" / "words.tsv").write_text("".join(f"w{i}\n" for i in range(50)))
    print(json.dumps(train(target)))
