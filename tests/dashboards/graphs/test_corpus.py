"""All groups of a logged graph together contain every node and edge once."""

from __future__ import annotations

from collections import Counter

from tests.analysis.graphs.conftest import Logged, logged
from tracklight.analysis.graphs.graph_index import GraphIndex
from tracklight.analysis.graphs.parsers import parse_logged_graph
from tracklight.dashboards.graphs.schemas import GroupRequest
from tracklight.dashboards.graphs.views import build_group
from tracklight.errors import FormatError

__all__ = ["logged"]


def test_groups_contain_every_node_and_edge(logged: list[Logged]) -> None:
    parsed = 0
    for one in logged:
        try:
            graph_index = GraphIndex(parse_logged_graph(one.plugin, one.data))
        except FormatError:
            assert not one.data, one[:3]
            continue
        parsed += 1
        queue, ops, edges, control = [""], Counter[str](), 0, 0
        while queue:
            group = build_group(graph_index, GroupRequest("", group=queue.pop(), limit=2000))
            for child in group.children:
                if child.kind in ("scope", "series"):
                    queue.append(child.path)
                else:
                    ops[child.op] += 1
            edges += int(group.edges.count.sum())
            control += int(group.edges.control.sum())
        assert ops == Counter(graph_index.graph.ops), one[:3]
        assert edges == len(graph_index.graph.edges), one[:3]
        assert control == int(graph_index.graph.edges.control.sum()), one[:3]
    assert parsed >= 20
