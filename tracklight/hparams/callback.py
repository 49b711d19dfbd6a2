"""The callback that logs the hyperparameters of a Keras model."""

from __future__ import annotations

import functools
import importlib
import os
import sys
from collections.abc import Mapping
from typing import Any

from tracklight.hparams import log_start
from tracklight.hparams.domains import HParam
from tracklight.sdk.writer import EventWriter


@functools.cache
def make_keras_callback() -> type:
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
            log_start(self._writer, self._hparams, self._trial_id)

        def on_train_end(self, logs: Any = None) -> None:
            from tracklight.formats.hparams import Status
            from tracklight.sdk.sessions import log_session_end

            if self._writer is None:
                return
            log_session_end(self._writer, Status.SUCCESS)
            if self._writer is self._target:
                self._writer.flush()
            else:
                self._writer.close()
            self._writer = None

    return KerasCallback
