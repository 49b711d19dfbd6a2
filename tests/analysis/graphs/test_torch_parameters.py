"""Parameters in a log of PyTorch's own ``add_graph``."""

from __future__ import annotations

import tracklight
from tests.analysis.graphs.conftest import FILES
from tracklight.analysis.graphs.parsers import parse_logged_graph


def test_parameters_of_linear_layers_are_counted_once() -> None:
    """A model of two encoders with shared weights: Linear(4, 8), Linear(8, 8), Linear(8, 2)."""
    with tracklight.open(FILES.parent / "torch_graph", cache=False) as log:
        data = log.tensors(".", "__run_graph__")[-1].item()
    graph = parse_logged_graph("graphs", data)
    details = {name: graph.describe(node) for node, name in enumerate(graph.names)}
    weight = details["Multi/Sequential[enc]/Linear[0]/weight/weight.1"]
    assert weight.outputs[0].shape == (8, 4)
    assert weight.parameters == 32
    shared = details["Multi/Linear[shared]/weight/weight"]
    assert (shared.outputs[0].shape, shared.parameters) == ((2, 8), 0)
    total = sum(detail.parameters for detail in details.values())
    assert total == (4 * 8 + 8) + (8 * 8 + 8) + (8 * 2 + 2)
