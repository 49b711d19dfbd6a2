"""The default view shows the model, also if it is inside of a function."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.analysis.graphs.graphdefs import add_function, call, graphdef
from tests.dashboards.graphs.conftest import OpenGraph
from tests.dashboards.graphs.graph_log import GraphClient
from tracklight.formats import proto

STEP = Path(__file__).parents[2] / "data/graphs/keras3_train_step.pb"


@pytest.fixture
def train_step(open_graph: OpenGraph) -> GraphClient:
    """Open a training step of Keras 3, as logged by tracklight's callback."""
    return open_graph(proto.parse("GraphDef", STEP.read_bytes()))


def get_call(client: GraphClient) -> str:
    (path,) = (child.path for child in client.group().children if child.functions)
    return path


def test_function_with_the_training_step_is_open(train_step: GraphClient) -> None:
    overview = train_step.request("about")
    (function,) = overview.functions
    assert function.count > 10 * overview.nodes
    body = f"{get_call(train_step)}|{function.name}|"
    assert overview.default_groups == [body]
    # Layers and optimizer are not auxiliary.
    roles = {child.label: child.role for child in train_step.group(body).children}
    for label in ("sequential_1", "compile_loss", "gradient_tape", "adam"):
        assert roles[label] == ""


def test_variable_handles_are_auxiliary_but_calls_are_not(train_step: GraphClient) -> None:
    children = train_step.group().children
    assert len(children) > 15
    roles = {child.label: child.role for child in children}
    assert roles[get_call(train_step)] == ""
    assert {child.role for child in children if child.op == "Placeholder"} == {"resource"}
    visible = [child.label for child in children if child.role == ""]
    assert visible == ["IteratorGetNext", "StatefulPartitionedCall", "optional", "Identity"]


def test_small_function_is_closed(open_graph: OpenGraph) -> None:
    nodes = {f"n{number}x": [] for number in range(10)}
    graph = graphdef({**nodes, "run": []})
    add_function(graph, "body", [], {f"b{number}x": [] for number in range(10)}, {})
    call(graph, 10, "f", "body")
    assert open_graph(graph).request("about").default_groups == []


@pytest.mark.parametrize(("inside", "outside", "opened"), [(40, 2, True), (40, 20, False)])
def test_scope_with_most_nodes_is_open_unless_the_view_is_large(
    open_graph: OpenGraph, inside: int, outside: int, opened: bool
) -> None:
    nodes = {f"{'Net/' if n < inside else ''}n{n}x": [] for n in range(inside + outside)}
    overview = open_graph(graphdef(nodes)).request("about")
    assert overview.default_groups == (["Net"] if opened else [])


def test_nested_functions_are_opened(open_graph: OpenGraph) -> None:
    graph = graphdef({"in": [], "run": ["in"]})
    add_function(graph, "outer", ["p"], {"inner_call": ["p"]}, {})
    add_function(graph, "inner", ["q"], {f"b{number}x": ["q"] for number in range(20)}, {})
    call(graph, 1, "f", "outer")
    attr = graph.library.function[0].node_def[0].attr.add()
    attr.key, attr.value.func.name = b"f", b"inner"
    assert open_graph(graph).request("about").default_groups == [
        "run|outer|",
        "run|outer|inner_call|inner|",
    ]


def test_recursive_function_is_opened_a_limited_number_of_times(open_graph: OpenGraph) -> None:
    graph = graphdef({"run": []})
    add_function(graph, "again", ["p"], {"call": ["p"]}, {})
    call(graph, 0, "f", "again")
    attr = graph.library.function[0].node_def[0].attr.add()
    attr.key, attr.value.func.name = b"f", b"again"
    opened = open_graph(graph).request("about").default_groups
    assert opened[0] == "run|again|" and len(opened) <= 20
