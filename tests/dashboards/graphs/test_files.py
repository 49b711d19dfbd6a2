from __future__ import annotations

import json

from tests.analysis.graphs.graphdefs import graphdef
from tests.dashboards.graphs.conftest import Show
from tests.dashboards.graphs.graph_log import X
from tests.dashboards.graphs.test_groups import NET
from tracklight.plugin import Stream


def read(stream: Stream) -> str:
    return b"".join(stream.chunks).decode()


def test_json_holds_every_node(show: Show) -> None:
    scene = show(graphdef(NET))
    file = scene.ask("file", format="json")
    nodes = json.loads(read(file))["nodes"]
    assert {node["name"]: node["inputs"] for node in nodes} == NET
    assert file.filename == "run-Graph-of-the-run.json"


def test_dot_draws_scopes_as_clusters(show: Show) -> None:
    scene = show(graphdef({**NET, 'odd"name': []}, shapes={"x": (3, 4)}))
    text = read(scene.ask("file", format="dot"))
    assert text.count("subgraph") == 2
    assert text.count("{") == text.count("}")
    assert f'"x" -> "net/add" [label="3{X}4"];' in text
    assert '"net/conv/w" -> "loss" [style=dashed];' in text
    assert '"odd\\"name"' in text


def test_a_group_by_itself(show: Show) -> None:
    scene = show(graphdef(NET))
    text = read(scene.ask("file", format="dot", group="net/conv"))
    assert text.count("->") == 1
    nodes = json.loads(read(scene.ask("file", group="net/conv")))["nodes"]
    assert [node["name"] for node in nodes] == ["net/conv/w", "net/conv/out"]
