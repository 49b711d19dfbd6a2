"""Graphs are downloaded as JSON and DOT files."""

from __future__ import annotations

import json

from tests.analysis.graphs.graphdefs import add_function, call, graphdef
from tests.dashboards.graphs.conftest import OpenGraph
from tests.dashboards.graphs.graph_log import X
from tests.dashboards.graphs.test_groups import NET
from tracklight.plugin import Stream


def read_text(stream: Stream) -> str:
    return b"".join(stream.chunks).decode()


def test_json_has_every_node(open_graph: OpenGraph) -> None:
    client = open_graph(graphdef(NET))
    file = client.request("file", format="json")
    nodes = json.loads(read_text(file))["nodes"]
    assert {node["name"]: node["inputs"] for node in nodes} == NET
    assert file.filename == "run-Run-graph.json"
    assert client.request("file", title="Bäseline_1/2").filename == "Bäseline_1-2.json"


def test_dot_draws_scopes_as_clusters(open_graph: OpenGraph) -> None:
    client = open_graph(graphdef({**NET, 'odd"name': []}, shapes={"x": (3, 4)}))
    text = read_text(client.request("file", format="dot"))
    assert text.count("subgraph") == 2
    assert text.count("{") == text.count("}")
    assert f'"x" -> "net/add" [label="3{X}4"];' in text
    assert '"net/conv/w" -> "loss" [style=dashed];' in text
    assert '"odd\\"name"' in text


def test_download_of_a_group(open_graph: OpenGraph) -> None:
    client = open_graph(graphdef(NET))
    text = read_text(client.request("file", format="dot", group="net/conv"))
    assert text.count("->") == 1
    nodes = json.loads(read_text(client.request("file", group="net/conv")))["nodes"]
    assert [node["name"] for node in nodes] == ["net/conv/w", "net/conv/out"]


def test_json_has_the_bodies_of_called_functions(open_graph: OpenGraph) -> None:
    graph = graphdef({"x": [], "call": ["x"]}, ops={"call": "PartitionedCall"})
    add_function(graph, "body", ["p"], {"double": ["p", "p"]}, {"r": "double:z:0"})
    call(graph, 1, "f", "body")
    content = json.loads(read_text(open_graph(graph).request("file", format="json")))
    assert [node["functions"] for node in content["nodes"]] == [[], ["body"]]
    body = {node["name"]: node["inputs"] for node in content["functions"]["body"]["nodes"]}
    assert body["double"] == ["p", "p"]
