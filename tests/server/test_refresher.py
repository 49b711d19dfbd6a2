from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.server.memory_source import MemorySource, MemoryWatch
from tests.server.waiting import wait_until
from tracklight.server import source as source_module
from tracklight.server.source import Refresher
from tracklight.types import Delta


@pytest.fixture
def refresher(source: MemorySource, watch: MemoryWatch) -> Iterator[Refresher]:
    refresher = Refresher(source, watch)
    yield refresher
    source.gate.set()
    refresher.stop()


def test_refreshes_at_start_and_on_changes(
    refresher: Refresher, source: MemorySource, watch: MemoryWatch
) -> None:
    deltas: list[Delta] = []
    refresher.listeners.append(lambda delta: deltas.append(delta) if delta else None)
    refresher.start()
    wait_until(lambda: len(deltas) == 1)
    assert deltas[0].added == ("conv", "vit")
    source.logged["new"] = {}
    watch.touch()
    wait_until(lambda: len(deltas) == 2)
    assert deltas[1].added == ("new",)


def test_is_loading_until_the_first_refresh_ends(
    refresher: Refresher, source: MemorySource
) -> None:
    source.gate.clear()
    refresher.start()
    assert refresher.is_loading
    source.gate.set()
    wait_until(lambda: not refresher.is_loading)


def test_failed_refresh_is_reported_and_retried(
    refresher: Refresher, source: MemorySource, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source_module, "_RETRY_DELAY_S", 0.01)
    source.failure = OSError("the share is unavailable")
    refresher.start()
    wait_until(lambda: str(refresher.failure) == "reading the log failed: the share is unavailable")
    source.failure = None
    wait_until(lambda: refresher.failure is None and source.version == 1)
