from __future__ import annotations

import numpy as np

from tests.analysis.graphs.graphdefs import add_function, call, graphdef
from tests.dashboards.graphs.conftest import Show
from tests.dashboards.graphs.graph_log import X, border

NET = {
    "x": [],
    "net/conv/w": [],
    "net/conv/out": ["x", "net/conv/w"],
    "net/relu": ["net/conv/out"],
    "net/add": ["net/relu", "x"],
    "loss": ["net/add", "net/add", "^net/conv/w"],
}


def test_only_what_is_open_is_sent(show: Show) -> None:
    scene = show(graphdef(NET, shapes={"x": (32, 28), "net/add": (32, 10)}))
    group = scene.group()
    assert [(child.label, child.kind, child.nodes) for child in group.children] == [
        ("x", "op", 1),
        ("net", "scope", 4),
        ("loss", "op", 1),
    ]
    assert scene.edges() == {("x", "net"): f"32{X}28", ("net", "loss"): f"32{X}10"}
    assert group.edges.count.tolist() == [2, 3]
    assert group.edges.control.tolist() == [0, 1]
    assert group.edges.size.tolist() == [32 * 28, 320]


def test_an_open_group_leads_on_to_who_is_outside(show: Show) -> None:
    scene = show(graphdef(NET))
    net = scene.group("net")
    assert [child.label for child in net.children] == ["conv", "relu", "add"]
    assert scene.edges("net").keys() == {("conv", "relu"), ("relu", "add")}
    assert border(net, net.ins) == {"conv": {"x"}, "add": {"x"}}
    assert border(net, net.outs) == {"conv": {"loss"}, "add": {"loss"}}
    conv = scene.group("net/conv")
    assert border(conv, conv.outs) == {"w": {"loss"}, "out": {"net/relu"}}
    assert [(child.inputs, child.outputs) for child in net.children] == [(1, 2), (1, 1), (2, 2)]


def test_shapes_and_what_is_not_known_of_them(show: Show) -> None:
    scene = show(graphdef({"a": [], "b": ["a"], "c": ["b"]}, shapes={"a": (-1, 4)}))
    first, second, _ = scene.group().children
    assert (first.shape, second.shape) == (f"?{X}4", "")
    edges = scene.group().edges
    assert edges.label == [f"?{X}4", ""]
    np.testing.assert_array_equal(edges.size, [4, np.nan])


def test_a_group_of_very_many_is_sent_in_parts(show: Show) -> None:
    names = [f"n{at}_" for at in range(10)]
    scene = show(graphdef({name: names[at - 1 : at] for at, name in enumerate(names)}))
    part = scene.group(offset=4, most=3)
    assert (part.total, part.offset) == (10, 4)
    assert [child.label for child in part.children] == names[4:7]
    assert list(zip(part.edges.source.tolist(), part.edges.target.tolist(), strict=True)) == [
        (0, 1),
        (1, 2),
    ]
    assert border(part, part.ins) == {"n4_": {"n3_"}}
    assert border(part, part.outs) == {"n6_": {"n7_"}}


def test_scopes_in_scopes_are_opened_together(show: Show) -> None:
    scene = show(graphdef({"a/b/c/one": [], "a/b/c/two": []}))
    assert scene.group().children[0].chain == ["a/b", "a/b/c"]
    assert scene.ask("about").open == ["a", "a/b", "a/b/c"]


def test_what_holds_most_of_the_graph_is_open_at_first(show: Show) -> None:
    few = {f"net/part/n{at}x": [] for at in range(8)}
    scene = show(graphdef({"in": [], **few, "net/last": [], "small/one": [], "small/two": []}))
    assert scene.ask("about").open == ["net", "net/part"]
    many = {f"net/n{at}x": [] for at in range(80)}
    scene.id = scene.ask(
        "upload", name="m.pb", body=graphdef({**many, "in": []}).SerializeToString()
    ).id
    assert scene.ask("about").open == []


def test_scopes_that_are_built_alike_have_one_number(show: Show) -> None:
    nodes = {f"{scope}/{name}": [] for scope in "abc" for name in ("one", "two")}
    nodes["a/two"], nodes["b/two"] = ["a/one"], ["b/one"]
    structures = [child.structure for child in show(graphdef(nodes)).group().children]
    assert structures == [0, 0, -1]


