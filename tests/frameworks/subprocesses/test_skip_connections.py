"""The skip connections of one network are found in the graphs of every framework."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.dashboards.graphs.graph_log import GraphClient
from tests.frameworks.programs import need, run_keras
from tracklight.plugin import Empty

BLOCKS = 3


@pytest.mark.parametrize("backend", ["tensorflow", "jax", "torch"])
def test_finds_skip_connection_of_every_block(backend: str, tmp_path: Path) -> None:
    need("keras", backend)
    run_keras("skip_connections_program.py", tmp_path / "run", backend=backend)
    client = GraphClient(tmp_path)
    kinds = set()
    for graph in client.dashboard.graphs(Empty()).graphs:
        told = client.request("statistics", id=graph.id)
        assert len(told.skip_connections) == BLOCKS, graph.title
        assert told.shape_issues == []
        kinds.add(graph.kind)
    assert kinds == {"conceptual", "op"}
    client.catalog.close()
