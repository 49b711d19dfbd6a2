from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.dashboards.graphs.graph_log import Scene, write_graph
from tracklight.formats.proto import Message

Show = Callable[[Message], Scene]


@pytest.fixture
def show(tmp_path: Path) -> Iterator[Show]:
    """Logs the graph of a run and shows it."""
    scenes: list[Scene] = []

    def open_scene(graph: Message) -> Scene:
        write_graph(tmp_path, graph)
        scenes.append(Scene(tmp_path))
        return scenes[-1]

    yield open_scene
    for scene in scenes:
        scene.catalog.close()
