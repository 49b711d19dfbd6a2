"""Suspicious shapes of operands are reported."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.analysis.graphs.graphdefs import graphdef
from tests.dashboards.graphs.graph_log import X
from tracklight.analysis.graphs.graph_index import Subgraph
from tracklight.analysis.graphs.graphdef import parse_graphdef
from tracklight.analysis.graphs.insights import DataFlow, iter_shape_issues

UNKNOWN = -1


def list_issues(
    op: str, one: Sequence[int], other: Sequence[int], source: str = "Placeholder"
) -> str:
    """Return the issues of an operation on two tensors of these shapes."""
    ops = {"a": "Placeholder", "b": source, "both": op}
    shapes = {"a": one, "b": other}
    graph = graphdef({"a": [], "b": [], "both": ["a", "b"]}, ops, shapes)
    subgraph = Subgraph(parse_graphdef(graph.SerializeToString()))
    return "; ".join(
        issue.message.text for issue in iter_shape_issues(subgraph, DataFlow(subgraph))
    )


@pytest.mark.parametrize(
    ("one", "other"),
    [([4, 8], [4, 8]), ([4, 8], [8]), ([4, 8], [1, 8]), ([UNKNOWN, 8], [4, 8]), ([4, 8], [])],
)
def test_compatible_shapes_have_no_issue(one: list[int], other: list[int]) -> None:
    assert list_issues("Sub", one, other) == ""


def test_row_and_column_are_broadcast_to_a_square() -> None:
    assert list_issues("Sub", [32], [32, 1]) == f"32 and 32{X}1 are broadcast to 32{X}32"
    # With constants it is intended.
    assert list_issues("Sub", [32], [32, 1], source="Const") == ""


def test_incompatible_elementwise_shapes() -> None:
    assert list_issues("aten::add", [4, 8], [4, 6]) == f"4{X}8 and 4{X}6 cannot be broadcast"
    assert list_issues("Conv2D", [4, 8], [4, 6]) == ""


def test_incompatible_matrix_product() -> None:
    assert list_issues("MatMul", [4, 8], [8, 2]) == ""
    assert list_issues("MatMul", [4, 8], [9, 2]) == f"4{X}8 times 9{X}2: 8 is not 9"
    assert list_issues("MatMul", [4, UNKNOWN], [9, 2]) == ""


def test_transposed_operand() -> None:
    graph = graphdef(
        {"a": [], "b": [], "both": ["a", "b"]}, {"both": "MatMul"}, {"a": [4, 8], "b": [2, 8]}
    )
    transpose = graph.node[2].attr.add()
    transpose.key, transpose.value.b = b"transpose_b", True
    subgraph = Subgraph(parse_graphdef(graph.SerializeToString()))
    assert list(iter_shape_issues(subgraph, DataFlow(subgraph))) == []
