"""Numbered siblings are folded to series."""

from __future__ import annotations

import numpy as np

from tests.analysis.graphs.graphdefs import graphdef
from tracklight.analysis.graphs.graph_index import Subgraph
from tracklight.analysis.graphs.graphdef import build_graph
from tracklight.analysis.graphs.hierarchy import sort_items, split_label


def list_labels(nodes: list[str], fold: bool = True, group: str = "", op: str = "Op") -> list[str]:
    graph = graphdef({name: [] for name in nodes}, dict.fromkeys(nodes, op))
    return [child.label for child in Subgraph(build_graph(graph)).get_group(group, fold).children]


def test_split_label() -> None:
    assert split_label("conv_12") == ("conv", 12)
    assert split_label("conv12") == ("conv", 12)
    assert split_label("conv") == ("conv", 0)
    assert split_label("x_99999999999") == ("x_99999999999", 0)


def test_five_consecutive_numbers_are_a_series() -> None:
    nodes = ["in", "add", "add_1", "add_2", "add_3", "add_4", "out"]
    assert list_labels(nodes) == ["in", "add[0-4]", "out"]
    assert list_labels(nodes, fold=False) == nodes
    assert list_labels(nodes, group="add[0-4]") == nodes[1:6]


def test_short_and_interrupted_sequences_are_not_folded() -> None:
    few = ["in", "add_1", "add_2", "add_3", "add_4"]
    assert list_labels(few) == few
    gap = ["in", *(f"add_{number}" for number in (1, 2, 3, 5, 6, 7))]
    assert list_labels(gap) == gap


def list_chain_labels(count: int, between: str) -> list[str]:
    """Return the labels of a chain of convolutions, with another operation after each."""
    nodes: dict[str, list[str]] = {"in": []}
    flow = "in"
    for number in range(count):
        nodes[f"conv_{number}"] = [flow]
        flow = f"conv_{number}"
        if between:
            nodes[f"{between}{chr(ord('a') + number % 26)}{number}x"] = [flow]
            flow = [*nodes][-1]
    graph = build_graph(graphdef(nodes, {name: name.partition("_")[0] for name in nodes}))
    return [child.label for child in Subgraph(graph).get_group("", True).children]


def test_series_on_a_path_through_other_nodes_is_not_folded() -> None:
    assert list_chain_labels(6, "") == ["in", "conv[0-5]"]
    assert len(list_chain_labels(6, "relu_")) == 13
    # Of a very long chain, the drawing would be too large.
    assert "conv[0-149]" in list_chain_labels(150, "relu_")


def test_only_children_are_not_folded() -> None:
    nodes = [f"add_{number}" for number in range(8)]
    assert list_labels(nodes) == nodes


def test_members_must_have_the_same_operation() -> None:
    names = ["in", *(f"n_{number}" for number in range(6))]
    ops = {name: "One" if index % 2 else "Other" for index, name in enumerate(names)}
    subgraph = Subgraph(build_graph(graphdef({name: [] for name in names}, ops)))
    assert len(subgraph.get_group("", True).children) == 7


def test_only_long_series_of_scopes_are_folded() -> None:
    few = ["in", *(f"layer_{number}/op" for number in range(24))]
    many = ["in", *(f"layer_{number}/op" for number in range(40))]
    assert len(list_labels(few)) == 25
    assert list_labels(many) == ["in", "layer[0-39]"]


def test_series_is_at_the_position_of_its_first_member() -> None:
    names = ["a_4", "x", *(f"a_{number}" for number in range(4))]
    container, arrival = np.zeros(6, np.int32), np.arange(6)
    assert sort_items(container, arrival, names, [0] * 6).tolist() == [2, 3, 4, 5, 0, 1]
    assert sort_items(container, arrival, names, [0, 0, 0, 0, 0, 1]).tolist() == [0, 1, 2, 3, 4, 5]
    container[5] = 1
    assert sort_items(container, arrival, names, [0] * 6).tolist() == [0, 1, 2, 3, 4, 5]
    assert sort_items(container[:0], arrival[:0], [], []).tolist() == []
