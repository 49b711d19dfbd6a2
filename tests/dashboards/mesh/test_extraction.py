"""Invalid meshes are repaired as far as possible, and notes say what was left out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.dashboards.mesh.conftest import OpenScene
from tests.dashboards.mesh.scene import COLORS, FACES, VERTICES, make_part
from tracklight.errors import FormatError


def get_vertices(geometry: Any) -> np.ndarray:
    return geometry.position.reshape(-1, 3) * geometry.scale + geometry.center


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
def test_rejects_arrays_that_are_not_vertices(open_scene: OpenScene, vertices: Any) -> None:
    with pytest.raises(FormatError, match=r"they must have the shape \[batch, points, 3\]"):
        open_scene((0, [make_part("m_VERTEX", vertices)])).geometry("m")


def test_mesh_without_a_batch_axis(open_scene: OpenScene) -> None:
    geometry = open_scene(
        (0, [make_part("m_VERTEX", VERTICES), make_part("m_FACE", FACES)])
    ).geometry("m")
    assert (geometry.info.items, geometry.info.face_count, geometry.info.notes) == (1, 4, [])


def test_vertices_with_two_or_more_than_three_coordinates(open_scene: OpenScene) -> None:
    scene = open_scene(
        (
            0,
            [
                make_part("flat_VERTEX", VERTICES[None, :, :2]),
                make_part("more_VERTEX", np.ones((1, 4, 6))),
            ],
        )
    )
    assert get_vertices(scene.geometry("flat"))[:, 2].tolist() == [0, 0, 0, 0]
    assert scene.notes("flat") == ["The vertices have two coordinates and are shown in a plane."]
    assert scene.notes("more") == ["The vertices have 6 coordinates; the first three are shown."]


def test_non_finite_vertices_are_dropped_with_their_faces(open_scene: OpenScene) -> None:
    vertices = VERTICES.copy()
    vertices[0, 1] = np.nan
    vertices = np.vstack([vertices, [[np.inf, 0, 0]]])
    scene = open_scene(
        (0, [make_part("m_VERTEX", vertices[None]), make_part("m_FACE", FACES[None])])
    )
    geometry = scene.geometry("m")
    info = geometry.info
    assert (info.vertex_count, info.finite_count, info.face_count) == (5, 3, 1)
    assert get_vertices(geometry).tolist() == VERTICES[1:].tolist()
    assert geometry.face.tolist() == [0, 1, 2]  # vertices 1, 2 and 3 before
    assert scene.notes("m") == ["2 of 5 vertices are NaN or infinite: not drawn."]


@pytest.mark.parametrize("vertex", [4, -1, 2**31 - 1, 0.5, np.nan, np.inf, -(2.0**60)])
def test_faces_with_invalid_vertices_are_dropped(open_scene: OpenScene, vertex: float) -> None:
    faces = FACES.astype(np.float64)
    faces[1, 2] = vertex
    scene = open_scene(
        (0, [make_part("m_VERTEX", VERTICES[None]), make_part("m_FACE", faces[None])])
    )
    assert scene.geometry("m").face.reshape(-1, 3).tolist() == FACES[[0, 2, 3]].tolist()
    assert scene.notes("m") == [
        "1 of 4 faces refer to vertices that do not exist (there are 4): not drawn."
    ]


def test_quads_are_split_into_triangles(open_scene: OpenScene) -> None:
    scene = open_scene(
        (0, [make_part("m_VERTEX", VERTICES[None]), make_part("m_FACE", [[[0, 1, 2, 3]]])])
    )
    assert scene.geometry("m").face.tolist() == [0, 1, 2, 0, 2, 3]


def test_points_are_drawn_if_faces_are_invalid(open_scene: OpenScene) -> None:
    scene = open_scene(
        (0, [make_part("m_VERTEX", VERTICES[None]), make_part("m_FACE", np.zeros((1, 2, 5)))])
    )
    geometry = scene.geometry("m")
    assert (geometry.face, len(geometry.position)) == (None, 12)
    assert "not [batch, faces, 3]" in geometry.info.notes[0].text


@pytest.mark.parametrize(
    "colors",
    [
        COLORS,
        COLORS.astype(np.int64),
        COLORS.astype(np.float32),
        (COLORS / 255).astype(np.float32),
        COLORS > 0,
        np.hstack([COLORS, np.full((4, 1), 255, np.uint8)]),
    ],
)
def test_colors_of_all_types_and_scales(open_scene: OpenScene, colors: np.ndarray) -> None:
    scene = open_scene(
        (0, [make_part("m_VERTEX", VERTICES[None]), make_part("m_COLOR", colors[None])])
    )
    geometry = scene.geometry("m")
    pairs = zip(
        get_vertices(geometry).tolist(), geometry.color.reshape(-1, 3).tolist(), strict=True
    )
    assert sorted(pairs) == sorted(zip(VERTICES.tolist(), COLORS.tolist(), strict=True))


def test_colors_out_of_range_are_clipped(open_scene: OpenScene) -> None:
    colors = [[[-7.0, 300.0, np.nan], [np.inf, 128.0, 0], [0, 0, 0], [1, 2, 3]]]
    geometry = open_scene(
        (0, [make_part("m_VERTEX", VERTICES[None]), make_part("m_COLOR", colors)])
    ).geometry("m")
    rows = {tuple(row) for row in geometry.color.reshape(-1, 3).tolist()}
    assert rows == {(0, 255, 0), (255, 128, 0), (0, 0, 0), (1, 2, 3)}


def test_color_scale_is_that_of_the_whole_batch(open_scene: OpenScene) -> None:
    colors = np.stack([np.full((4, 3), 200.0), np.full((4, 3), 1.0)])
    batch = np.stack([VERTICES, VERTICES])
    scene = open_scene((0, [make_part("m_VERTEX", batch), make_part("m_COLOR", colors)]))
    assert scene.geometry("m", item=1).color.tolist() == [1] * 12


@pytest.mark.parametrize("colors", [np.zeros((1, 3, 3)), np.zeros((1, 4, 2)), np.zeros(4)])
def test_colors_of_the_wrong_shape_are_left_out(open_scene: OpenScene, colors: np.ndarray) -> None:
    scene = open_scene((0, [make_part("m_VERTEX", VERTICES[None]), make_part("m_COLOR", colors)]))
    assert scene.geometry("m").color is None
    assert scene.notes("m")[0].endswith("not shown.")


def test_items_of_a_batch(open_scene: OpenScene) -> None:
    batch = np.stack([VERTICES, VERTICES * 5])
    scene = open_scene((0, [make_part("m_VERTEX", batch), make_part("m_FACE", FACES[None])]))
    sizes = [scene.geometry("m", item=item).info.max[0] for item in (0, 1, 7)]
    assert sizes == [2, 10, 10]
    assert scene.geometry("m", item=7).info.item == 1
    assert (
        scene.geometry("m", item=1).info.face_count == 4
    )  # faces without a batch apply to all items


def test_batch_of_faces_of_another_size_is_left_out(open_scene: OpenScene) -> None:
    faces = np.stack([FACES] * 2)
    scene = open_scene(
        (0, [make_part("m_VERTEX", np.stack([VERTICES] * 3)), make_part("m_FACE", faces)])
    )
    assert scene.notes("m") == ["The faces are for 2 meshes instead of 3: not drawn."]


@pytest.mark.parametrize("shape", [(1, 0, 3), (0, 5, 3), (0, 3)])
def test_empty_mesh(open_scene: OpenScene, shape: tuple[int, ...]) -> None:
    geometry = open_scene((0, [make_part("m_VERTEX", np.zeros(shape))])).geometry("m")
    assert (len(geometry.position), geometry.info.vertex_count) == (0, 0)


def test_mesh_without_plugin_data(open_scene: OpenScene) -> None:
    scene = open_scene((0, [make_part("m_VERTEX", VERTICES[None], bare=True)]))
    assert scene.geometry("m").info.vertex_count == 4
