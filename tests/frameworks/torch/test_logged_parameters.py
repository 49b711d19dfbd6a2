"""Shapes of parameters in graphs of PyTorch's own ``add_graph``."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.utils.tensorboard import SummaryWriter

import tracklight
from tracklight.analysis.graphs import Graph, Shape
from tracklight.analysis.graphs.parsers import parse_logged_graph

#: PyTorch warns of tracing, which its add_graph does.
pytestmark = pytest.mark.filterwarnings("ignore")


def log_graph(folder: Path, model: nn.Module, *inputs: torch.Tensor) -> Graph:
    with SummaryWriter(str(folder)) as writer:
        writer.add_graph(model, inputs)
    with tracklight.open(folder, cache=False) as log:
        data = log.tensors(".", "__run_graph__")[-1].item()
    return parse_logged_graph("graphs", data)


def list_parameters(graph: Graph) -> dict[str, Shape]:
    """Return the shapes of parameters by the name of the parameter."""
    found = {}
    for node, op in enumerate(graph.ops):
        details = graph.describe(node)
        if op == "prim::GetAttr" and details.outputs:
            found[details.attributes["name"]] = details.outputs[0].shape
    return found


def count_parameters(graph: Graph) -> int:
    return sum(graph.describe(node).parameters for node in range(len(graph.names)))


IMAGE = torch.zeros(2, 6, 17, 19)
MODELS: dict[str, tuple[nn.Module, torch.Tensor]] = {
    "conv1d": (nn.Conv1d(6, 4, 5), torch.zeros(2, 6, 17)),
    "conv2d": (nn.Conv2d(6, 4, (3, 5), padding=(1, 0)), IMAGE),
    "groups": (nn.Conv2d(6, 12, 3, groups=3, dilation=2), IMAGE),
    "dilation": (nn.Conv2d(6, 4, 3, stride=2, dilation=2), IMAGE),
    "transposed": (nn.ConvTranspose2d(6, 4, 3, stride=2, output_padding=1), IMAGE),
    "conv3d": (nn.Conv3d(6, 2, 2, bias=False), torch.zeros(1, 6, 5, 6, 7)),
    "batch_norm": (nn.BatchNorm2d(6), IMAGE),
    "group_norm": (nn.GroupNorm(2, 6), IMAGE),
    "layer_norm": (nn.LayerNorm((6, 17, 19)), IMAGE),
    "lstm": (nn.LSTM(6, 5, num_layers=2, bidirectional=True), torch.zeros(3, 2, 6)),
    "gru": (nn.GRU(6, 5, batch_first=True), torch.zeros(2, 3, 6)),
    "rnn": (nn.RNN(6, 5), torch.zeros(3, 2, 6)),
    "linear": (nn.Linear(6, 3), torch.zeros(2, 6)),
}


@pytest.mark.parametrize("name", MODELS)
def test_shapes_that_the_operation_determines(name: str, tmp_path: Path) -> None:
    model, example = MODELS[name]
    graph = log_graph(tmp_path, model, example)
    expected: dict[str, Any] = {key: tuple(it.shape) for key, it in model.named_parameters()}
    found = list_parameters(graph)
    assert {key: found.get(key) for key in expected} == expected
    assert count_parameters(graph) == sum(map(math.prod, expected.values()))
    assert graph.problems == ()


def test_what_is_not_determined_is_unknown_and_said(tmp_path: Path) -> None:
    """Kernels of 3 and of 4 give the same size of the result; any number of rows fits."""

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.rows = nn.Embedding(50, 6)
            self.strided = nn.Conv1d(6, 4, 3, stride=2, bias=False)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            result: torch.Tensor = self.strided(self.rows(x).transpose(1, 2))
            return result

    graph = log_graph(tmp_path, Model(), torch.zeros(2, 18, dtype=torch.long))
    details = [graph.describe(node) for node in range(len(graph.names))]
    shapes = [it.outputs[0].shape for it in details if it.attributes.get("name") == "weight"]
    assert sorted(map(str, shapes)) == ["(4, 6, None)", "(None, 6)"]
    assert count_parameters(graph) == 0
    assert [(it.code, it.args) for it in graph.problems] == [
        ("graphs.parameters_unknown", {"count": 2})
    ]
