from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.analysis.graphs.graphdefs import graphdef
from tests.dashboards.graphs.graph_log import X
from tracklight.analysis.graphs.graph_index import Subgraph
from tracklight.analysis.graphs.graphdef import parse_graphdef
from tracklight.analysis.graphs.insights import DataFlow, iter_shape_issues

UNKNOWN = -1


def judge(op: str, one: Sequence[int], other: Sequence[int], source: str = "Placeholder") -> str:
    """What is said of an operation on two values of these shapes."""
    ops = {"a": "Placeholder", "b": source, "both": op}
    shapes = {"a": one, "b": other}
    graph = graphdef({"a": [], "b": [], "both": ["a", "b"]}, ops, shapes)
    sheet = Subgraph(parse_graphdef(graph.SerializeToString()))
    return "; ".join(misfit.message for misfit in iter_shape_issues(sheet, DataFlow(sheet)))


@pytest.mark.parametrize(
    ("one", "other"),
    [([4, 8], [4, 8]), ([4, 8], [8]), ([4, 8], [1, 8]), ([UNKNOWN, 8], [4, 8]), ([4, 8], [])],
)
def test_what_fits_is_not_told(one: list[int], other: list[int]) -> None:
    assert judge("Sub", one, other) == ""


def test_a_column_and_a_row_give_a_square() -> None:
    assert judge("Sub", [32], [32, 1]) == f"32 and 32{X}1 are spread to 32{X}32"
    # Of numbers that are not fed in, that is how a grid is made.
    assert judge("Sub", [32], [32, 1], source="Const") == ""


def test_sizes_that_differ_do_not_fit() -> None:
    assert judge("aten::add", [4, 8], [4, 6]) == f"4{X}8 and 4{X}6 do not fit together"
    assert judge("Conv2D", [4, 8], [4, 6]) == ""


def test_a_product_needs_one_size_twice() -> None:
    assert judge("MatMul", [4, 8], [8, 2]) == ""
    assert judge("MatMul", [4, 8], [9, 2]) == f"4{X}8 times 9{X}2: 8 is not 9"
    assert judge("MatMul", [4, UNKNOWN], [9, 2]) == ""


def test_an_operand_may_be_turned_around() -> None:
    graph = graphdef(
        {"a": [], "b": [], "both": ["a", "b"]}, {"both": "MatMul"}, {"a": [4, 8], "b": [2, 8]}
    )
    turned = graph.node[2].attr.add()
    turned.key, turned.value.b = b"transpose_b", True
    sheet = Subgraph(parse_graphdef(graph.SerializeToString()))
    assert list(iter_shape_issues(sheet, DataFlow(sheet))) == []
