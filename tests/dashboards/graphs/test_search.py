from __future__ import annotations

import pytest

from tests.analysis.graphs.graphdefs import add_function, call, graphdef
from tests.dashboards.graphs.conftest import Show
from tests.dashboards.graphs.graph_log import Scene
from tests.dashboards.graphs.test_groups import NET


@pytest.fixture
def scene(show: Show) -> Scene:
    graph = graphdef(
        {**NET, "run": []}, ops={"net/relu": "Relu", "loss": "Sum"}, shapes={"x": (3, 3, 64)}
    )
    graph.node[0].device = b"/gpu:0"
    attr = graph.node[3].attr.add()
    attr.key, attr.value.s = b"padding", b"SAME"
    add_function(graph, "body", ["p"], {"deep/relu_twin": ["p"]}, {})
    call(graph, 6, "f", "body")
    return show(graph)


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
def test_words_are_found_in_names_ops_shapes_and_attributes(
    scene: Scene, query: str, paths: list[str]
) -> None:
    found = scene.ask("search", query=query)
    assert [hit.path for hit in found.hits] == paths
    assert found.total == len(paths)


def test_a_hit_says_why_and_what_to_open(scene: Scene) -> None:
    (hit,) = scene.ask("search", query="padding").hits
    assert (hit.where, hit.text, hit.inside) == ("attribute", "padding=SAME", ["net"])
    hit = scene.ask("search", query="twin").hits[0]
    assert (hit.body, hit.inside) == ("run|body|", ["run|body|", "run|body|deep"])


def test_no_more_are_sent_than_asked_for(scene: Scene) -> None:
    found = scene.ask("search", query="net", most=2)
    assert (len(found.hits), found.total) == (2, 5)


def marked(scene: Scene, group: str, answer: object) -> list[str]:
    """The children of a group that a trace lights up."""
    spans = list(zip(answer.first.tolist(), answer.last.tolist(), strict=True))
    return [
        child.label
        for child in scene.group(group).children
        if any(first < child.last and child.first < last for first, last in spans)
    ]


def test_a_trace_can_be_marked_in_any_group(scene: Scene) -> None:
    found = scene.ask("trace", path="net/relu", direction="inputs")
    assert found.total == 4
    assert marked(scene, "", found) == ["x", "net"]
    assert marked(scene, "net", found) == ["conv", "relu"]
    assert set(found.ends) == {"x", "net/conv/w"}
    onwards = scene.ask("trace", path="net/conv", direction="outputs", control=False)
    assert marked(scene, "net", onwards) == ["conv", "relu", "add"]
    assert marked(scene, "", onwards) == ["net", "loss"]


def test_the_way_between_two_groups(scene: Scene) -> None:
    found = scene.ask("path", start="x", end="loss")
    assert found.direction == "forward"
    assert [(node.path, node.inside) for node in found.nodes] == [
        ("x", []),
        ("net/add", ["net"]),
        ("loss", []),
    ]
    assert scene.ask("path", start="loss", end="net/conv").direction == "backward"
    assert scene.ask("path", start="run", end="x").direction == "none"


def test_a_trace_inside_of_a_body_stays_there(scene: Scene) -> None:
    found = scene.ask("trace", path="run|body|deep")
    assert (found.body, found.total) == ("run|body|", 2)
