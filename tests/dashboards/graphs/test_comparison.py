"""Differences between two graphs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.analysis.graphs.graphdefs import graphdef
from tests.dashboards.graphs.conftest import OpenGraph
from tests.dashboards.graphs.graph_log import GraphClient, X, write_graph
from tracklight.dashboards.graphs import RUN_GRAPH_TAG, make_graph_id
from tracklight.errors import UsageError

SMALL, LARGE = f"8{X}4", f"8{X}6"


@pytest.fixture
def comparison(tmp_path: Path) -> Iterator[GraphClient]:
    """A node whose output shape changed, and three added or removed edges."""
    before = {"x": [], "s/a": ["x"], "s/b": ["s/a", "x"], "end": ["s/b"]}
    after = {"x": [], "s/a": ["x"], "s/b": ["^x", "s/a"], "end": ["s/b", "x"]}
    shapes = {"x": [8, 4], "s/b": [8, 4]}
    write_graph(tmp_path, graphdef(before, shapes={**shapes, "s/a": [8, 4]}), run="before")
    write_graph(tmp_path, graphdef(after, shapes={**shapes, "s/a": [8, 6]}), run="after")
    client = GraphClient(tmp_path)
    one, other = (make_graph_id(run, RUN_GRAPH_TAG, "graphs") for run in ("before", "after"))
    client.id = f"compare~{one}~{other}"
    yield client
    client.catalog.close()


def test_lists_added_removed_and_changed_edges(comparison: GraphClient) -> None:
    counts = comparison.request("about").edge_changes
    assert (counts.same, counts.added, counts.removed, counts.changed) == (2, 2, 1, 1)
    edges = {(it.source, it.target, it.control): it for it in comparison.request("changes").edges}
    assert {key: (it.change, it.before, it.after) for key, it in edges.items()} == {
        ("x", "s/b", True): ("added", "", ""),
        ("x", "end", False): ("added", "", SMALL),
        ("x", "s/b", False): ("removed", SMALL, ""),
        ("s/a", "s/b", False): ("changed", SMALL, LARGE),
    }
    assert edges["s/a", "s/b", False].ancestors == ["s"]


def test_lists_changed_nodes(comparison: GraphClient) -> None:
    nodes = comparison.request("changes").nodes
    assert [(it.path, it.change) for it in nodes] == [
        ("s/a", "changed"),
        ("s/b", "changed"),
        ("end", "changed"),
    ]
    assert [it.path for it in comparison.request("changes", limit=1).nodes] == ["s/a"]


def test_bundle_with_different_changes_is_changed(comparison: GraphClient) -> None:
    group = comparison.group()
    label = [child.label for child in group.children]
    rows = zip(group.edges.source, group.edges.target, group.edges.change, strict=True)
    assert {(label[source], label[target]): change for source, target, change in rows} == {
        ("x", "s"): "changed",
        ("x", "end"): "added",
        ("s", "end"): "same",
    }
    inner = comparison.group("s")
    assert dict(zip(inner.incoming.child.tolist(), inner.incoming.change, strict=True)) == {
        0: "same",
        1: "changed",
    }


def test_neighbors_have_the_previous_tensor(comparison: GraphClient) -> None:
    inputs = comparison.request("node", path="s/b").inputs
    assert {(it.path, it.control): (it.change, it.previous) for it in inputs} == {
        ("x", True): ("added", ""),
        ("x", False): ("removed", SMALL),
        ("s/a", False): ("changed", SMALL),
    }
    assert {it.path: it.change for it in comparison.request("node", path="s").outputs} == {
        "end": "same"
    }


def test_edge_is_the_same_after_an_inserted_input(tmp_path: Path) -> None:
    write_graph(tmp_path, graphdef({"x": [], "y": [], "sum": ["x"]}), run="before")
    write_graph(tmp_path, graphdef({"x": [], "y": [], "sum": ["y", "x"]}), run="after")
    client = GraphClient(tmp_path)
    one, other = (make_graph_id(run, RUN_GRAPH_TAG, "graphs") for run in ("before", "after"))
    client.id = f"compare~{one}~{other}"
    assert {it.source: it.change for it in client.request("changes").edges} == {"y": "added"}
    assert [it.path for it in client.request("node", path="sum").inputs] == ["y", "x"]
    client.catalog.close()


def test_no_shape_issues_between_two_graphs(tmp_path: Path) -> None:
    ops = {"a": "Placeholder", "b": "Placeholder", "sum": "AddV2"}
    old = graphdef({"a": [], "b": [], "sum": ["a", "b"]}, ops, {"a": [4, 8], "b": [4, 8]})
    new = graphdef({"a": [], "sum": ["a", "a"]}, ops, {"a": [4, 6]})
    write_graph(tmp_path, old, run="before")
    write_graph(tmp_path, new, run="after")
    client = GraphClient(tmp_path)
    one, other = (make_graph_id(run, RUN_GRAPH_TAG, "graphs") for run in ("before", "after"))
    assert client.request("statistics", id=f"compare~{one}~{other}").shape_issues == []
    client.catalog.close()


def test_single_graph_has_no_changes(open_graph: OpenGraph) -> None:
    client = open_graph(graphdef({"a": [], "b": ["a"]}))
    assert client.request("about").edge_changes is None
    assert client.group().edges.change == [None]
    with pytest.raises(UsageError, match="not a comparison"):
        client.request("changes")
