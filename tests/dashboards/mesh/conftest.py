from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.dashboards.mesh.scene import Logged, Scene, write

Show = Callable[..., Scene]


@pytest.fixture
def show(tmp_path: Path) -> Iterator[Show]:
    """Logs steps of a run and shows them."""
    scenes: list[Scene] = []

    def open_scene(*logged: Logged) -> Scene:
        write(tmp_path, *logged)
        scenes.append(Scene(tmp_path))
        return scenes[-1]

    yield open_scene
    for scene in scenes:
        scene.catalog.close()
