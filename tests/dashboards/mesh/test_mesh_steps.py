from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.dashboards.mesh.conftest import Show
from tests.dashboards.mesh.scene import CORNERS, SHADES, SIDES, Scene, part, write
from tracklight.errors import LogError


def test_faces_logged_once_hold_for_all_later_vertices(show: Show) -> None:
    scene = show(
        (0, [part("m_VERTEX", CORNERS[None]), part("m_FACE", SIDES[None])]),
        (10, [part("m_VERTEX", 2 * CORNERS[None])]),
        (20, [part("m_VERTEX", 3 * CORNERS[None]), part("m_FACE", SIDES[None, :1])]),
    )
    assert scene.steps("m") == {("run", "m"): [0, 10, 20]}
    assert [scene.geometry("m", index).about.faces for index in range(3)] == [4, 4, 1]
    assert scene.geometry("m", 1).about.high == [4, 4, 8]
    assert scene.notes("m", 1) == ["The faces are those of step 0."]
    assert scene.notes("m", 2) == []


def test_colours_that_change_over_a_mesh_that_does_not(show: Show) -> None:
    still = part("m_VERTEX", CORNERS[None])
    shades = [(step, [part("m_COLOR", SHADES[None] // (step + 1))]) for step in (1, 2)]
    scene = show((0, [still]), *shades)
    assert scene.steps("m") == {("run", "m"): [0, 1, 2]}
    assert scene.geometry("m", 0).color is None
    assert [int(scene.geometry("m", index).color.max()) for index in (1, 2)] == [127, 85]
    assert scene.notes("m", 2) == ["The vertices are those of step 0."]


def test_nothing_is_shown_before_the_first_vertices(show: Show) -> None:
    scene = show((0, [part("m_FACE", SIDES[None])]), (5, [part("m_VERTEX", CORNERS[None])]))
    assert scene.steps("m") == {("run", "m"): [5]}
    assert scene.geometry("m").about.faces == 4


def test_a_mesh_without_vertices_says_so(show: Show) -> None:
    scene = show((0, [part("m_FACE", SIDES[None])]))
    assert scene.steps("m") == {("run", "m"): [0]}
    with pytest.raises(Exception, match="has no vertices"):
        scene.geometry("m")


def test_parts_that_the_vertices_do_not_speak_of_are_not_taken_along(show: Show) -> None:
    scene = show(
        (0, [part("m_VERTEX", CORNERS[None], components=2 | 8), part("m_COLOR", SHADES[None])]),
        (1, [part("m_VERTEX", CORNERS[None], components=2)]),
    )
    assert scene.geometry("m", 0).color is not None
    assert scene.geometry("m", 1).color is None


def test_a_run_that_starts_over(show: Show) -> None:
    steps = [(step, [part("m_VERTEX", (step + 1) * CORNERS[None])]) for step in (0, 1, 2, 1, 2)]
    scene = show(*steps)
    assert scene.steps("m") == {("run", "m"): [0, 1, 2]}


def test_a_mark_names_a_mesh_for_good(tmp_path: Path, show: Show) -> None:
    scene = show(*((step, [part("m_VERTEX", (step + 1) * CORNERS[None])]) for step in range(3)))
    marks = scene.ask("steps", tags=["m"]).series[0].mark.tolist()
    assert len(set(marks)) == 3
    assert scene.geometry("m", 0, mark=marks[2]).about.step == 2  # wherever it stands by now
    with pytest.raises(LogError, match="no longer"):
        scene.geometry("m", 0, mark=12345)
    with pytest.raises(LogError, match="no longer"):
        scene.geometry("m", 3)


def test_only_the_runs_asked_for(tmp_path: Path) -> None:
    for run in ("a", "b"):
        write(tmp_path, (0, [part("m_VERTEX", np.zeros((1, 2, 3)))]), run=run)
    scene = Scene(tmp_path)
    asked = scene.ask("steps", tags=["m"], runs=["b", "c"]).series
    assert [one.run for one in asked] == ["b"]
    scene.catalog.close()
