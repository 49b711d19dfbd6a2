"""Experiments with op graphs: ResNet-50, and language models that also log text.

ResNet-50 has a TensorFlow graph, a Keras model, and times and memory of one step. The graph of the
language models is that of a transformer.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from tracklight.cli.demo.writers import (
    BATCH,
    EventFile,
    GraphBuilder,
    add_classifier,
    add_convolution,
    add_loss,
    add_norm,
    add_training,
    make_int_list,
)
from tracklight.formats import proto, summary
from tracklight.formats.proto import Message
from tracklight.formats.tensor import DType
from tracklight.writer.values import build_graph_value

# ---- ResNet-50

#: Number of blocks of each stage, and channels inside of its blocks.
STAGES = ((3, 64), (4, 128), (6, 256), (3, 512))
#: Output channels of a block relative to its inner channels.
EXPANSION = 4
SIDE, CLASSES = 224, 1000


def build_resnet_graph() -> Message:
    builder = GraphBuilder("/device:CPU:0")
    images = builder.add("data/images", "Placeholder", (), (BATCH, SIDE, SIDE, 3))
    labels = builder.add("data/labels", "Placeholder", (), (BATCH,), dtype=DType.INT64)
    builder.device = "/device:GPU:0"
    flow, side, channels = _add_stem(builder, images), SIDE // 4, 64
    for number, (blocks, width) in enumerate(STAGES, 1):
        builder.device = f"/device:GPU:{number // 3}"
        for block in range(1, blocks + 1):
            stride = 2 if block == 1 and number > 1 else 1
            side //= stride
            scope = f"resnet50/stage{number}/block{block}"
            flow = _add_block(builder, scope, flow, (side, channels, width), stride)
            channels = EXPANSION * width
    pooled = builder.add("resnet50/head/pool/Mean", "Mean", [flow], (BATCH, channels))
    logits = add_classifier(builder, "resnet50/head/dense", pooled, channels, CLASSES)
    add_training(builder, add_loss(builder, logits, labels))
    return builder.graph()


def _add_stem(builder: GraphBuilder, flow: str) -> str:
    shape = (BATCH, SIDE // 2, SIDE // 2, 64)
    flow = add_convolution(builder, "resnet50/stem/conv", flow, (7, 7, 3, 64), shape, 2)
    flow = add_norm(builder, "resnet50/stem/norm", flow, shape)
    flow = builder.add("resnet50/stem/Relu", "Relu", [flow], shape)
    attrs = {"ksize": make_int_list(1, 3, 3, 1), "strides": make_int_list(1, 2, 2, 1)}
    attrs["padding"] = proto.AttrValue(s=b"SAME")
    pooled = (BATCH, SIDE // 4, SIDE // 4, 64)
    return builder.add("resnet50/stem/MaxPool", "MaxPool", [flow], pooled, attrs=attrs)


def _add_block(
    builder: GraphBuilder, scope: str, flow: str, sizes: tuple[int, int, int], stride: int
) -> str:
    """Add three convolutions and a shortcut, which is a convolution where the size changes."""
    side, channels, width = sizes
    block_input, wide = flow, (BATCH, side, side, EXPANSION * width)
    narrow = (BATCH, side, side, width)
    plan = (((1, 1, channels, width), narrow, stride), ((3, 3, width, width), narrow, 1))
    for number, (kernel, shape, step) in enumerate(plan, 1):
        flow = add_convolution(builder, f"{scope}/conv{number}", flow, kernel, shape, step)
        flow = add_norm(builder, f"{scope}/norm{number}", flow, shape)
        flow = builder.add(f"{scope}/Relu_{number}", "Relu", [flow], shape)
    last = (1, 1, width, EXPANSION * width)
    flow = add_convolution(builder, f"{scope}/conv3", flow, last, wide)
    flow = add_norm(builder, f"{scope}/norm3", flow, wide)
    shortcut = block_input
    if channels != wide[-1]:
        kernel = (1, 1, channels, wide[-1])
        shortcut = add_convolution(
            builder, f"{scope}/shortcut/conv", block_input, kernel, wide, stride
        )
        shortcut = add_norm(builder, f"{scope}/shortcut/norm", shortcut, wide)
    total = builder.add(f"{scope}/add", "AddV2", [flow, shortcut], wide)
    return builder.add(f"{scope}/Relu_3", "Relu", [total], wide)


# ---- Keras model

Json = dict[str, Any]

Shape = tuple[int | None, ...]


class _KerasModel:
    """Builds the configuration of a functional model layer by layer."""

    def __init__(self, name: str, shape: Shape) -> None:
        self.name = name
        self.layers: list[Json] = []
        self.shapes = {"input": shape}
        self._append("InputLayer", "input", {"batch_shape": shape}, [])

    def add(self, kind: str, name: str, sources: list[str], shape: Shape, **config: Any) -> str:
        tensors = [_tensor(source, self.shapes[source]) for source in sources]
        block_input = [self.shapes[source] for source in sources]
        arguments = tensors if len(tensors) == 1 else [tensors]
        layer = self._append(kind, name, config, [{"args": arguments, "kwargs": {}}])
        layer["build_config"] = {
            "input_shape": block_input[0] if len(block_input) == 1 else block_input
        }
        self.shapes[name] = shape
        return name

    def add_model(self, model: _KerasModel, source: str) -> str:
        call = {"args": [_tensor(source, self.shapes[source])], "kwargs": {}}
        self.layers.append(model.describe() | {"name": model.name, "inbound_nodes": [call]})
        self.shapes[model.name] = model.shapes[model.last]
        return model.name

    @property
    def last(self) -> str:
        return list(self.shapes)[-1]

    def describe(self) -> Json:
        config = {
            "name": self.name,
            "trainable": True,
            "layers": self.layers,
            "input_layers": [["input", 0, 0]],
            "output_layers": [[self.last, 0, 0]],
        }
        return {"module": "keras", "class_name": "Functional", "config": config}

    def _append(self, kind: str, name: str, config: Json, calls: list[Json]) -> Json:
        layer = {
            "module": "keras.layers",
            "class_name": kind,
            "config": {"name": name, "dtype": "float32", **config},
            "name": name,
            "inbound_nodes": calls,
        }
        self.layers.append(layer)
        return layer


def encode_keras_model() -> bytes:
    """Return what ``model.to_json()`` returns in Keras."""
    model = _KerasModel("resnet50", (None, SIDE, SIDE, 3))
    flow, side, channels = model.add_model(_make_keras_stem(), "input"), SIDE // 4, 64
    for number, (blocks, width) in enumerate(STAGES, 1):
        stride = 1 if number == 1 else 2
        stage = _KerasModel(f"stage{number}", (None, side, side, channels))
        inside, side, channels = "input", side // stride, EXPANSION * width
        for block in range(1, blocks + 1):
            inside = _add_keras_block(stage, f"block{block}", inside, side, width, stride)
            stride = 1
        flow = model.add_model(stage, flow)
    flow = model.add("GlobalAveragePooling2D", "pool", [flow], (None, channels))
    model.add("Dense", "predictions", [flow], (None, CLASSES), units=CLASSES, use_bias=True)
    return json.dumps(model.describe(), separators=(",", ":")).encode()


def _make_keras_stem() -> _KerasModel:
    stem = _KerasModel("stem", (None, SIDE, SIDE, 3))
    flow = _add_keras_convolution(stem, "conv", "input", (None, SIDE // 2, SIDE // 2, 64), 7, 2)
    flow = stem.add("Activation", "relu", [flow], stem.shapes[flow], activation="relu")
    shape = (None, SIDE // 4, SIDE // 4, 64)
    stem.add("MaxPooling2D", "pool", [flow], shape, pool_size=[3, 3], strides=[2, 2])
    return stem


def _add_keras_block(
    model: _KerasModel, name: str, block_input: str, side: int, width: int, stride: int
) -> str:
    narrow, wide = (None, side, side, width), (None, side, side, EXPANSION * width)
    flow = block_input
    for number, (size, step) in enumerate(((1, stride), (3, 1)), 1):
        flow = _add_keras_convolution(model, f"{name}_conv{number}", flow, narrow, size, step)
        flow = model.add("Activation", f"{name}_relu{number}", [flow], narrow, activation="relu")
    flow = _add_keras_convolution(model, f"{name}_conv3", flow, wide, 1, 1)
    shortcut = block_input
    if model.shapes[block_input] != wide:
        shortcut = _add_keras_convolution(model, f"{name}_shortcut", block_input, wide, 1, stride)
    flow = model.add("Add", f"{name}_add", [flow, shortcut], wide)
    return model.add("Activation", f"{name}_out", [flow], wide, activation="relu")


def _add_keras_convolution(
    model: _KerasModel, name: str, source: str, shape: Shape, size: int, stride: int
) -> str:
    config: Json = {"filters": shape[-1], "kernel_size": [size, size], "strides": [stride, stride]}
    config |= {"padding": "same", "use_bias": False, "groups": 1, "data_format": "channels_last"}
    flow = model.add("Conv2D", name, [source], shape, **config)
    norm = {"axis": -1, "momentum": 0.99, "epsilon": 0.001, "center": True, "scale": True}
    return model.add("BatchNormalization", f"{name}_norm", [flow], shape, **norm)


def _tensor(layer: str, shape: Shape) -> Json:
    config = {"shape": shape, "dtype": "float32", "keras_history": [layer, 0, 0]}
    return {"class_name": "__keras_tensor__", "config": config}


# ---- times and memory

_BATCH_SIZE = 32
_FLOPS_PER_US = 12e6
_BYTES_PER_US = 0.6e6
_LAUNCH_US = 3.0
_STARTED_US = 1_700_000_000_000_000


def make_run_metadata(graph: Message) -> Message:
    """Return the metadata of a step in which the operations of a graph ran one after another."""
    devices: dict[bytes, list[Message]] = {}
    shapes = {node.name: _get_shape(node) for node in graph.node}
    start_us = 0.0
    for node in graph.node:
        if node.op in (b"Placeholder", b"NoOp", b"VarHandleOp"):
            continue
        duration_us = _estimate_us(node, shapes)
        devices.setdefault(node.device, []).append(
            _make_node_stats(node, shapes[node.name], start_us, duration_us)
        )
        start_us += duration_us
    device_stats = [
        proto.DeviceStepStats(device=device, node_stats=nodes) for device, nodes in devices.items()
    ]
    stats = proto.StepStats(dev_stats=device_stats)
    return proto.RunMetadata(step_stats=stats.SerializeToString())


def _make_node_stats(
    node: Message, shape: tuple[int, ...], start_us: float, duration_us: float
) -> Message:
    used = proto.AllocatorMemoryUsed(allocator_name=b"GPU_0_bfc", total_bytes=4 * prod(shape))
    return proto.NodeExecStats(
        node_name=node.name,
        all_start_micros=_STARTED_US + int(start_us),
        all_end_rel_micros=max(1, round(duration_us)),
        all_end_rel_nanos=round(1000 * duration_us),
        memory=[used],
    )


def _estimate_us(node: Message, shapes: dict[bytes, tuple[int, ...]]) -> float:
    """Estimate the duration from the FLOPs of a product, or else from the memory traffic."""
    inputs = [shapes[name] for name in node.input if name in shapes]
    output = shapes[node.name]
    if node.op in (b"Conv2D", b"MatMul"):
        products = prod(output) * prod(inputs[1][:-1])
        return _LAUNCH_US + 2 * products / _FLOPS_PER_US
    moved_bytes = 4 * (prod(output) + sum(map(prod, inputs)))
    return _LAUNCH_US + moved_bytes / _BYTES_PER_US


def _get_shape(node: Message) -> tuple[int, ...]:
    for attribute in node.attr:
        if attribute.key == b"_output_shapes":
            (shape,) = attribute.value.list.shape
            return tuple(_BATCH_SIZE if dim.size < 0 else dim.size for dim in shape.dim)
    return ()


# ---- event file

_STEP = 100


def write_resnet(run: Path, *, now: float) -> None:
    started = now - 90 * 60
    with EventFile(run, started) as file:
        graph = build_resnet_graph()
        file.log_graph(started + 1, graph)
        file.log_run_metadata(started + 3, _STEP, f"step {_STEP}", make_run_metadata(graph))
        file.log(
            started + 2, 0, build_graph_value("keras", "graph_keras_model", encode_keras_model())
        )


# ---- language models

_VOCABULARY_SIZE, _CONTEXT, _BATCH, _HEAD = 96, 512, 16, 32


def build_transformer_graph(*, layers: int, width: int) -> Message:
    """Return the graph of a decoder-only transformer."""
    builder = _TransformerBuilder(width)
    letters = builder.add("input/letters", "IO Node", (), (_BATCH, _CONTEXT), dtype=DType.INT64)
    flow = builder.embed(letters)
    for layer in range(layers):
        flow = builder.add_block(f"Storyteller/ModuleList[blocks]/Block[{layer}]", flow)
    flow = builder.normalize("Storyteller/LayerNorm[norm]", flow, 33)
    sizes = (width, _VOCABULARY_SIZE)
    logits = builder.project("Storyteller/Linear[head]", flow, sizes, 34)
    builder.add("output/output.1", "IO Node", [logits], (_BATCH, _CONTEXT, _VOCABULARY_SIZE))
    return builder.graph()


class _TransformerBuilder(GraphBuilder):
    """Adds the modules of a transformer; each operation has a line of its source file."""

    def __init__(self, width: int) -> None:
        super().__init__(device="")
        self._width = width
        self._shape = (_BATCH, _CONTEXT, width)

    def embed(self, letters: str) -> str:
        scope = "Storyteller/Embedding[letters]"
        table = self._parameter(f"{scope}/weight", (_VOCABULARY_SIZE, self._width))
        tokens = self._run(f"{scope}/embedding", [table, letters], self._shape, 28)
        positions = self._parameter("Storyteller/positions", (1, _CONTEXT, self._width))
        return self._run("Storyteller/add", [tokens, positions], self._shape, 29)

    def add_block(self, scope: str, flow: str) -> str:
        flow = self._attend(scope, flow)
        inside = self.normalize(f"{scope}/LayerNorm[norm2]", flow, 16)
        widths = (self._width, 4 * self._width)
        inside = self.project(f"{scope}/Sequential[mlp]/Linear[0]", inside, widths, 16)
        wide = (*self._shape[:2], widths[1])
        inside = self._run(f"{scope}/Sequential[mlp]/GELU[1]/gelu", [inside], wide, 16)
        inside = self.project(f"{scope}/Sequential[mlp]/Linear[2]", inside, widths[::-1], 16)
        return self._run(f"{scope}/add_1", [flow, inside], self._shape, 16)

    def normalize(self, scope: str, flow: str, line: int) -> str:
        parts = [self._parameter(f"{scope}/{part}", (self._width,)) for part in ("weight", "bias")]
        detail = f"normalized_shape=[{self._width}], eps=1e-05"
        return self._run(f"{scope}/layer_norm", [flow, *parts], self._shape, line, detail)

    def project(self, scope: str, flow: str, sizes: tuple[int, ...], line: int) -> str:
        weight = self._parameter(f"{scope}/weight", sizes[::-1])
        bias = self._parameter(f"{scope}/bias", sizes[1:])
        shape = (*self._shape[:2], sizes[1])
        return self._run(f"{scope}/linear", [flow, weight, bias], shape, line)

    def _attend(self, scope: str, flow: str) -> str:
        inside = f"{scope}/Attention[attention]"
        normalized = self.normalize(f"{scope}/LayerNorm[norm1]", flow, 15)
        heads = (_BATCH, self._width // _HEAD, _CONTEXT, _HEAD)
        parts = []
        for name in ("query", "key", "value"):
            sizes = (self._width, self._width)
            part = self.project(f"{inside}/Linear[{name}]", normalized, sizes, 7)
            part = self._run(f"{inside}/view_{name}", [part], _swap(heads), 7, f"size={heads}")
            parts.append(
                self._run(f"{inside}/transpose_{name}", [part], heads, 7, "dim0=1, dim1=2")
            )
        op = "scaled_dot_product_attention"
        attended = self._run(f"{inside}/{op}", parts, heads, 8, "is_causal=True, dropout_p=0.1")
        attended = self._run(f"{inside}/transpose", [attended], _swap(heads), 9, "dim0=1, dim1=2")
        attended = self._run(f"{inside}/reshape", [attended], self._shape, 9)
        sizes = (self._width, self._width)
        attended = self.project(f"{inside}/Linear[output]", attended, sizes, 9)
        return self._run(f"{scope}/add", [flow, attended], self._shape, 15)

    def _parameter(self, name: str, shape: tuple[int, ...]) -> str:
        return self.add(name, "Parameter", (), shape)

    def _run(
        self, name: str, inputs: Sequence[str], shape: tuple[int, ...], line: int, detail: str = ""
    ) -> str:
        own = name.rpartition("/")[2]
        op = own if own.startswith(("scaled", "layer")) else own.partition("_")[0]
        attrs = {
            "attr": proto.AttrValue(s=detail.encode()),
            "source": proto.AttrValue(s=f"storyteller.py:{line} in forward".encode()),
        }
        return self.add(name, f"aten::{op}", inputs, shape, attrs=attrs)


def _swap(heads: tuple[int, ...]) -> tuple[int, ...]:
    return heads[0], heads[2], heads[1], heads[3]


# ---- runs

_STEPS = 6000
_STEPS_PER_POINT = 100
_STEPS_PER_SAMPLE = 300
_SECONDS_PER_STEP = 0.9
_LETTERS = list("etaoinshrdlucmfwypvbgk")
_TEMPERATURES = (0.2, 0.7, 1.0)
_PROMPTS = ("The lighthouse keeper", "Why is the sea salt?", "def area(radius):")

_STORIES = (
    "The lighthouse keeper counted ships instead of sheep. On the night of the great fog he"
    " counted none, and so he rang the old bell until his arms were tired. In the morning seven"
    " boats lay in the harbour, and nobody could say who had shown them the way.",
    "The sea is salt because rivers carry a little of every stone that they pass. The water leaves"
    " again as clouds, the salt does not, and so the sea keeps a taste of all mountains.",
    'def area(radius):\n    """The area of a circle."""\n    return math.pi * radius**2',
)


@dataclass(frozen=True)
class _LanguageModel:
    name: str
    layers: int
    width: int
    #: Steps in which the error rate falls by 63 %.
    time_constant: float
    #: Error rate at the end.
    final_error: float

    @property
    def parameters(self) -> int:
        return 12 * self.layers * self.width**2


_MODELS = (_LanguageModel("small", 4, 128, 1400, 0.05), _LanguageModel("large", 8, 256, 900, 0.01))


def write_storyteller(folder: Path, *, seed: int, now: float) -> None:
    for number, model in enumerate(_MODELS):
        rng = np.random.default_rng([seed, 401 + number])
        started = now - _STEPS * _SECONDS_PER_STEP - 300 * (2 - number)
        with EventFile(folder / model.name, started) as file:
            file.log(started, 0, summary.text("model_card", _format_model_card(model)))
            file.log_graph(
                started + 1, build_transformer_graph(layers=model.layers, width=model.width)
            )
            for step in range(0, _STEPS + 1, _STEPS_PER_POINT):
                _log_step(file, model, step, started + 20 + step * _SECONDS_PER_STEP, rng)


def _log_step(
    file: EventFile, model: _LanguageModel, step: int, wall_time: float, rng: np.random.Generator
) -> None:
    error_rate = model.final_error + (1 - model.final_error) * np.exp(-step / model.time_constant)
    loss = 1.2 + 3.0 * error_rate + rng.normal(0, 0.03)
    file.log(wall_time, step, summary.scalar("loss", loss))
    if step % _STEPS_PER_SAMPLE == 0:
        file.log(
            wall_time,
            step,
            summary.text("samples/story", _format_samples(error_rate, float(loss), rng)),
            summary.text(
                "samples/temperatures",
                [_sample_temperatures(error_rate, prompt, rng) for prompt in range(2)],
                description="Rows are prompts, columns temperatures of 0.2, 0.7 and 1.",
            ),
        )


def _format_samples(error_rate: float, loss: float, rng: np.random.Generator) -> str:
    """Return the completions of all prompts as Markdown."""
    story, answer, code = (_garble(text, error_rate, rng) for text in _STORIES)
    return (
        f"### {_PROMPTS[0]}\n\n{story}\n\n"
        f"### {_PROMPTS[1]}\n\n> {answer}\n\n"
        f"### Finish the function\n\n```python\n{code}\n```\n\n"
        f"Perplexity $e^{{{loss:.2f}}} \\approx {np.exp(loss):.1f}$"
    )


def _sample_temperatures(error_rate: float, prompt: int, rng: np.random.Generator) -> list[str]:
    first = _STORIES[prompt].partition(".")[0] + "."
    return [
        _garble(first, min(1.0, error_rate * (0.4 + temperature)), rng)
        + (" `</s>`" if temperature < 1 else "")
        for temperature in _TEMPERATURES
    ]


def _garble(text: str, error_rate: float, rng: np.random.Generator) -> str:
    """Misspell words with a probability of ``error_rate``."""
    words = []
    for word in text.split(" "):
        wrong = rng.random() < error_rate
        words.append(_misspell(word, error_rate, rng) if wrong else word)
    return " ".join(words)


def _misspell(word: str, error_rate: float, rng: np.random.Generator) -> str:
    swapped = rng.random(len(word)) < 0.35 + 0.65 * error_rate
    others = rng.choice(_LETTERS, len(word))
    letters = zip(word, swapped, others, strict=True)
    return "".join(o if swap and old.isalpha() else old for old, swap, o in letters)


def _format_model_card(model: _LanguageModel) -> str:
    return f"""\
# Storyteller, {model.name}

A decoder-only transformer that learns to tell short stories, one letter at a time.

| | |
|:--|--:|
| layers | {model.layers} |
| width | {model.width} |
| heads | {model.width // 32} |
| parameters | {model.parameters / 1e6:.1f} M |
| context | 512 letters |
| steps | {_STEPS:,} |

## What it does

Each of its {model.layers} layers attends to all letters before:

$$
\\operatorname{{attention}}(Q, K, V) = \\operatorname{{softmax}}
\\left( \\frac{{Q K^\\top}}{{\\sqrt{{d_k}}}} \\right) V, \\qquad d_k = 32
$$

and the loss is the mean of $-\\log p(x_t \\mid x_{{<t}})$ over a batch.

## How it is trained

```python
for step, batch in enumerate(loader):
    loss = model(batch[:, :-1], targets=batch[:, 1:])  # teacher forcing
    loss.backward()
    clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
```

- [x] cosine schedule, {300 if model.layers < 8 else 600} steps of warm-up
- [x] dropout 0.1
- [ ] longer contexts

> It hallucinates. **Do not ask it for directions at sea.**
"""
