from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import tracklight
from tests import builders as b
from tests.small_log import write
from tracklight.errors import LogError, TagNotFoundError, UsageError
from tracklight.formats import proto


@pytest.fixture
def log(tmp_path: Path) -> Iterator[tracklight.Log]:
    nodes = [
        proto.NodeDef(name=b"x", op=b"Placeholder"),
        proto.NodeDef(name=b"dense/kernel", op=b"Const", device=b"/cpu:0"),
        proto.NodeDef(name=b"dense/MatMul", op=b"MatMul", input=[b"x", b"dense/kernel:1", b"^x"]),
        proto.NodeDef(name=b"out", op=b"Identity", input=[b"dense/MatMul"]),
    ]
    data = proto.GraphDef(node=nodes).SerializeToString()
    record = b.record(b.event(b.blob(4, data), step=0, wall=1.7e9))
    write(tmp_path / "train", record, b.scalar("loss", 0, 1.0))
    write(tmp_path / "plain", b.scalar("loss", 0, 1.0))
    with tracklight.open(tmp_path, cache=False) as log:
        yield log


def test_nodes(log: tracklight.Log) -> None:
    graph = log.graph("train")

    assert [node.name for node in graph] == ["x", "dense/kernel", "dense/MatMul", "out"]
    assert len(graph) == len(graph.nodes) == 4
    assert [node.op for node in graph.nodes[-2:]] == ["MatMul", "Identity"]
    assert graph["dense/MatMul"].inputs == ("x", "dense/kernel:1", "^x")
    assert graph["dense/kernel"].device == "/cpu:0"
    assert "out" in graph and "in" not in graph
    assert repr(graph) == '<Graph "__run_graph__" of run "train": 4 nodes, 4 edges>'


def test_edges(log: tracklight.Log) -> None:
    edges = log["train"].graph().edges

    assert [(edge.source, edge.target, edge.control) for edge in edges] == [
        ("x", "dense/MatMul", False),
        ("dense/kernel", "dense/MatMul", False),
        ("x", "dense/MatMul", True),
        ("dense/MatMul", "out", False),
    ]
    assert edges[1].output == "1" and edges[-1].target == "out"


def test_raises_for_unknown_nodes_and_tags(log: tracklight.Log) -> None:
    with pytest.raises(LogError, match='Run "plain" has no graph'):
        log.graph("plain")
    with pytest.raises(TagNotFoundError):
        log.graph("train", "graph")
    with pytest.raises(UsageError, match=r"belongs to scalars, not graphs; read it with log\.sc"):
        log.graph("train", "loss")
    with pytest.raises(LogError, match=r'No node "dense/Matmul".*Did you mean "dense/MatMul"'):
        log.graph("train")["dense/Matmul"]
    with pytest.raises(IndexError):
        log.graph("train").nodes[4]
