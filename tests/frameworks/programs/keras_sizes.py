"""Build models with most layers of Keras; print their JSON and parameter counts."""

from __future__ import annotations

import json
from typing import Any

import keras
from keras import layers


def make_images() -> Any:
    return keras.Sequential(
        [
            keras.Input((32, 32, 4)),
            layers.Conv2D(8, 3, groups=2),
            layers.BatchNormalization(),
            layers.DepthwiseConv2D(3, depth_multiplier=2),
            layers.SeparableConv2D(6, (3, 1), use_bias=False),
            layers.Conv2DTranspose(5, 2, strides=2),
            layers.GroupNormalization(groups=5),
            layers.PReLU(shared_axes=[1, 2]),
            layers.MaxPooling2D(),
            layers.Flatten(),
            layers.Dense(10, use_bias=False),
            layers.Activation("relu"),
            layers.LayerNormalization(center=False),
        ],
        name="pictures",
    )


def make_words() -> Any:
    return keras.Sequential(
        [
            keras.Input((12,)),
            layers.Embedding(100, 16),
            layers.Conv1D(24, 3, padding="same"),
            layers.LSTM(8, return_sequences=True),
            layers.GRU(6, return_sequences=True),
            layers.GRU(6, return_sequences=True, reset_after=False),
            layers.Bidirectional(layers.LSTM(4, return_sequences=True)),
            layers.TimeDistributed(layers.Dense(5)),
            layers.SimpleRNN(3),
            layers.Dense(1),
        ],
        name="words",
    )


def make_attention() -> Any:
    words = keras.Input((12, 16), name="words")
    attended = layers.MultiHeadAttention(4, 5, value_dim=7)(words, words)
    summed = layers.Add()([words, attended])
    inner = keras.Sequential(
        [keras.Input((12, 16)), layers.Dense(32), layers.Dense(16)], name="mlp"
    )
    return keras.Model(words, layers.LayerNormalization()(inner(summed)), name="attention")


def make_rare() -> Any:
    """Return a model with rarely used layers."""
    frames = keras.Input((4, 8, 8, 3), name="frames")
    filmed = layers.ConvLSTM2D(5, 3, padding="same")(frames)
    words = layers.Reshape((64, 5))(filmed)
    mixed = layers.EinsumDense("abc,cde->abde", output_shape=(None, 2, 8), bias_axes="de")(words)
    mixed = layers.EinsumDense("...de,def->...f", output_shape=(6,))(mixed)
    asked = layers.GroupQueryAttention(4, 4, 2)(mixed, mixed)
    normal = layers.RMSNormalization()(asked)
    return keras.Model(frames, layers.Normalization()(normal), name="rare")


def iter_counts(model: Any, scope: str = "") -> Any:
    """Yield the path and parameter count of each layer that is not a model."""
    inputs = getattr(model, "_layers", model.layers)
    for layer in inputs:
        if hasattr(layer, "layers"):
            yield from iter_counts(layer, f"{scope}{layer.name}/")
        else:
            yield f"{scope}{layer.name}", layer.count_params()


if __name__ == "__main__":
    models = [make() for make in (make_images, make_words, make_attention, make_rare)]
    output = [{"model": model.to_json(), "counts": dict(iter_counts(model))} for model in models]
    print(json.dumps(output))
