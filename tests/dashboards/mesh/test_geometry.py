from __future__ import annotations

import numpy as np
import pytest

from tests.dashboards.mesh.conftest import OpenScene
from tests.dashboards.mesh.scene import FACES, VERTICES, make_part
from tracklight.dashboards import mesh


def test_first_points_are_a_sample_of_all(open_scene: OpenScene) -> None:
    line = np.linspace([0, 0, 0], [1, 0, 0], 10_000)
    scene = open_scene((0, [make_part("m_VERTEX", line[None])]))
    sample, full = (scene.geometry("m", max_points=most) for most in (1000, 10_000))
    assert (sample.info.vertex_count, len(sample.position)) == (10_000, 3000)
    np.testing.assert_array_equal(sample.position, full.position[:3000])
    counts = np.histogram(sample.position[::3], bins=10, range=(-1, 1))[0]
    assert counts.min() > 60  # about 100 of each tenth of the line
    assert len(np.unique(full.position[::3])) == 10_000


def test_points_keep_their_colors(open_scene: OpenScene) -> None:
    points = np.random.default_rng(0).uniform(0, 255, (500, 3)).round()
    scene = open_scene(
        (0, [make_part("m_VERTEX", points[None]), make_part("m_COLOR", points[None])])
    )
    geometry = scene.geometry("m", max_points=100)
    vertices = geometry.position.reshape(-1, 3) * geometry.scale + geometry.center
    np.testing.assert_allclose(vertices, geometry.color.reshape(-1, 3), atol=1e-3)


def test_precision_far_from_the_origin(open_scene: OpenScene) -> None:
    far = VERTICES.astype(np.float64) + np.array([5e6, -3e6, 1e5])
    geometry = open_scene((0, [make_part("m_VERTEX", far[None])])).geometry("m")
    offset = geometry.position.reshape(-1, 3).astype(np.float64) * geometry.scale
    assert sorted((offset + geometry.center).tolist()) == sorted(far.tolist())


@pytest.mark.parametrize("size", [1e-300, 1e300, 0.0])
def test_sizes_beyond_single_precision(open_scene: OpenScene, size: float) -> None:
    geometry = open_scene(
        (0, [make_part("m_VERTEX", VERTICES[None].astype(np.float64) * size)])
    ).geometry("m")
    assert np.isfinite(geometry.position).all()
    assert np.abs(geometry.position).max() == (1 if size else 0)


def test_surfaces_that_are_too_large_are_drawn_as_points(
    open_scene: OpenScene, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene = open_scene(
        (0, [make_part("m_VERTEX", VERTICES[None]), make_part("m_FACE", FACES[None])])
    )
    assert len(scene.geometry("m", max_points=1).face) == 12
    monkeypatch.setattr(mesh, "_MAX_FACES", 3)
    points = scene.geometry("m", max_points=2)
    assert (points.face, len(points.position), points.info.face_count) == (None, 6, 4)
    assert [note.text for note in points.info.notes] == [
        "The mesh has too many faces; its points are shown instead."
    ]
    assert len(scene.geometry("m", max_points=4).face) == 12


def test_faces_of_large_surfaces_are_shuffled(
    open_scene: OpenScene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mesh, "_MAX_UNSHUFFLED_FACES", 3)
    scene = open_scene(
        (0, [make_part("m_VERTEX", VERTICES[None]), make_part("m_FACE", FACES[None])])
    )
    faces = scene.geometry("m").face.reshape(-1, 3)
    assert faces.tolist() != FACES.tolist()
    assert sorted(faces.tolist()) == sorted(FACES.tolist())


def test_normals_point_outwards(open_scene: OpenScene) -> None:
    scene = open_scene(
        (0, [make_part("m_VERTEX", VERTICES[None]), make_part("m_FACE", FACES[None])])
    )
    geometry = scene.geometry("m")
    normals = geometry.normal.view(np.int8).reshape(-1, 3)
    assert np.all((normals * (VERTICES - VERTICES.mean(axis=0))).sum(axis=1) > 0)
    assert np.linalg.norm(normals, axis=1) == pytest.approx(127, abs=2)


def test_vertex_indices_beyond_16_bits(open_scene: OpenScene) -> None:
    points = np.random.default_rng(1).normal(size=(70_000, 3))
    faces = np.array([[0, 1, 69_999], [65_536, 65_535, 2]])
    scene = open_scene((0, [make_part("m_VERTEX", points[None]), make_part("m_FACE", faces[None])]))
    geometry = scene.geometry("m")
    assert (geometry.face.tolist(), geometry.face.dtype) == (faces.ravel().tolist(), np.int32)
    assert len(geometry.position) == 210_000  # vertices are not shuffled


def test_radius_is_the_largest_distance_from_the_center(open_scene: OpenScene) -> None:
    ball = np.random.default_rng(2).normal(size=(1000, 3))
    ball /= np.linalg.norm(ball, axis=1, keepdims=True)
    info = open_scene((0, [make_part("m_VERTEX", 1e200 * ball[None])])).geometry("m").info
    assert info.radius == pytest.approx(1e200, rel=0.05)  # a corner of the box is farther away
