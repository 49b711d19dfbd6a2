from __future__ import annotations

import pytest

from tests.dashboards.mesh.conftest import Show
from tests.dashboards.mesh.scene import CORNERS, SIDES, part
from tracklight.analysis.meshes import list_mesh_names, split_mesh_tag
from tracklight.formats.summary import MeshContent


@pytest.mark.parametrize(
    ("tag", "name", "content"),
    [
        ("torus_VERTEX", "torus", MeshContent.VERTEX),
        ("a/b_FACE", "a/b", MeshContent.FACE),
        ("a_VERTEX_COLOR", "a_VERTEX", MeshContent.COLOR),
        ("torus_COLOR_1", "torus_1", MeshContent.COLOR),
        ("cloud", "cloud", MeshContent.VERTEX),
        ("_VERTEX", "", MeshContent.VERTEX),
        ("two\nlines_FACE", "two\nlines", MeshContent.FACE),
    ],
)
def test_the_end_of_a_tag_says_what_it_holds(tag: str, name: str, content: MeshContent) -> None:
    assert split_mesh_tag(tag) == (name, content)


def test_three_series_are_one_mesh() -> None:
    assert list_mesh_names(["b_COLOR", "b_FACE", "b_VERTEX", "a_VERTEX"]) == ["b", "a"]


@pytest.mark.parametrize("ending", ["_{}", "_{}_1"])
def test_the_parts_of_a_mesh_are_found_by_its_name(show: Show, ending: str) -> None:
    tags = ["shape" + ending.format(word) for word in ("VERTEX", "FACE")]
    scene = show((0, [part(tags[0], CORNERS[None]), part(tags[1], SIDES[None])]))
    name = split_mesh_tag(tags[0])[0]
    assert scene.steps(name) == {("run", name): [0]}
    assert len(scene.geometry(name).face) == 12


def test_a_series_without_an_ending_is_a_cloud(show: Show) -> None:
    scene = show((3, [part("points", CORNERS[None])]))
    assert scene.steps("points", "nothing") == {("run", "points"): [3]}
    assert scene.geometry("points").about.points == 4
