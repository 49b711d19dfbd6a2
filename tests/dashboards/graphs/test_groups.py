"""The content of open groups."""

from __future__ import annotations

import numpy as np
import pytest

from tests.analysis.graphs.graphdefs import add_function, call, graphdef
from tests.dashboards.graphs.conftest import OpenGraph
from tests.dashboards.graphs.graph_log import X, get_partners

NET = {
    "x": [],
    "net/conv/w": [],
    "net/conv/out": ["x", "net/conv/w"],
    "net/relu": ["net/conv/out"],
    "net/add": ["net/relu", "x"],
    "loss": ["net/add", "net/add", "^net/conv/w"],
}


def test_group_has_its_children_only(open_graph: OpenGraph) -> None:
    client = open_graph(graphdef(NET, shapes={"x": (32, 28), "net/add": (32, 10)}))
    group = client.group()
    assert [(child.label, child.kind, child.nodes) for child in group.children] == [
        ("x", "op", 1),
        ("net", "scope", 4),
        ("loss", "op", 1),
    ]
    assert client.edges() == {("x", "net"): f"32{X}28", ("net", "loss"): f"32{X}10"}
    assert group.edges.count.tolist() == [2, 3]
    assert group.edges.control.tolist() == [0, 1]
    assert group.edges.size.tolist() == [32 * 28, 320]


def test_boundary_edges_lead_to_partners_outside(open_graph: OpenGraph) -> None:
    client = open_graph(graphdef(NET))
    net = client.group("net")
    assert [child.label for child in net.children] == ["conv", "relu", "add"]
    assert client.edges("net").keys() == {("conv", "relu"), ("relu", "add")}
    assert get_partners(net, net.incoming) == {"conv": {"x"}, "add": {"x"}}
    assert get_partners(net, net.outgoing) == {"conv": {"loss"}, "add": {"loss"}}
    conv = client.group("net/conv")
    assert get_partners(conv, conv.outgoing) == {"w": {"loss"}, "out": {"net/relu"}}
    assert [(child.inputs, child.outputs) for child in net.children] == [(1, 2), (1, 1), (2, 2)]


def test_known_and_unknown_shapes(open_graph: OpenGraph) -> None:
    client = open_graph(graphdef({"a": [], "b": ["a"], "c": ["b"]}, shapes={"a": (-1, 4)}))
    first, second, _ = client.group().children
    assert (first.shape, second.shape) == (f"?{X}4", "")
    edges = client.group().edges
    assert edges.label == [f"?{X}4", ""]
    np.testing.assert_array_equal(edges.size, [4, np.nan])


def test_large_group_is_sent_in_parts(open_graph: OpenGraph) -> None:
    names = [f"n{number}_" for number in range(10)]
    client = open_graph(
        graphdef({name: names[index - 1 : index] for index, name in enumerate(names)})
    )
    part = client.group(offset=4, limit=3)
    assert (part.total, part.offset) == (10, 4)
    assert [child.label for child in part.children] == names[4:7]
    assert list(zip(part.edges.source.tolist(), part.edges.target.tolist(), strict=True)) == [
        (0, 1),
        (1, 2),
    ]
    assert get_partners(part, part.incoming) == {"n4_": {"n3_"}}
    assert get_partners(part, part.outgoing) == {"n6_": {"n7_"}}


def test_chain_of_single_scopes_is_opened_together(open_graph: OpenGraph) -> None:
    client = open_graph(graphdef({"a/b/c/one": [], "a/b/c/two": []}))
    assert client.group().children[0].single_child_chain == ["a/b", "a/b/c"]
    assert client.request("about").default_groups == ["a", "a/b", "a/b/c"]


def test_scope_with_most_nodes_is_open_by_default(open_graph: OpenGraph) -> None:
    few = {f"net/part/n{number}x": [] for number in range(8)}
    client = open_graph(
        graphdef({"in": [], **few, "net/last": [], "small/one": [], "small/two": []})
    )
    assert client.request("about").default_groups == ["net", "net/part"]
    many = {f"net/n{number}x": [] for number in range(80)}
    client.id = client.request(
        "upload", name="m.pb", body=graphdef({**many, "in": []}).SerializeToString()
    ).id
    assert client.request("about").default_groups == []


def test_scopes_of_the_same_structure_share_a_number(open_graph: OpenGraph) -> None:
    nodes = {f"{scope}/{name}": [] for scope in "abc" for name in ("one", "two")}
    nodes["a/two"], nodes["b/two"] = ["a/one"], ["b/one"]
    structures = [child.structure_id for child in open_graph(graphdef(nodes)).group().children]
    assert structures == [0, 0, -1]


def test_auxiliary_children_have_a_role(open_graph: OpenGraph) -> None:
    nodes = {"init": [], "c": [], "lone": [], "sum": ["b0"], "hub": [], "x": []}
    nodes |= {
        f"b{number}": ["hub", f"b{number - 1}"] if number else ["hub", "c", "x"]
        for number in range(20)
    }
    ops = {"init": "NoOp", "c": "Const", "sum": "ScalarSummary", "x": "Placeholder"}
    ops |= {f"b{number}": f"Op{number}" for number in range(20)}
    roles = {child.label: child.role for child in open_graph(graphdef(nodes, ops)).group().children}
    assert {name: role for name, role in roles.items() if role} == {
        "init": "noop",
        "c": "constant",
        "lone": "lonely",
        "sum": "summary",
        "hub": "hub",
    }


