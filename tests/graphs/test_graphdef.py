"""Nodes and edges are those that stand in the GraphDef, all of them."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.graphs.conftest import Logged
from tracklight.errors import FormatError
from tracklight.formats import proto
from tracklight.graphs.graphdef import read_graphdef
from tracklight.graphs.merging import read_run_metadata
from tracklight.graphs.model import Graph

Edge = tuple[str, str, str, int, bool]


def edges_of(graph: Graph) -> list[Edge]:
    edges = graph.edges
    return [
        (graph.names[source], output, graph.names[target], position, bool(control))
        for source, output, target, position, control in zip(
            edges.source, edges.output, edges.target, edges.position, edges.control, strict=True
        )
    ]


def edges_in(nodes: Iterable[object], prefix: str = "") -> list[Edge]:
    """Computed from the messages of TensorBoard, without any of tracklight's code."""
    nodes = list(nodes)
    names = {node.name for node in nodes}
    found = []
    for node in nodes:
        for position, text in enumerate(node.input):
            name, *output = text.lstrip("^").split(":")
            if name in names:
                port = "" if text.startswith("^") else ":".join(output) or "0"
                edge = (prefix + name, port, prefix + node.name, position, text.startswith("^"))
                found.append(edge)
    return found


def test_every_logged_graph_is_whole(logged: list[Logged]) -> None:
    graph_pb2 = pytest.importorskip("tensorboard.compat.proto.graph_pb2")
    plain = [one for one in logged if one.plugin == "graphs"]
    assert len(plain) >= 7
    for one in plain:
        theirs = graph_pb2.GraphDef.FromString(one.data)
        ours = read_graphdef(one.data)
        assert list(ours.names) == [node.name for node in theirs.node], one[:3]
        assert list(ours.ops) == [node.op for node in theirs.node]
        assert edges_of(ours) == edges_in(theirs.node)
        assert set(ours.functions) == {it.signature.name for it in theirs.library.function}


def test_the_graphs_of_a_trace_keep_their_control_edges(logged: list[Logged]) -> None:
    graph_pb2 = pytest.importorskip("tensorboard.compat.proto.graph_pb2")
    config_pb2 = pytest.importorskip("tensorboard.compat.proto.config_pb2")
    traced = [one for one in logged if one.plugin.startswith("graph_run") and one.data]
    assert traced
    for one in traced:
        theirs = config_pb2.RunMetadata.FromString(one.data)
        graphs = [entry.pre_optimization_graph for entry in theirs.function_graphs]
        expected: list[Edge] = []
        for number, graph in enumerate(graphs, 1):
            assert isinstance(graph, graph_pb2.GraphDef)
            expected += edges_in(graph.node, f"graph_{number}/" if len(graphs) > 1 else "")
        ours = read_run_metadata(one.data)
        assert edges_of(ours) == expected
        assert len(ours) == sum(len(graph.node) for graph in graphs)


NAMES = st.sampled_from(["a", "b", "a/b", "scope/x", "é"])
INPUTS = st.builds("{}{}{}".format, st.sampled_from(["", "^"]), NAMES, st.sampled_from(["", ":1"]))


@given(st.lists(st.tuples(NAMES, st.lists(INPUTS, max_size=4)), max_size=6))
def test_any_wiring_is_read(nodes: list[tuple[str, list[str]]]) -> None:
    """Self-loops, cycles, names that are there twice and inputs that are not."""
    graph = proto.GraphDef(
        node=[
            proto.NodeDef(name=name.encode(), op=b"Op", input=[it.encode() for it in inputs])
            for name, inputs in nodes
        ]
    )
    read = read_graphdef(graph.SerializeToString())
    there = {name for name, _ in nodes}
    given_inputs = [text.lstrip("^").split(":")[0] for _, inputs in nodes for text in inputs]
    assert len(read.edges) == sum(name in there for name in given_inputs)
    missing = set(given_inputs) - there
    assert any("not there" in problem for problem in read.problems) == bool(missing)
    assert any("several nodes" in problem for problem in read.problems) == (len(there) < len(nodes))


def test_the_body_of_a_function_is_between_its_ends() -> None:
    body = proto.FunctionDef(
        signature=proto.OpDef(
            name=b"double",
            input_arg=[proto.ArgDef(name=b"x", type=1)],
            output_arg=[proto.ArgDef(name=b"y", type=1)],
        ),
        node_def=[proto.NodeDef(name=b"sum", op=b"AddV2", input=[b"x", b"x"])],
        ret=[proto.NamePair(key=b"y", value=b"sum:z:0")],
    )
    data = proto.GraphDef(library=proto.FunctionDefLibrary(function=[body])).SerializeToString()
    function = read_graphdef(data).functions["double"]
    assert list(zip(function.names, function.ops, strict=True)) == [
        ("x", "_Arg"),
        ("sum", "AddV2"),
        ("y", "_Retval"),
    ]
    assert edges_of(function) == [
        ("x", "0", "sum", 0, False),
        ("x", "0", "sum", 1, False),
        ("sum", "z:0", "y", 0, False),
    ]
    assert function.describe(0).outputs[0].dtype == "float32"


@pytest.mark.parametrize("data", [b"\x0a\xff", b"\x0a\x05abc", bytes(9)])
def test_a_torn_graph_is_said_to_be_one(data: bytes) -> None:
    with pytest.raises(FormatError, match="no GraphDef"):
        read_graphdef(data)


def test_an_empty_trace_is_said_to_be_one() -> None:
    with pytest.raises(FormatError, match="holds no graph"):
        read_run_metadata(proto.RunMetadata().SerializeToString())
