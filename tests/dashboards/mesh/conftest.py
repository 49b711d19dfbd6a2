from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.dashboards.mesh.scene import Logged, Scene, write_run

OpenScene = Callable[..., Scene]


@pytest.fixture
def open_scene(tmp_path: Path) -> Iterator[OpenScene]:
    """Return a function that logs steps of a run and opens them in the dashboard."""
    scenes: list[Scene] = []

    def open_logged(*logged: Logged) -> Scene:
        write_run(tmp_path, *logged)
        scenes.append(Scene(tmp_path))
        return scenes[-1]

    yield open_logged
    for scene in scenes:
        scene.catalog.close()
