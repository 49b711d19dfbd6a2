"""Every edge is shown once in its group and once at each boundary that it crosses."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from tests.analysis.graphs.graphdefs import graphdef
from tracklight.analysis.graphs.graph_index import Subgraph
from tracklight.analysis.graphs.graphdef import build_graph
from tracklight.analysis.graphs.groups import Group, bundle_boundary_edges, bundle_child_edges

NAMES = st.sampled_from([f"{scope}{name}" for scope in ("", "s/", "s/t/", "u/") for name in "abc"])
NUMBERED = st.sampled_from([f"{scope}n_{number}" for scope in ("", "s/") for number in range(8)])
NODES = st.one_of(NAMES, NUMBERED)
GRAPHS = st.dictionaries(NODES, st.lists(NODES, max_size=4), max_size=20)


def make_subgraph(nodes: dict[str, list[str]]) -> Subgraph:
    return Subgraph(build_graph(graphdef(nodes)))


def list_groups(subgraph: Subgraph, fold: bool) -> list[Group]:
    """Return all groups of a graph, including series."""
    groups = [
        subgraph.get_scope_group(scope, fold)
        for scope in range(len(subgraph.hierarchy.scopes.paths))
    ]
    series = [
        subgraph.get_group(child.path, fold)
        for group in groups
        for child in group.children
        if child.kind == "series"
    ]
    return groups + series


@given(GRAPHS, st.booleans())
def test_child_edges_connect_the_children_with_their_ends(
    nodes: dict[str, list[str]], fold: bool
) -> None:
    subgraph = make_subgraph(nodes)
    rank, edges = subgraph.hierarchy.rank, subgraph.graph.edges
    ends = list(zip(rank[edges.source].tolist(), rank[edges.target].tolist(), strict=True))
    for group in list_groups(subgraph, fold):
        child_of = {
            leaf: index
            for index, child in enumerate(group.children)
            for leaf in range(child.first, child.last)
        }
        assert sorted(child_of) == list(range(group.first, group.last))
        expected = Counter(
            (child_of[source], child_of[target])
            for source, target in ends
            if source in child_of
            and target in child_of
            and (child_of[source] != child_of[target] or source == target)
            and (
                child_of[source] != child_of[target]
                or group.children[child_of[source]].kind == "op"
            )
        )
        bundles = bundle_child_edges(subgraph.hierarchy, group)
        pairs = zip(bundles.source[bundles.bundle], bundles.target[bundles.bundle], strict=True)
        assert Counter((int(one), int(other)) for one, other in pairs) == expected


@given(GRAPHS, st.booleans(), st.booleans())
def test_boundary_edges_lead_to_the_box_in_the_common_group(
    nodes: dict[str, list[str]], fold: bool, incoming: bool
) -> None:
    subgraph = make_subgraph(nodes)
    rank, edges = subgraph.hierarchy.rank, subgraph.graph.edges
    near, far = (edges.target, edges.source) if incoming else (edges.source, edges.target)
    for group in list_groups(subgraph, fold):
        enclosing = subgraph.list_enclosing_groups(group, fold)
        boundary = bundle_boundary_edges(subgraph.hierarchy, group, enclosing, incoming)
        crossing = [
            edge
            for edge in range(len(edges))
            if group.first <= rank[near[edge]] < group.last
            and not group.first <= rank[far[edge]] < group.last
        ]
        assert sorted(boundary.edges.tolist()) == crossing
        boxes = {child.path: child for outer in enclosing for child in outer.children}
        for edge, bundle in zip(boundary.edges.tolist(), boundary.bundle.tolist(), strict=True):
            partner = boxes[boundary.partner[bundle]]
            child = group.children[boundary.child[bundle]]
            assert partner.first <= rank[far[edge]] < partner.last
            assert child.first <= rank[near[edge]] < child.last
            assert not partner.first <= group.first < partner.last
