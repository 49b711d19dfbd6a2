"""The default view of a graph shows the model, also where a function holds it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.analysis.graphs.graphdefs import add_function, call, graphdef
from tests.dashboards.graphs.conftest import Show
from tests.dashboards.graphs.graph_log import Scene
from tracklight.formats import proto

STEP = Path(__file__).parents[2] / "data/graphs/keras3_train_step.pb"


@pytest.fixture
def train_step(show: Show) -> Scene:
    """A training step of Keras 3, as our callback logs it."""
    return show(proto.parse("GraphDef", STEP.read_bytes()))


def find_call(scene: Scene) -> str:
    (path,) = (child.path for child in scene.group().children if child.functions)
    return path


def test_the_function_that_holds_a_training_step_is_open(train_step: Scene) -> None:
    about = train_step.ask("about")
    (function,) = about.functions
    assert function.count > 10 * about.nodes
    body = f"{find_call(train_step)}|{function.name}|"
    assert about.open == [body]
    # The layers and what trains them are in the picture, not aside.
    roles = {child.label: child.aux for child in train_step.group(body).children}
    for label in ("sequential_1", "compile_loss", "gradient_tape", "adam"):
        assert roles[label] == ""


def test_a_call_is_never_aside_but_handles_of_variables_are(train_step: Scene) -> None:
    children = train_step.group().children
    assert len(children) > 15
    roles = {child.label: child.aux for child in children}
    assert roles[find_call(train_step)] == ""
    assert {child.aux for child in children if child.op == "Placeholder"} == {"resource"}
    shown = [child.label for child in children if child.aux == ""]
    assert shown == ["IteratorGetNext", "StatefulPartitionedCall", "optional", "Identity"]


def test_a_small_function_stays_closed(show: Show) -> None:
    nodes = {f"n{at}x": [] for at in range(10)}
    graph = graphdef({**nodes, "run": []})
    add_function(graph, "body", [], {f"b{at}x": [] for at in range(10)}, {})
    call(graph, 10, "f", "body")
    assert show(graph).ask("about").open == []


def test_functions_in_functions_are_opened_down_to_the_one_with_the_nodes(show: Show) -> None:
    graph = graphdef({"in": [], "run": ["in"]})
    add_function(graph, "outer", ["p"], {"inner_call": ["p"]}, {})
    add_function(graph, "inner", ["q"], {f"b{at}x": ["q"] for at in range(20)}, {})
    call(graph, 1, "f", "outer")
    attr = graph.library.function[0].node_def[0].attr.add()
    attr.key, attr.value.func.name = b"f", b"inner"
    assert show(graph).ask("about").open == ["run|outer|", "run|outer|inner_call|inner|"]


def test_a_function_that_calls_itself_is_opened_a_limited_number_of_times(show: Show) -> None:
    graph = graphdef({"run": []})
    add_function(graph, "again", ["p"], {"call": ["p"]}, {})
    call(graph, 0, "f", "again")
    attr = graph.library.function[0].node_def[0].attr.add()
    attr.key, attr.value.func.name = b"f", b"again"
    opened = show(graph).ask("about").open
    assert opened[0] == "run|again|" and len(opened) <= 20
