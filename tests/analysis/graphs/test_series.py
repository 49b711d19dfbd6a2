from __future__ import annotations

import numpy as np

from tests.analysis.graphs.graphdefs import graphdef
from tracklight.analysis.graphs.graph_index import Subgraph
from tracklight.analysis.graphs.graphdef import build_graph
from tracklight.analysis.graphs.hierarchy import sort_items, split_label


def labels(nodes: list[str], fold: bool = True, group: str = "", op: str = "Op") -> list[str]:
    graph = graphdef({name: [] for name in nodes}, dict.fromkeys(nodes, op))
    return [child.label for child in Subgraph(build_graph(graph)).get_group(group, fold).children]


def test_a_label_is_a_stem_and_a_number() -> None:
    assert split_label("conv_12") == ("conv", 12)
    assert split_label("conv12") == ("conv", 12)
    assert split_label("conv") == ("conv", 0)
    assert split_label("x_99999999999") == ("x_99999999999", 0)


def test_five_that_follow_each_other_are_one() -> None:
    nodes = ["in", "add", "add_1", "add_2", "add_3", "add_4", "out"]
    assert labels(nodes) == ["in", "add[0-4]", "out"]
    assert labels(nodes, fold=False) == nodes
    assert labels(nodes, group="add[0-4]") == nodes[1:6]


def test_fewer_are_left_alone_and_so_is_a_gap() -> None:
    few = ["in", "add_1", "add_2", "add_3", "add_4"]
    assert labels(few) == few
    gap = ["in", *(f"add_{at}" for at in (1, 2, 3, 5, 6, 7))]
    assert labels(gap) == gap


def test_all_that_there_is_stays_open() -> None:
    nodes = [f"add_{at}" for at in range(8)]
    assert labels(nodes) == nodes


def test_operations_of_another_kind_are_no_series() -> None:
    names = ["in", *(f"n_{at}" for at in range(6))]
    ops = {name: "One" if at % 2 else "Other" for at, name in enumerate(names)}
    sheet = Subgraph(build_graph(graphdef({name: [] for name in names}, ops)))
    assert len(sheet.get_group("", True).children) == 7


def test_scopes_are_folded_only_where_there_are_very_many_alike() -> None:
    few = ["in", *(f"layer_{at}/op" for at in range(24))]
    many = ["in", *(f"layer_{at}/op" for at in range(40))]
    assert len(labels(few)) == 25
    assert labels(many) == ["in", "layer[0-39]"]


def test_series_come_where_their_first_one_was() -> None:
    labels = ["a_4", "x", *(f"a_{at}" for at in range(4))]
    held, came = np.zeros(6, np.int32), np.arange(6)
    assert sort_items(held, came, labels, [0] * 6).tolist() == [2, 3, 4, 5, 0, 1]
    assert sort_items(held, came, labels, [0, 0, 0, 0, 0, 1]).tolist() == [0, 1, 2, 3, 4, 5]
    held[5] = 1
    assert sort_items(held, came, labels, [0] * 6).tolist() == [0, 1, 2, 3, 4, 5]
    assert sort_items(held[:0], came[:0], [], []).tolist() == []
