"""However scopes are opened, every edge is in the picture once at each border that it crosses."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from tests.analysis.graphs.graphdefs import graphdef
from tracklight.analysis.graphs.graph_index import Subgraph
from tracklight.analysis.graphs.graphdef import build_graph
from tracklight.analysis.graphs.groups import Group, bundle_boundary_edges, bundle_child_edges

NAMES = st.sampled_from([f"{scope}{name}" for scope in ("", "s/", "s/t/", "u/") for name in "abc"])
NUMBERED = st.sampled_from([f"{scope}n_{at}" for scope in ("", "s/") for at in range(8)])
NODES = st.one_of(NAMES, NUMBERED)
GRAPHS = st.dictionaries(NODES, st.lists(NODES, max_size=4), max_size=20)


def draw(nodes: dict[str, list[str]]) -> Subgraph:
    return Subgraph(build_graph(graphdef(nodes)))


def list_levels(sheet: Subgraph, fold: bool) -> list[Group]:
    """All groups of a graph, series included."""
    found = [
        sheet.get_scope_group(scope, fold) for scope in range(len(sheet.hierarchy.scopes.paths))
    ]
    series = [
        sheet.get_group(child.path, fold)
        for level in found
        for child in level.children
        if child.kind == "series"
    ]
    return found + series


@given(GRAPHS, st.booleans())
def test_edges_join_the_children_that_hold_their_ends(
    nodes: dict[str, list[str]], fold: bool
) -> None:
    sheet = draw(nodes)
    rank, edges = sheet.hierarchy.rank, sheet.graph.edges
    ends = list(zip(rank[edges.source].tolist(), rank[edges.target].tolist(), strict=True))
    for level in list_levels(sheet, fold):
        holder = {
            leaf: place
            for place, child in enumerate(level.children)
            for leaf in range(child.first, child.last)
        }
        assert sorted(holder) == list(range(level.first, level.last))
        expected = Counter(
            (holder[source], holder[target])
            for source, target in ends
            if source in holder
            and target in holder
            and (holder[source] != holder[target] or source == target)
            and (holder[source] != holder[target] or level.children[holder[source]].kind == "op")
        )
        found = bundle_child_edges(sheet.hierarchy, level)
        pairs = zip(found.source[found.bundle], found.target[found.bundle], strict=True)
        assert Counter((int(one), int(other)) for one, other in pairs) == expected


@given(GRAPHS, st.booleans(), st.booleans())
def test_what_crosses_a_border_is_led_to_the_box_where_both_ends_meet(
    nodes: dict[str, list[str]], fold: bool, incoming: bool
) -> None:
    sheet = draw(nodes)
    rank, edges = sheet.hierarchy.rank, sheet.graph.edges
    near, far = (edges.target, edges.source) if incoming else (edges.source, edges.target)
    for level in list_levels(sheet, fold):
        around = sheet.list_enclosing_groups(level, fold)
        border = bundle_boundary_edges(sheet.hierarchy, level, around, incoming)
        crossing = [
            edge
            for edge in range(len(edges))
            if level.first <= rank[near[edge]] < level.last
            and not level.first <= rank[far[edge]] < level.last
        ]
        assert sorted(border.edges.tolist()) == crossing
        boxes = {child.path: child for outer in around for child in outer.children}
        for edge, bundle in zip(border.edges.tolist(), border.bundle.tolist(), strict=True):
            partner = boxes[border.partner[bundle]]
            child = level.children[border.child[bundle]]
            assert partner.first <= rank[far[edge]] < partner.last
            assert child.first <= rank[near[edge]] < child.last
            assert not partner.first <= level.first < partner.last