def test_lists_of_constants_are_auxiliary(open_graph: OpenGraph) -> None:
    nodes = {"x": [], "one": [], "two": [], "size": ["one", "two"], "pair": ["x", "one"]}
    nodes["pool"] = ["x", "size", "pair"]
    ops = {"one": "prim::Constant", "two": "prim::Constant", "x": "IO Node"}
    ops |= {"size": "prim::ListConstruct", "pair": "prim::ListConstruct", "pool": "aten::pool"}
    roles = {child.label: child.role for child in open_graph(graphdef(nodes, ops)).group().children}
    assert {name for name, role in roles.items() if role == "constant"} == {"one", "two", "size"}


@pytest.mark.parametrize("width", [8, 30])
def test_hubs_on_the_path_from_inputs_to_outputs_stay(width: int, open_graph: OpenGraph) -> None:
    """An Inception block: a wide split, branches, and a wide concatenation before the output."""
    nodes: dict[str, list[str]] = {"x": [], "stem": ["x"]}
    for number in range(width):
        nodes |= {f"conv{number}": ["stem"], f"relu{number}": [f"conv{number}"]}
    nodes["concat"] = [f"relu{number}" for number in range(width)]
    nodes |= {"logits": ["concat"], "out": ["logits"]}
    ops = {name: f"{name.title()}Op" for name in nodes} | {"x": "Placeholder"}
    # A global step that all branches read, and a saver that reads all branches.
    nodes |= {"step": [], "save": [f"conv{number}" for number in range(width)]}
    for number in range(width):
        nodes[f"relu{number}"].append("step")
    ops |= {"step": "VariableV2", "save": "SaveV2"}
    roles = {child.label: child.role for child in open_graph(graphdef(nodes, ops)).group().children}
    assert {name for name, role in roles.items() if role == "hub"} == {"step", "save"}


def test_function_body_is_connected_to_its_call(open_graph: OpenGraph) -> None:
    graph = graphdef(
        {"x": [], "y": [], "net/call": ["x", "y"], "out": ["net/call"]},
        ops={"net/call": "StatefulPartitionedCall"},
    )
    add_function(graph, "body", ["p", "q"], {"in/sum": ["p", "q"]}, {"r": "in/sum:z:0"})
    call(graph, 2, "f", "body")
    client = open_graph(graph)
    (node,) = client.group("net").children
    assert node.functions == ["body"]
    body = client.group("net/call|body|")
    assert body.kind == "function"
    assert [(child.label, child.kind) for child in body.children] == [
        ("p", "input"),
        ("q", "input"),
        ("in", "scope"),
        ("r", "output"),
    ]
    assert get_partners(body, body.incoming) == {"p": {"x"}, "q": {"y"}}
    assert get_partners(body, body.outgoing) == {"r": {"out"}}
    inner = client.group("net/call|body|in")
    assert [child.path for child in inner.children] == ["net/call|body|in/sum"]
    assert get_partners(inner, inner.incoming) == {"sum": {"net/call|body|p", "net/call|body|q"}}


def test_condition_is_not_passed_to_branches(open_graph: OpenGraph) -> None:
    graph = graphdef({"which": [], "x": [], "if": ["which", "x"]}, ops={"if": "If"})
    add_function(graph, "yes", ["p"], {"a": ["p"]}, {"r": "a:0"})
    call(graph, 2, "then_branch", "yes")
    body = open_graph(graph).group("if|yes|")
    assert get_partners(body, body.incoming) == {"p": {"x"}}


def test_result_of_loop_condition_is_not_a_result_of_the_loop(open_graph: OpenGraph) -> None:
    graph = graphdef({"x": [], "y": [], "w": ["x", "y"], "out": ["w"]}, ops={"w": "While"})
    add_function(graph, "cond", ["p", "q"], {"less": ["p", "q"]}, {"r": "less:z:0"})
    add_function(graph, "body", ["p", "q"], {"a": ["p"]}, {"r": "a:z:0", "s": "q"})
    call(graph, 2, "cond", "cond")
    call(graph, 2, "body", "body")
    client = open_graph(graph)
    cond, body = client.group("w|cond|"), client.group("w|body|")
    assert get_partners(cond, cond.incoming) == {"p": {"x"}, "q": {"y"}}
    assert get_partners(cond, cond.outgoing) == {}
    assert get_partners(body, body.outgoing) == {"r": {"out"}}


def test_recursive_function_can_be_opened(open_graph: OpenGraph) -> None:
    graph = graphdef({"f": []})
    add_function(graph, "loop", ["p"], {"again": ["p"]}, {})
    call(graph, 0, "f", "loop")
    inner = graph.library.function[0].node_def[0].attr.add()
    inner.key, inner.value.func.name = b"f", b"loop"
    client = open_graph(graph)
    deep = client.group("f|loop|" + "again|loop|" * 20)
    assert [child.label for child in deep.children] == ["p", "again"]


def test_several_groups_in_one_request(open_graph: OpenGraph) -> None:
    groups = open_graph(graphdef(NET)).request("groups", groups=["", "net"]).groups
    assert [group.path for group in groups] == ["", "net"]
