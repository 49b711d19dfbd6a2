from __future__ import annotations

import pytest

from tests.dashboards.mesh.conftest import OpenScene
from tests.dashboards.mesh.scene import FACES, VERTICES, make_part
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
def test_tags_are_split_into_name_and_part(tag: str, name: str, content: MeshContent) -> None:
    assert split_mesh_tag(tag) == (name, content)


def test_series_of_a_mesh_have_one_name() -> None:
    assert list_mesh_names(["b_COLOR", "b_FACE", "b_VERTEX", "a_VERTEX"]) == ["b", "a"]


@pytest.mark.parametrize("suffix", ["_{}", "_{}_1"])
def test_parts_are_found_by_the_name_of_the_mesh(open_scene: OpenScene, suffix: str) -> None:
    tags = ["shape" + suffix.format(part) for part in ("VERTEX", "FACE")]
    scene = open_scene((0, [make_part(tags[0], VERTICES[None]), make_part(tags[1], FACES[None])]))
    name = split_mesh_tag(tags[0])[0]
    assert scene.steps(name) == {("run", name): [0]}
    assert len(scene.geometry(name).face) == 12


def test_series_without_a_suffix_is_a_point_cloud(open_scene: OpenScene) -> None:
    scene = open_scene((3, [make_part("points", VERTICES[None])]))
    assert scene.steps("points", "nothing") == {("run", "points"): [3]}
    assert scene.geometry("points").info.vertex_count == 4