def test_what_only_clutters_the_picture_is_told(show: Show) -> None:
    nodes = {"init": [], "c": [], "lone": [], "sum": ["b0"], "hub": []}
    nodes |= {f"b{at}": ["hub"] if at else ["hub", "c"] for at in range(20)}
    ops = {"init": "NoOp", "c": "Const", "sum": "ScalarSummary"}
    ops |= {f"b{at}": f"Op{at}" for at in range(20)}
    roles = {child.label: child.aux for child in show(graphdef(nodes, ops)).group().children}
    assert {name: role for name, role in roles.items() if role} == {
        "init": "noop",
        "c": "constant",
        "lone": "lonely",
        "sum": "summary",
        "hub": "hub",
    }


def test_the_body_of_a_function_is_opened_where_it_is_called(show: Show) -> None:
    graph = graphdef(
        {"x": [], "y": [], "net/call": ["x", "y"], "out": ["net/call"]},
        ops={"net/call": "StatefulPartitionedCall"},
    )
    add_function(graph, "body", ["p", "q"], {"in/sum": ["p", "q"]}, {"r": "in/sum:z:0"})
    call(graph, 2, "f", "body")
    scene = show(graph)
    (node,) = scene.group("net").children
    assert node.functions == ["body"]
    body = scene.group("net/call|body|")
    assert body.kind == "function"
    assert [(child.label, child.kind) for child in body.children] == [
        ("p", "input"),
        ("q", "input"),
        ("in", "scope"),
        ("r", "output"),
    ]
    assert border(body, body.ins) == {"p": {"x"}, "q": {"y"}}
    assert border(body, body.outs) == {"r": {"out"}}
    inner = scene.group("net/call|body|in")
    assert [child.path for child in inner.children] == ["net/call|body|in/sum"]
    assert border(inner, inner.ins) == {"sum": {"net/call|body|p", "net/call|body|q"}}


def test_an_if_does_not_give_its_choice_to_its_branches(show: Show) -> None:
    graph = graphdef({"which": [], "x": [], "if": ["which", "x"]}, ops={"if": "If"})
    add_function(graph, "yes", ["p"], {"a": ["p"]}, {"r": "a:0"})
    call(graph, 2, "then_branch", "yes")
    body = show(graph).group("if|yes|")
    assert border(body, body.ins) == {"p": {"x"}}


def test_what_decides_about_a_loop_is_not_what_the_loop_gives(show: Show) -> None:
    graph = graphdef({"x": [], "y": [], "w": ["x", "y"], "out": ["w"]}, ops={"w": "While"})
    add_function(graph, "cond", ["p", "q"], {"less": ["p", "q"]}, {"r": "less:z:0"})
    add_function(graph, "body", ["p", "q"], {"a": ["p"]}, {"r": "a:z:0", "s": "q"})
    call(graph, 2, "cond", "cond")
    call(graph, 2, "body", "body")
    scene = show(graph)
    cond, body = scene.group("w|cond|"), scene.group("w|body|")
    assert border(cond, cond.ins) == {"p": {"x"}, "q": {"y"}}
    assert border(cond, cond.outs) == {}
    assert border(body, body.outs) == {"r": {"out"}}


def test_a_function_that_calls_itself_can_be_opened_for_long(show: Show) -> None:
    graph = graphdef({"f": []})
    add_function(graph, "loop", ["p"], {"again": ["p"]}, {})
    call(graph, 0, "f", "loop")
    inner = graph.library.function[0].node_def[0].attr.add()
    inner.key, inner.value.func.name = b"f", b"loop"
    scene = show(graph)
    deep = scene.group("f|loop|" + "again|loop|" * 20)
    assert [child.label for child in deep.children] == ["p", "again"]


def test_several_groups_are_asked_for_at_once(show: Show) -> None:
    groups = show(graphdef(NET)).ask("groups", groups=["", "net"]).groups
    assert [group.path for group in groups] == ["", "net"]
