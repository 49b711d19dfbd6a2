"""Graphs of real models are read back with modules, shapes, types and source lines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import tracklight
from tests.frameworks.programs import need, run_program
from tracklight.analysis.graphs import Graph, NodeDetails
from tracklight.analysis.graphs.parsers import parse_logged_graph


def read_logged(logdir: Path, tag: str, plugin: str) -> Graph:
    with tracklight.open(logdir, cache=False) as log:
        return parse_logged_graph(plugin, log.tensors(".", tag)[-1].item())


def describe_all(graph: Graph) -> dict[str, NodeDetails]:
    return {name: graph.describe(index) for index, name in enumerate(graph.names)}


@pytest.mark.parametrize("is_traced", [False, True])
def test_reads_graph_of_a_torch_model(tmp_path: Path, is_traced: bool) -> None:
    torch = pytest.importorskip("torch")
    from tracklight.torch import SummaryWriter

    class Block(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv = torch.nn.Conv2d(3, 3, 3, stride=1, padding=1)
            self.norm = torch.nn.BatchNorm2d(3)

        def forward(self, x: Any) -> Any:
            # Data-dependent control flow cannot be exported, only traced.
            if is_traced and x.sum() > 0:
                x = x * 2
            return torch.relu(self.norm(self.conv(x)) + x)

    model = torch.nn.Sequential(Block(), Block())
    with SummaryWriter(tmp_path, strict=True) as writer:
        writer.add_graph(model, torch.ones(1, 3, 8, 8))
    graph = read_logged(tmp_path, "__run_graph__", "graphs")
    details = describe_all(graph)
    assert graph.problems == ()
    counted = sum(parameter.numel() for parameter in model.parameters())
    assert sum(detail.parameters for detail in details.values()) == counted
    (conv,) = [
        details[name]
        for name, op in zip(graph.names, graph.ops, strict=True)
        if "Block[1]/Conv2d[conv]/" in name and op.startswith("aten::")
    ]
    assert conv.outputs[0].dtype == "float32"
    assert conv.outputs[0].shape == (1, 3, 8, 8)
    assert conv.source.startswith("test_graph_sources.py:") and conv.source.endswith("in forward")


def test_reads_graph_of_a_jax_function(tmp_path: Path) -> None:
    need("jax")
    run_program("trace_program.py", "jax", tmp_path)
    graph = read_logged(tmp_path, "graph", "graph_run_metadata_graph")
    details = describe_all(graph)
    assert graph.problems == ()
    product = details["step/forward/dot_general"]
    assert [(it.dtype, it.shape) for it in product.outputs] == [("float32", (3, 5))]
    assert product.source.startswith("trace_program.py:") and product.source.endswith(" in step")
    assert "source" not in product.attributes
