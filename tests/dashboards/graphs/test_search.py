"""Search, dependencies and paths."""

from __future__ import annotations

import pytest

from tests.analysis.graphs.graphdefs import add_function, call, graphdef
from tests.dashboards.graphs.conftest import OpenGraph
from tests.dashboards.graphs.graph_log import GraphClient
from tests.dashboards.graphs.test_groups import NET


@pytest.fixture
def client(open_graph: OpenGraph) -> GraphClient:
    graph = graphdef(
        {**NET, "run": []}, ops={"net/relu": "Relu", "loss": "Sum"}, shapes={"x": (3, 3, 64)}
    )
    graph.node[0].device = b"/gpu:0"
    attr = graph.node[3].attr.add()
    attr.key, attr.value.s = b"padding", b"SAME"
    add_function(graph, "body", ["p"], {"deep/relu_twin": ["p"]}, {})
    call(graph, 6, "f", "body")
    return open_graph(graph)


@pytest.mark.parametrize(
    ("query", "paths"),
    [
        ("relu", ["net/relu", "run|body|deep/relu_twin"]),
        ("RELU net", ["net/relu"]),
        ("op:relu", ["net/relu"]),
        ("name:conv", ["net/conv", "net/conv/w", "net/conv/out"]),
        ("op:conv", []),
        ("n*t/c*w", ["net/conv/w"]),
        ("3x3x64", ["x"]),
        ("shape:3x3", ["x"]),
        ("device:gpu", ["x"]),
        ("padding=same", ["net/relu"]),
        ("attr:padding net", ["net/relu"]),
        ("", []),
        ("no such thing", []),
    ],
)
def test_search_matches_names_ops_shapes_and_attributes(
    client: GraphClient, query: str, paths: list[str]
) -> None:
    response = client.request("search", query=query)
    assert [hit.path for hit in response.hits] == paths
    assert response.total == len(paths)


def test_hit_has_matching_text_and_ancestors(client: GraphClient) -> None:
    (hit,) = client.request("search", query="padding").hits
    assert (hit.field, hit.text, hit.ancestors) == ("attribute", "padding=SAME", ["net"])
    hit = client.request("search", query="twin").hits[0]
    assert (hit.body, hit.ancestors) == ("run|body|", ["run|body|", "run|body|deep"])


def test_number_of_hits_is_limited(client: GraphClient) -> None:
    response = client.request("search", query="net", limit=2)
    assert (len(response.hits), response.total) == (2, 5)


def list_marked(client: GraphClient, group: str, response: object) -> list[str]:
    """Return the children of a group that a trace contains nodes of."""
    ranges = list(zip(response.first.tolist(), response.last.tolist(), strict=True))
    return [
        child.label
        for child in client.group(group).children
        if any(first < child.last and child.first < last for first, last in ranges)
    ]


def test_trace(client: GraphClient) -> None:
    response = client.request("trace", path="net/relu", direction="inputs")
    assert response.total == 4
    assert list_marked(client, "", response) == ["x", "net"]
    assert list_marked(client, "net", response) == ["conv", "relu"]
    assert set(response.ends) == {"x", "net/conv/w"}
    outputs = client.request("trace", path="net/conv", direction="outputs", control=False)
    assert list_marked(client, "net", outputs) == ["conv", "relu", "add"]
    assert list_marked(client, "", outputs) == ["net", "loss"]


def test_path_between_two_groups(client: GraphClient) -> None:
    response = client.request("path", start="x", end="loss")
    assert response.direction == "forward"
    assert [(node.path, node.ancestors) for node in response.nodes] == [
        ("x", []),
        ("net/add", ["net"]),
        ("loss", []),
    ]
    assert client.request("path", start="loss", end="net/conv").direction == "backward"
    assert client.request("path", start="run", end="x").direction == "none"


def test_trace_in_a_function_body(client: GraphClient) -> None:
    response = client.request("trace", path="run|body|deep")
    assert (response.body, response.total) == ("run|body|", 2)
