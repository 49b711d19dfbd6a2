"""The callback that evaluates a Keras model per slice after each epoch."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import keras
import numpy as np

from tracklight.fairness import FairnessResult, evaluate
from tracklight.summary import FileWriter, create_file_writer
from tracklight.writer import warnings

#: The run in which `TensorBoard` logs validation metrics.
_RUN = "validation"

warnings.skip_frames_in(os.path.dirname(keras.__file__))


class Fairness(keras.callbacks.Callback):  # type: ignore[misc]
    """Evaluate the model per slice after each epoch, and log the result.

    A problem with the evaluation is reported once as a warning and does not stop the training.

    Args:
        log_dir: The log directory, as for `TensorBoard`; results are in the run ``validation``.
        x: Inputs of the examples, as for ``model.predict``.
        y: Labels of the examples.
        data: A table with one row per example, with the columns to slice by.
        slices: What to slice by; see `tracklight.fairness.evaluate`.
        freq: Evaluate every this many epochs.
        batch_size: Batch size of the predictions.
        tag: Name of the evaluation.
        strict: Raise exceptions instead of warning; by default TRACKLIGHT_STRICT decides.
        options: Further arguments of `tracklight.fairness.evaluate`, such as ``thresholds``.

    Example:
        >>> callback = tracklight.keras.Fairness("logs/run1", x_test, y_test, people, ["sex"])
        >>> model.fit(x, y, epochs=5, callbacks=[callback])
    """

    def __init__(
        self,
        log_dir: str | os.PathLike[str],
        x: Any,
        y: Any,
        data: Any,
        slices: Sequence[Any],
        *,
        freq: int = 1,
        batch_size: int | None = None,
        tag: str = "fairness",
        strict: bool | None = None,
        **options: Any,
    ) -> None:
        super().__init__()
        self.log_dir = os.path.join(os.path.expanduser(os.fspath(log_dir)), _RUN)
        self.last_result: FairnessResult | None = None
        """The result of the last evaluation."""
        self._examples = (x, np.asarray(y).squeeze())
        self._data = data
        self._slices = slices
        self._freq = max(1, int(freq))
        self._batch_size = batch_size
        self._tag = tag
        self._strict = warnings.is_strict() if strict is None else strict
        self._options = options
        self._writer: FileWriter | None = None

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        if epoch % self._freq:
            return
        with warnings.catch_errors("tracklight.keras.Fairness", strict=self._strict):
            x, y = self._examples
            scores = np.asarray(self.model.predict(x, batch_size=self._batch_size, verbose=0))
            self.last_result = evaluate(
                self._data, label=y, prediction=scores, slices=self._slices, **self._options
            )
            if self._writer is None:
                self._writer = create_file_writer(self.log_dir)
            self.last_result.write(self._writer, step=epoch, tag=self._tag)

    def on_train_end(self, logs: Any = None) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None
