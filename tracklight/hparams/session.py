"""Log the hyperparameters and the outcome of a run, which TensorBoard calls a session."""

from __future__ import annotations

import functools
import hashlib
import importlib
import json
import os
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any

from tracklight.formats import hparams as hparams_format
from tracklight.formats.hparams import HParamValue, Status, iter_flattened
from tracklight.formats.proto import Message
from tracklight.hparams.domains import HParam, Metric, to_proto_domain
from tracklight.writer import warnings
from tracklight.writer.event_writer import EventWriter
from tracklight.writer.warnings import ArgumentError, warn_or_raise


def log_hparams(
    writer: EventWriter,
    hparams: Mapping[str, Any] | Mapping[str | HParam, Any],
    trial_id: str | None = None,
    start_time_secs: float | None = None,
) -> bool:
    """Log the hyperparameters of a run to a writer; see `tracklight.hparams.hparams`."""
    with warnings.catch_errors("hparams", strict=writer.strict):
        named = [
            (key.name if isinstance(key, HParam) else str(key), value)
            for key, value in hparams.items()
        ]
        flat = [pair for name, value in named for pair in iter_flattened({name: value})]
        _check_unique([name for name, _ in flat])
        values = {name: as_hparam_value(name, value) for name, value in flat}
        start = hparams_format.build_session_start(
            values,
            group_name=compute_trial_id(values) if trial_id is None else trial_id,
            wall_time=time.time() if start_time_secs is None else start_time_secs,
        )
        return writer.add([start], 0)
    return False


def log_session_end(writer: EventWriter, status: Status) -> bool:
    """Log that a run has ended now, and whether it succeeded."""
    return writer.add([hparams_format.build_session_end(status, wall_time=time.time())], 0)


def build_experiment(
    hparams: Sequence[HParam], metrics: Sequence[Metric], created_wall_time: float
) -> Message:
    """Build the value that `tracklight.hparams.hparams_config` logs."""
    return hparams_format.build_experiment(
        [
            hparams_format.HParam(
                hparam.name,
                to_proto_domain(hparam.domain),
                hparam.display_name or "",
                hparam.description or "",
            )
            for hparam in hparams
        ],
        [
            hparams_format.Metric(
                metric.tag,
                metric.group or "",
                metric.display_name or "",
                metric.description or "",
                hparams_format.DatasetType(metric.dataset_type or 0),
            )
            for metric in metrics
        ],
        created_wall_time=created_wall_time,
    )


def compute_trial_id(values: Mapping[str, HParamValue]) -> str:
    """Return a hash of the values that does not depend on their order, as TensorBoard does."""
    text = json.dumps(dict(values), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def as_hparam_value(name: str, value: Any) -> HParamValue:
    """Return a bool, a number or a string; other values are converted to str with a warning."""
    if isinstance(value, (bool, int, float, str)):
        return value
    if getattr(value, "ndim", None) == 0 or getattr(value, "shape", None) == (1,):
        item = value.item()
        if isinstance(item, (bool, int, float, str)):
            return item
    type_name = type(value).__name__
    warn_or_raise("hparams", f'contains "{name}" of type {type_name}, which was logged as a string')
    return str(value)


def _check_unique(names: list[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise ArgumentError("hparams", f'contains "{name}" twice')


@functools.cache
def create_keras_callback_class() -> type:
    """Return the class `KerasCallback` for the Keras that the program uses."""
    uses_tf_keras = "tf_keras" in sys.modules and "keras" not in sys.modules
    keras: Any = importlib.import_module("tf_keras" if uses_tf_keras else "keras")
    base: Any = keras.callbacks.Callback

    class KerasCallback(base):  # type: ignore[misc]
        """Log hyperparameters when the training of a Keras model begins, and when it has ended.

        Args:
            writer: A writer, or a directory in which an event file is created.
            hparams: Values by name or `HParam`.
            trial_id: Runs with the same id are shown as one trial.
        """

        def __init__(
            self,
            writer: str | os.PathLike[str] | EventWriter,
            hparams: Mapping[str | HParam, Any],
            trial_id: str | None = None,
        ) -> None:
            super().__init__()
            self._target = writer
            self._hparams = dict(hparams)
            self._trial_id = trial_id
            self._writer: EventWriter | None = None

        def on_train_begin(self, logs: Any = None) -> None:
            target = self._target
            self._writer = target if isinstance(target, EventWriter) else EventWriter(target)
            log_hparams(self._writer, self._hparams, self._trial_id)

        def on_train_end(self, logs: Any = None) -> None:
            if self._writer is None:
                return
            log_session_end(self._writer, Status.SUCCESS)
            if self._writer is self._target:
                self._writer.flush()
            else:
                self._writer.close()
            self._writer = None

    return KerasCallback
