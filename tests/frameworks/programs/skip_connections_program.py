"""Log a residual network as layers and as operations.

python skip_connections_program.py LOGDIR
"""

from __future__ import annotations

import sys
from typing import Any

import keras
import numpy as np
from keras import layers

from tracklight import summary


def make_network() -> Any:
    """Return a network of residual blocks with two layers each.

    The second block changes the number of channels, so its skip connection has a layer as well.
    """
    inputs = flow = layers.Input((8, 8, 4), name="pixels")
    for number, channels in enumerate((4, 6, 6)):
        deep = layers.Conv2D(channels, 3, padding="same", name=f"first_{number}")(flow)
        deep = layers.Conv2D(channels, 3, padding="same", name=f"second_{number}")(deep)
        if channels != flow.shape[-1]:
            flow = layers.Conv2D(channels, 1, name=f"widen_{number}")(flow)
        flow = layers.Add(name=f"sum_{number}")([deep, flow])
        flow = layers.Activation("gelu")(flow)
    return keras.Model(inputs, layers.Dense(2)(layers.Flatten()(flow)))


def main(logdir: str) -> None:
    model = make_network()
    pixels = np.zeros((1, 8, 8, 4), "float32")
    with summary.create_file_writer(logdir).as_default():
        summary.graph(model)
        if keras.backend.backend() != "torch":
            summary.trace_on(graph=True)
            _compile(model)(pixels)
            summary.trace_export("operations", 0)
    if keras.backend.backend() == "torch":
        import torch

        from tracklight.torch import SummaryWriter

        with SummaryWriter(logdir) as writer:
            writer.add_graph(model, torch.from_numpy(pixels))
    print("{}")


def _compile(model: Any) -> Any:
    if keras.backend.backend() == "jax":
        import jax

        trained, other = model.trainable_variables, model.non_trainable_variables
        return jax.jit(lambda pixels: model.stateless_call(trained, other, pixels)[0])
    import tensorflow as tf

    return tf.function(lambda pixels: model(pixels))


if __name__ == "__main__":
    main(sys.argv[1])
