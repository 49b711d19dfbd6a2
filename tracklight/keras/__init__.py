"""Callbacks for Keras 3 with the TensorFlow, JAX or PyTorch backend.

    callback = tracklight.keras.TensorBoard("logs/run1", histogram_freq=1)
    model.fit(x, y, validation_data=(x_test, y_test), callbacks=[callback])

`TensorBoard` logs the training; `Fairness` evaluates the model per slice after each epoch. Keras is
imported on first access of a callback.

`callback` has both, and `model` converts their arguments, logs weights and embeddings and describes
the layers. May import `tracklight.summary`, `tracklight.fairness`, `tracklight.profiler`,
`tracklight.projector` and `tracklight.writer`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from tracklight.errors import MissingDependencyError

if TYPE_CHECKING:
    from tracklight.keras.callback import Fairness, TensorBoard

__all__ = ["Fairness", "TensorBoard"]

_MODULES = {
    "Fairness": "tracklight.keras.callback",
    "TensorBoard": "tracklight.keras.callback",
}


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__} has no attribute {name!r}")
    try:
        import keras  # noqa: F401
    except ModuleNotFoundError as error:
        if error.name != "keras":
            raise
        raise MissingDependencyError("tracklight.keras", "keras") from error
    value: object = getattr(importlib.import_module(_MODULES[name]), name)
    globals()[name] = value
    return value
