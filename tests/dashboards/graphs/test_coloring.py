"""Color scales and statistics of nodes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tracklight
from tests.analysis.graphs.conftest import CORPUS
from tests.analysis.graphs.graphdefs import graphdef
from tests.archives import extract
from tests.dashboards.graphs.conftest import OpenGraph
from tests.dashboards.graphs.graph_log import GraphClient, X
from tracklight.dashboards.graphs import RUN_GRAPH_TAG, make_graph_id
from tracklight.errors import UsageError


def test_only_scales_with_data_are_available(open_graph: OpenGraph) -> None:
    client = open_graph(graphdef({"a/x": [], "a/y": [], "b": []}, ops={"a/x": "One"}))
    scales = client.request("statistics").scales
    assert [(scale.by, scale.kind) for scale in scales] == [("op", "category")]
    assert [(category.name, category.count) for category in scales[0].categories] == [
        ("Op", 2),
        ("One", 1),
    ]
    coloring = client.request("paint", by="op")
    counts = [
        [(coloring.names[index], count) for index, count in child] for child in coloring.counts
    ]
    assert counts == [[("One", 1), ("Op", 1)], [("Op", 1)]]
    with pytest.raises(UsageError, match="cannot be colored"):
        client.request("paint", by="time")


def test_parameters_are_summed(open_graph: OpenGraph) -> None:
    graph = graphdef({"a/w": [], "a/b": [], "c/w": []}, ops={"a/w": "VarHandleOp"})
    shape = graph.node[0].attr.add()
    shape.key = b"shape"
    for size in (30, 4):
        shape.value.shape.dim.add().size = size
    client = open_graph(graph)
    assert client.request("statistics").parameters == 120
    assert [child.parameters for child in client.group().children] == [120, 0]
    np.testing.assert_array_equal(client.request("paint", by="parameters").value, [120, np.nan])
    assert client.request("statistics").most_parameters[0].path == "a/w"


def test_device_cluster_and_tpu_scales(open_graph: OpenGraph) -> None:
    graph = graphdef({"a": [], "b": []}, ops={"a": "Const", "b": "MakeIterator"})
    graph.node[0].device = b"/device:CPU:0"
    attr = graph.node[1].attr.add()
    attr.key, attr.value.s = b"_XlaCluster", b"c0"
    client = open_graph(graph)
    names = {
        scale.by: [it.name for it in scale.categories]
        for scale in client.request("statistics").scales
    }
    assert names["device"] == ["/device:CPU:0"]
    assert names["cluster"] == ["c0"]
    assert names["tpu"] == ["compatible", "incompatible"]


def test_lists_largest_tensors(open_graph: OpenGraph) -> None:
    client = open_graph(graphdef({"a": [], "in/b": []}, shapes={"a": (2, 3), "in/b": (-1, 50)}))
    largest = client.request("statistics").largest
    assert [(it.path, it.shape, it.elements, it.ancestors) for it in largest] == [
        ("in/b", f"?{X}50", 50, ["in"]),
        ("a", f"2{X}3", 6, []),
    ]


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("legacy")
    extract(CORPUS / "legacy_v1.tar.xz", folder)
    return folder


def test_profile_of_a_step(session: Path) -> None:
    """Compare times and memory with TensorBoard's own messages."""
    config_pb2 = pytest.importorskip("tensorboard.compat.proto.config_pb2")
    with tracklight.open(session, cache=False) as log:
        (run,) = [run for run in log.runs if run.endswith("session")]
        data = log.tensors(run, "step002")[-1].item()
    theirs = config_pb2.RunMetadata.FromString(data).step_stats
    stats = {node.node_name: node for device in theirs.dev_stats for node in device.node_stats}
    client = GraphClient(session)
    client.id = make_graph_id(run, RUN_GRAPH_TAG, "graphs")
    listed = next(row for row in client.dashboard.graphs(None).graphs if row.id == client.id)
    assert listed.profiles == ["step002", "step004"]
    statistics = client.request("statistics", profile="step002")
    assert {"time", "memory"} <= {scale.by for scale in statistics.scales}
    slowest = statistics.slowest[0]
    name = client.request("node", path=slowest.path).name
    assert slowest.value == pytest.approx(stats[name].all_end_rel_nanos / 1000, abs=0.5)
    execution = client.request("node", path=slowest.path, profile="step002").execution
    assert execution.time_us == slowest.value
    memory = sum(used.total_bytes for used in stats[name].memory)
    assert execution.memory_bytes == memory
    client.catalog.close()
