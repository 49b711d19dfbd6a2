"""The `TensorBoard` callback for Keras 3, with TensorFlow, JAX or PyTorch below it.

    callback = tracklight.keras.TensorBoard("logs/run1", histogram_freq=1)
    model.fit(x, y, validation_data=(x_test, y_test), callbacks=[callback])

Keras is imported when the callback is first asked for.
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
