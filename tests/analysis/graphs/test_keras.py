"""Layers of models in either form of Keras, joined as the model computes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.analysis.graphs import keras_oracle
from tests.analysis.graphs.conftest import FILES, Logged
from tracklight.analysis.graphs.keras import parse_keras
from tracklight.analysis.graphs.model import Graph, TensorSpec
from tracklight.errors import FormatError

Json = dict[str, Any]


def tensor(layer: str, output: int = 0) -> Json:
    return {"class_name": "__keras_tensor__", "config": {"keras_history": [layer, 0, output]}}


def layer(name: str, *calls: Any, kind: str = "Dense", **config: Any) -> Json:
    """A layer as Keras 3 writes it: each call is its positional arguments, or all of them."""
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


def read(described: Json) -> Graph:
    return parse_keras(json.dumps(described).encode())


def pairs_of(graph: Graph) -> set[tuple[str, str]]:
    return {(source, target) for source, _, target in edges_of(graph)}


def edges_of(graph: Graph) -> set[tuple[str, str, str]]:
    edges = graph.edges
    return {
        (graph.names[source], output, graph.names[target])
        for source, output, target in zip(edges.source, edges.output, edges.target, strict=True)
    }


def test_layers_one_after_the_other() -> None:
    layers = [layer("a", kind="InputLayer"), layer("b"), layer("c")]
    graph = read({"class_name": "Sequential", "config": {"name": "s", "layers": layers}})
    assert list(graph.names) == ["a", "b", "c"]
    assert list(graph.ops) == ["InputLayer", "Dense", "Dense"]
    assert edges_of(graph) == {("a", "0", "b"), ("b", "0", "c")}


def test_tensors_by_keyword_and_numbers_among_the_arguments() -> None:
    layers = [
        layer("q", kind="InputLayer"),
        layer("v", kind="InputLayer"),
        layer("attend", {"args": [tensor("q")], "kwargs": {"value": tensor("v")}}),
        layer("plus", [tensor("attend"), 1.0], kind="Add"),
        layer("both", [[tensor("plus"), tensor("q")]], kind="Concatenate"),
    ]
    graph = read(model("m", layers, [["q", 0, 0], ["v", 0, 0]], [["both", 0, 0]]))
    assert edges_of(graph) == {
        ("q", "0", "attend"),
        ("v", "0", "attend"),
        ("attend", "0", "plus"),
        ("plus", "0", "both"),
        ("q", "0", "both"),
    }


def test_a_layer_that_is_called_twice_is_one_node() -> None:
    layers = [layer("x", kind="InputLayer"), layer("y", kind="InputLayer")]
    layers.append(layer("shared", [tensor("x")], [tensor("y")]))
    graph = read(model("m", layers, [["x", 0, 0], ["y", 0, 0]], [["shared", 0, 0]]))
    assert list(graph.names) == ["x", "y", "shared"]
    assert edges_of(graph) == {("x", "0", "shared"), ("y", "0", "shared")}


def test_a_model_inside_is_a_scope_with_doors() -> None:
    """Each of its inputs gets its own tensor, each reader the output it reads."""
    inside = [
        layer("in1", kind="InputLayer"),
        layer("in2", kind="InputLayer"),
        layer("d1", [tensor("in1")]),
        layer("d2", [tensor("in2")]),
    ]
    doors = [["in1", 0, 0], ["in2", 0, 0]], [["d1", 0, 0], ["d2", 0, 0]]
    layers = [
        layer("a", kind="InputLayer"),
        layer("b", kind="InputLayer"),
        model("inner", inside, *doors, [[tensor("a"), tensor("b")]]),
        layer("last", [tensor("inner", 1)]),
    ]
    graph = read(model("m", layers, [["a", 0, 0], ["b", 0, 0]], ["last", 0, 0]))
    assert "inner" not in graph.names
    assert edges_of(graph) == {
        ("a", "0", "inner/in1"),
        ("b", "0", "inner/in2"),
        ("inner/in1", "0", "inner/d1"),
        ("inner/in2", "0", "inner/d2"),
        ("inner/d2", "0", "last"),
    }


def test_models_in_a_row() -> None:
    """A model inside of a sequence is entered at its first and left at its last layer."""
    inside = {
        "class_name": "Sequential",
        "config": {"name": "s", "layers": [layer("p"), layer("q")]},
    }
    layers = [layer("a", kind="InputLayer"), inside, layer("z")]
    graph = read({"class_name": "Sequential", "config": {"name": "m", "layers": layers}})
    assert edges_of(graph) == {("a", "0", "s/p"), ("s/p", "0", "s/q"), ("s/q", "0", "z")}


def test_the_form_of_keras_2() -> None:
    layers = [
        layer("x", kind="InputLayer"),
        layer("y", kind="InputLayer"),
        layer("d") | {"inbound_nodes": [[["x", 0, 0, {}]]]},
        layer("att") | {"inbound_nodes": [[["d", 0, 0, {"value": ["y", 0, 0], "scale": 2}]]]},
        layer("cat") | {"inbound_nodes": [[["d", 0, 0, {}], ["att", 0, 0, {}]]]},
    ]
    graph = read(model("m", layers, [["x", 0, 0], ["y", 0, 0]], [["cat", 0, 0]]))
    assert edges_of(graph) == {
        ("x", "0", "d"),
        ("d", "0", "att"),
        ("y", "0", "att"),
        ("d", "0", "cat"),
        ("att", "0", "cat"),
    }


def test_real_models_are_connected(logged: list[Logged]) -> None:
    models = [one for one in logged if one.plugin == "graph_keras_model"]
    assert len(models) >= 10
    for one in models:
        graph = parse_keras(one.data)
        assert graph.problems == (), one[:3]
        described = json.loads(one.data)
        assert list(graph.names) == keras_oracle.list_nodes(described)
        assert pairs_of(graph) == keras_oracle.list_edges(described)
        # Nothing stands apart: all but the inputs read from somewhere.
        lone = set(range(len(graph))) - set(graph.edges.target.tolist())
        kinds = {graph.ops[place] for place in lone}
        assert kinds <= {"InputLayer"} or len(lone) == 1, one[:3]


@pytest.mark.parametrize("name", ["keras2_functional.json", "keras2_sequential.json"])
def test_models_of_keras_2_itself(name: str) -> None:
    told = json.loads((FILES / name).read_bytes())
    graph = parse_keras(told["model"].encode())
    described = json.loads(told["model"])
    assert graph.problems == ()
    assert list(graph.names) == keras_oracle.list_nodes(described)
    assert pairs_of(graph) == keras_oracle.list_edges(described)
    counts = {path: graph.describe(at).parameters for at, path in enumerate(graph.names)}
    assert {path: counts[path] for path in told["counts"]} == told["counts"]
    assert sum(counts.values()) == told["total"]


def test_shapes_come_from_who_reads() -> None:
    """Keras 3 says of every tensor what it is; Keras 2 says what the reader was built for."""
    told = json.loads((FILES / "keras2_functional.json").read_bytes())
    graph = parse_keras(told["model"].encode())
    shapes = {path: graph.describe(at).outputs for at, path in enumerate(graph.names)}
    assert shapes["stem"] == (TensorSpec("float32", (None, 16, 16, 8)),)
    assert shapes["pool"] == (TensorSpec("float32", (None, 8)),)
    known = tensor("x")
    known["config"] |= {"shape": [None, 7], "dtype": "bfloat16"}
    layers = [layer("x", kind="Lambda"), layer("y", [known])]
    graph = read(model("m", layers, [["x", 0, 0]], [["y", 0, 0]]))
    assert graph.describe(0).outputs == (TensorSpec("bfloat16", (None, 7)),)


def test_a_model_of_a_class_of_its_own() -> None:
    """Only what it tells is known: the layers that it was given, or itself."""
    told = {"class_name": "Mine", "config": {"name": "mine", "units": 3}}
    graph = read(told)
    assert (list(graph.names), list(graph.ops)) == (["mine"], ["Mine"])
    assert graph.describe(0).attributes["units"] == "3"
    held = layer("first", dtype="float32", units=4, use_bias=True)
    held["build_config"] = {"input_shape": [None, 2]}
    others = [layer("second", dtype="float32"), {"class_name": "Zeros", "config": {}}]
    graph = read({"class_name": "Mine", "config": {"name": "mine", "a": held, "b": others}})
    assert list(graph.names) == ["first", "second"]
    assert graph.describe(0).parameters == 12


def test_a_layer_that_reads_from_itself_and_models_in_circles() -> None:
    layers = [layer("a", [tensor("b")]), layer("b", [tensor("a")], [tensor("b")])]
    graph = read(model("m", layers, [["a", 0, 0]], [["b", 0, 0]]))
    assert edges_of(graph) == {("b", "0", "a"), ("a", "0", "b"), ("b", "0", "b")}


@pytest.mark.parametrize(("depth", "is_read"), [(50, True), (150, False), (5000, False)])
def test_models_inside_of_models(depth: int, is_read: bool) -> None:
    inner = '{"class_name": "Dense", "config": {"name": "d"}}'
    for _ in range(depth):
        inner = f'{{"class_name": "Sequential", "config": {{"name": "m", "layers": [{inner}]}}}}'
    if is_read:
        assert list(parse_keras(inner.encode()).names) == ["m/" * (depth - 1) + "d"]
    else:
        with pytest.raises(FormatError, match=r"deep|no JSON"):
            parse_keras(inner.encode())


@pytest.mark.parametrize("depth", [50, 400, 900, 5000, 100_000])
def test_arguments_inside_of_arguments(depth: int) -> None:
    """However deep, it is read or refused."""
    nested = "[" * depth + "]" * depth
    one = f'{{"config": {{"name": "a", "x": {nested}}}, "inbound_nodes": {nested}}}'
    data = f'{{"class_name": "Functional", "config": {{"layers": [{one}]}}}}'
    try:
        graph = parse_keras(data.encode())
    except FormatError as error:
        assert depth > 50
        assert "deep" in str(error) or "no JSON" in str(error)
    else:
        assert graph.describe(0).attributes["x"] in (nested, "…")


@pytest.mark.parametrize("data", [b"{", b"[]", b'{"config": 3}', b"\xff"])
def test_what_is_no_model_is_said(data: bytes) -> None:
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
def test_any_json_is_read_or_refused(described: object) -> None:
    try:
        graph = parse_keras(json.dumps(described).encode())
    except FormatError:
        return
    assert all(graph.describe(place).parameters >= 0 for place in range(len(graph)))
