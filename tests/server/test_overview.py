from __future__ import annotations

import pytest

from tests.server.memory_source import MemorySource
from tracklight.server.overview import Overview
from tracklight.types import Progress


@pytest.fixture
def overview(source: MemorySource) -> Overview:
    source.refresh()
    return Overview(source)


def test_runs_are_asked_for_once_until_something_changes(
    overview: Overview, source: MemorySource
) -> None:
    before = overview.runs()
    assert overview.runs() is before
    source.version += 1
    assert overview.runs() is not before


def test_runs_grow_while_the_log_is_being_read(overview: Overview, source: MemorySource) -> None:
    before = overview.runs()
    source.progress = Progress(1, 2, 500, 1000)
    assert overview.runs() is not before
