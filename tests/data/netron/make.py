"""Write model files of well-known architectures, ten of each format, and record Netron's counts.

Usage::

    python tests/data/netron/make.py tensorflow NETRON   # .keras, .h5, saved_model.pb and .tflite
    python tests/data/netron/make.py graphdef NETRON     # frozen GraphDefs
    python tests/data/netron/make.py nested NETRON       # .keras and .h5 with models in models
    python tests/data/netron/make.py torch NETRON        # .pt, .pt2, .onnx and .safetensors
    python tests/data/netron/make.py tuples NETRON       # .pt with tuples, lists and dictionaries
    python tests/data/netron/make.py classics NETRON     # .pt, .pt2 and .onnx of classics.py
    python tests/data/netron/make.py jax NETRON          # StableHLO
    python tests/data/netron/make.py branches NETRON     # branches and loops of four formats

NETRON is a checkout of https://github.com/lutzroeder/netron, or a folder with the files of its
Python package in ``source`` and its ``mock.js`` in ``test``. The files go into an archive, the
counts that ``count.mjs`` gets from Netron's parsers into ``FRAMEWORK.json``. ``classics`` needs
onnxscript. All weights are zero, so that the archives are small; they have the shapes of the
architectures.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tarfile
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent


def make_keras_models() -> Iterator[tuple[str, Any]]:
    import keras
    from keras import layers

    apps = keras.applications
    image = {"weights": None, "include_top": True, "classes": 10}
    yield "mobilenet", apps.MobileNet((32, 32, 3), alpha=0.25, **image)
    yield "mobilenet_v2", apps.MobileNetV2((32, 32, 3), alpha=0.35, **image)
    yield "mobilenet_v3", apps.MobileNetV3Small((32, 32, 3), alpha=0.75, **image)
    yield "efficientnet", apps.EfficientNetB0(input_shape=(32, 32, 3), **image)
    yield "densenet", apps.DenseNet121(input_shape=(32, 32, 3), **image)

    x = picture = layers.Input((32, 32, 3))
    x = layers.Conv2D(16, 3, padding="same", activation="relu")(x)
    for filters, stride in ((16, 1), (32, 2), (64, 2)):
        for block in range(3):
            strides = stride if block == 0 else 1
            y = layers.Conv2D(filters, 3, strides=strides, padding="same", use_bias=False)(x)
            y = layers.ReLU()(layers.BatchNormalization()(y))
            y = layers.Conv2D(filters, 3, padding="same", use_bias=False)(y)
            y = layers.BatchNormalization()(y)
            skip = x if x.shape == y.shape else layers.Conv2D(filters, 1, strides=strides)(x)
            x = layers.ReLU()(layers.Add()([y, skip]))
    x = layers.GlobalAveragePooling2D()(x)
    yield "resnet20", keras.Model(picture, layers.Dense(10, activation="softmax")(x))

    x = picture = layers.Input((32, 32, 3))
    skips = []
    for filters in (8, 16, 32):
        x = layers.Conv2D(filters, 3, padding="same", activation="relu")(x)
        skips.append(x)
        x = layers.MaxPooling2D()(x)
    for skip in reversed(skips):
        x = layers.Conv2DTranspose(skip.shape[-1], 2, strides=2)(x)
        x = layers.Concatenate()([x, skip])
        x = layers.Conv2D(skip.shape[-1], 3, padding="same", activation="relu")(x)
    yield "unet", keras.Model(picture, layers.Conv2D(2, 1)(x))

    x = tokens = layers.Input((16,), dtype="int32")
    x = layers.Embedding(100, 32)(x)
    for _ in range(3):
        attended = layers.MultiHeadAttention(4, 8)(x, x)
        x = layers.LayerNormalization()(layers.Add()([x, attended]))
        hidden = layers.Dense(32)(layers.Dense(64, activation="gelu")(x))
        x = layers.LayerNormalization()(layers.Add()([x, hidden]))
    x = layers.GlobalAveragePooling1D()(x)
    yield "transformer", keras.Model(tokens, layers.Dense(2, activation="softmax")(x))

    yield (
        "text_cnn",
        keras.Sequential(
            [
                layers.Input((64, 8)),
                layers.Conv1D(16, 3, activation="relu"),
                layers.MaxPooling1D(2),
                layers.SeparableConv1D(16, 3, activation="relu"),
                layers.GlobalMaxPooling1D(),
                layers.Dropout(0.2),
                layers.Dense(4, activation="softmax"),
            ]
        ),
    )

    tower = keras.Sequential([layers.Input((12,)), layers.Dense(8, "relu"), layers.Dense(4)])
    left, right = layers.Input((12,), name="left"), layers.Input((12,), name="right")
    both = [tower(left), tower(right)]
    product, total = layers.Multiply()(both), layers.Add()(both)
    match = layers.Dense(1, "sigmoid", name="match")(product)
    rank = layers.Dense(3, name="rank")(layers.Concatenate()([product, total]))
    yield "siamese", keras.Model([left, right], [match, rank])


def write_tensorflow(folder: Path) -> None:
    import numpy as np
    import tensorflow as tf

    for name, model in make_keras_models():
        model.set_weights([np.zeros_like(weight) for weight in model.get_weights()])
        model.save(folder / f"{name}.keras")
        model.save(folder / f"{name}.h5")
        with tempfile.TemporaryDirectory() as exported:
            model.export(exported, verbose=False)
            content = (Path(exported) / "saved_model.pb").read_bytes()
            (folder / f"{name}.pb").write_bytes(content)
            converter = tf.lite.TFLiteConverter.from_saved_model(exported)
            (folder / f"{name}.tflite").write_bytes(converter.convert())


def write_graphdefs(folder: Path) -> None:
    import tensorflow as tf
    from tensorflow.python.framework import convert_to_constants

    for name, model in make_keras_models():
        specs = [tf.TensorSpec([1, *it.shape[1:]], it.dtype) for it in model.inputs]
        function = tf.function(lambda *inputs, model=model: model(list(inputs)))
        concrete = function.get_concrete_function(*specs)
        frozen = convert_to_constants.convert_variables_to_constants_v2(concrete)
        graph = frozen.graph.as_graph_def()
        for node in graph.node:
            tensor = node.attr["value"].tensor if node.op == "Const" else None
            if tensor is not None and len(tensor.tensor_content) > 1000:
                tensor.tensor_content = b""
                tensor.float_val.append(0)  # for all elements
        (folder / f"{name}.pb").write_bytes(graph.SerializeToString())


def make_nested_models() -> Iterator[tuple[str, Any]]:
    """Yield Keras models with models or layers that are called inside, some of them twice."""
    import keras
    from keras import layers

    base = keras.applications.MobileNetV2((32, 32, 3), alpha=0.35, weights=None, include_top=False)
    picture = layers.Input((32, 32, 3))
    x = layers.GlobalAveragePooling2D()(base(layers.RandomFlip()(picture)))
    yield "transfer", keras.Model(picture, layers.Dense(3)(x))

    values = layers.Input((12,))
    hidden = layers.Dense(8, "relu")(values)
    both = [layers.Dense(4)(hidden), layers.Add()([hidden, hidden])]
    tower = keras.Model(values, both, name="tower")
    left, right = layers.Input((12,)), layers.Input((12,))
    (one, two), (three, four) = tower(left), tower(right)
    results = [layers.Add()([one, three]), layers.Concatenate()([two, four])]
    yield "shared_model", keras.Model([left, right], results)

    dense, table = layers.Dense(4), layers.Embedding(10, 4)
    left, right = layers.Input((3,)), layers.Input((3,))
    parts = [dense(table(left)), dense(table(right)), dense(dense(table(left)))]
    yield "shared_layers", keras.Model([left, right], layers.Concatenate()(parts))

    def chain(name: str | None, size: int, *parts: Any) -> Any:
        return keras.Sequential([layers.Input((size,)), *parts], name=name)

    inner = chain("inner", 6, layers.Dense(6), layers.Dropout(0.1))
    middle = chain("middle", 6, inner, layers.Dense(6))
    yield "deep", chain(None, 6, middle, layers.ReLU(), layers.Dense(1))

    encoder = chain("encoder", 16, layers.Dense(8, "relu"), layers.Dense(2))
    decoder = chain("decoder", 2, layers.Dense(8, "relu"), layers.Dense(16))
    values = layers.Input((16,))
    yield "autoencoder", keras.Model(values, decoder(encoder(values)))

    rows = layers.Input((5, 4))
    x = layers.TimeDistributed(layers.Dense(4))(rows)
    yield "wrappers", keras.Model(rows, layers.Bidirectional(layers.LSTM(3))(x))

    rows = layers.Input((5, 4))
    x, state, cell = layers.LSTM(4, return_state=True, return_sequences=True)(rows)
    yield "keywords", keras.Model(rows, layers.LSTM(4)(x, initial_state=[state, cell]))


def write_nested(folder: Path) -> None:
    for name, model in make_nested_models():
        model.set_weights([weight * 0 for weight in model.get_weights()])
        model.save(folder / f"{name}.keras")
        model.save(folder / f"{name}.h5")


def make_torch_models() -> Iterator[tuple[str, Any, tuple[Any, ...]]]:
    import torch
    import transformers as tr

    tokens = (torch.ones(1, 8, dtype=torch.long),)
    picture = (torch.zeros(1, 3, 32, 32),)
    size = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2}
    text = {**size, "intermediate_size": 32, "vocab_size": 50}
    yield "bert", tr.BertModel(tr.BertConfig(**text)), tokens
    yield "gpt2", tr.GPT2Model(tr.GPT2Config(n_embd=16, n_layer=2, n_head=2, vocab_size=50)), tokens
    config = tr.DistilBertConfig(dim=16, n_layers=2, n_heads=2, hidden_dim=32, vocab_size=50)
    yield "distilbert", tr.DistilBertModel(config), tokens
    yield "electra", tr.ElectraModel(tr.ElectraConfig(embedding_size=16, **text)), tokens
    vit = tr.ViTConfig(**size, intermediate_size=32, image_size=32, patch_size=8)
    yield "vit", tr.ViTModel(vit), picture
    resnet = tr.ResNetConfig(embedding_size=8, hidden_sizes=[8, 16], depths=[2, 2])
    yield "resnet", tr.ResNetModel(resnet), picture
    convnext = tr.ConvNextConfig(hidden_sizes=[8, 16], depths=[1, 2], num_stages=2, patch_size=2)
    yield "convnext", tr.ConvNextModel(convnext), picture
    yield "mobilenet_v2", tr.MobileNetV2Model(tr.MobileNetV2Config(depth_multiplier=0.25)), picture
    regnet = tr.RegNetConfig(embedding_size=8, hidden_sizes=[8, 16], depths=[1, 2], groups_width=8)
    yield "regnet", tr.RegNetModel(regnet), picture
    unet = torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 3, padding=1),
        torch.nn.GroupNorm(2, 8),
        torch.nn.SiLU(),
        torch.nn.Conv2d(8, 16, 3, stride=2),
        torch.nn.Upsample(scale_factor=2),
        torch.nn.ConvTranspose2d(16, 3, 2),
        torch.nn.Tanh(),
    )
    yield "decoder", unet, picture


def write_torch(folder: Path) -> None:
    import torch
    from safetensors.torch import save_file

    class FirstOutput(torch.nn.Module):
        """Only tensors can be results of a traced model."""

        def __init__(self, model: torch.nn.Module) -> None:
            super().__init__()
            self.model = model

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            result = self.model(x)
            return result if isinstance(result, torch.Tensor) else result[0]

    for name, model, example in make_torch_models():
        if hasattr(model, "config"):
            model.config._attn_implementation = "eager"
        for parameter in model.parameters():
            torch.nn.init.zeros_(parameter)
        net = FirstOutput(model).eval()
        save_file(
            {key: value.clone() for key, value in net.state_dict().items()},
            folder / f"{name}.safetensors",
        )
        torch.jit.save(torch.jit.trace(net, example), folder / f"{name}.pt")
        torch.export.save(torch.export.export(net, example), folder / f"{name}.pt2")
        torch.onnx.export(net, example, str(folder / f"{name}.onnx"), dynamo=False)


def write_tuples(folder: Path) -> None:
    """Write TorchScript files of modules that return tuples, lists and dictionaries."""
    import torch
    from torch import nn

    class Pair(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)

        def forward(self, x):  # type: ignore[no-untyped-def]
            return self.a(x), self.b(x)

    class Chain(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = Pair(), Pair()

        def forward(self, x):  # type: ignore[no-untyped-def]
            a, b = self.first(x)
            c, d = self.second(a + b)
            return torch.cat([c, d], 1)

    class Nested(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.pair = Pair()

        def forward(self, x):  # type: ignore[no-untyped-def]
            a, b = self.pair(x)
            return a, (b, a + b)

    class Named(Nested):
        def forward(self, x):  # type: ignore[no-untyped-def]
            a, b = self.pair(x)
            return {"a": a, "b": b}

    class Sorted(nn.Module):
        def forward(self, x):  # type: ignore[no-untyped-def]
            values, order = x.sort(1)
            top = x.topk(2, 1)
            return values, order, top[0], top[1]

    class Chunks(nn.Module):
        def forward(self, x):  # type: ignore[no-untyped-def]
            return list(x.chunk(2, 1))

    class Sum(nn.Module):
        def forward(self, x: tuple[torch.Tensor, torch.Tensor]):  # type: ignore[no-untyped-def]
            return x[0] + x[1]

    class Recurrent(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.lstm, self.head = nn.LSTM(4, 8, batch_first=True), nn.Linear(8, 2)

        def forward(self, x):  # type: ignore[no-untyped-def]
            y, (state, cell) = self.lstm(x)
            return self.head(y), state, cell

    rows, cube = torch.zeros(2, 4), torch.zeros(3, 1, 8)
    traced = [
        ("pair", Pair(), (rows,)),
        ("chain", Chain(), (rows,)),
        ("nested", Nested(), (rows,)),
        ("dictionary", Named(), (rows,)),
        ("sorted", Sorted(), (rows,)),
        ("chunks", Chunks(), (rows,)),
        ("sum", Sum(), ((rows, rows),)),
        ("lstm", Recurrent(), (rows[None],)),
        ("gru", nn.GRU(8, 4, 2), (cube,)),
        ("attention", nn.MultiheadAttention(8, 2), (cube, cube, cube)),
    ]
    scripted = [("pair", Pair()), ("chain", Chain()), ("sum", Sum())]
    for name, module, example in traced:
        module.requires_grad_(False)
        program = torch.jit.trace(module.eval(), example, strict=name != "dictionary")
        torch.jit.save(program, folder / f"{name}.pt")
    for name, module in scripted:
        torch.jit.save(torch.jit.script(module.eval()), folder / f"{name}_script.pt")


def write_classics(folder: Path) -> None:
    """Write frozen TorchScript, exported programs, and ONNX by the newer exporter."""
    import torch
    from classics import make_classics

    for name, module, example in make_classics():
        for parameter in module.parameters():
            torch.nn.init.zeros_(parameter.requires_grad_(False))
        module.eval()
        frozen = torch.jit.freeze(torch.jit.trace(module, example))
        torch.jit.save(frozen, folder / f"{name}.pt")
        torch.export.save(torch.export.export(module, example), folder / f"{name}.pt2")
        path = str(folder / f"{name}.onnx")
        torch.onnx.export(module, example, path, dynamo=True, external_data=False, verbose=False)


def make_jax_functions() -> Iterator[tuple[str, Any, tuple[Any, ...]]]:
    import jax
    import jax.numpy as jnp
    from jax import lax

    x, w = jnp.zeros((4, 8)), jnp.zeros((8, 8))
    picture, kernel = jnp.zeros((1, 16, 16, 3)), jnp.zeros((3, 3, 3, 8))
    dims = ("NHWC", "HWIO", "NHWC")

    def mlp(x: Any, w: Any) -> Any:
        return jax.nn.softmax(jax.nn.relu(x @ w) @ w)

    def cnn(picture: Any, kernel: Any) -> Any:
        y = lax.conv_general_dilated(picture, kernel, (1, 1), "SAME", dimension_numbers=dims)
        y = lax.reduce_window(y, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
        return jax.nn.gelu(y).mean((1, 2))

    def attention(x: Any, w: Any) -> Any:
        query, key, value = x @ w, x @ w.T, x
        return jax.nn.softmax(query @ key.T / jnp.sqrt(8.0)) @ value

    def layer_norm(x: Any, w: Any) -> Any:
        centered = x - x.mean(-1, keepdims=True)
        return centered * lax.rsqrt(jnp.square(centered).mean(-1, keepdims=True) + 1e-6) @ w

    def recurrent(x: Any, w: Any) -> Any:
        return lax.scan(lambda h, v: (jnp.tanh(h @ w + v),) * 2, jnp.zeros(8), x)

    def power(x: Any, w: Any) -> Any:
        return lax.fori_loop(0, 5, lambda _, y: y @ w, x)

    def choice(x: Any, w: Any) -> Any:
        return lax.cond(x.sum() > 0, lambda y: y @ w, lambda y: y * 2, x)

    def train_step(x: Any, w: Any) -> Any:
        loss, gradient = jax.value_and_grad(lambda w: jnp.square(mlp(x, w)).mean())(w)
        return loss, w - 0.1 * gradient

    def autoencoder(x: Any, w: Any) -> Any:
        return jax.nn.sigmoid(jnp.tanh(x @ w[:, :2]) @ w[:2])

    def sort(x: Any, w: Any) -> Any:
        order = jnp.argsort(x.sum(1))
        return jnp.concatenate([x[order], jnp.pad(x, ((0, 1), (0, 0)))]), jnp.cumsum(w, 0)

    functions = (mlp, attention, layer_norm, recurrent, power, choice, train_step, autoencoder)
    for function in (*functions, sort):
        yield function.__name__, function, (x, w)
    yield "cnn", cnn, (picture, kernel)


def write_jax(folder: Path) -> None:
    import jax

    for name, function, arguments in make_jax_functions():
        text = jax.jit(function).lower(*arguments).as_text()
        (folder / f"{name}.mlir").write_text(text)


def write_branches(folder: Path) -> None:
    """Write programs with branches and loops, also in one another, and StableHLO with locations."""
    import onnx
    import torch
    from branches import make_exported, make_located, make_onnx, make_tf_functions
    from tensorflow.python.framework import convert_to_constants

    for name, module, example, sizes in make_exported():
        program = torch.export.export(module.eval(), example, dynamic_shapes=sizes)
        torch.export.save(program, folder / f"{name}.pt2")
    for name, model in make_onnx():
        onnx.save(model, folder / f"{name}.onnx")
    for name, function, specs in make_tf_functions():
        concrete = function.get_concrete_function(*specs)
        frozen = convert_to_constants.convert_variables_to_constants_v2(
            concrete, lower_control_flow=True
        )
        (folder / f"{name}.pb").write_bytes(frozen.graph.as_graph_def().SerializeToString())
    for name, text in make_located():
        (folder / f"{name}.mlir").write_text(text)


def main(framework: str, netron: str) -> None:
    write = {
        "tensorflow": write_tensorflow,
        "graphdef": write_graphdefs,
        "nested": write_nested,
        "torch": write_torch,
        "tuples": write_tuples,
        "classics": write_classics,
        "jax": write_jax,
        "branches": write_branches,
    }[framework]
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            write(folder)
        files = sorted(folder.iterdir())
        command = ["node", str(HERE / "count.mjs"), netron, *map(str, files)]
        result = subprocess.run(command, capture_output=True, text=True, check=True)
        counts = json.loads(result.stdout)
        lines = (f"{json.dumps(name)}: {json.dumps(it)}" for name, it in counts.items())
        (HERE / f"{framework}.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")
        with tarfile.open(HERE / f"{framework}.tar.xz", "w:xz") as archive:
            for path in files:
                archive.add(path, path.name)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
