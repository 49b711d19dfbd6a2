from __future__ import annotations

import numpy as np

from tests.dashboards.mesh.conftest import Show
from tests.dashboards.mesh.scene import CORNERS, SIDES, part
from tracklight.analysis.media.static_export import MAX_EXPORTED_VALUES
from tracklight.analysis.media.values import StepsResponse


def test_a_copy_carries_some_steps_of_each_mesh(show: Show) -> None:
    scene = show(
        *((step, [part("a/m_VERTEX", CORNERS[None] + step)]) for step in range(100)),
        (100, [part("n_VERTEX", CORNERS[None]), part("n_FACE", SIDES[None])]),
    )
    parts = dict(scene.dashboard.export_static(["run"]))
    steps = parts.pop("steps/a%2Fm")
    assert isinstance(steps, StepsResponse)
    assert len(steps.series[0].step) == MAX_EXPORTED_VALUES
    assert steps.series[0].step[-1] == 99
    assert "steps/n" in parts
    row = steps.series[0]
    path = f"geometry?run=run&tag=a%2Fm&index=99&mark={row.mark[-1]}&item=0&most=100000"
    assert parts[path].about.low == [99, 99, 99]  # type: ignore[attr-defined]


def test_a_copy_carries_the_first_meshes_of_a_batch(show: Show) -> None:
    scene = show((0, [part("m_VERTEX", np.zeros((9, 2, 3)))]))
    parts = dict(scene.dashboard.export_static(["run"]))
    drawn = [answer for path, answer in parts.items() if path.startswith("geometry")]
    assert [one.about.items for one in drawn] == [4] * 4  # type: ignore[attr-defined]


def test_a_mesh_that_cannot_be_read_is_left_out(show: Show) -> None:
    scene = show((0, [part("m_FACE", SIDES[None])]))
    assert dict(scene.dashboard.export_static(["run"])) == {}
