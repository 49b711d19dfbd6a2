from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.server.memory_source import MemorySource, MemoryWatch
from tests.server.waiting import wait_until
from tracklight.server import source as follow
from tracklight.server.source import Refresher
from tracklight.types import Delta


@pytest.fixture
def follower(source: MemorySource, watch: MemoryWatch) -> Iterator[Refresher]:
    follower = Refresher(source, watch)
    yield follower
    source.gate.set()
    follower.stop()


def test_it_reads_once_and_again_when_the_watch_says_so(
    follower: Refresher, source: MemorySource, watch: MemoryWatch
) -> None:
    heard: list[Delta] = []
    follower.listeners.append(lambda delta: heard.append(delta) if delta else None)
    follower.start()
    wait_until(lambda: len(heard) == 1)
    assert heard[0].added == ("conv", "vit")
    source.logged["new"] = {}
    watch.touch()
    wait_until(lambda: len(heard) == 2)
    assert heard[1].added == ("new",)


def test_it_is_loading_until_the_first_reading_is_done(
    follower: Refresher, source: MemorySource
) -> None:
    source.gate.clear()
    follower.start()
    assert follower.is_loading
    source.gate.set()
    wait_until(lambda: not follower.is_loading)


def test_a_failure_is_told_and_tried_again(
    follower: Refresher, source: MemorySource, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(follow, "_RETRY_DELAY_S", 0.01)
    source.failure = OSError("the share is away")
    follower.start()
    wait_until(lambda: follower.failure == "reading the log failed: the share is away")
    source.failure = None
    wait_until(lambda: follower.failure is None and source.version == 1)
