from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tests.server.memory_source import MemorySource
from tracklight.server.overview import Overview
from tracklight.server.warmth import Warmth


class Board:
    """A dashboard that counts how often it was prepared."""

    def __init__(self, plugin: str, least: int | None = 2, fails: bool = False) -> None:
        self.plugins, self.prepares_from = (plugin,), least
        self.prepared, self._fails = 0, fails

    def get_dashboard(self) -> Any:
        return self

    def prepare(self) -> None:
        self.prepared += 1
        if self._fails:
            raise ValueError


@pytest.fixture
def read(source: MemorySource) -> MemorySource:
    source.refresh()
    return source


def test_dashboards_with_something_to_show_are_prepared_once(
    read: MemorySource, caplog: pytest.LogCaptureFixture
) -> None:
    boards = [Board("scalars"), Board("mesh"), Board("scalars", least=None)]
    boards.append(Board("scalars", fails=True))
    found = SimpleNamespace(found={str(n): board for n, board in enumerate(boards)})
    one = Warmth(Overview(read), found)  # type: ignore[arg-type]
    one.hear(None)
    assert [board.prepared for board in boards] == [0, 0, 0, 0]
    for _ in range(2):
        one.hear(read.refresh())
    assert [board.prepared for board in boards] == [1, 0, 0, 1]
    assert "preparing answers failed" in caplog.text


def test_small_logs_are_left_alone(read: MemorySource) -> None:
    board = Board("scalars", least=1000)
    found = SimpleNamespace(found={"a": board})
    Warmth(Overview(read), found).hear(read.refresh())  # type: ignore[arg-type]
    assert board.prepared == 0
