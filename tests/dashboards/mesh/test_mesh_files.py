from __future__ import annotations

import numpy as np
import pytest

from tests.dashboards.mesh.conftest import OpenScene
from tests.dashboards.mesh.scene import COLORS, FACES, VERTICES, make_part
from tracklight.dashboards import mesh
from tracklight.errors import UsageError

MESH = [
    make_part("a/m_VERTEX", VERTICES[None]),
    make_part("a/m_FACE", FACES[None]),
    make_part("a/m_COLOR", COLORS[None]),
]


def test_ply_has_vertices_and_faces_in_the_logged_order(open_scene: OpenScene) -> None:
    blob = open_scene((7, MESH)).request("file", run="run", tag="a/m", index=0)
    assert (blob.filename, blob.media_type) == ("run-a-m-7.ply", "model/ply")
    header, _, body = blob.content.partition(b"end_header\n")
    assert header.startswith(b"ply\nformat binary_little_endian 1.0\nelement vertex 4\n")
    vertices = np.frombuffer(body[: 4 * 15], [("position", "<f4", 3), ("color", "u1", 3)])
    np.testing.assert_array_equal(vertices["position"], VERTICES)
    np.testing.assert_array_equal(vertices["color"], COLORS)
    faces = np.frombuffer(body[4 * 15 :], [("count", "u1"), ("corners", "<i4", 3)])
    assert faces["count"].tolist() == [3] * 4
    np.testing.assert_array_equal(faces["corners"], FACES)


def test_ply_of_a_point_cloud_has_no_faces(open_scene: OpenScene) -> None:
    blob = open_scene((0, MESH[:1])).request("file", run="run", tag="a/m", index=0)
    assert b"element face" not in blob.content
    assert b"uchar" not in blob.content
    assert len(blob.content.partition(b"end_header\n")[2]) == 48


def test_obj_has_colors_and_faces(open_scene: OpenScene) -> None:
    blob = open_scene((0, MESH)).request("file", run="run", tag="a/m", index=0, format="obj")
    lines = blob.content.decode().splitlines()
    assert lines[1] == "v 2 0 0 1 0 0"
    assert lines[4:] == ["f 1 3 2", "f 1 2 4", "f 2 3 4", "f 1 4 3"]


def test_rejects_meshes_that_are_too_large_for_obj(
    open_scene: OpenScene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mesh, "_MAX_OBJ_LINES", 7)
    with pytest.raises(UsageError, match="download PLY"):
        open_scene((0, MESH)).request("file", run="run", tag="a/m", index=0, format="obj")
