from __future__ import annotations

from collections.abc import Mapping, Sequence

from tests.analysis.graphs.graphdefs import Inputs, graphdef
from tracklight.analysis.graphs.graph_index import Subgraph
from tracklight.analysis.graphs.graphdef import parse_graphdef
from tracklight.analysis.graphs.insights import DataFlow, iter_skip_connections

OPS = {"x": "Placeholder", "conv": "Conv2D", "relu": "Relu", "sum": "AddV2", "next": "Conv2D"}


def find_skips(
    nodes: Inputs, ops: Mapping[str, str], shapes: Mapping[str, Sequence[int]] | None = None
) -> list[tuple[str, str, int]]:
    sheet = Subgraph(parse_graphdef(graphdef(nodes, ops, shapes).SerializeToString()))
    names = [sheet.graph.names[place] for place in sheet.hierarchy.node_by_rank.tolist()]
    found = iter_skip_connections(sheet, DataFlow(sheet))
    return [(names[skip.source], names[skip.target], skip.passed) for skip in found]


def test_a_sum_of_what_went_through_a_layer_and_what_it_was() -> None:
    nodes = {"x": [], "w": [], "conv": ["x", "w"], "relu": ["conv"], "sum": ["relu", "x"]}
    assert find_skips({**nodes, "next": ["sum"]}, OPS) == [("x", "sum", 2)]


def test_the_shorter_way_may_have_a_layer_as_well() -> None:
    nodes = {"x": [], "conv": ["x"], "relu": ["conv"], "next": ["x"], "sum": ["relu", "next"]}
    assert find_skips(nodes, OPS) == [("x", "sum", 2)]


def test_joined_side_by_side_is_skipped_likewise() -> None:
    nodes = {"x": [], "conv": ["x"], "join": ["conv", "x", "axis"], "axis": []}
    assert find_skips(nodes, {**OPS, "join": "ConcatV2"}) == [("x", "join", 1)]


def test_what_passes_no_layer_is_a_part_of_an_activation() -> None:
    nodes = {"x": [], "relu": ["x"], "sum": ["relu", "x"]}
    assert find_skips(nodes, OPS) == []


def test_ways_of_one_length_are_branches() -> None:
    nodes = {"x": [], "conv": ["x"], "next": ["x"], "sum": ["conv", "next"]}
    assert find_skips(nodes, OPS) == []


def test_a_row_of_numbers_that_is_added_is_a_shift() -> None:
    nodes = {"x": [], "conv": ["x"], "relu": ["conv"], "sum": ["relu", "x"]}
    shapes = {"x": [1, 8], "relu": [4, 8]}
    assert find_skips(nodes, OPS, shapes) == []
    assert find_skips(nodes, OPS, {**shapes, "x": [4, 8]}) == [("x", "sum", 2)]


def test_weights_are_no_flow() -> None:
    nodes = {"w": [], "conv": ["w"], "sum": ["conv", "w"]}
    assert find_skips(nodes, OPS) == []


def test_a_sum_of_very_many_ends() -> None:
    many = {f"n{place}": ["x"] for place in range(3000)}
    assert find_skips({"x": [], **many, "sum": list(many)}, OPS) == []
