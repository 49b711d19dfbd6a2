from __future__ import annotations

import numpy as np
import pytest

from tests.dashboards.mesh.conftest import Show
from tests.dashboards.mesh.scene import CORNERS, SHADES, SIDES, part
from tracklight.dashboards.mesh import geometry
from tracklight.errors import UsageError

WHOLE = [
    part("a/m_VERTEX", CORNERS[None]),
    part("a/m_FACE", SIDES[None]),
    part("a/m_COLOR", SHADES[None]),
]


def test_a_mesh_leaves_as_ply_in_the_order_logged(show: Show) -> None:
    blob = show((7, WHOLE)).ask("file", run="run", tag="a/m", index=0)
    assert (blob.filename, blob.media_type) == ("run-a-m-7.ply", "model/ply")
    head, _, body = blob.content.partition(b"end_header\n")
    assert head.startswith(b"ply\nformat binary_little_endian 1.0\nelement vertex 4\n")
    vertices = np.frombuffer(body[: 4 * 15], [("at", "<f4", 3), ("shade", "u1", 3)])
    np.testing.assert_array_equal(vertices["at"], CORNERS)
    np.testing.assert_array_equal(vertices["shade"], SHADES)
    faces = np.frombuffer(body[4 * 15 :], [("count", "u1"), ("corners", "<i4", 3)])
    assert faces["count"].tolist() == [3] * 4
    np.testing.assert_array_equal(faces["corners"], SIDES)


def test_a_cloud_leaves_without_faces(show: Show) -> None:
    blob = show((0, WHOLE[:1])).ask("file", run="run", tag="a/m", index=0)
    assert b"element face" not in blob.content
    assert b"uchar" not in blob.content
    assert len(blob.content.partition(b"end_header\n")[2]) == 48


def test_a_mesh_leaves_as_obj(show: Show) -> None:
    blob = show((0, WHOLE)).ask("file", run="run", tag="a/m", index=0, format="obj")
    lines = blob.content.decode().splitlines()
    assert lines[1] == "v 2 0 0 1 0 0"
    assert lines[4:] == ["f 1 3 2", "f 1 2 4", "f 2 3 4", "f 1 4 3"]


def test_an_obj_may_be_too_large(show: Show, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(geometry, "_MAX_OBJ_LINES", 7)
    with pytest.raises(UsageError, match="download PLY"):
        show((0, WHOLE)).ask("file", run="run", tag="a/m", index=0, format="obj")
