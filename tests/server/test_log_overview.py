from __future__ import annotations

import pytest

from tests.server.memory_source import MemorySource
from tracklight.server.source import LogOverview
from tracklight.types import Progress


@pytest.fixture
def overview(source: MemorySource) -> LogOverview:
    source.refresh()
    return LogOverview(source)


def test_runs_are_cached_until_the_version_changes(
    overview: LogOverview, source: MemorySource
) -> None:
    before = overview.runs()
    assert overview.runs() is before
    source.version += 1
    assert overview.runs() is not before


def test_runs_are_recomputed_while_the_log_is_loading(
    overview: LogOverview, source: MemorySource
) -> None:
    before = overview.runs()
    source.progress = Progress(1, 2, 500, 1000)
    assert overview.runs() is not before
