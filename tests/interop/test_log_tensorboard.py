"""The Python reading API agrees with TensorBoard's readers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tracklight
from tests.archives import extract
from tests.interop.test_hparams_tensorboard import list_tensorboard_groups

pytest.importorskip("tensorboard")

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.compat.proto.graph_pb2 import GraphDef
from tensorboard.util import tensor_util

CORPUS = Path(__file__).parent.parent / "data" / "corpus"


@pytest.fixture
def corpus(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    extract(CORPUS / f"{request.param}.tar.xz", tmp_path)
    return tmp_path


@pytest.mark.parametrize("corpus", ["seed001", "torch"], indirect=True)
def test_hyperparameters_metrics_status_and_times(corpus: Path) -> None:
    sessions = [
        (group, session) for group in list_tensorboard_groups(corpus) for session in group.sessions
    ]
    with tracklight.open(corpus, cache=False) as log:
        trials = {trial.run: trial for trial in log.hparams()}

    assert sorted(session.name for _, session in sessions) == sorted(trials)
    statuses = ("unknown", "success", "failure", "running")
    for group, session in sessions:
        trial = trials[session.name]
        theirs = {key: getattr(it, it.WhichOneof("kind")) for key, it in group.hparams.items()}
        assert theirs.items() <= trial.hparams.items()
        assert trial.group == group.name
        assert trial.status == statuses[session.status]
        for metric in session.metric_values:
            name = "/".join(filter(None, (metric.name.group, metric.name.tag)))
            assert trial.metrics[name] == pytest.approx(metric.value, nan_ok=True)
        if session.start_time_secs:
            assert trial.start_time is not None
            assert trial.start_time.timestamp() == pytest.approx(session.start_time_secs, abs=1e-6)
        if session.end_time_secs:
            assert trial.end_time is not None
            assert trial.end_time.timestamp() == pytest.approx(session.end_time_secs, abs=1e-6)


@pytest.mark.parametrize("corpus", ["torch"], indirect=True)
def test_graphs(corpus: Path) -> None:
    compared = 0
    with tracklight.open(corpus, cache=False) as log:
        for run in log:
            if "__run_graph__" not in log[run]:
                continue
            theirs = EventAccumulator(str(corpus / run)).Reload().Graph()
            assert isinstance(theirs, GraphDef)
            ours = log.graph(run)
            assert [(node.name, node.op) for node in ours] == [
                (node.name, node.op) for node in theirs.node
            ]
            names = {node.name for node in theirs.node}
            # Node by node, because one of the graphs has two nodes of the same name.
            for own, node in zip(ours, theirs.node, strict=True):
                # TensorFlow writes the first output with or without a number.
                inputs = [it.removesuffix(":0") for it in node.input]
                known = [it for it in inputs if it.lstrip("^").partition(":")[0] in names]
                assert list(own.inputs) == known
            compared += 1
    assert compared == 4


@pytest.mark.parametrize("corpus", ["torch"], indirect=True)
def test_pr_curves_and_meshes(corpus: Path) -> None:
    (folder,) = {path.parent for path in corpus.rglob("runs/all/events*")}
    run = folder.relative_to(corpus).as_posix()
    theirs = EventAccumulator(str(folder), size_guidance={"tensors": 0}).Reload()
    with tracklight.open(corpus, cache=False) as log:
        tags = log.tags(run)
        curves = [info.tag for info in tags.values() if info.plugin == "pr_curves"]
        assert len(curves) == 4
        for tag in curves:
            ours = log.pr_curves(run, tag)
            events = theirs.Tensors(tag)
            assert ours.step.tolist() == [event.step for event in events]
            for curve, event in zip(ours, events, strict=True):
                rows = tensor_util.make_ndarray(event.tensor_proto)
                np.testing.assert_allclose(curve.true_positives, rows[0])
                np.testing.assert_allclose(curve.recall, rows[5])
        meshes = log.meshes(run, "mesh/full")
        for part, suffix in (("vertices", "VERTEX"), ("faces", "FACE"), ("colors", "COLOR")):
            arrays = [
                tensor_util.make_ndarray(it.tensor_proto)
                for it in theirs.Tensors(f"mesh/full_{suffix}")
            ]
            for mesh, array in zip(meshes, arrays, strict=True):
                np.testing.assert_array_equal(getattr(mesh, part), array)
