"""Every node and every edge of every graph that real frameworks logged is in the picture, once."""

from __future__ import annotations

from collections import Counter

from tests.analysis.graphs.conftest import Logged, logged
from tracklight.analysis.graphs.graph_index import GraphIndex
from tracklight.analysis.graphs.parsers import parse_logged_graph
from tracklight.dashboards.graphs.schemas import GroupRequest
from tracklight.dashboards.graphs.views import build_group
from tracklight.errors import FormatError

__all__ = ["logged"]


def test_all_groups_together_hold_every_node_and_edge(logged: list[Logged]) -> None:
    read = 0
    for one in logged:
        try:
            atlas = GraphIndex(parse_logged_graph(one.plugin, one.data))
        except FormatError:
            assert not one.data, one[:3]
            continue
        read += 1
        waiting, ops, edges, control = [""], Counter[str](), 0, 0
        while waiting:
            group = build_group(atlas, GroupRequest("", group=waiting.pop(), most=2000))
            for child in group.children:
                if child.kind in ("scope", "series"):
                    waiting.append(child.path)
                else:
                    ops[child.op] += 1
            edges += int(group.edges.count.sum())
            control += int(group.edges.control.sum())
        assert ops == Counter(atlas.graph.ops), one[:3]
        assert edges == len(atlas.graph.edges), one[:3]
        assert control == int(atlas.graph.edges.control.sum()), one[:3]
    assert read >= 20
