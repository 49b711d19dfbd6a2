from __future__ import annotations

import numpy as np

from tests.dashboards.mesh.conftest import OpenScene
from tests.dashboards.mesh.scene import FACES, VERTICES, make_part
from tracklight.analysis.media import MAX_EXPORTED_VALUES, StepsResponse


def test_exports_some_steps_of_each_mesh(open_scene: OpenScene) -> None:
    scene = open_scene(
        *((step, [make_part("a/m_VERTEX", VERTICES[None] + step)]) for step in range(100)),
        (100, [make_part("n_VERTEX", VERTICES[None]), make_part("n_FACE", FACES[None])]),
    )
    parts = dict(scene.dashboard.export_static(["run"]))
    steps = parts.pop("steps/a%2Fm")
    assert isinstance(steps, StepsResponse)
    assert len(steps.series[0].step) == MAX_EXPORTED_VALUES
    assert steps.series[0].step[-1] == 99
    assert "steps/n" in parts
    row = steps.series[0]
    value = f"run=run&tag=a%2Fm&index=99&fingerprint={row.fingerprint[-1]}"
    path = f"geometry?{value}&item=0&max_points=100000"
    assert parts[path].info.min == (99, 99, 99)  # type: ignore[attr-defined]


def test_exports_the_first_meshes_of_a_batch(open_scene: OpenScene) -> None:
    scene = open_scene((0, [make_part("m_VERTEX", np.zeros((9, 2, 3)))]))
    parts = dict(scene.dashboard.export_static(["run"]))
    geometries = [response for path, response in parts.items() if path.startswith("geometry")]
    assert [geometry.info.items for geometry in geometries] == [4] * 4  # type: ignore[attr-defined]


def test_unreadable_meshes_are_left_out(open_scene: OpenScene) -> None:
    scene = open_scene((0, [make_part("m_FACE", FACES[None])]))
    assert dict(scene.dashboard.export_static(["run"])) == {}
