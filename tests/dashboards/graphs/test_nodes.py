from __future__ import annotations

import pytest

from tests.analysis.graphs.graphdefs import graphdef
from tests.dashboards.graphs.conftest import Show
from tests.dashboards.graphs.graph_log import X
from tests.dashboards.graphs.test_groups import NET
from tracklight.errors import UsageError


def test_a_node_tells_its_edges_in_their_order(show: Show) -> None:
    scene = show(graphdef(NET, ops={"loss": "Sum"}, shapes={"net/add": (8, 10)}))
    loss = scene.ask("node", path="loss")
    assert (loss.op, loss.kind, loss.inside) == ("Sum", "op", [])
    assert [(it.path, it.position, it.control, it.shape, it.size) for it in loss.inputs] == [
        ("net/add", 0, False, f"8{X}10", 80),
        ("net/add", 1, False, f"8{X}10", 80),
        ("net/conv/w", 2, True, "", None),
    ]
    assert loss.inputs[2].inside == ["net", "net/conv"]
    added = scene.ask("node", path="net/add")
    assert [it.path for it in added.outputs] == ["loss", "loss"]
    assert [(it.shape, it.elements) for it in added.tensors] == [(f"8{X}10", 80)]


def test_a_group_tells_who_is_around_it(show: Show) -> None:
    net = show(graphdef(NET)).ask("node", path="net")
    assert (net.kind, net.nodes) == ("scope", 4)
    assert [(it.path, it.count) for it in net.inputs] == [("x", 2)]
    assert [(it.path, it.count) for it in net.outputs] == [("loss", 3)]
    assert [(tally.name, tally.count) for tally in net.ops] == [("Op", 4)]


def test_ten_thousand_inputs_come_in_parts(show: Show) -> None:
    nodes: dict[str, list[str]] = {f"in/a{at}b": [] for at in range(10_000)}
    scene = show(graphdef({**nodes, "all": list(nodes)}))
    found = scene.ask("node", path="all", offset=9_990, most=100)
    assert found.inputs_total == 10_000
    assert [it.position for it in found.inputs] == list(range(9_990, 10_000))
    group = scene.group()
    assert group.edges.count.tolist() == [10_000]
    assert group.edges.label == ["10,000 tensors"]
    assert scene.group("in").total == 10_000


@pytest.mark.parametrize("path", ["nothing", "net/nothing", "loss|f|x", "a|b", "|||", "x|" * 500])
def test_what_is_not_there_is_said(show: Show, path: str) -> None:
    scene = show(graphdef(NET))
    for route in ("node", "trace"):
        with pytest.raises(UsageError, match="graph"):
            scene.ask(route, path=path)
    with pytest.raises(UsageError, match="graph"):
        scene.group(path)
