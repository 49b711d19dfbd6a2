"""Details of nodes and groups."""

from __future__ import annotations

import pytest

from tests.analysis.graphs.graphdefs import graphdef
from tests.dashboards.graphs.conftest import OpenGraph
from tests.dashboards.graphs.graph_log import X
from tests.dashboards.graphs.test_groups import NET
from tracklight.errors import UsageError


def test_node_has_its_edges_in_order(open_graph: OpenGraph) -> None:
    client = open_graph(graphdef(NET, ops={"loss": "Sum"}, shapes={"net/add": (8, 10)}))
    loss = client.request("node", path="loss")
    assert (loss.op, loss.kind, loss.ancestors) == ("Sum", "op", [])
    assert [(it.path, it.position, it.control, it.shape, it.size) for it in loss.inputs] == [
        ("net/add", 0, False, f"8{X}10", 80),
        ("net/add", 1, False, f"8{X}10", 80),
        ("net/conv/w", 2, True, "", None),
    ]
    assert loss.inputs[2].ancestors == ["net", "net/conv"]
    added = client.request("node", path="net/add")
    assert [it.path for it in added.outputs] == ["loss", "loss"]
    assert [(it.shape, it.elements) for it in added.tensors] == [(f"8{X}10", 80)]


def test_operations_are_documented(open_graph: OpenGraph) -> None:
    nodes = {"x": [], "w": [], "product": ["x", "w"], "all": ["product", "^x"]}
    ops = {"x": "Placeholder", "w": "Const", "product": "MatMul", "all": "Relu"}
    client = open_graph(graphdef(nodes, ops=ops))
    product = client.request("node", path="product")
    assert product.op_summary == 'Multiply the matrix "a" by the matrix "b".'
    assert [it.input_name for it in product.inputs] == ["a", "b"]
    assert [it.input_name for it in product.outputs] == ["features"]
    relu = client.request("node", path="all")
    assert [it.input_name for it in relu.inputs] == ["features", ""]


def test_group_has_its_neighbors(open_graph: OpenGraph) -> None:
    net = open_graph(graphdef(NET)).request("node", path="net")
    assert (net.kind, net.nodes) == ("scope", 4)
    assert [(it.path, it.count) for it in net.inputs] == [("x", 2)]
    assert [(it.path, it.count) for it in net.outputs] == [("loss", 3)]
    assert [(op.name, op.count) for op in net.ops] == [("Op", 4)]


def test_many_inputs_are_sent_in_parts(open_graph: OpenGraph) -> None:
    nodes: dict[str, list[str]] = {f"in/a{number}b": [] for number in range(10_000)}
    client = open_graph(graphdef({**nodes, "all": list(nodes)}))
    response = client.request("node", path="all", offset=9_990, limit=100)
    assert response.inputs_total == 10_000
    assert [it.position for it in response.inputs] == list(range(9_990, 10_000))
    group = client.group()
    assert group.edges.count.tolist() == [10_000]
    assert group.edges.label == ["10,000 tensors"]
    assert client.group("in").total == 10_000


@pytest.mark.parametrize("path", ["nothing", "net/nothing", "loss|f|x", "a|b", "|||", "x|" * 500])
def test_unknown_path_raises_usage_error(open_graph: OpenGraph, path: str) -> None:
    client = open_graph(graphdef(NET))
    for route in ("node", "trace"):
        with pytest.raises(UsageError, match="graph"):
            client.request(route, path=path)
    with pytest.raises(UsageError, match="graph"):
        client.group(path)
