"""Write model files with one framework: ``python -m … FRAMEWORK FOLDER``; print what they hold."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any


def write_tensorflow(folder: Path) -> dict[str, Any]:
    """Write TensorFlow Lite and Keras HDF5 files."""
    import tensorflow as tf

    keras = tf.keras
    image = keras.Input((28, 28, 1), name="image")
    x = keras.layers.Conv2D(8, 3, padding="same", activation="relu", name="conv")(image)
    left = keras.layers.Conv2D(8, 3, padding="same", name="left")(x)
    x = keras.layers.Add(name="add")([x, left])
    x = keras.layers.GlobalAveragePooling2D()(x)
    model = keras.Model(image, keras.layers.Dense(10, activation="softmax", name="head")(x))
    model.save(folder / "model.h5")
    model.save_weights(folder / "only.weights.h5")
    model.save(folder / "model.keras")
    converter = tf.lite.TFLiteConverter.from_keras_model(model)
    (folder / "float.tflite").write_bytes(converter.convert())
    converter = tf.lite.TFLiteConverter.from_keras_model(model)
    converter.optimizations = [tf.lite.Optimize.DEFAULT]
    (folder / "dynamic.tflite").write_bytes(converter.convert())

    @tf.function(input_signature=[tf.TensorSpec([None, 4], tf.float32)])
    def loop(x: Any) -> Any:
        return tf.while_loop(
            lambda i, _: i < 3, lambda i, y: (i + 1, tf.where(y > 0, y * 2.0, y)), (0, x)
        )[1]

    converter = tf.lite.TFLiteConverter.from_concrete_functions([loop.get_concrete_function()])
    (folder / "loop.tflite").write_bytes(converter.convert())
    described = {}
    for name in ("float", "dynamic", "loop"):
        interpreter = tf.lite.Interpreter(str(folder / f"{name}.tflite"))
        details = [it for it in interpreter._get_ops_details() if it["op_name"] != "DELEGATE"]
        described[name] = [it["op_name"] for it in details]
    kernel = model.get_layer("head").get_weights()[0]
    return {"ops": described, "kernel_sum": float(kernel.sum())}


def write_torch(folder: Path) -> dict[str, Any]:
    """Write programs of torch.export, and safetensors."""
    import torch
    from safetensors.torch import save_file
    from torch import nn

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fc = nn.Linear(4, 4)
            self.norm = nn.BatchNorm1d(4)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x + torch.relu(self.norm(self.fc(x)))

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.blocks = nn.Sequential(Block(), Block())
            self.head = nn.Linear(4, 2)

        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            first, second = torch.split(self.head(self.blocks(x)), 1, dim=1)
            return first, second

    torch.manual_seed(0)
    net = Net().eval()
    batch = torch.export.Dim("batch", min=2)
    program = torch.export.export(net, (torch.ones(3, 4),), dynamic_shapes={"x": {0: batch}})
    torch.export.save(program, folder / "net.pt2")
    save_file(net.state_dict(), folder / "net.safetensors")

    class Choice(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.cond(x.sum() > 0, lambda y: y + 1, lambda y: y * 2, (x,))

    torch.export.save(torch.export.export(Choice(), (torch.ones(3),)), folder / "choice.pt2")
    calls = [node for node in program.graph.nodes if node.op == "call_function"]
    weights = {name: float(value.double().sum()) for name, value in net.state_dict().items()}
    return {
        "ops": [str(node.target) for node in calls],
        "edges": sum(len([it for it in node.all_input_nodes]) for node in calls),
        "weights": weights,
    }


if __name__ == "__main__":
    write = {"tensorflow": write_tensorflow, "torch": write_torch}[sys.argv[1]]
    print(json.dumps(write(Path(sys.argv[2]))))
