"""ResNet-50 as Keras would describe it: layers in models, and which of them read from which."""

from __future__ import annotations

import json
from typing import Any

from tracklight.demo.resnet import CLASSES, EXPANSION, SIDE, STAGES

Json = dict[str, Any]
Shape = tuple[int | None, ...]


class _Model:
    """A functional model that is put together layer by layer."""

    def __init__(self, name: str, shape: Shape) -> None:
        self.name = name
        self.layers: list[Json] = []
        self.shapes = {"input": shape}
        self._append("InputLayer", "input", {"batch_shape": shape}, [])

    def add(self, kind: str, name: str, sources: list[str], shape: Shape, **config: Any) -> str:
        tensors = [_tensor(source, self.shapes[source]) for source in sources]
        given = [self.shapes[source] for source in sources]
        arguments = tensors if len(tensors) == 1 else [tensors]
        layer = self._append(kind, name, config, [{"args": arguments, "kwargs": {}}])
        layer["build_config"] = {"input_shape": given[0] if len(given) == 1 else given}
        self.shapes[name] = shape
        return name

    def add_model(self, model: _Model, source: str) -> str:
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


def describe_layers() -> bytes:
    """What ``model.to_json()`` would give."""
    model = _Model("resnet50", (None, SIDE, SIDE, 3))
    flow, side, channels = model.add_model(_make_stem(), "input"), SIDE // 4, 64
    for number, (blocks, width) in enumerate(STAGES, 1):
        stride = 1 if number == 1 else 2
        stage = _Model(f"stage{number}", (None, side, side, channels))
        inside, side, channels = "input", side // stride, EXPANSION * width
        for block in range(1, blocks + 1):
            inside = _add_block(stage, f"block{block}", inside, side, width, stride)
            stride = 1
        flow = model.add_model(stage, flow)
    flow = model.add("GlobalAveragePooling2D", "pool", [flow], (None, channels))
    model.add("Dense", "predictions", [flow], (None, CLASSES), units=CLASSES, use_bias=True)
    return json.dumps(model.describe(), separators=(",", ":")).encode()


def _make_stem() -> _Model:
    stem = _Model("stem", (None, SIDE, SIDE, 3))
    flow = _add_convolution(stem, "conv", "input", (None, SIDE // 2, SIDE // 2, 64), 7, 2)
    flow = stem.add("Activation", "relu", [flow], stem.shapes[flow], activation="relu")
    shape = (None, SIDE // 4, SIDE // 4, 64)
    stem.add("MaxPooling2D", "pool", [flow], shape, pool_size=[3, 3], strides=[2, 2])
    return stem


def _add_block(model: _Model, name: str, given: str, side: int, width: int, stride: int) -> str:
    narrow, wide = (None, side, side, width), (None, side, side, EXPANSION * width)
    flow = given
    for number, (size, step) in enumerate(((1, stride), (3, 1)), 1):
        flow = _add_convolution(model, f"{name}_conv{number}", flow, narrow, size, step)
        flow = model.add("Activation", f"{name}_relu{number}", [flow], narrow, activation="relu")
    flow = _add_convolution(model, f"{name}_conv3", flow, wide, 1, 1)
    around = given
    if model.shapes[given] != wide:
        around = _add_convolution(model, f"{name}_shortcut", given, wide, 1, stride)
    flow = model.add("Add", f"{name}_add", [flow, around], wide)
    return model.add("Activation", f"{name}_out", [flow], wide, activation="relu")


def _add_convolution(
    model: _Model, name: str, source: str, shape: Shape, size: int, stride: int
) -> str:
    config: Json = {"filters": shape[-1], "kernel_size": [size, size], "strides": [stride, stride]}
    config |= {"padding": "same", "use_bias": False, "groups": 1, "data_format": "channels_last"}
    flow = model.add("Conv2D", name, [source], shape, **config)
    norm = {"axis": -1, "momentum": 0.99, "epsilon": 0.001, "center": True, "scale": True}
    return model.add("BatchNormalization", f"{name}_norm", [flow], shape, **norm)


def _tensor(layer: str, shape: Shape) -> Json:
    config = {"shape": shape, "dtype": "float32", "keras_history": [layer, 0, 0]}
    return {"class_name": "__keras_tensor__", "config": config}
