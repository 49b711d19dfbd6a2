from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tracklight
from tests.analysis.graphs.conftest import CORPUS
from tests.analysis.graphs.graphdefs import graphdef
from tests.archives import extract
from tests.dashboards.graphs.conftest import Show
from tests.dashboards.graphs.graph_log import Scene, X
from tracklight.dashboards.graphs.library import RUN_GRAPH_TAG, make_graph_id
from tracklight.errors import UsageError


def test_only_what_is_there_can_be_coloured_by(show: Show) -> None:
    scene = show(graphdef({"a/x": [], "a/y": [], "b": []}, ops={"a/x": "One"}))
    scales = scene.ask("statistics").scales
    assert [(scale.by, scale.kind) for scale in scales] == [("op", "category")]
    assert [(tally.name, tally.count) for tally in scales[0].categories] == [("Op", 2), ("One", 1)]
    paint = scene.ask("paint", by="op")
    shares = [[(paint.names[place], count) for place, count in child] for child in paint.share]
    assert shares == [[("One", 1), ("Op", 1)], [("Op", 1)]]
    with pytest.raises(UsageError, match="cannot be coloured"):
        scene.ask("paint", by="time")


def test_parameters_add_up(show: Show) -> None:
    graph = graphdef({"a/w": [], "a/b": [], "c/w": []}, ops={"a/w": "VarHandleOp"})
    shape = graph.node[0].attr.add()
    shape.key = b"shape"
    for size in (30, 4):
        shape.value.shape.dim.add().size = size
    scene = show(graph)
    assert scene.ask("statistics").parameters == 120
    assert [child.parameters for child in scene.group().children] == [120, 0]
    np.testing.assert_array_equal(scene.ask("paint", by="parameters").value, [120, np.nan])
    assert scene.ask("statistics").owners[0].path == "a/w"


def test_devices_clusters_and_what_a_tpu_runs(show: Show) -> None:
    graph = graphdef({"a": [], "b": []}, ops={"a": "Const", "b": "MakeIterator"})
    graph.node[0].device = b"/device:CPU:0"
    attr = graph.node[1].attr.add()
    attr.key, attr.value.s = b"_XlaCluster", b"c0"
    scene = show(graph)
    names = {
        scale.by: [it.name for it in scale.categories] for scale in scene.ask("statistics").scales
    }
    assert names["device"] == ["/device:CPU:0"]
    assert names["cluster"] == ["c0"]
    assert names["tpu"] == ["runs on a TPU", "does not run on a TPU"]


def test_the_largest_tensors_are_listed(show: Show) -> None:
    scene = show(graphdef({"a": [], "in/b": []}, shapes={"a": (2, 3), "in/b": (-1, 50)}))
    largest = scene.ask("statistics").largest
    assert [(it.path, it.shape, it.elements, it.inside) for it in largest] == [
        ("in/b", f"?{X}50", 50, ["in"]),
        ("a", f"2{X}3", 6, []),
    ]


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("legacy")
    extract(CORPUS / "legacy_v1.tar.xz", folder)
    return folder


def test_the_times_of_a_step_lie_over_the_graph(session: Path) -> None:
    """What TensorFlow recorded, against what its own messages say."""
    config_pb2 = pytest.importorskip("tensorboard.compat.proto.config_pb2")
    with tracklight.open(session, cache=False) as log:
        (run,) = [run for run in log.runs if run.endswith("session")]
        data = log.tensors(run, "step002")[-1].item()
    theirs = config_pb2.RunMetadata.FromString(data).step_stats
    stats = {node.node_name: node for device in theirs.dev_stats for node in device.node_stats}
    scene = Scene(session)
    scene.id = make_graph_id(run, RUN_GRAPH_TAG, "graphs")
    listed = next(row for row in scene.dashboard.graphs(None).graphs if row.id == scene.id)
    assert listed.profiles == ["step002", "step004"]
    found = scene.ask("statistics", profile="step002")
    assert {"time", "memory"} <= {scale.by for scale in found.scales}
    slowest = found.slowest[0]
    name = scene.ask("node", path=slowest.path).name
    assert slowest.value == pytest.approx(stats[name].all_end_rel_nanos / 1000, abs=0.5)
    ran = scene.ask("node", path=slowest.path, profile="step002").ran
    assert ran.time_us == slowest.value
    memory = sum(used.total_bytes for used in stats[name].memory)
    assert ran.memory_bytes == memory
    scene.catalog.close()
