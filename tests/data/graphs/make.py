"""Writes the files of this folder: ``python make.py FOLDER PART``, where the part's packages are.

onnx needs torch, onnx and onnxscript; keras2 needs tf_keras; tensorboardx needs torch and
tensorboardX; frozen needs tensorflow; stablehlo needs jax; keras3 needs tensorflow and tracklight.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any


def make_onnx(folder: Path) -> None:
    import onnx
    import torch
    from onnx import TensorProto, helper

    class Block(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv = torch.nn.Conv2d(4, 4, 3, padding=1)
            self.norm = torch.nn.BatchNorm2d(4)

        def forward(self, x: Any) -> Any:
            return torch.relu(self.norm(self.conv(x)) + x)

    class Net(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.stem = torch.nn.Conv2d(3, 4, 3)
            self.blocks = torch.nn.Sequential(Block(), Block())
            self.head = torch.nn.Linear(4, 10)

        def forward(self, image: Any) -> Any:
            return self.head(self.blocks(self.stem(image)).mean((2, 3)))

    model, image = Net().eval(), torch.ones(1, 3, 8, 8)
    for name, is_new in {"torch_export.onnx": True, "torch_trace.onnx": False}.items():
        torch.onnx.export(
            model,
            (image,),
            str(folder / name),
            dynamo=is_new,
            input_names=["image"],
            output_names=["logits"],
            **({"external_data": False} if is_new else {"export_params": True}),
        )
    _shorten_paths(folder / "torch_export.onnx")

    def value(name: str, *shape: Any) -> Any:
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)

    then = helper.make_graph(
        [helper.make_node("Mul", ["x", "w"], ["t"], name="scale")], "then", [], [value("t", "n", 2)]
    )
    other = helper.make_graph(
        [helper.make_node("Neg", ["x"], ["e"])], "else", [], [value("e", "n", 2)]
    )
    twice = helper.make_function(
        "own",
        "Twice",
        ["a"],
        ["b"],
        [helper.make_node("Add", ["a", "a"], ["b"])],
        [helper.make_opsetid("", 20)],
    )
    graph = helper.make_graph(
        [
            helper.make_node("If", ["yes"], ["y"], then_branch=then, else_branch=other, name="if"),
            helper.make_node("Twice", ["y"], ["z"], domain="own"),
            helper.make_node("Clip", ["z", "", "top"], ["end"], name="clip"),
        ],
        "choice",
        [helper.make_tensor_value_info("yes", TensorProto.BOOL, []), value("x", "n", 2)],
        [value("end", "n", 2)],
        [
            helper.make_tensor("w", TensorProto.FLOAT, [2], [1.0, 2.0]),
            helper.make_tensor("top", TensorProto.FLOAT, [], [6.0]),
        ],
    )
    opsets = [helper.make_opsetid("", 20), helper.make_opsetid("own", 1)]
    made = helper.make_model(graph, functions=[twice], opset_imports=opsets)
    onnx.checker.check_model(made)
    onnx.save(made, folder / "choice.onnx")
    told = {path.name: _tell(onnx.load(path)) for path in sorted(folder.glob("*.onnx"))}
    (folder / "onnx.json").write_text(json.dumps(told, indent=1), encoding="utf-8")


def _tell(model: Any) -> dict[str, Any]:
    """What the onnx package reads of a file."""
    graph = model.graph
    return {
        "nodes": [[it.name, it.op_type, list(it.input), list(it.output)] for it in graph.node],
        "initializers": {it.name: list(it.dims) for it in graph.initializer},
        "inputs": [it.name for it in graph.input],
        "outputs": [it.name for it in graph.output],
    }


def _shorten_paths(path: Path) -> None:
    """Where the packages lie on the machine that wrote the file is nobody's business."""
    import onnx

    model = onnx.load(path)
    for node in model.graph.node:
        for entry in node.metadata_props:
            entry.value = re.sub(r'"/[^"]*/(site-packages/[^"]*)"', r'"\1"', entry.value)
            entry.value = re.sub(r'"/[^"]*/([^"/]*)"', r'"\1"', entry.value)
            entry.value = entry.value.replace("__main__.make_onnx.<locals>.", "net.")
    onnx.save(model, path)


def make_keras2(folder: Path) -> None:
    import tf_keras as keras
    from tf_keras import layers

    image = keras.Input((16, 16, 3), name="image")
    words = keras.Input((12,), name="words")
    x = layers.Conv2D(8, 3, padding="same", name="stem")(image)
    shortcut = x
    x = layers.BatchNormalization(name="norm")(x)
    x = layers.Activation("relu", name="relu")(x)
    x = layers.Conv2D(8, 3, padding="same", use_bias=False, name="conv")(x)
    x = layers.Add(name="skip")([x, shortcut])
    pooled = layers.GlobalAveragePooling2D(name="pool")(x)
    embedded = layers.Embedding(50, 8, name="embed")(words)
    attended = layers.MultiHeadAttention(2, 4, name="attend")(embedded, value=embedded)
    read = layers.LSTM(8, name="read")(attended)
    tower = keras.Sequential(
        [keras.Input((8,)), layers.Dense(16, name="wide"), layers.Dense(8, name="narrow")],
        name="tower",
    )
    both = layers.Concatenate(name="both")([tower(pooled), tower(read)])
    outputs = [layers.Dense(10, name="label")(both), layers.Dense(1, name="score")(both * 2.0)]
    _write_keras(folder / "keras2_functional.json", keras.Model([image, words], outputs))
    plain = keras.Sequential(
        [
            keras.Input((8, 8, 1)),
            layers.Conv2D(4, 3, strides=2),
            layers.MaxPooling2D(),
            layers.Flatten(),
            layers.Dropout(0.1),
            layers.Dense(5, activation="softmax"),
        ]
    )
    _write_keras(folder / "keras2_sequential.json", plain)


