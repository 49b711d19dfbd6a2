from __future__ import annotations

import numpy as np
import pytest

from tests.dashboards.mesh.conftest import Show
from tests.dashboards.mesh.scene import CORNERS, SIDES, part
from tracklight.dashboards.mesh import geometry


def test_any_number_of_the_first_points_is_a_sample_of_all(show: Show) -> None:
    line = np.linspace([0, 0, 0], [1, 0, 0], 10_000)
    scene = show((0, [part("m_VERTEX", line[None])]))
    some, all_ = (scene.geometry("m", most=most) for most in (1000, 10_000))
    assert (some.about.points, len(some.position)) == (10_000, 3000)
    np.testing.assert_array_equal(some.position, all_.position[:3000])
    shares = np.histogram(some.position[::3], bins=10, range=(-1, 1))[0]
    assert shares.min() > 60  # about 100 of each tenth of the line
    assert len(np.unique(all_.position[::3])) == 10_000


def test_points_and_colours_stay_together(show: Show) -> None:
    points = np.random.default_rng(0).uniform(0, 255, (500, 3)).round()
    scene = show((0, [part("m_VERTEX", points[None]), part("m_COLOR", points[None])]))
    geometry = scene.geometry("m", most=100)
    places = geometry.position.reshape(-1, 3) * geometry.scale + geometry.centre
    np.testing.assert_allclose(places, geometry.color.reshape(-1, 3), atol=1e-3)


def test_far_from_the_origin_nothing_is_lost(show: Show) -> None:
    far = CORNERS.astype(np.float64) + np.array([5e6, -3e6, 1e5])
    geometry = show((0, [part("m_VERTEX", far[None])])).geometry("m")
    offset = geometry.position.reshape(-1, 3).astype(np.float64) * geometry.scale
    assert sorted((offset + geometry.centre).tolist()) == sorted(far.tolist())


@pytest.mark.parametrize("size", [1e-300, 1e300, 0.0])
def test_sizes_that_no_graphics_card_knows(show: Show, size: float) -> None:
    geometry = show((0, [part("m_VERTEX", CORNERS[None].astype(np.float64) * size)])).geometry("m")
    assert np.isfinite(geometry.position).all()
    assert np.abs(geometry.position).max() == (1 if size else 0)


def test_surfaces_are_whole_until_they_are_too_large(
    show: Show, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene = show((0, [part("m_VERTEX", CORNERS[None]), part("m_FACE", SIDES[None])]))
    assert len(scene.geometry("m", most=1).face) == 12
    monkeypatch.setattr(geometry, "_MAX_FACES", 3)
    points = scene.geometry("m", most=2)
    assert (points.face, len(points.position), points.about.faces) == (None, 6, 4)
    assert points.about.notes == ["Its points are shown instead of its faces."]
    assert len(scene.geometry("m", most=4).face) == 12


def test_large_surfaces_are_shuffled_and_none_is_lost(
    show: Show, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(geometry, "_MAX_UNSHUFFLED_FACES", 3)
    scene = show((0, [part("m_VERTEX", CORNERS[None]), part("m_FACE", SIDES[None])]))
    faces = scene.geometry("m").face.reshape(-1, 3)
    assert faces.tolist() != SIDES.tolist()
    assert sorted(faces.tolist()) == sorted(SIDES.tolist())


def test_normals_point_outwards(show: Show) -> None:
    scene = show((0, [part("m_VERTEX", CORNERS[None]), part("m_FACE", SIDES[None])]))
    geometry = scene.geometry("m")
    normals = geometry.normal.view(np.int8).reshape(-1, 3)
    assert np.all((normals * (CORNERS - CORNERS.mean(axis=0))).sum(axis=1) > 0)
    assert np.linalg.norm(normals, axis=1) == pytest.approx(127, abs=2)


def test_faces_beyond_sixteen_bits(show: Show) -> None:
    points = np.random.default_rng(1).normal(size=(70_000, 3))
    faces = np.array([[0, 1, 69_999], [65_536, 65_535, 2]])
    scene = show((0, [part("m_VERTEX", points[None]), part("m_FACE", faces[None])]))
    geometry = scene.geometry("m")
    assert (geometry.face.tolist(), geometry.face.dtype) == (faces.ravel().tolist(), np.int32)
    assert len(geometry.position) == 210_000  # faces count from the first vertex on


def test_the_radius_is_that_of_the_furthest_point(show: Show) -> None:
    ball = np.random.default_rng(2).normal(size=(1000, 3))
    ball /= np.linalg.norm(ball, axis=1, keepdims=True)
    about = show((0, [part("m_VERTEX", 1e200 * ball[None])])).geometry("m").about
    assert about.radius == pytest.approx(1e200, rel=0.05)  # a corner of the box is further off
