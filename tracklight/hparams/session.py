"""Hyperparameters of a run, and how it ended."""

from __future__ import annotations

import functools
import hashlib
import importlib
import json
import os
import sys
import time
from collections.abc import Mapping
from typing import Any

from tracklight.formats import hparams
from tracklight.formats.hparams import HParamValue, Status
from tracklight.hparams import log_hparams
from tracklight.hparams.domains import HParam
from tracklight.writer.event_writer import EventWriter
from tracklight.writer.warnings import ArgumentError, warn_or_raise


def log_session_start(
    writer: EventWriter,
    values: Mapping[str, HParamValue],
    trial_id: str | None = None,
    start_wall_time: float | None = None,
) -> bool:
    """Log what is different about this run. Runs of one trial are shown as one."""
    wall_time = time.time() if start_wall_time is None else start_wall_time
    group = compute_trial_id(values) if trial_id is None else trial_id
    return writer.add(
        [hparams.build_session_start(values, group_name=group, wall_time=wall_time)], 0
    )


def log_session_end(writer: EventWriter, status: Status) -> bool:
    """Log how a run ended, and when."""
    return writer.add([hparams.build_session_end(status, wall_time=time.time())], 0)


def compute_trial_id(values: Mapping[str, HParamValue]) -> str:
    """The same for the same values, whatever their order, and the same as TensorBoard's."""
    text = json.dumps(dict(values), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def as_hparam_value(name: str, value: Any) -> HParamValue:
    """A bool, a number or a text; of anything else a text, with a complaint."""
    if isinstance(value, (bool, int, float, str)):
        return value
    if getattr(value, "ndim", None) == 0 or getattr(value, "shape", None) == (1,):
        item = value.item()
        if isinstance(item, (bool, int, float, str)):
            return item
    kind = type(value).__name__
    warn_or_raise("hparams", f'has a {kind} as "{name}"; it was logged as the text of it')
    return str(value)


def check_unique(names: list[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise ArgumentError("hparams", f'has "{name}" twice')


# The callback that logs the hyperparameters of a Keras model.


@functools.cache
def create_keras_callback_class() -> type:
    """The callback, for the Keras that the program uses."""
    only_old = "tf_keras" in sys.modules and "keras" not in sys.modules
    base: Any = importlib.import_module("tf_keras" if only_old else "keras").callbacks.Callback

    class KerasCallback(base):  # type: ignore[misc]
        """Logs the hyperparameters of a model when its training begins, and that it has ended.

        ``writer`` is a folder, in which an event file is made, or a writer.
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
            from tracklight.formats.hparams import Status

            pass

            if self._writer is None:
                return
            log_session_end(self._writer, Status.SUCCESS)
            if self._writer is self._target:
                self._writer.flush()
            else:
                self._writer.close()
            self._writer = None

    return KerasCallback
