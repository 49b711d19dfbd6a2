"""TensorBoard reads the whole demo log."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from google.protobuf import text_format

from tests.cli.test_demo_log import NOW
from tests.demo_log import get_demo_log

pytest.importorskip("tensorboard")

from tensorboard.backend.event_processing.plugin_event_multiplexer import EventMultiplexer
from tensorboard.compat.proto import graph_pb2
from tensorboard.plugins.custom_scalar import layout_pb2
from tensorboard.plugins.hparams import metadata as hparams_metadata
from tensorboard.plugins.projector import projector_config_pb2
from tensorboard.util import tensor_util

pytestmark = pytest.mark.slow

EVERYTHING = {
    name: 0
    for name in ("scalars", "images", "audio", "text", "histograms", "pr_curves", "mesh", "hparams")
}


@pytest.fixture(scope="module")
def logdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return get_demo_log(tmp_path_factory, now=NOW)


@pytest.fixture(scope="module")
def multiplexer(logdir: Path) -> Any:
    loaded = EventMultiplexer(tensor_size_guidance=EVERYTHING)
    return loaded.AddRunsFromDirectory(str(logdir)).Reload()


@pytest.mark.parametrize(
    ("plugin", "runs", "tags"),
    [
        ("scalars", 63, 6),
        ("images", 5, 5),
        ("audio", 2, 2),
        ("text", 12, 3),
        ("histograms", 4, 8),
        ("pr_curves", 3, 3),
        ("mesh", 1, 5),
        ("custom_scalars", 1, 1),
        ("hparams", 46, 2),
    ],
)
def test_plugins_find_their_data(multiplexer: Any, plugin: str, runs: int, tags: int) -> None:
    found = multiplexer.PluginRunToTagToContent(plugin)

    assert len(found) == runs
    assert max(map(len, found.values())) == tags


def test_every_tensor_can_be_read(multiplexer: Any) -> None:
    count = 0
    for run, data in multiplexer.Runs().items():
        for tag in data["tensors"]:
            for event in multiplexer.Tensors(run, tag):
                tensor_util.make_ndarray(event.tensor_proto)
                count += 1
    assert count > 15_000


def test_scalars_are_complete(multiplexer: Any) -> None:
    events = multiplexer.Tensors("sweep/lr=0.1,bn/train", "loss")

    assert [event.step for event in events] == list(range(0, 6000, 10))


def test_descriptions_are_read(multiplexer: Any) -> None:
    metadata = multiplexer.SummaryMetadata("sweep/lr=0.1,bn/train", "loss")

    assert metadata.summary_description == "Cross entropy of a batch."


def test_layout_and_experiment(multiplexer: Any) -> None:
    (event,) = multiplexer.Tensors("sweep", "custom_scalars__config__")
    layout = layout_pb2.Layout.FromString(tensor_util.make_ndarray(event.tensor_proto).item())
    assert [category.title for category in layout.category] == ["Quality", "Spread"]

    content = multiplexer.PluginRunToTagToContent("hparams")["sweep"]["_hparams_/experiment"]
    experiment = hparams_metadata.parse_experiment_plugin_data(content)
    assert [info.name for info in experiment.hparam_infos] == [
        "learning_rate",
        "batch_norm",
        "optimizer",
    ]


def test_graph(multiplexer: Any) -> None:
    graph = multiplexer.Graph("sweep/lr=0.1,bn/train")

    assert isinstance(graph, graph_pb2.GraphDef)
    convolution = next(node for node in graph.node if node.op == "Conv2D")
    assert convolution.attr["strides"].list.i == [1, 1, 1, 1]


def test_projector(logdir: Path) -> None:
    text = (logdir / "embeddings/projector_config.pbtxt").read_text()
    config = text_format.Parse(text, projector_config_pb2.ProjectorConfig())

    assert list(config.embeddings[0].tensor_shape) == [400, 24]
    assert list(config.embeddings[0].sprite.single_image_dim) == [28, 28]
