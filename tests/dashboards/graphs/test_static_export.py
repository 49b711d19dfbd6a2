"""Static export of graphs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.analysis.graphs.graphdefs import graphdef
from tests.dashboards.graphs.graph_log import GraphClient, write_graph
from tests.dashboards.graphs.test_groups import NET


def test_exports_all_groups_of_readable_graphs(tmp_path: Path) -> None:
    write_graph(tmp_path, graphdef(NET))
    write_graph(tmp_path, b"\x0a\xff", run="damaged")
    client = GraphClient(tmp_path)
    parts = dict(client.dashboard.export_static(["run", "damaged"]))
    assert list(parts) == [f"copy/{client.id}", "list"]
    graph = parts[f"copy/{client.id}"]
    assert [group.path for group in graph.groups] == ["", "net", "net/conv"]
    assert [row.run for row in parts["list"].graphs] == ["run"]
    assert {node.path for node in graph.nodes} >= {"x", "net", "net/conv/w"}
    assert [coloring.by for coloring in graph.paints[0].paints] == ["op"]
    client.catalog.close()


@pytest.mark.slow
def test_export_of_a_huge_graph_is_limited(tmp_path: Path) -> None:
    names = [f"s{scope}/n{number}x" for scope in range(100) for number in range(100)]
    write_graph(tmp_path, graphdef({name: [] for name in names}))
    client = GraphClient(tmp_path)
    graph = dict(client.dashboard.export_static(["run"]))[f"copy/{client.id}"]
    assert sum(len(group.children) for group in graph.groups) <= 5400
    assert len(graph.nodes) == 1000
    client.catalog.close()