def _write_keras(path: Path, model: Any) -> None:
    """What the model tells of itself, and what Keras counts of each layer."""
    told = {"model": model.to_json(), "counts": dict(_iter_counts(model, ""))}
    told["total"] = model.count_params()
    path.write_text(json.dumps(told), encoding="utf-8")


def _iter_counts(model: Any, scope: str) -> Any:
    for layer in model.layers:
        if hasattr(layer, "layers"):
            yield from _iter_counts(layer, f"{scope}{layer.name}/")
        else:
            yield f"{scope}{layer.name}", layer.count_params()


def make_tensorboardx(folder: Path) -> None:
    import torch
    from tensorboardX import SummaryWriter

    inner = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU())
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), inner, torch.nn.Linear(8, 2))
    with SummaryWriter(str(folder / "tensorboardx")) as writer:
        writer.add_graph(model, torch.ones(1, 4))


def make_frozen(folder: Path) -> None:
    import tensorflow as tf

    @tf.function(input_signature=[tf.TensorSpec((None, 4), tf.float32, "x")])
    def step(x: Any) -> Any:
        with tf.name_scope("loop"):
            total = tf.while_loop(lambda i, t: i < 3, lambda i, t: (i + 1, t * 2.0), [0, x])[1]
        with tf.name_scope("choice"):
            return tf.cond(tf.reduce_sum(total) > 0, lambda: total + 1.0, lambda: -total)

    class Module(tf.Module):
        def __init__(self) -> None:
            super().__init__()
            self.kernel = tf.Variable(tf.ones((4, 2)), name="kernel")

        @tf.function(input_signature=[tf.TensorSpec((None, 4), tf.float32, "x")])
        def __call__(self, x: Any) -> Any:
            return step(x) @ self.kernel

    module = Module()
    graph = module.__call__.get_concrete_function().graph.as_graph_def(add_shapes=True)
    (folder / "function.pb").write_bytes(graph.SerializeToString())
    tf.io.write_graph(graph, str(folder), "function.pbtxt", as_text=True)
    tf.saved_model.save(module, str(folder / "saved"))
    (folder / "saved/saved_model.pb").rename(folder / "saved_model.pb")


def make_stablehlo(folder: Path) -> None:
    import jax
    import jax.numpy as jnp

    @jax.jit
    def step(params: Any, x: Any) -> Any:
        with jax.named_scope("encoder"):
            h = jax.nn.relu(x @ params["w"] + params["b"])
        with jax.named_scope("loop"):
            total, _ = jax.lax.scan(lambda c, r: (c + r.sum(), c), 0.0, h)
            y = jax.lax.while_loop(lambda v: v < 10.0, lambda v: v * 2.0 + 1.0, total)
        with jax.named_scope("choice"):
            z = jax.lax.cond(y > 3.0, lambda t: t - 1.0, lambda t: -t, y)
        return h.at[0].set(1.0).max(axis=1), z, jnp.sort(h, axis=0)

    lowered = step.lower({"w": jnp.ones((4, 5)), "b": jnp.ones(5)}, jnp.ones((3, 4)))
    for name, is_located in {"step.mlir": False, "step_located.mlir": True}.items():
        text = re.sub(r'"/[^"]*/([^"/]*)"', r'"\1"', lowered.as_text(debug_info=is_located))
        (folder / name).write_text(text, encoding="utf-8")


def make_keras3(folder: Path) -> None:
    """The graph of a training step, as our callback logs it: one call that holds all operations."""
    import os
    import tempfile

    os.environ["KERAS_BACKEND"] = "tensorflow"
    import keras
    import numpy as np
    from keras import layers

    import tracklight
    from tracklight.keras import TensorBoard

    model = keras.Sequential(
        [
            keras.Input((6,)),
            layers.Dense(8, activation="relu"),
            layers.Dropout(0.1),
            layers.Dense(3),
        ]
    )
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile("adam", loss, metrics=["accuracy"])
    inputs, labels = np.ones((8, 6), "float32"), np.zeros(8, "int32")
    with tempfile.TemporaryDirectory() as place:
        callback = TensorBoard(place, write_graph=True)
        model.fit(inputs, labels, batch_size=4, verbose=0, callbacks=[callback])
        with tracklight.open(place, cache=False) as log:
            data = log.tensors("train", "__run_graph__")[-1].item()
    (folder / "keras3_train_step.pb").write_bytes(data)


if __name__ == "__main__":
    made = Path(sys.argv[1])
    {
        "onnx": make_onnx,
        "keras2": make_keras2,
        "tensorboardx": make_tensorboardx,
        "frozen": make_frozen,
        "stablehlo": make_stablehlo,
        "keras3": make_keras3,
    }[sys.argv[2]](made)
