"""Whatever is wrong with a mesh, as much is drawn as makes sense, and a sentence says the rest."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.dashboards.mesh.conftest import Show
from tests.dashboards.mesh.scene import CORNERS, SHADES, SIDES, part
from tracklight.errors import FormatError


def positions(geometry: Any) -> np.ndarray:
    return geometry.position.reshape(-1, 3) * geometry.scale + geometry.centre


@pytest.mark.parametrize(
    "vertices",
    [
        np.array(["a", "b"], object),
        np.zeros((1, 4, 1)),
        np.zeros(9),
        np.zeros((1, 1, 1, 3)),
        np.zeros((1, 4, 3), complex),
    ],
)
def test_what_are_no_vertices_is_a_sentence(show: Show, vertices: Any) -> None:
    with pytest.raises(FormatError, match=r"they should be \[batch, points, 3\]"):
        show((0, [part("m_VERTEX", vertices)])).geometry("m")


def test_a_mesh_without_a_batch(show: Show) -> None:
    geometry = show((0, [part("m_VERTEX", CORNERS), part("m_FACE", SIDES)])).geometry("m")
    assert (geometry.about.items, geometry.about.faces, geometry.about.notes) == (1, 4, [])


def test_points_in_a_plane_and_points_with_more_numbers(show: Show) -> None:
    scene = show(
        (0, [part("flat_VERTEX", CORNERS[None, :, :2]), part("more_VERTEX", np.ones((1, 4, 6)))])
    )
    assert positions(scene.geometry("flat"))[:, 2].tolist() == [0, 0, 0, 0]
    assert scene.notes("flat") == ["The vertices have two numbers each; they lie in a plane."]
    assert scene.notes("more") == ["The vertices have 6 numbers each, of which three are shown."]


def test_vertices_that_are_nowhere_take_their_faces_with_them(show: Show) -> None:
    torn = CORNERS.copy()
    torn[0, 1] = np.nan
    torn = np.vstack([torn, [[np.inf, 0, 0]]])
    scene = show((0, [part("m_VERTEX", torn[None]), part("m_FACE", SIDES[None])]))
    geometry = scene.geometry("m")
    about = geometry.about
    assert (about.points, about.drawable, about.faces) == (5, 3, 1)
    assert positions(geometry).tolist() == CORNERS[1:].tolist()
    assert geometry.face.tolist() == [0, 1, 2]  # vertices 1, 2 and 3 before
    assert scene.notes("m") == ["2 of 5 vertices are NaN or infinite: not drawn."]


@pytest.mark.parametrize("wrong", [4, -1, 2**31 - 1, 0.5, np.nan, np.inf, -(2.0**60)])
def test_faces_that_name_vertices_that_are_not_there(show: Show, wrong: float) -> None:
    faces = SIDES.astype(np.float64)
    faces[1, 2] = wrong
    scene = show((0, [part("m_VERTEX", CORNERS[None]), part("m_FACE", faces[None])]))
    assert scene.geometry("m").face.reshape(-1, 3).tolist() == SIDES[[0, 2, 3]].tolist()
    assert scene.notes("m") == [
        "1 of 4 faces name vertices that are not there (there are 4): not drawn."
    ]


def test_faces_of_four_corners_become_two(show: Show) -> None:
    scene = show((0, [part("m_VERTEX", CORNERS[None]), part("m_FACE", [[[0, 1, 2, 3]]])]))
    assert scene.geometry("m").face.tolist() == [0, 1, 2, 0, 2, 3]


def test_faces_of_no_use_leave_the_points(show: Show) -> None:
    scene = show((0, [part("m_VERTEX", CORNERS[None]), part("m_FACE", np.zeros((1, 2, 5)))]))
    geometry = scene.geometry("m")
    assert (geometry.face, len(geometry.position)) == (None, 12)
    assert "not [batch, faces, 3]" in geometry.about.notes[0]


@pytest.mark.parametrize(
    "colors",
    [
        SHADES,
        SHADES.astype(np.int64),
        SHADES.astype(np.float32),
        (SHADES / 255).astype(np.float32),
        SHADES > 0,
        np.hstack([SHADES, np.full((4, 1), 255, np.uint8)]),
    ],
)
def test_colours_of_every_scale(show: Show, colors: np.ndarray) -> None:
    scene = show((0, [part("m_VERTEX", CORNERS[None]), part("m_COLOR", colors[None])]))
    geometry = scene.geometry("m")
    pairs = zip(positions(geometry).tolist(), geometry.color.reshape(-1, 3).tolist(), strict=True)
    assert sorted(pairs) == sorted(zip(CORNERS.tolist(), SHADES.tolist(), strict=True))


def test_colours_beyond_their_range_are_clipped(show: Show) -> None:
    shades = [[[-7.0, 300.0, np.nan], [np.inf, 128.0, 0], [0, 0, 0], [1, 2, 3]]]
    geometry = show((0, [part("m_VERTEX", CORNERS[None]), part("m_COLOR", shades)])).geometry("m")
    rows = {tuple(row) for row in geometry.color.reshape(-1, 3).tolist()}
    assert rows == {(0, 255, 0), (255, 128, 0), (0, 0, 0), (1, 2, 3)}


def test_a_dark_mesh_of_a_bright_batch_stays_dark(show: Show) -> None:
    shades = np.stack([np.full((4, 3), 200.0), np.full((4, 3), 1.0)])
    batch = np.stack([CORNERS, CORNERS])
    scene = show((0, [part("m_VERTEX", batch), part("m_COLOR", shades)]))
    assert scene.geometry("m", item=1).color.tolist() == [1] * 12


@pytest.mark.parametrize("colors", [np.zeros((1, 3, 3)), np.zeros((1, 4, 2)), np.zeros(4)])
def test_colours_that_do_not_fit_are_left_out(show: Show, colors: np.ndarray) -> None:
    scene = show((0, [part("m_VERTEX", CORNERS[None]), part("m_COLOR", colors)]))
    assert scene.geometry("m").color is None
    assert scene.notes("m")[0].endswith("not shown.")


def test_each_item_of_a_batch(show: Show) -> None:
    batch = np.stack([CORNERS, CORNERS * 5])
    scene = show((0, [part("m_VERTEX", batch), part("m_FACE", SIDES[None])]))
    sizes = [scene.geometry("m", item=item).about.high[0] for item in (0, 1, 7)]
    assert sizes == [2, 10, 10]
    assert scene.geometry("m", item=7).about.item == 1
    assert scene.geometry("m", item=1).about.faces == 4  # the same faces for all


def test_a_batch_of_faces_for_another_number_of_meshes(show: Show) -> None:
    faces = np.stack([SIDES] * 2)
    scene = show((0, [part("m_VERTEX", np.stack([CORNERS] * 3)), part("m_FACE", faces)]))
    assert scene.notes("m") == ["There are faces of 2 meshes for 3: not drawn."]


@pytest.mark.parametrize("shape", [(1, 0, 3), (0, 5, 3), (0, 3)])
def test_a_mesh_of_nothing(show: Show, shape: tuple[int, ...]) -> None:
    geometry = show((0, [part("m_VERTEX", np.zeros(shape))])).geometry("m")
    assert (len(geometry.position), geometry.about.points) == (0, 0)


def test_metadata_that_cannot_be_read(show: Show) -> None:
    scene = show((0, [part("m_VERTEX", CORNERS[None], bare=True)]))
    assert scene.geometry("m").about.points == 4
