"""Describe models of every type as JSON; print the edges that TensorBoard reads from it."""

from __future__ import annotations

import json
import os
from typing import Any

import keras
import numpy as np
from keras import layers

from tracklight.keras.model import build_model_json


class Split(keras.Model):
    """A subclassed model with two branches."""

    def __init__(self) -> None:
        super().__init__(name="split")
        self.flat = layers.Flatten(name="flat")
        self.left, self.right = layers.Dense(3, name="left"), layers.Dense(3, name="right")

    def call(self, x: Any, training: bool = False) -> Any:
        flat = self.flat(x)
        return keras.ops.relu(self.left(flat) + self.right(flat))


class Opaque(Split):
    """A model that cannot be called with symbolic tensors."""

    def call(self, x: Any) -> Any:
        return self.left(self.flat(keras.ops.convert_to_tensor(keras.ops.convert_to_numpy(x))))


def make_towers() -> Any:
    inner = keras.Sequential(
        [layers.Input((8,)), layers.Dense(8, name="first"), layers.Dense(4, name="last")],
        name="tower",
    )
    left, right = keras.Input((8,), name="left"), keras.Input((8,), name="right")
    joined = layers.Concatenate(name="join")([inner(left), inner(right)])
    return keras.Model([left, right], layers.Dense(1, name="out")(joined), name="towers")


def make_attention() -> Any:
    query, value = keras.Input((5, 8), name="query"), keras.Input((5, 8), name="value")
    mixed = layers.MultiHeadAttention(2, 4, name="attend")(query, value=value, key=value)
    return keras.Model([query, value], mixed + 1.0, name="attention")


def make_nested() -> Any:
    first, second = keras.Input((2,), name="first"), keras.Input((2,), name="second")
    inner = keras.Model([first, second], layers.Add(name="add")([first, second]), name="inner")
    a, b = keras.Input((2,), name="a"), keras.Input((2,), name="b")
    return keras.Model([a, b], layers.Dense(1, name="out")(inner([a, b])), name="nested")


def make_split(kind: type[Split]) -> Any:
    model = kind()
    model.build((None, 2, 2))
    return model


def make_compiled() -> Any:
    import tensorflow as tf

    class Compiled(Split):
        @tf.function  # type: ignore[untyped-decorator]
        def call(self, x: Any) -> Any:
            return self.left(self.flat(x))

    model = Compiled()
    model(np.zeros((1, 2, 2), "f"))
    return model


def list_edges(model: Any) -> list[str]:
    from tensorboard.plugins.graph.keras_util import keras_model_to_graph_def

    graph = keras_model_to_graph_def(json.loads(build_model_json(model)))
    return [f"{source} {node.name}" for node in graph.node for source in node.input or ["-"]]


def describe_all() -> dict[str, Any]:
    plain = keras.Sequential([layers.Input((4,)), layers.Dense(2)], name="plain")
    split = make_split(Split)
    output = {
        "own": build_model_json(plain) == plain.to_json(),
        "class": list_edges(split),
        "again": list_edges(split),
        "calls": len(split.left._inbound_nodes),
        "opaque": list_edges(make_split(Opaque)),
        "towers": list_edges(make_towers()),
        "attention": list_edges(make_attention()),
        "nested": list_edges(make_nested()),
    }
    if os.environ["KERAS_BACKEND"] == "tensorflow":
        output["compiled"] = list_edges(make_compiled())
    return output


if __name__ == "__main__":
    print(json.dumps(describe_all()))
