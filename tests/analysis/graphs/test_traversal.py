"""Tracing dependencies and shortest paths."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.analysis.graphs.test_groups import GRAPHS, make_subgraph
from tracklight.analysis.graphs.graph_index import Subgraph, compress_ranks


def get_paths(subgraph: Subgraph, ranks: list[int]) -> list[str]:
    return [subgraph.hierarchy.paths[subgraph.hierarchy.node_by_rank[rank]] for rank in ranks]


CHAIN = {"a": [], "b": ["a"], "c": ["b"], "d": ["a", "^c"], "isolated": []}


def get_rank(subgraph: Subgraph, name: str) -> int:
    return int(subgraph.hierarchy.rank[subgraph.hierarchy.node_by_path[name]])


def test_trace_inputs() -> None:
    subgraph = make_subgraph(CHAIN)
    ranks, ends = subgraph.adjacency.trace([get_rank(subgraph, "d")], inputs=True, control=True)
    assert set(get_paths(subgraph, ranks.tolist())) == {"a", "b", "c", "d"}
    assert get_paths(subgraph, ends) == ["a"]


def test_trace_without_control_edges() -> None:
    subgraph = make_subgraph(CHAIN)
    ranks, _ = subgraph.adjacency.trace([get_rank(subgraph, "d")], inputs=True, control=False)
    assert set(get_paths(subgraph, ranks.tolist())) == {"a", "d"}


def test_shortest_path_in_any_direction() -> None:
    subgraph = make_subgraph(CHAIN)

    def find(start: str, end: str) -> tuple[str, list[str]]:
        ranges = [
            range(get_rank(subgraph, name), get_rank(subgraph, name) + 1) for name in (start, end)
        ]
        direction, ranks = subgraph.adjacency.compute_path(*ranges)
        return direction, get_paths(subgraph, ranks)

    assert find("a", "c") == ("forward", ["a", "b", "c"])
    assert find("c", "a") == ("backward", ["c", "b", "a"])
    assert find("a", "a") == ("forward", ["a"])
    assert find("a", "isolated") == ("none", [])
    forked = make_subgraph({"a": [], "b": ["a"], "c": ["a"]})
    ranges = [range(get_rank(forked, name), get_rank(forked, name) + 1) for name in ("b", "c")]
    direction, ranks = forked.adjacency.compute_path(*ranges)
    assert (direction, get_paths(forked, ranks)) == ("undirected", ["b", "a", "c"])


@given(GRAPHS, st.booleans())
def test_trace_is_closed(nodes: dict[str, list[str]], inputs: bool) -> None:
    subgraph = make_subgraph(nodes)
    if not nodes:
        return
    rank, edges = subgraph.hierarchy.rank, subgraph.graph.edges
    reached = set(subgraph.adjacency.trace([0], inputs, control=True)[0].tolist())
    for source, target in zip(rank[edges.source], rank[edges.target], strict=True):
        near, far = (target, source) if inputs else (source, target)
        assert near not in reached or far in reached


@given(st.sets(st.integers(0, 30), min_size=1))
def test_compressed_ranks_are_the_same(ranks: set[int]) -> None:
    first, last = compress_ranks(np.array(sorted(ranks), np.int32))
    ranges = zip(first.tolist(), last.tolist(), strict=True)
    assert [rank for one, other in ranges for rank in range(one, other)] == sorted(ranks)
