"""Detection of skip connections."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tests.analysis.graphs.graphdefs import Inputs, graphdef
from tracklight.analysis.graphs.graph_index import Subgraph
from tracklight.analysis.graphs.graphdef import parse_graphdef
from tracklight.analysis.graphs.insights import DataFlow, iter_skip_connections

OPS = {"x": "Placeholder", "conv": "Conv2D", "relu": "Relu", "sum": "AddV2", "next": "Conv2D"}


def list_skips(
    nodes: Inputs, ops: Mapping[str, str], shapes: Mapping[str, Sequence[int]] | None = None
) -> list[tuple[str, str, int]]:
    subgraph = Subgraph(parse_graphdef(graphdef(nodes, ops, shapes).SerializeToString()))
    names = [subgraph.graph.names[node] for node in subgraph.hierarchy.node_by_rank.tolist()]
    skips = iter_skip_connections(subgraph, DataFlow(subgraph))
    return [(names[skip.source], names[skip.target], skip.passed) for skip in skips]


def test_sum_of_output_and_input_of_a_layer() -> None:
    nodes = {"x": [], "w": [], "conv": ["x", "w"], "relu": ["conv"], "sum": ["relu", "x"]}
    assert list_skips({**nodes, "next": ["sum"]}, OPS) == [("x", "sum", 2)]


def test_shorter_path_may_have_a_layer() -> None:
    nodes = {"x": [], "conv": ["x"], "relu": ["conv"], "next": ["x"], "sum": ["relu", "next"]}
    assert list_skips(nodes, OPS) == [("x", "sum", 2)]


def test_concatenation_of_output_and_input() -> None:
    nodes = {"x": [], "conv": ["x"], "join": ["conv", "x", "axis"], "axis": []}
    assert list_skips(nodes, {**OPS, "join": "ConcatV2"}) == [("x", "join", 1)]


def test_path_without_layer_is_no_skip_connection() -> None:
    nodes = {"x": [], "relu": ["x"], "sum": ["relu", "x"]}
    assert list_skips(nodes, OPS) == []


def test_paths_of_equal_length_are_branches() -> None:
    nodes = {"x": [], "conv": ["x"], "next": ["x"], "sum": ["conv", "next"]}
    assert list_skips(nodes, OPS) == []


def test_adding_a_bias_is_no_skip_connection() -> None:
    nodes = {"x": [], "conv": ["x"], "relu": ["conv"], "sum": ["relu", "x"]}
    shapes = {"x": [1, 8], "relu": [4, 8]}
    assert list_skips(nodes, OPS, shapes) == []
    assert list_skips(nodes, OPS, {**shapes, "x": [4, 8]}) == [("x", "sum", 2)]


def test_weights_are_not_followed() -> None:
    nodes = {"w": [], "conv": ["w"], "sum": ["conv", "w"]}
    assert list_skips(nodes, OPS) == []


def test_sum_with_very_many_inputs_is_limited() -> None:
    many = {f"n{node}": ["x"] for node in range(3000)}
    assert list_skips({"x": [], **many, "sum": list(many)}, OPS) == []
