"""The Mesh dashboard returns meshes logged by TensorBoard and PyTorch unchanged."""

from __future__ import annotations

import json
import lzma
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.archives import extract
from tests.dashboards.mesh.scene import Scene
from tracklight.analysis.meshes import split_mesh_tag
from tracklight.formats.tfrecord import encode_record

CORPUS = Path(__file__).parent.parent / "data" / "corpus"
TORCH_PARTS = {"float32 of shape [1, 8, 3]", "float32 of shape [1, 4, 3]"}
CONFIG = {"camera": {"cls": "PerspectiveCamera", "fov": 40}, "material": {"cls": "PointsMaterial"}}


def get_positions(geometry: Any) -> np.ndarray:
    return geometry.position.reshape(-1, 3) * geometry.scale + geometry.center


def test_reads_messages_of_tensorboard(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    from tensorboard.compat.proto import event_pb2, summary_pb2
    from tensorboard.plugins.mesh import metadata
    from tensorboard.plugins.mesh.plugin_data_pb2 import MeshPluginData
    from tensorboard.util import tensor_util

    rng = np.random.default_rng(0)
    points = rng.normal(size=(2, 50, 3)).astype(np.float32)
    shades = rng.integers(0, 256, (2, 50, 3)).astype(np.uint8)
    faces = rng.integers(0, 50, (2, 20, 3)).astype(np.int32)
    kinds = MeshPluginData.ContentType.Value
    parts = {kinds("VERTEX"): points, kinds("FACE"): faces, kinds("COLOR"): shades}
    event = event_pb2.Event(step=3, wall_time=1.7e9)
    for kind, array in parts.items():
        about = metadata.create_summary_metadata(
            "shape",
            None,
            kind,
            metadata.get_components_bitmask(list(parts)),
            list(array.shape),
            json_config=json.dumps(CONFIG),
        )
        event.summary.value.append(
            summary_pb2.Summary.Value(
                tag=metadata.get_instance_name("shape", kind),
                tensor=tensor_util.make_tensor_proto(array),
                metadata=about,
            )
        )
    (tmp_path / "run").mkdir()
    path = tmp_path / "run" / "events.out.tfevents.1"
    path.write_bytes(encode_record(event.SerializeToString()))
    scene = Scene(tmp_path)
    assert scene.steps("shape") == {("run", "shape"): [3]}
    for item in range(2):
        geometry = scene.geometry("shape", item=item)
        np.testing.assert_allclose(get_positions(geometry), points[item], atol=1e-5)
        np.testing.assert_array_equal(geometry.color.reshape(-1, 3), shades[item])
        np.testing.assert_array_equal(geometry.face.reshape(-1, 3), faces[item])
        assert geometry.info.scene.camera.fov == 40
        assert geometry.info.notes == []
    scene.catalog.close()


def test_returns_every_mesh_of_the_corpus(tmp_path: Path) -> None:
    """Written by PyTorch, with faces and colors as float32."""
    extract(CORPUS / "torch.tar.xz", tmp_path)
    with lzma.open(CORPUS / "torch.json.xz") as file:
        oracle = json.load(file)["multiplexer"]["runs"]
    scene = Scene(next(tmp_path.iterdir()))
    seen = 0
    for run, about in oracle.items():
        for tag, series in about["plugins"].get("mesh", {}).items():
            name, _ = split_mesh_tag(tag)
            steps = scene.steps(name)[run, name]
            assert (len(steps), steps[0], steps[-1]) == (
                series["n"],
                series["first"]["step"],
                series["last"]["step"],
            )
            for index in range(len(steps)):
                geometry = scene.request("geometry", run=run, tag=name, index=index)
                assert set(geometry.info.parts.values()) <= TORCH_PARTS
                assert (len(geometry.position), geometry.info.notes) == (24, [])
                seen += 1
    assert seen == 12
    scene.catalog.close()
