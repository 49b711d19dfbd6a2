"""ONNX files give the nodes and edges that the onnx package reads of them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.analysis.graphs.conftest import FILES
from tests.analysis.graphs.test_graphdef import edges_of
from tracklight.analysis.graphs.model import Graph, TensorSpec
from tracklight.analysis.graphs.onnx import parse_onnx
from tracklight.errors import FormatError
from tracklight.formats import proto

TOLD: dict[str, Any] = json.loads((FILES / "onnx.json").read_bytes())


def read(name: str) -> Graph:
    return parse_onnx((FILES / name).read_bytes())


def delimit(number: int, content: bytes) -> bytes:
    """A field of a message that holds bytes."""
    size, length = len(content), b""
    while size > 0x7F:
        length += bytes([size & 0x7F | 0x80])
        size >>= 7
    return bytes([number << 3 | 2]) + length + bytes([size]) + content


def make_model(*parts: bytes) -> bytes:
    return delimit(7, b"".join(parts))


def make_node(op: str, inputs: list[str], outputs: list[str], **attributes: bytes) -> bytes:
    listed = [
        proto.OnnxAttribute(name=name.encode(), g=graph, type=5)
        for name, graph in attributes.items()
    ]
    node = proto.OnnxNode(
        op_type=op.encode(),
        input=[name.encode() for name in inputs],
        output=[name.encode() for name in outputs],
        attribute=listed,
    )
    return delimit(1, node.SerializeToString())


def last(path: str) -> str:
    return path.rpartition("/")[2]


def expect_edges(told: dict[str, Any]) -> set[tuple[str, str, int]]:
    """Who reads whom, under the last parts of their names."""
    maker = {name: name for name in [*told["inputs"], *told["initializers"]]}
    names = [last(name) or outputs[0] for name, _, _, outputs in told["nodes"]]
    for name, (_, _, _, outputs) in zip(names, told["nodes"], strict=True):
        maker |= dict.fromkeys(outputs, name)
    found = {
        (maker[source], name, position)
        for name, (_, _, inputs, _) in zip(names, told["nodes"], strict=True)
        for position, source in enumerate(inputs)
        if source
    }
    return found | {(maker[output], output, 0) for output in told["outputs"]}


@pytest.mark.parametrize("name", TOLD)
def test_nodes_and_edges_are_those_of_the_file(name: str) -> None:
    told, graph = TOLD[name], read(name)
    assert graph.problems == ()
    expected = [op for _, op, _, _ in told["nodes"]]
    expected += ["Input"] * len(told["inputs"]) + ["Output"] * len(told["outputs"])
    assert sorted(graph.ops) == sorted(expected + ["Initializer"] * len(told["initializers"]))
    found = {(last(source), last(target), at) for source, _, target, at, _ in edges_of(graph)}
    captured = {("x", "if", 1), ("w", "if", 2)} if name == "choice.onnx" else set()
    assert found == expect_edges(told) | captured


def test_nodes_stand_in_their_modules() -> None:
    graph = read("torch_export.onnx")
    told = {name: graph.describe(at) for at, name in enumerate(graph.names)}
    stem = told["Net/Conv2d[stem]/node_conv2d"]
    assert stem.outputs == (TensorSpec("float32", (1, 4, 6, 6)),)
    assert stem.attributes["kernel_shape"] == "[3, 3]"
    assert stem.source.startswith("make.py:") and stem.source.endswith(" in forward")
    weight = told["Net/Conv2d[stem]/stem.weight"]
    assert (weight.outputs, weight.parameters) == ((TensorSpec("float32", (4, 3, 3, 3)),), 108)
    assert "Net/Sequential[blocks]/Block[1]/node_relu_1" in told
    # Indices are no parameters.
    assert told["Net/val_16"].parameters == 0
    assert sum(detail.parameters for detail in told.values()) == 458


def test_graphs_inside_of_nodes_are_functions() -> None:
    graph = read("choice.onnx")
    choice = graph.describe(graph.ops.index("If"))
    assert choice.functions == ("if.else_branch", "if.then_branch")
    then = graph.functions["if.then_branch"]
    assert list(zip(then.names, then.ops, strict=True)) == [
        ("x", "_Arg"),
        ("w", "_Arg"),
        ("scale", "Mul"),
        ("t", "_Retval"),
    ]
    assert [edge[:4] for edge in edges_of(then)] == [
        ("x", "0", "scale", 0),
        ("w", "0", "scale", 1),
        ("scale", "0", "t", 0),
    ]
    assert graph.describe(graph.ops.index("Twice")).functions == ("own::Twice",)
    assert list(graph.functions["own::Twice"].ops) == ["_Arg", "Add", "_Retval"]


def test_what_is_odd_is_read_all_the_same() -> None:
    """A cycle, a node that reads itself, a name that is there twice, a tensor that nobody makes."""
    data = make_model(
        make_node("A", ["b"], ["a"]),
        make_node("B", ["a", "b", "nowhere"], ["b"]),
        make_node("C", [], ["a"]),
        make_node("D", [], []),
    )
    graph = parse_onnx(data)
    assert list(graph.names) == ["a", "b", "a_1", "D_3"]
    assert graph.problems == ("1 input is named but not there: nowhere",)
    assert {(source, target) for source, _, target, _, _ in edges_of(graph)} == {
        ("b", "a"),
        ("a_1", "b"),
        ("b", "b"),
    }


def test_names_that_are_taken_over_and_over() -> None:
    names = ["a" + "_1" * count for count in range(1500)]
    graph = parse_onnx(make_model(*(make_node("A", [], [name]) for name in [*names, "a"])))
    assert len(set(graph.names)) == 1501


@pytest.mark.parametrize(("depth", "is_read"), [(40, True), (60, False), (3000, False)])
def test_graphs_inside_of_graphs(depth: int, is_read: bool) -> None:
    graph = make_node("Neg", ["x"], ["y"])
    for _ in range(depth):
        graph = make_node("If", ["x"], ["y"], body=graph)
    if is_read:
        assert len(parse_onnx(make_model(graph)).functions) == depth
    else:
        with pytest.raises(FormatError, match="more than 50 deep"):
            parse_onnx(make_model(graph))


def test_sizes_that_no_machine_holds() -> None:
    huge = delimit(8, b"w") + b"\x10\x01" + (b"\x08" + b"\xff" * 8 + b"\x7f") * 2
    graph = parse_onnx(make_model(delimit(5, huge)))
    assert graph.describe(0).parameters == 0
    assert graph.describe(0).outputs[0].shape == (2**63 - 1, 2**63 - 1)


def test_a_file_without_a_graph_is_said_to_be_one() -> None:
    with pytest.raises(FormatError, match="holds no graph"):
        parse_onnx(b"\x08\x0a")


WHOLE = (FILES / "choice.onnx").read_bytes()
PLACES = st.integers(0, len(WHOLE) - 1)


@given(st.lists(st.tuples(PLACES, st.integers(0, 255)), max_size=8), PLACES)
@example([], 5)
def test_any_bytes_are_read_or_refused(changes: list[tuple[int, int]], end: int) -> None:
    data = bytearray(WHOLE)
    for at, byte in changes:
        data[at] = byte
    for part in (bytes(data), bytes(data[:end])):
        try:
            graph = parse_onnx(part)
        except FormatError:
            continue
        for body in [graph, *graph.functions.values()]:
            assert all(body.describe(place).parameters >= 0 for place in range(len(body)))
