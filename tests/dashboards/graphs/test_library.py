"""Listing, caching, uploading and comparing graphs."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.analysis.graphs.graphdefs import graphdef
from tests.dashboards.graphs.conftest import OpenGraph
from tests.dashboards.graphs.graph_log import GraphClient, write_graph
from tracklight.analysis.graphs import Graph
from tracklight.analysis.graphs.parsers import parse_logged_graph
from tracklight.dashboards import graphs
from tracklight.dashboards.graphs import RUN_GRAPH_TAG, make_graph_id
from tracklight.errors import FormatError, LogError
from tracklight.plugin import Empty


def test_lists_graphs_with_their_steps(tmp_path: Path) -> None:
    write_graph(tmp_path, graphdef({"a": []}), step=0)
    write_graph(tmp_path, graphdef({"a": [], "b": []}), step=7)
    write_graph(tmp_path, graphdef({"c": []}), run="other")
    client = GraphClient(tmp_path)
    listed = client.dashboard.graphs(Empty()).graphs
    assert [(row.run, row.tag, row.kind) for row in listed] == [
        ("other", RUN_GRAPH_TAG, "op"),
        ("run", RUN_GRAPH_TAG, "op"),
    ]
    assert [step.step for step in listed[1].steps] == [0, 7]
    assert client.request("about").nodes == 2
    first = listed[1].steps[0]
    assert client.request("about", index=first.index, fingerprint=first.fingerprint).nodes == 1
    with pytest.raises(LogError, match="no longer"):
        client.request("about", index=first.index, fingerprint=first.fingerprint + 1)
    with pytest.raises(LogError, match="no longer"):
        client.request("about", id="nothing")
    client.catalog.close()


def test_concurrent_requests_parse_a_graph_once(
    open_graph: OpenGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = open_graph(graphdef({"a": []}))
    parsed: list[str] = []

    def parse_slowly(plugin: str, data: bytes) -> Graph:
        parsed.append(plugin)
        time.sleep(0.05)
        return parse_logged_graph(plugin, data)

    monkeypatch.setattr(graphs, "parse_logged_graph", parse_slowly)
    with ThreadPoolExecutor(4) as pool:
        node_counts = list(pool.map(lambda _: client.request("about").nodes, range(4)))
    assert (node_counts, parsed) == ([1, 1, 1, 1], ["graphs"])


def test_large_graph_is_prepared(open_graph: OpenGraph, monkeypatch: pytest.MonkeyPatch) -> None:
    client = open_graph(graphdef({"a": []}))
    parsed: list[str] = []

    def count_parsing(plugin: str, data: bytes) -> Graph:
        parsed.append(plugin)
        return parse_logged_graph(plugin, data)

    monkeypatch.setattr(graphs, "parse_logged_graph", count_parsing)
    client.dashboard.prepare()
    assert parsed == []
    monkeypatch.setattr(graphs, "PREPARE_BYTES", 1)
    client.dashboard.prepare()
    assert parsed == ["graphs"]
    assert client.request("about").nodes == 1
    assert parsed == ["graphs"]


def test_error_while_preparing_is_reported_by_the_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(graphs, "PREPARE_BYTES", 1)
    write_graph(tmp_path, b"not a graph")
    client = GraphClient(tmp_path)
    client.dashboard.prepare()
    with pytest.raises(FormatError):
        client.request("about")
    client.catalog.close()


def test_upload(open_graph: OpenGraph) -> None:
    client = open_graph(graphdef({"a": []}))
    body = graphdef({"u": [], "v": ["u"]}).SerializeToString()
    row = client.request("upload", name="model.pb", body=body)
    assert (row.kind, row.title) == ("upload", "model.pb")
    assert client.request("about", id=row.id).edges == 1
    assert client.request("file", id=row.id, format="json").filename == "model.pb.json"
    assert row.id in [listed.id for listed in client.dashboard.graphs(Empty()).graphs]
    for _ in range(8):
        client.request("upload", name="another.pb", body=body)
    with pytest.raises(LogError):
        client.request("about", id=row.id)


def test_upload_of_another_file_raises_format_error(open_graph: OpenGraph) -> None:
    with pytest.raises(FormatError):
        open_graph(graphdef({"a": []})).request(
            "upload", name="cat.jpg", body=b"\xff\xd8\xff\xe0 a cat"
        )


def test_compare_two_graphs(tmp_path: Path) -> None:
    before = {"x": [], "old": ["x"], "s/kept": ["x"], "s/moved": ["x"], "t/kept": []}
    after = {"x": [], "new": ["x"], "s/kept": ["x"], "s/moved": ["s/kept"], "t/kept": []}
    write_graph(tmp_path, graphdef(before), run="before")
    write_graph(tmp_path, graphdef(after, ops={"new": "New"}), run="after")
    client = GraphClient(tmp_path)
    one, other = (make_graph_id(run, RUN_GRAPH_TAG, "graphs") for run in ("before", "after"))
    client.id = f"compare~{one}~{other}"
    changes = client.request("about").changes
    assert (changes.same, changes.added, changes.removed, changes.changed) == (3, 1, 1, 1)
    assert {child.label: child.change for child in client.group().children} == {
        "x": "same",
        "old": "removed",
        "s": "changed",
        "new": "added",
        "t": "same",
    }
    moved = client.request("node", path="s/moved")
    assert [(it.property_name, it.before, it.after) for it in moved.changes] == [
        ("inputs", "x:0", "s/kept:0")
    ]
    assert {it.path for it in moved.inputs} == {"x", "s/kept"}
    coloring = client.request("paint", by="change", group="s")
    assert [coloring.names[child[0][0]] for child in coloring.counts] == ["same", "changed"]
    client.catalog.close()


def test_compare_graph_with_itself(open_graph: OpenGraph) -> None:
    client = open_graph(graphdef({"a": [], "b": ["a", "a"], "c": ["b:1", "^a"]}))
    client.id = f"compare~{client.id}~{client.id}"
    assert client.request("about").changes.same == 3
    assert client.request("about").edges == 3
    assert client.request("about").edge_changes.same == 4
