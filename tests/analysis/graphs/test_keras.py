"""Models of Keras 2 and 3 are parsed to their layers and connections."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.analysis.graphs import keras_oracle
from tests.analysis.graphs.conftest import FILES, Logged
from tracklight.analysis.graphs import Graph, TensorSpec
from tracklight.analysis.graphs.keras import parse_keras
from tracklight.errors import FormatError

Json = dict[str, Any]


def tensor(layer: str, output: int = 0) -> Json:
    return {"class_name": "__keras_tensor__", "config": {"keras_history": [layer, 0, output]}}


def layer(name: str, *calls: Any, kind: str = "Dense", **config: Any) -> Json:
    """Return a layer in the format of Keras 3; a call is its positional arguments, or a dict."""
    nodes = [call if isinstance(call, dict) else {"args": call, "kwargs": {}} for call in calls]
    return {
        "class_name": kind,
        "name": name,
        "config": {"name": name, **config},
        "inbound_nodes": nodes,
    }


def model(name: str, layers: list[Json], inputs: Any, outputs: Any, *calls: Any) -> Json:
    config = {"layers": layers, "input_layers": inputs, "output_layers": outputs}
    return layer(name, *calls, kind="Functional", **config)


def parse(model: Json) -> Graph:
    return parse_keras(json.dumps(model).encode())


def get_pairs(graph: Graph) -> set[tuple[str, str]]:
    return {(source, target) for source, _, target in get_edges(graph)}


def get_edges(graph: Graph) -> set[tuple[str, str, str]]:
    edges = graph.edges
    return {
        (graph.names[source], output, graph.names[target])
        for source, output, target in zip(edges.source, edges.output, edges.target, strict=True)
    }


def test_sequential_model() -> None:
    layers = [layer("a", kind="InputLayer"), layer("b"), layer("c")]
    graph = parse({"class_name": "Sequential", "config": {"name": "s", "layers": layers}})
    assert list(graph.names) == ["a", "b", "c"]
    assert list(graph.ops) == ["InputLayer", "Dense", "Dense"]
    assert get_edges(graph) == {("a", "0", "b"), ("b", "0", "c")}


def test_keyword_and_constant_arguments() -> None:
    layers = [
        layer("q", kind="InputLayer"),
        layer("v", kind="InputLayer"),
        layer("attend", {"args": [tensor("q")], "kwargs": {"value": tensor("v")}}),
        layer("plus", [tensor("attend"), 1.0], kind="Add"),
        layer("both", [[tensor("plus"), tensor("q")]], kind="Concatenate"),
    ]
    graph = parse(model("m", layers, [["q", 0, 0], ["v", 0, 0]], [["both", 0, 0]]))
    assert get_edges(graph) == {
        ("q", "0", "attend"),
        ("v", "0", "attend"),
        ("attend", "0", "plus"),
        ("plus", "0", "both"),
        ("q", "0", "both"),
    }


def test_shared_layer_is_one_node() -> None:
    layers = [layer("x", kind="InputLayer"), layer("y", kind="InputLayer")]
    layers.append(layer("shared", [tensor("x")], [tensor("y")]))
    graph = parse(model("m", layers, [["x", 0, 0], ["y", 0, 0]], [["shared", 0, 0]]))
    assert list(graph.names) == ["x", "y", "shared"]
    assert get_edges(graph) == {("x", "0", "shared"), ("y", "0", "shared")}


def test_nested_model_is_a_scope() -> None:
    """Inputs and outputs of the nested model are resolved to its layers."""
    inside = [
        layer("in1", kind="InputLayer"),
        layer("in2", kind="InputLayer"),
        layer("d1", [tensor("in1")]),
        layer("d2", [tensor("in2")]),
    ]
    ends = [["in1", 0, 0], ["in2", 0, 0]], [["d1", 0, 0], ["d2", 0, 0]]
    layers = [
        layer("a", kind="InputLayer"),
        layer("b", kind="InputLayer"),
        model("inner", inside, *ends, [[tensor("a"), tensor("b")]]),
        layer("last", [tensor("inner", 1)]),
    ]
    graph = parse(model("m", layers, [["a", 0, 0], ["b", 0, 0]], ["last", 0, 0]))
    assert "inner" not in graph.names
    assert get_edges(graph) == {
        ("a", "0", "inner/in1"),
        ("b", "0", "inner/in2"),
        ("inner/in1", "0", "inner/d1"),
        ("inner/in2", "0", "inner/d2"),
        ("inner/d2", "0", "last"),
    }


def test_nested_sequential_model() -> None:
    inside = {
        "class_name": "Sequential",
        "config": {"name": "s", "layers": [layer("p"), layer("q")]},
    }
    layers = [layer("a", kind="InputLayer"), inside, layer("z")]
    graph = parse({"class_name": "Sequential", "config": {"name": "m", "layers": layers}})
    assert get_edges(graph) == {("a", "0", "s/p"), ("s/p", "0", "s/q"), ("s/q", "0", "z")}


def test_calls_in_keras_2_format() -> None:
    layers = [
        layer("x", kind="InputLayer"),
        layer("y", kind="InputLayer"),
        layer("d") | {"inbound_nodes": [[["x", 0, 0, {}]]]},
        layer("att") | {"inbound_nodes": [[["d", 0, 0, {"value": ["y", 0, 0], "scale": 2}]]]},
        layer("cat") | {"inbound_nodes": [[["d", 0, 0, {}], ["att", 0, 0, {}]]]},
    ]
    graph = parse(model("m", layers, [["x", 0, 0], ["y", 0, 0]], [["cat", 0, 0]]))
    assert get_edges(graph) == {
        ("x", "0", "d"),
        ("d", "0", "att"),
        ("y", "0", "att"),
        ("d", "0", "cat"),
        ("att", "0", "cat"),
    }


def test_logged_models_match_independent_computation(logged: list[Logged]) -> None:
    models = [one for one in logged if one.plugin == "graph_keras_model"]
    assert len(models) >= 10
    for one in models:
        graph = parse_keras(one.data)
        assert graph.problems == (), one[:3]
        described = json.loads(one.data)
        assert list(graph.names) == keras_oracle.list_nodes(described)
        assert get_pairs(graph) == keras_oracle.list_edges(described)
        # All layers except inputs have an input.
        roots = set(range(len(graph))) - set(graph.edges.target.tolist())
        kinds = {graph.ops[node] for node in roots}
        assert kinds <= {"InputLayer"} or len(roots) == 1, one[:3]


@pytest.mark.parametrize("name", ["keras2_functional.json", "keras2_sequential.json"])
def test_models_written_by_keras_2(name: str) -> None:
    expected = json.loads((FILES / name).read_bytes())
    graph = parse_keras(expected["model"].encode())
    described = json.loads(expected["model"])
    assert graph.problems == ()
    assert list(graph.names) == keras_oracle.list_nodes(described)
    assert get_pairs(graph) == keras_oracle.list_edges(described)
    counts = {path: graph.describe(node).parameters for node, path in enumerate(graph.names)}
    assert {path: counts[path] for path in expected["counts"]} == expected["counts"]
    assert sum(counts.values()) == expected["total"]


def test_output_shapes_come_from_the_layers_that_read_them() -> None:
    """Keras 3 stores the shape of every tensor, Keras 2 the input shape of every layer."""
    expected = json.loads((FILES / "keras2_functional.json").read_bytes())
    graph = parse_keras(expected["model"].encode())
    shapes = {path: graph.describe(node).outputs for node, path in enumerate(graph.names)}
    assert shapes["stem"] == (TensorSpec("float32", (None, 16, 16, 8)),)
    assert shapes["pool"] == (TensorSpec("float32", (None, 8)),)
    known = tensor("x")
    known["config"] |= {"shape": [None, 7], "dtype": "bfloat16"}
    layers = [layer("x", kind="Lambda"), layer("y", [known])]
    graph = parse(model("m", layers, [["x", 0, 0]], [["y", 0, 0]]))
    assert graph.describe(0).outputs == (TensorSpec("bfloat16", (None, 7)),)


def test_subclassed_model() -> None:
    """It has the layers in its config, or is a single node."""
    expected = {"class_name": "Mine", "config": {"name": "mine", "units": 3}}
    graph = parse(expected)
    assert (list(graph.names), list(graph.ops)) == (["mine"], ["Mine"])
    assert graph.describe(0).attributes["units"] == "3"
    nested = layer("first", dtype="float32", units=4, use_bias=True)
    nested["build_config"] = {"input_shape": [None, 2]}
    others = [layer("second", dtype="float32"), {"class_name": "Zeros", "config": {}}]
    graph = parse({"class_name": "Mine", "config": {"name": "mine", "a": nested, "b": others}})
    assert list(graph.names) == ["first", "second"]
    assert graph.describe(0).parameters == 12


def test_self_loops_and_cycles() -> None:
    layers = [layer("a", [tensor("b")]), layer("b", [tensor("a")], [tensor("b")])]
    graph = parse(model("m", layers, [["a", 0, 0]], [["b", 0, 0]]))
    assert get_edges(graph) == {("b", "0", "a"), ("a", "0", "b"), ("b", "0", "b")}


@pytest.mark.parametrize(("depth", "is_read"), [(50, True), (150, False), (5000, False)])
def test_deeply_nested_models(depth: int, is_read: bool) -> None:
    inner = '{"class_name": "Dense", "config": {"name": "d"}}'
    for _ in range(depth):
        inner = f'{{"class_name": "Sequential", "config": {{"name": "m", "layers": [{inner}]}}}}'
    if is_read:
        assert list(parse_keras(inner.encode()).names) == ["m/" * (depth - 1) + "d"]
    else:
        with pytest.raises(FormatError, match=r"deep|not JSON"):
            parse_keras(inner.encode())


@pytest.mark.parametrize("depth", [50, 400, 900, 5000, 100_000])
def test_deeply_nested_arguments(depth: int) -> None:
    """They are parsed or raise a FormatError."""
    nested = "[" * depth + "]" * depth
    one = f'{{"config": {{"name": "a", "x": {nested}}}, "inbound_nodes": {nested}}}'
    data = f'{{"class_name": "Functional", "config": {{"layers": [{one}]}}}}'
    try:
        graph = parse_keras(data.encode())
    except FormatError as error:
        assert depth > 50
        assert "deep" in str(error) or "not JSON" in str(error)
    else:
        assert graph.describe(0).attributes["x"] in (nested, "…")


@pytest.mark.parametrize("data", [b"{", b"[]", b'{"config": 3}', b"\xff"])
def test_invalid_json_raises_format_error(data: bytes) -> None:
    with pytest.raises(FormatError, match="model's description"):
        parse_keras(data)


WORDS = "a b Dense Conv2D Sequential TimeDistributed __keras_tensor__".split()
KEYS = (
    "layers layer config name class_name inbound_nodes input_layers kwargs keras_history "
    "build_config input_shape units use_bias filters kernel_size"
).split()
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from(WORDS),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                "layers config name class_name inbound_nodes input_layers kwargs".split()
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=20,
)


LAYER = st.fixed_dictionaries(
    {}, optional={"name": JSON, "config": JSON, "inbound_nodes": JSON, "class_name": JSON}
)
CONFIG = st.fixed_dictionaries(
    {"layers": st.lists(LAYER | JSON, max_size=4)},
    optional={"input_layers": JSON, "output_layers": JSON},
)


@given(st.fixed_dictionaries({"config": CONFIG | JSON}, optional={"class_name": JSON}) | JSON)
def test_arbitrary_json_is_parsed_or_raises_format_error(described: object) -> None:
    try:
        graph = parse_keras(json.dumps(described).encode())
    except FormatError:
        return
    assert all(graph.describe(node).parameters >= 0 for node in range(len(graph)))


def test_names_that_are_not_unicode_can_be_shown() -> None:
    layers = [layer("a\udcff", kind="InputLayer"), layer("b")]
    graph = parse({"class_name": "Sequential", "config": {"name": "s", "layers": layers}})
    assert list(graph.names) == ["a�", "b"]
