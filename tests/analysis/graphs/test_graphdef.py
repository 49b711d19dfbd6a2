"""Parsed graphs have exactly the nodes and edges of the GraphDef."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tracklight
from tests.analysis.graphs.conftest import FILES, Logged
from tracklight.analysis.graphs import Graph, TensorSpec
from tracklight.analysis.graphs.graphdef import parse_graphdef, parse_run_metadata
from tracklight.analysis.graphs.statistics import summarize_graph
from tracklight.errors import FormatError
from tracklight.formats import proto

Edge = tuple[str, str, str, int, bool]


def edges_of(graph: Graph) -> list[Edge]:
    edges = graph.edges
    return [
        (graph.names[source], output, graph.names[target], position, bool(control))
        for source, output, target, position, control in zip(
            edges.source, edges.output, edges.target, edges.position, edges.control, strict=True
        )
    ]


def edges_in(nodes: Iterable[Any], prefix: str = "", known: set[str] | None = None) -> list[Edge]:
    """Return the edges of TensorBoard's messages, without using tracklight's code."""
    nodes = list(nodes)
    names = known or {node.name for node in nodes}
    edges = []
    for node in nodes:
        for position, text in enumerate(node.input):
            name, *output = text.lstrip("^").split(":")
            if name in names:
                port = "" if text.startswith("^") else ":".join(output) or "0"
                edge = (prefix + name, port, prefix + node.name, position, text.startswith("^"))
                edges.append(edge)
    return edges


def assert_functions(ours: Graph, library: Any) -> None:
    """Check the arguments, nodes, results and edges of all function bodies."""
    assert set(ours.functions) == {it.signature.name for it in library.function}
    for theirs in library.function:
        body = ours.functions[theirs.signature.name]
        arguments = [argument.name for argument in theirs.signature.input_arg]
        names = [*arguments, *(node.name for node in theirs.node_def), *theirs.ret]
        assert sorted(body.names) == sorted(names)
        sources = {*arguments, *(node.name for node in theirs.node_def)}
        expected = edges_in(theirs.node_def, known=sources)
        expected += [
            (value.split(":")[0], ":".join(value.split(":")[1:]) or "0", key, 0, False)
            for key, value in theirs.ret.items()
        ]
        assert sorted(edges_of(body)) == sorted(expected)
        assert body.problems == ()


def test_parses_all_nodes_and_edges_of_logged_graphs(logged: list[Logged]) -> None:
    graph_pb2 = pytest.importorskip("tensorboard.compat.proto.graph_pb2")
    plain = [one for one in logged if one.plugin == "graphs"]
    assert len(plain) >= 7
    for one in plain:
        theirs = graph_pb2.GraphDef.FromString(one.data)
        ours = parse_graphdef(one.data)
        assert list(ours.names) == [node.name for node in theirs.node], one[:3]
        assert list(ours.ops) == [node.op for node in theirs.node]
        assert edges_of(ours) == edges_in(theirs.node)
        assert_functions(ours, theirs.library)


def test_run_metadata_keeps_control_edges(logged: list[Logged]) -> None:
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
            if len(graphs) == 1:
                assert_functions(parse_run_metadata(one.data), graph.library)
        ours = parse_run_metadata(one.data)
        assert edges_of(ours) == expected
        assert len(ours) == sum(len(graph.node) for graph in graphs)


NAMES = st.sampled_from(["a", "b", "a/b", "scope/x", "é"])
INPUTS = st.builds("{}{}{}".format, st.sampled_from(["", "^"]), NAMES, st.sampled_from(["", ":1"]))


@given(st.lists(st.tuples(NAMES, st.lists(INPUTS, max_size=4)), max_size=6))
def test_parses_arbitrary_inputs(nodes: list[tuple[str, list[str]]]) -> None:
    """Including self-loops, cycles, duplicate names and missing inputs."""
    graph = proto.GraphDef(
        node=[
            proto.NodeDef(name=name.encode(), op=b"Op", input=[it.encode() for it in inputs])
            for name, inputs in nodes
        ]
    )
    parsed = parse_graphdef(graph.SerializeToString())
    known_names = {name for name, _ in nodes}
    input_names = [text.lstrip("^").split(":")[0] for _, inputs in nodes for text in inputs]
    assert len(parsed.edges) == sum(name in known_names for name in input_names)
    missing = set(input_names) - known_names
    assert any("missing input" in problem.text for problem in parsed.problems) == bool(missing)
    has_duplicates = len(known_names) < len(nodes)
    assert any("duplicate name" in problem.text for problem in parsed.problems) == has_duplicates


def test_function_body_has_nodes_for_arguments_and_results() -> None:
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
    function = parse_graphdef(data).functions["double"]
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


def test_parses_bodies_of_branches_and_loops() -> None:
    """The file was written by TensorFlow and has a call, a loop and a branch."""
    graph = parse_graphdef((FILES / "function.pb").read_bytes())
    calls = {op: graph.describe(node).functions for node, op in enumerate(graph.ops)}
    (step,) = calls["PartitionedCall"]
    body = graph.functions[step]
    inner = {op: body.describe(node).functions for node, op in enumerate(body.ops)}
    assert len(inner["StatelessWhile"]) == len(inner["StatelessIf"]) == 2
    assert {*inner["StatelessWhile"], *inner["StatelessIf"], step} == set(graph.functions)
    assert body.describe(0).outputs == (TensorSpec("float32", (None, 4)),)


def test_modules_of_pytorch_traces_are_not_missing_inputs(logged: list[Logged]) -> None:
    (trace,) = [one for one in logged if one.run == "torch/runs/graph"]
    graph = parse_graphdef(trace.data)
    assert graph.problems == ()
    details = {name: graph.describe(node) for node, name in enumerate(graph.names)}
    assert details["Multi/Sequential[enc]/Linear[0]/bias/bias.1"].attributes == {"name": "bias"}
    assert details["Multi/Sequential[enc]/Linear[0]/input.1"].outputs[0].shape == (1, 8)


def test_parses_graph_written_by_tensorboardx() -> None:
    (file,) = (FILES / "tensorboardx").iterdir()
    with tracklight.open(file.parent, cache=False) as log:
        graph = parse_graphdef(log.tensors(".", "__run_graph__")[-1].item())
    assert graph.problems == ()
    linear = "Sequential/Sequential[1]/Linear[0]"
    assert ("Sequential/Linear[0]/input.3", "0", f"{linear}/input.5", 0, False) in edges_of(graph)


def test_implausible_sizes_are_ignored() -> None:
    deep = "/".join(["s"] * 50)
    huge = proto.AttrValue(
        shape=proto.TensorShapeProto(dim=[proto.Dim(size=2**62), proto.Dim(size=2**62)])
    )
    nodes = [proto.NodeDef(name=f"x{number}".encode(), op=b"Op") for number in range(10_000)]
    inputs = [node.name for node in nodes]
    nodes.append(proto.NodeDef(name=deep.encode(), op=b"AddN", input=[*inputs, deep.encode()]))
    attr = [proto.Attr(key=b"shape", value=huge)]
    nodes.append(proto.NodeDef(name=b"v", op=b"VarHandleOp", attr=attr))
    graph = parse_graphdef(proto.GraphDef(node=nodes).SerializeToString())
    summary = summarize_graph(graph)
    assert (summary.depth, summary.edges) == (50, 10_001)
    # The product of the dimensions is implausibly large.
    assert (summary.parameters, summary.largest) == (0, ())


@pytest.mark.parametrize("data", [b"\x0a\xff", b"\x0a\x05abc", bytes(9)])
def test_damaged_graph_raises_format_error(data: bytes) -> None:
    with pytest.raises(FormatError, match="not a GraphDef"):
        parse_graphdef(data)


def test_run_metadata_without_graph_raises_format_error() -> None:
    with pytest.raises(FormatError, match="has no graph"):
        parse_run_metadata(proto.RunMetadata().SerializeToString())


def test_merged_graphs_keep_the_values_of_constants() -> None:
    tensor = proto.TensorProto(dtype=1, float_val=[2.5])
    value = proto.Attr(key=b"value", value=proto.AttrValue(tensor=tensor))
    graph = proto.GraphDef(node=[proto.NodeDef(name=b"c", op=b"Const", attr=[value])])
    entry = proto.FunctionGraphs(pre_optimization_graph=graph.SerializeToString())
    metadata = proto.RunMetadata(function_graphs=[entry, entry])
    merged = parse_run_metadata(metadata.SerializeToString())
    assert merged.names == ["graph_1/c", "graph_2/c"]
    assert [reader()["value"].tolist() for reader in merged.weights.values()] == [2.5, 2.5]
