"""Whatever a graph is like, it is drawn or said to be wrong, and soon."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.analysis.graphs.graphdefs import graphdef
from tests.dashboards.graphs.conftest import Show
from tests.dashboards.graphs.graph_log import Scene, write_graph
from tracklight.analysis.graphs.graph_index import GraphIndex
from tracklight.analysis.graphs.graphdef import parse_graphdef
from tracklight.dashboards.graphs.dashboard import export_graph_file
from tracklight.dashboards.graphs.overview import build_statistics
from tracklight.dashboards.graphs.schemas import (
    GraphFileRequest,
    GroupRequest,
    NodeRequest,
    PathRequest,
    TraceRequest,
)
from tracklight.dashboards.graphs.views import (
    build_group,
    build_node,
    build_path,
    trace_dependencies,
)
from tracklight.errors import FormatError


def walk(atlas: GraphIndex, most: int = 60) -> int:
    """Open everything and ask everything; how many nodes were seen."""
    waiting, seen = [""], 0
    while waiting and most:
        group = build_group(atlas, GroupRequest("", group=waiting.pop(), most=2000))
        most -= 1
        for child in group.children:
            is_group = child.kind in ("scope", "series")
            waiting += [child.path] if is_group else []
            waiting += [f"{child.path}|{name}|" for name in child.functions]
            seen += not is_group
        for child in group.children[:2]:
            build_node(atlas, NodeRequest("", path=child.path), {})
            trace_dependencies(atlas, TraceRequest("", path=child.path))
            build_path(atlas, PathRequest("", start=child.path, end=group.children[-1].path))
    build_statistics(atlas, {})
    for format in ("json", "dot"):
        b"".join(export_graph_file(atlas, GraphFileRequest("", format=format), "").chunks)
    return seen


def test_cycles_and_nodes_that_read_themselves(show: Show) -> None:
    scene = show(graphdef({"a": ["c"], "b": ["a"], "c": ["b"], "self": ["self", "^self"]}))
    assert scene.edges().keys() == {("c", "a"), ("a", "b"), ("b", "c"), ("self", "self")}
    assert scene.ask("trace", path="a").total == 3
    assert scene.ask("path", start="a", end="c").direction == "forward"


def test_inputs_that_are_not_there_and_names_given_twice_are_told(show: Show) -> None:
    graph = graphdef({"a": ["nowhere", "^gone"], "b": ["a"]})
    graph.node.add().CopyFrom(graph.node[1])
    about = (scene := show(graph)).ask("about")
    assert about.problems == [
        "2 inputs are named but not there: nowhere, gone",
        "1 name is given to several nodes: b",
    ]
    assert [child.path for child in scene.group().children] == ["a", "b", "b (2)"]


def test_scopes_fifty_deep_are_opened_to_the_ground(show: Show) -> None:
    deep = "/".join(f"s{at}" for at in range(50))
    scene = show(graphdef({f"{deep}/x": [], f"{deep}/y": [f"{deep}/x"], "out": [f"{deep}/y"]}))
    assert scene.ask("about").depth == 51
    bottom = scene.group(deep)
    assert [child.label for child in bottom.children] == ["x", "y"]
    assert bottom.outs.partner == ["out"]
    assert len(scene.ask("node", path=f"{deep}/x").inside) == 50


def test_a_torn_graph_is_said_to_be(tmp_path: Path) -> None:
    whole = graphdef({f"n{at}": [] for at in range(50)}).SerializeToString()
    write_graph(tmp_path, whole[:-3])
    scene = Scene(tmp_path)
    with pytest.raises(FormatError, match="GraphDef"):
        scene.ask("about")
    scene.catalog.close()


def test_a_graph_without_nodes_is_empty(show: Show) -> None:
    graph = graphdef({})
    graph.versions.producer = 1
    scene = show(graph)
    assert scene.ask("about").nodes == 0
    assert scene.group().children == []
    assert scene.ask("statistics").scales == []


def test_sizes_that_no_machine_has(show: Show) -> None:
    scene = show(graphdef({"a": [], "b": ["a"]}, shapes={"a": [2**62] * 30}))
    assert scene.group().edges.size[0] == 2**53
    assert scene.ask("statistics").largest[0].path == "a"
    msgspec.json.encode(scene.ask("node", path="a"))


NAMES = st.text("ab/|_123 (", max_size=8)
INPUTS = st.lists(st.builds("{}{}".format, st.sampled_from(["", "^"]), NAMES), max_size=5)


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.tuples(NAMES, INPUTS), max_size=15))
def test_any_names_can_be_walked_through(nodes: list[tuple[str, list[str]]]) -> None:
    graph = graphdef({})
    for name, inputs in nodes:
        node = graph.node.add()
        node.name = name.encode()
        node.input.extend(text.encode() for text in inputs)
    assert walk(GraphIndex(parse_graphdef(graph.SerializeToString()))) == len(nodes)


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_wrong_bytes_are_a_graph_or_an_error(data: st.DataObject) -> None:
    whole = graphdef({"s/a": [], "s/b": ["s/a"], "c": ["s/b:1", "^s/a"]}).SerializeToString()
    at = data.draw(st.integers(0, len(whole) - 1))
    torn = whole[:at] + data.draw(st.binary(max_size=3)) + whole[at + 1 :]
    try:
        graph = parse_graphdef(torn)
    except FormatError:
        return
    walk(GraphIndex(graph))
