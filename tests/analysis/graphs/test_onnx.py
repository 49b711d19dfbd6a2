"""Parsed ONNX files have the nodes and edges that the onnx package finds."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.analysis.graphs.conftest import FILES
from tests.analysis.graphs.test_graphdef import edges_of
from tracklight.analysis.graphs import Graph, TensorSpec, format_shape
from tracklight.analysis.graphs.onnx import join_modules, parse_onnx
from tracklight.errors import FormatError
from tracklight.formats import proto

EXPECTED: dict[str, Any] = json.loads((FILES / "onnx.json").read_bytes())


def parse(name: str) -> Graph:
    return parse_onnx((FILES / name).read_bytes())


def delimit(number: int, content: bytes) -> bytes:
    """Encode a length-delimited field."""
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


def get_label(path: str) -> str:
    return path.rpartition("/")[2]


def get_expected_edges(expected: dict[str, Any]) -> set[tuple[str, str, int]]:
    """Return source, target and position of each edge, with the last part of names."""
    producer = {name: name for name in [*expected["inputs"], *expected["initializers"]]}
    names = [get_label(name) or outputs[0] for name, _, _, outputs in expected["nodes"]]
    for name, (_, _, _, outputs) in zip(names, expected["nodes"], strict=True):
        producer |= dict.fromkeys(outputs, name)
    edges = {
        (producer[source], name, position)
        for name, (_, _, inputs, _) in zip(names, expected["nodes"], strict=True)
        for position, source in enumerate(inputs)
        if source
    }
    return edges | {(producer[output], output, 0) for output in expected["outputs"]}


@pytest.mark.parametrize("name", EXPECTED)
def test_nodes_and_edges_match_the_onnx_package(name: str) -> None:
    expected, graph = EXPECTED[name], parse(name)
    assert graph.problems == ()
    ops = [op for _, op, _, _ in expected["nodes"]]
    ops += ["Input"] * len(expected["inputs"]) + ["Output"] * len(expected["outputs"])
    assert sorted(graph.ops) == sorted(ops + ["Initializer"] * len(expected["initializers"]))
    edges = {
        (get_label(source), get_label(target), position)
        for source, _, target, position, _ in edges_of(graph)
    }
    captured = {("x", "if", 1), ("w", "if", 2)} if name == "choice.onnx" else set()
    assert edges == get_expected_edges(expected) | captured


def test_nodes_are_in_the_scopes_of_their_modules() -> None:
    graph = parse("torch_export.onnx")
    details = {name: graph.describe(node) for node, name in enumerate(graph.names)}
    stem = details["Net/Conv2d[stem]/node_conv2d"]
    assert stem.outputs == (TensorSpec("float32", (1, 4, 6, 6)),)
    assert stem.attributes["kernel_shape"] == "[3, 3]"
    assert stem.source.startswith("make.py:") and stem.source.endswith(" in forward")
    weight = details["Net/Conv2d[stem]/stem.weight"]
    assert (weight.outputs, weight.parameters) == ((TensorSpec("float32", (4, 3, 3, 3)),), 108)
    assert "Net/Sequential[blocks]/Block[1]/node_relu_1" in details
    # Indices are not trainable.
    assert details["Net/val_16"].parameters == 0
    assert sum(it.parameters for it in details.values()) == 458


def test_parts_of_different_module_lists_are_different_scopes() -> None:
    conv = "torch.nn.modules.conv.Conv2d"
    assert join_modules([("", "app.Net"), ("stem.0", conv)]) == "Net/Conv2d[stem.0]"
    assert join_modules([("", "app.Net"), ("head.0", conv)]) == "Net/Conv2d[head.0]"
    nested = [("", "app.Net"), ("blocks", "app.Blocks"), ("blocks.list.1", "app.Block")]
    assert join_modules(nested) == "Net/Blocks[blocks]/Block[list.1]"
    assert join_modules([("", "app.Net"), ("", "")]) == "Net"


def test_subgraphs_and_functions() -> None:
    graph = parse("choice.onnx")
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


def test_inconsistent_graph_is_parsed() -> None:
    """It has a cycle, a self-loop, a duplicate name and a missing tensor."""
    data = make_model(
        make_node("A", ["b"], ["a"]),
        make_node("B", ["a", "b", "nowhere"], ["b"]),
        make_node("C", [], ["a"]),
        make_node("D", [], []),
    )
    graph = parse_onnx(data)
    assert list(graph.names) == ["a", "b", "a_1", "D_3"]
    assert [str(it) for it in graph.problems] == ["missing inputs (1): nowhere"]
    assert {(source, target) for source, _, target, _, _ in edges_of(graph)} == {
        ("b", "a"),
        ("a_1", "b"),
        ("b", "b"),
    }


def test_names_are_made_unique() -> None:
    names = ["a" + "_1" * count for count in range(1500)]
    graph = parse_onnx(make_model(*(make_node("A", [], [name]) for name in [*names, "a"])))
    assert len(set(graph.names)) == 1501


@pytest.mark.parametrize(("depth", "is_read"), [(40, True), (60, False), (3000, False)])
def test_deeply_nested_subgraphs(depth: int, is_read: bool) -> None:
    graph = make_node("Neg", ["x"], ["y"])
    for _ in range(depth):
        graph = make_node("If", ["x"], ["y"], body=graph)
    if is_read:
        assert len(parse_onnx(make_model(graph)).functions) == depth
    else:
        with pytest.raises(FormatError, match="more than 50 levels deep"):
            parse_onnx(make_model(graph))


def test_implausible_sizes_are_ignored() -> None:
    huge = delimit(8, b"w") + b"\x10\x01" + (b"\x08" + b"\xff" * 8 + b"\x7f") * 2
    graph = parse_onnx(make_model(delimit(5, huge)))
    assert graph.describe(0).parameters == 0
    assert graph.describe(0).outputs[0].shape == (2**63 - 1, 2**63 - 1)


def test_file_without_graph_raises_format_error() -> None:
    with pytest.raises(FormatError, match="no graph"):
        parse_onnx(b"\x08\x0a")


WHOLE = (FILES / "choice.onnx").read_bytes()
OFFSETS = st.integers(0, len(WHOLE) - 1)


@given(st.lists(st.tuples(OFFSETS, st.integers(0, 255)), max_size=8), OFFSETS)
@example([], 5)
def test_arbitrary_bytes_are_parsed_or_raise_format_error(
    changes: list[tuple[int, int]], end: int
) -> None:
    data = bytearray(WHOLE)
    for offset, byte in changes:
        data[offset] = byte
    for part in (bytes(data), bytes(data[:end])):
        try:
            graph = parse_onnx(part)
        except FormatError:
            continue
        for body in [graph, *graph.functions.values()]:
            assert all(body.describe(node).parameters >= 0 for node in range(len(body)))


def test_symbolic_dimensions_have_their_names() -> None:
    onnx = pytest.importorskip("onnx")
    kind = onnx.TensorProto.FLOAT
    x = onnx.helper.make_tensor_value_info("x", kind, ["batch", 3, None])
    y = onnx.helper.make_tensor_value_info("y", kind, ["batch", 3, None])
    node = onnx.helper.make_node("Relu", ["x"], ["y"])
    model = onnx.helper.make_model(onnx.helper.make_graph([node], "g", [x], [y]))
    graph = parse_onnx(model.SerializeToString())
    (output,) = graph.describe(graph.names.index("x")).outputs
    assert output.shape == ("batch", 3, None)
    assert format_shape(output.shape) == "batch\N{MULTIPLICATION SIGN}3\N{MULTIPLICATION SIGN}?"
    assert output.count_elements() is None
