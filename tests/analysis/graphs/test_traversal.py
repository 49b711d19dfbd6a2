from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.analysis.graphs.test_groups import GRAPHS, draw
from tracklight.analysis.graphs.graph_index import Subgraph
from tracklight.analysis.graphs.queries import compress_ranks


def names_of(sheet: Subgraph, ranks: list[int]) -> list[str]:
    return [sheet.hierarchy.paths[sheet.hierarchy.node_by_rank[rank]] for rank in ranks]


CHAIN = {"a": [], "b": ["a"], "c": ["b"], "d": ["a", "^c"], "lone": []}


def rank_of(sheet: Subgraph, name: str) -> int:
    return int(sheet.hierarchy.rank[sheet.hierarchy.node_by_path[name]])


def test_all_inputs_are_traced_and_where_they_end() -> None:
    sheet = draw(CHAIN)
    ranks, ends = sheet.adjacency.trace([rank_of(sheet, "d")], inputs=True, control=True)
    assert set(names_of(sheet, ranks.tolist())) == {"a", "b", "c", "d"}
    assert names_of(sheet, ends) == ["a"]


def test_what_only_says_an_order_may_be_left_out() -> None:
    sheet = draw(CHAIN)
    ranks, _ = sheet.adjacency.trace([rank_of(sheet, "d")], inputs=True, control=False)
    assert set(names_of(sheet, ranks.tolist())) == {"a", "d"}


def test_the_shortest_way_is_found_in_any_direction() -> None:
    sheet = draw(CHAIN)

    def find(start: str, end: str) -> tuple[str, list[str]]:
        spans = [range(rank_of(sheet, name), rank_of(sheet, name) + 1) for name in (start, end)]
        direction, ranks = sheet.adjacency.compute_path(*spans)
        return direction, names_of(sheet, ranks)

    assert find("a", "c") == ("forward", ["a", "b", "c"])
    assert find("c", "a") == ("backward", ["c", "b", "a"])
    assert find("a", "a") == ("forward", ["a"])
    assert find("a", "lone") == ("none", [])
    forked = draw({"a": [], "b": ["a"], "c": ["a"]})
    spans = [range(rank_of(forked, name), rank_of(forked, name) + 1) for name in ("b", "c")]
    direction, ranks = forked.adjacency.compute_path(*spans)
    assert (direction, names_of(forked, ranks)) == ("undirected", ["b", "a", "c"])


@given(GRAPHS, st.booleans())
def test_a_trace_is_closed(nodes: dict[str, list[str]], inputs: bool) -> None:
    sheet = draw(nodes)
    if not nodes:
        return
    rank, edges = sheet.hierarchy.rank, sheet.graph.edges
    found = set(sheet.adjacency.trace([0], inputs, control=True)[0].tolist())
    for source, target in zip(rank[edges.source], rank[edges.target], strict=True):
        near, far = (target, source) if inputs else (source, target)
        assert near not in found or far in found


@given(st.sets(st.integers(0, 30), min_size=1))
def test_ranges_hold_the_same_ranks(ranks: set[int]) -> None:
    first, last = compress_ranks(np.array(sorted(ranks), np.int32))
    spans = zip(first.tolist(), last.tolist(), strict=True)
    assert [rank for one, other in spans for rank in range(one, other)] == sorted(ranks)
