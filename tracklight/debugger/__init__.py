"""Find the first NaN: record the health of a model's tensors while it trains.

    with tracklight.debugger.watch(model, "logs/run1"):
        for batch in data:
            train(batch)

`watch` records the outputs of layers and operations, gradients, parameters and updates of a
PyTorch model, a JAX function or a Keras model. `check_numerics` checks a single value.

`recorder` decides what is written, `torch_watch`, `jax_watch` and `keras_watch` observe the
frameworks; `health` and `torch_statistics` compute the statistics. Frameworks are imported when
they are used. May import `tracklight.writer` and `tracklight.formats`.
"""

from __future__ import annotations

from tracklight.debugger.watching import check_numerics, watch

__all__ = ["check_numerics", "watch"]
