"""Model files of several formats, ten of each, to compare counts of nodes and edges with Netron's.

`netron_counts.json` has the counts that the code of Netron 9.2.1 gives for them. To record them
again, write the files with ``python -m tests.frameworks.torch.netron_models FOLDER`` and open each
in Node.js with ``view.ModelFactoryService`` of Netron: nodes are those of the first graph, edges
are the inputs that are outputs of other nodes of it.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper
from safetensors.numpy import save_file
from torch import nn

COUNT = 10


class Residual(nn.Module):
    def __init__(self, size: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(size)
        self.up, self.down = nn.Linear(size, 2 * size), nn.Linear(2 * size, size)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.down(torch.nn.functional.gelu(self.up(self.norm(x))))


class ConvNet(nn.Module):
    def __init__(self, depth: int) -> None:
        super().__init__()
        layers = [
            nn.Sequential(nn.Conv2d(4, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU())
            for _ in range(depth)
        ]
        self.layers = nn.ModuleList(layers)
        self.head = nn.Linear(4, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = layer(x) + x
        return self.head(x.mean([2, 3]))


def make_torch_models() -> Iterator[tuple[nn.Module, torch.Tensor]]:
    """Yield models of different depth and kind with an input."""
    for number in range(COUNT):
        depth = 1 + number // 2
        if number % 2:
            yield ConvNet(depth).eval(), torch.zeros(1, 4, 8, 8)
        else:
            yield nn.Sequential(*(Residual(4) for _ in range(depth))).eval(), torch.zeros(2, 4)


def write_models(folder: Path) -> list[Path]:
    """Write all files and return their paths."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number, (model, example) in enumerate(make_torch_models()):
            torch.jit.save(torch.jit.trace(model, example), folder / f"traced_{number}.pt")
            torch.export.save(torch.export.export(model, (example,)), folder / f"ex_{number}.pt2")
            weights = {key: value.numpy() for key, value in model.state_dict().items()}
            save_file(weights, folder / f"weights_{number}.safetensors")
    for number in range(COUNT):
        onnx.save(make_onnx(number + 1), folder / f"chain_{number}.onnx")
    return sorted(folder.iterdir())


def make_onnx(depth: int) -> onnx.ModelProto:
    """Return a chain of blocks with a skip connection, a split and a concatenation."""
    nodes, weights = [], []
    current = "x"
    for block in range(depth):
        weights.append(numpy_helper.from_array(np.eye(4, dtype=np.float32), f"w{block}"))
        nodes += [
            helper.make_node("MatMul", [current, f"w{block}"], [f"product{block}"]),
            helper.make_node("Relu", [f"product{block}"], [f"active{block}"]),
            helper.make_node("Add", [f"active{block}", current], [f"sum{block}"]),
        ]
        current = f"sum{block}"
    nodes += [
        helper.make_node("Split", [current], ["left", "right"], axis=1, num_outputs=2),
        helper.make_node("Concat", ["right", "left", current], ["y"], axis=1),
    ]
    shape = [1, 4]
    graph = helper.make_graph(
        nodes,
        "chain",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        weights,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])


if __name__ == "__main__":
    write_models(Path(sys.argv[1]))
