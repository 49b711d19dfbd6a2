from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.dashboards.mesh.conftest import OpenScene
from tests.dashboards.mesh.scene import COLORS, FACES, VERTICES, Scene, make_part, write_run
from tracklight.errors import LogError


def test_faces_apply_to_all_later_vertices(open_scene: OpenScene) -> None:
    scene = open_scene(
        (0, [make_part("m_VERTEX", VERTICES[None]), make_part("m_FACE", FACES[None])]),
        (10, [make_part("m_VERTEX", 2 * VERTICES[None])]),
        (20, [make_part("m_VERTEX", 3 * VERTICES[None]), make_part("m_FACE", FACES[None, :1])]),
    )
    assert scene.steps("m") == {("run", "m"): [0, 10, 20]}
    assert [scene.geometry("m", index).info.face_count for index in range(3)] == [4, 4, 1]
    assert scene.geometry("m", 1).info.max == (4, 4, 8)
    assert scene.notes("m", 1) == ["The faces are from step 0."]
    assert scene.notes("m", 2) == []


def test_colors_may_change_without_vertices(open_scene: OpenScene) -> None:
    vertices = make_part("m_VERTEX", VERTICES[None])
    colors = [(step, [make_part("m_COLOR", COLORS[None] // (step + 1))]) for step in (1, 2)]
    scene = open_scene((0, [vertices]), *colors)
    assert scene.steps("m") == {("run", "m"): [0, 1, 2]}
    assert scene.geometry("m", 0).color is None
    assert [int(scene.geometry("m", index).color.max()) for index in (1, 2)] == [127, 85]
    assert scene.notes("m", 2) == ["The vertices are from step 0."]


def test_steps_before_the_first_vertices_are_left_out(open_scene: OpenScene) -> None:
    scene = open_scene(
        (0, [make_part("m_FACE", FACES[None])]), (5, [make_part("m_VERTEX", VERTICES[None])])
    )
    assert scene.steps("m") == {("run", "m"): [5]}
    assert scene.geometry("m").info.face_count == 4


def test_mesh_without_vertices_is_an_error(open_scene: OpenScene) -> None:
    scene = open_scene((0, [make_part("m_FACE", FACES[None])]))
    assert scene.steps("m") == {("run", "m"): [0]}
    with pytest.raises(Exception, match="has no vertices"):
        scene.geometry("m")


def test_parts_that_the_vertices_do_not_list_are_ignored(open_scene: OpenScene) -> None:
    scene = open_scene(
        (
            0,
            [
                make_part("m_VERTEX", VERTICES[None], components=2 | 8),
                make_part("m_COLOR", COLORS[None]),
            ],
        ),
        (1, [make_part("m_VERTEX", VERTICES[None], components=2)]),
    )
    assert scene.geometry("m", 0).color is not None
    assert scene.geometry("m", 1).color is None


def test_overwritten_steps_are_left_out(open_scene: OpenScene) -> None:
    steps = [
        (step, [make_part("m_VERTEX", (step + 1) * VERTICES[None])]) for step in (0, 1, 2, 1, 2)
    ]
    scene = open_scene(*steps)
    assert scene.steps("m") == {("run", "m"): [0, 1, 2]}


def test_mark_identifies_a_step_when_its_index_changes(
    tmp_path: Path, open_scene: OpenScene
) -> None:
    scene = open_scene(
        *((step, [make_part("m_VERTEX", (step + 1) * VERTICES[None])]) for step in range(3))
    )
    marks = scene.request("steps", tags=["m"]).series[0].fingerprint.tolist()
    assert len(set(marks)) == 3
    assert scene.geometry("m", 0, fingerprint=marks[2]).info.step == 2  # although its index is 2
    with pytest.raises(LogError, match="no longer"):
        scene.geometry("m", 0, fingerprint=12345)
    with pytest.raises(LogError, match="no longer"):
        scene.geometry("m", 3)


def test_steps_of_requested_runs_only(tmp_path: Path) -> None:
    for run in ("a", "b"):
        write_run(tmp_path, (0, [make_part("m_VERTEX", np.zeros((1, 2, 3)))]), run=run)
    scene = Scene(tmp_path)
    series = scene.request("steps", tags=["m"], runs=["b", "c"]).series
    assert [entry.run for entry in series] == ["b"]
    scene.catalog.close()
