"""TensorBoard reads what tracklight logs, for every type of value."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from google.protobuf import text_format

from tracklight import hparams as hp
from tracklight import projector, summary
from tracklight.formats.tfrecord import iter_records

pytest.importorskip("tensorboard")

from tensorboard.backend.event_processing.plugin_event_multiplexer import EventMultiplexer
from tensorboard.compat.proto import event_pb2, graph_pb2, node_def_pb2
from tensorboard.plugins.custom_scalar import layout_pb2
from tensorboard.plugins.hparams import metadata as hparams_metadata
from tensorboard.plugins.hparams import summary_v2 as their_hp
from tensorboard.plugins.mesh import metadata as mesh_metadata
from tensorboard.plugins.pr_curve import metadata as pr_curve_metadata
from tensorboard.plugins.projector import projector_config_pb2, visualize_embeddings
from tensorboard.util import tensor_util

PICTURES = np.random.default_rng(0).integers(0, 256, (2, 5, 7, 3), np.uint8)
SOUND = np.sin(np.arange(800) / 9).reshape(2, 200, 2)
POINTS = np.random.default_rng(1).normal(size=(1, 4, 3)).astype(np.float32)
LAYOUT = {"losses": {"all": ["Multiline", ["loss/.*"]], "one": ["Margin", ["a", "b", "c"]]}}
GRAPH = graph_pb2.GraphDef(node=[node_def_pb2.NodeDef(name="x", op="Add", input=["y"])])


@pytest.fixture(scope="module")
def logdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("logs")
    with summary.create_file_writer(path, strict=True).as_default():
        for step in range(3):
            summary.set_step(step)
            log_everything(step)
        summary.set_step(None)
        summary.custom_scalars(LAYOUT)
        summary.graph(GRAPH)
        hp.hparams_config([hp.HParam("lr", hp.RealInterval(0.1, 0.2))], [hp.Metric("loss")])
        hp.hparams({"lr": 0.1, "opt": "adam", "bias": True}, start_time_secs=1.5)
    return path


def log_everything(step: int) -> None:
    summary.scalar("loss", step / 8, description="the *loss*")
    summary.scalar("fast", step / 8)
    summary.image("pictures", PICTURES)
    summary.audio("sounds", SOUND, 8000)
    summary.text("note", f"step **{step}**")
    summary.text("table", [["a", "b"], ["c", str(step)]])
    summary.histogram("weights", np.arange(10) + step, buckets=3)
    summary.mesh("shape", POINTS, faces=[[[0, 1, 2]]], config_dict={"camera": {}})
    summary.pr_curve("pr", [1, 0, 1, 0], [0.9, 0.6, 0.4, 0.1], num_thresholds=11)
    summary.tensor("counts", np.arange(6).reshape(2, 3) + step)


@pytest.fixture(scope="module")
def multiplexer(logdir: Path) -> Any:
    return EventMultiplexer().AddRunsFromDirectory(str(logdir)).Reload()


def read(multiplexer: Any, tag: str) -> list[Any]:
    events = multiplexer.Tensors(".", tag)
    assert [event.step for event in events] == [0, 1, 2]
    return [tensor_util.make_ndarray(event.tensor_proto) for event in events]


@pytest.mark.parametrize(
    ("plugin", "tags"),
    [
        ("scalars", {"loss", "fast"}),
        ("images", {"pictures"}),
        ("audio", {"sounds"}),
        ("text", {"note", "table"}),
        ("histograms", {"weights"}),
        ("mesh", {"shape_VERTEX", "shape_FACE"}),
        ("pr_curves", {"pr"}),
        ("custom_scalars", {"custom_scalars__config__"}),
        ("hparams", {"_hparams_/experiment", "_hparams_/session_start_info"}),
    ],
)
def test_plugins_find_their_tags(multiplexer: Any, plugin: str, tags: set[str]) -> None:
    assert set(multiplexer.PluginRunToTagToContent(plugin)["."]) == tags


def test_scalars(multiplexer: Any) -> None:
    for tag in ("loss", "fast"):
        values = read(multiplexer, tag)
        assert [value.item() for value in values] == [0, 0.125, 0.25]
        assert {value.dtype for value in values} == {np.dtype(np.float32)}
    assert multiplexer.SummaryMetadata(".", "loss").summary_description == "the *loss*"


def test_images(multiplexer: Any) -> None:
    pillow = pytest.importorskip("PIL.Image")
    width, height, *encoded = read(multiplexer, "pictures")[2]
    assert (width, height) == (b"7", b"5")
    decoded = [np.asarray(pillow.open(io.BytesIO(picture))) for picture in encoded]
    assert np.array_equal(decoded, PICTURES)


def test_audio(multiplexer: Any) -> None:
    clips = read(multiplexer, "sounds")[0]
    samples = np.frombuffer(clips[1][44:], "<i2").reshape(200, 2)
    assert np.abs(samples / 32768 - SOUND[1]).max() < 1e-4


def test_text(multiplexer: Any) -> None:
    assert [value.item() for value in read(multiplexer, "note")] == [
        b"step **0**",
        b"step **1**",
        b"step **2**",
    ]
    assert read(multiplexer, "table")[1].tolist() == [[b"a", b"b"], [b"c", b"1"]]


def test_histograms(multiplexer: Any) -> None:
    assert read(multiplexer, "weights")[1].tolist() == [[1, 4, 3], [4, 7, 3], [7, 10, 4]]


def test_meshes(multiplexer: Any) -> None:
    assert np.array_equal(read(multiplexer, "shape_VERTEX")[0], POINTS)
    assert read(multiplexer, "shape_FACE")[0].tolist() == [[[0, 1, 2]]]
    content = multiplexer.PluginRunToTagToContent("mesh")["."]["shape_FACE"]
    about = mesh_metadata.parse_plugin_metadata(content)
    assert (about.name, about.json_config) == ("shape", '{"camera": {}}')


def test_pr_curves(multiplexer: Any) -> None:
    tp, fp, _, _, precision, _ = read(multiplexer, "pr")[0]
    assert (tp[0], fp[0], tp[5], fp[5]) == (2, 2, 1, 1)
    assert precision[5] == 0.5
    content = multiplexer.PluginRunToTagToContent("pr_curves")["."]["pr"]
    assert pr_curve_metadata.parse_plugin_metadata(content).num_thresholds == 11


def test_tensors(multiplexer: Any) -> None:
    assert read(multiplexer, "counts")[2].tolist() == [[2, 3, 4], [5, 6, 7]]


def test_layout(multiplexer: Any) -> None:
    (event,) = multiplexer.Tensors(".", "custom_scalars__config__")
    layout = layout_pb2.Layout.FromString(tensor_util.make_ndarray(event.tensor_proto).item())
    (category,) = layout.category
    assert [chart.title for chart in category.chart] == ["all", "one"]
    assert category.chart[1].margin.series[0].upper == "c"


def test_accepts_layout_message_of_tensorboard(tmp_path: Path) -> None:
    theirs = layout_pb2.Layout(category=[layout_pb2.Category(title="x")])
    with summary.create_file_writer(tmp_path, strict=True).as_default():
        assert summary.custom_scalars(theirs)


def test_graph(multiplexer: Any) -> None:
    assert graph_pb2.GraphDef.FromString(multiplexer.SerializedGraph(".")) == GRAPH


def test_hparams(multiplexer: Any) -> None:
    content = multiplexer.PluginRunToTagToContent("hparams")["."]
    start = hparams_metadata.parse_session_start_info_plugin_data(
        content["_hparams_/session_start_info"]
    )
    assert start.hparams["lr"].number_value == 0.1
    assert start.hparams["bias"].bool_value is True
    experiment = hparams_metadata.parse_experiment_plugin_data(content["_hparams_/experiment"])
    assert experiment.hparam_infos[0].domain_interval.max_value == 0.2


def test_trial_id_agrees_with_tensorboard() -> None:
    from tracklight.hparams.session import compute_trial_id

    values = {"lr": 0.1, "opt": "adam", "bias": True, "units": 16}
    theirs = their_hp.hparams_pb(values)
    content = theirs.value[0].metadata.plugin_data.content
    start = hparams_metadata.parse_session_start_info_plugin_data(content)
    assert start.group_name == compute_trial_id(values)


def test_projector_config(tmp_path: Path) -> None:
    projector.embeddings(tmp_path, np.eye(3), ["a", "b", "c"], images=np.zeros((3, 4, 4, 3)))
    text = (tmp_path / "projector_config.pbtxt").read_text(encoding="utf-8")
    config = text_format.Parse(text, projector_config_pb2.ProjectorConfig())
    (embedding,) = config.embeddings
    assert list(embedding.tensor_shape) == [3, 3]
    assert list(embedding.sprite.single_image_dim) == [4, 4]


def test_projector_config_equals_that_of_tensorboard(tmp_path: Path) -> None:
    for config, visualize in (
        (projector.ProjectorConfig(), projector.visualize_embeddings),
        (projector_config_pb2.ProjectorConfig(), visualize_embeddings),
        (projector_config_pb2.ProjectorConfig(), projector.visualize_embeddings),
    ):
        config.model_checkpoint_path = 'a "quoted" \\ name'
        embedding = config.embeddings.add()
        embedding.tensor_name = "embedding/.ATTRIBUTES/VARIABLE_VALUE"
        embedding.sprite.single_image_dim.extend([2, 3])
        visualize(str(tmp_path), config)
        text = (tmp_path / "projector_config.pbtxt").read_text(encoding="utf-8")
        assert text == text_format.MessageToString(
            text_format.Parse(text, projector_config_pb2.ProjectorConfig())
        )


#: Values written by TensorFlow 2.21 at step 0: the bytes of the event after its wall time.
TENSORFLOW_SCALAR = bytes.fromhex(
    "2a270a250a0a65706f63685f6c6f7373420a0801120022046da04b3f4a0b0a090a077363616c617273"
)
TENSORFLOW_TEXT = bytes.fromhex(
    "2a550a530a0b746578742f7363616c6172423008071200422a7374657020303a202a2a626f6c642a2a2060636f6465"
    "60203c623e68746d6c3c2f623e20e4b8ade696874a120a060a04746578741a086d61726b646f776e"
)


def test_records_equal_those_of_tensorflow(tmp_path: Path) -> None:
    number = float(np.frombuffer(TENSORFLOW_SCALAR[24:28], "<f4")[0])
    text = "step 0: **bold** `code` <b>html</b> 中文"
    with summary.create_file_writer(tmp_path).as_default():
        summary.scalar("epoch_loss", number, step=0)
        summary.text("text/scalar", text, step=0, description="markdown")
    (file,) = tmp_path.iterdir()
    version, *events = [payload for _, payload in iter_records(file.read_bytes())]
    assert [event[9:] for event in events] == [TENSORFLOW_SCALAR, TENSORFLOW_TEXT]
    parsed = event_pb2.Event.FromString(version)
    assert (parsed.file_version, parsed.source_metadata.writer) == ("brain.Event:2", "tracklight")
