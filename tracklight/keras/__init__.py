"""The `TensorBoard` callback for Keras 3 with the TensorFlow, JAX or PyTorch backend.

    callback = tracklight.keras.TensorBoard("logs/run1", histogram_freq=1)
    model.fit(x, y, validation_data=(x_test, y_test), callbacks=[callback])

Keras is imported on first access of the callback.

`callback` has the callback, `options` checks its arguments, `weights` logs weights and embeddings,
`model_json` describes the layers of a model, and `batch_profiler` profiles a range of batches. May
import `tracklight.summary`, `tracklight.profiler`, `tracklight.projector` and `tracklight.writer`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracklight.errors import MissingDependencyError

if TYPE_CHECKING:
    from tracklight.keras.callback import TensorBoard

__all__ = ["TensorBoard"]


def __getattr__(name: str) -> object:
    if name != "TensorBoard":
        raise AttributeError(f"module {__name__} has no attribute {name!r}")
    try:
        import keras  # noqa: F401
    except ModuleNotFoundError as error:
        if error.name != "keras":
            raise
        raise MissingDependencyError("tracklight.keras", "keras") from error
    from tracklight.keras.callback import TensorBoard

    globals()[name] = TensorBoard
    return TensorBoard
