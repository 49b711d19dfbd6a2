"""Every graph is shown or raises an error, in limited time."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.analysis.graphs.graphdefs import graphdef
from tests.dashboards.graphs.conftest import OpenGraph
from tests.dashboards.graphs.graph_log import GraphClient, write_graph
from tracklight.analysis.graphs.graph_index import GraphIndex
from tracklight.analysis.graphs.graphdef import parse_graphdef
from tracklight.dashboards.graphs import export_graph_file
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
from tracklight.errors import EmptyGraphError, FormatError


def walk(graph_index: GraphIndex, max_groups: int = 60) -> int:
    """Open all groups and call all routes; return the number of nodes."""
    queue, seen = [""], 0
    while queue and max_groups:
        group = build_group(graph_index, GroupRequest("", group=queue.pop(), limit=2000))
        max_groups -= 1
        for child in group.children:
            is_group = child.kind in ("scope", "series")
            queue += [child.path] if is_group else []
            queue += [f"{child.path}|{name}|" for name in child.functions]
            seen += not is_group
        for child in group.children[:2]:
            build_node(graph_index, NodeRequest("", path=child.path), {})
            trace_dependencies(graph_index, TraceRequest("", path=child.path))
            build_path(graph_index, PathRequest("", start=child.path, end=group.children[-1].path))
    build_statistics(graph_index, {})
    for format in ("json", "dot"):
        b"".join(export_graph_file(graph_index, GraphFileRequest("", format=format), "").chunks)
    return seen


def test_cycles_and_self_loops(open_graph: OpenGraph) -> None:
    client = open_graph(graphdef({"a": ["c"], "b": ["a"], "c": ["b"], "self": ["self", "^self"]}))
    assert client.edges().keys() == {("c", "a"), ("a", "b"), ("b", "c"), ("self", "self")}
    assert client.request("trace", path="a").total == 3
    assert client.request("path", start="a", end="c").direction == "forward"


def test_reports_missing_inputs_and_duplicate_names(open_graph: OpenGraph) -> None:
    graph = graphdef({"a": ["nowhere", "^gone"], "b": ["a"]})
    graph.node.add().CopyFrom(graph.node[1])
    overview = (client := open_graph(graph)).request("about")
    assert [(it.code, it.text) for it in overview.problems] == [
        ("graphs.missing_inputs", "missing inputs (2): nowhere, gone"),
        ("graphs.duplicate_names", "duplicate names (1): b"),
    ]
    assert [child.path for child in client.group().children] == ["a", "b", "b (2)"]


def test_deeply_nested_scopes(open_graph: OpenGraph) -> None:
    deep = "/".join(f"s{number}" for number in range(50))
    client = open_graph(
        graphdef({f"{deep}/x": [], f"{deep}/y": [f"{deep}/x"], "out": [f"{deep}/y"]})
    )
    assert client.request("about").depth == 51
    bottom = client.group(deep)
    assert [child.label for child in bottom.children] == ["x", "y"]
    assert bottom.outgoing.partner == ["out"]
    assert len(client.request("node", path=f"{deep}/x").ancestors) == 50


def test_truncated_graph_raises_format_error(tmp_path: Path) -> None:
    whole = graphdef({f"n{number}": [] for number in range(50)}).SerializeToString()
    write_graph(tmp_path, whole[:-3])
    client = GraphClient(tmp_path)
    with pytest.raises(FormatError, match="GraphDef"):
        client.request("about")
    client.catalog.close()


def test_graph_without_nodes(open_graph: OpenGraph) -> None:
    graph = graphdef({})
    graph.versions.producer = 1
    client = open_graph(graph)
    for route in ("about", "statistics"):
        with pytest.raises(EmptyGraphError, match="logged without nodes"):
            client.request(route)


def test_implausible_sizes(open_graph: OpenGraph) -> None:
    client = open_graph(graphdef({"a": [], "b": ["a"]}, shapes={"a": [2**62] * 30}))
    assert client.group().edges.size[0] == 2**53
    assert client.request("statistics").largest[0].path == "a"
    msgspec.json.encode(client.request("node", path="a"))


NAMES = st.text("ab/|_123 (", max_size=8)
INPUTS = st.lists(st.builds("{}{}".format, st.sampled_from(["", "^"]), NAMES), max_size=5)


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.tuples(NAMES, INPUTS), max_size=15))
def test_arbitrary_names(nodes: list[tuple[str, list[str]]]) -> None:
    graph = graphdef({})
    for name, inputs in nodes:
        node = graph.node.add()
        node.name = name.encode()
        node.input.extend(text.encode() for text in inputs)
    assert walk(GraphIndex(parse_graphdef(graph.SerializeToString()))) == len(nodes)


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_damaged_bytes_are_a_graph_or_raise_format_error(data: st.DataObject) -> None:
    whole = graphdef({"s/a": [], "s/b": ["s/a"], "c": ["s/b:1", "^s/a"]}).SerializeToString()
    offset = data.draw(st.integers(0, len(whole) - 1))
    damaged = whole[:offset] + data.draw(st.binary(max_size=3)) + whole[offset + 1 :]
    try:
        graph = parse_graphdef(damaged)
    except FormatError:
        return
    walk(GraphIndex(graph))
