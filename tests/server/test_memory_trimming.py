from __future__ import annotations

import asyncio
import gc
import weakref

import pytest

from tracklight.server import middleware
from tracklight.server.middleware import GarbageCollector, MemoryTrimMiddleware


def test_memory_is_released_once_after_a_burst(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []
    now_s = 1000.0
    monkeypatch.setattr(middleware, "release_idle_memory", lambda: calls.append(1))

    async def app(*_: object) -> None:
        assert calls == []

    async def burst() -> None:
        nonlocal now_s
        # Timers follow this clock, so that no pause of the test is an idle server.
        monkeypatch.setattr(asyncio.get_running_loop(), "time", lambda: now_s)
        trimmer = MemoryTrimMiddleware(app)
        for _ in range(20):
            await trimmer({"type": "http"}, None, None)  # type: ignore[arg-type]
            for _ in range(3):
                now_s += middleware.IDLE_S / 4
                await asyncio.sleep(0)
        assert calls == []
        now_s += middleware.IDLE_S
        while not calls:
            await asyncio.sleep(0)
        now_s += 10 * middleware.IDLE_S
        for _ in range(3):
            await asyncio.sleep(0)

    asyncio.run(burst())
    assert calls == [1]


def test_release_idle_memory_works_on_this_platform() -> None:
    middleware.release_idle_memory()


class Cycle:
    def __init__(self) -> None:
        self.itself = self


def test_full_collections_are_rare() -> None:
    """Old objects are not visited each time, as that takes long, but collected in the end."""
    # The first collection takes 1 s, so the next full one is due 100 s later.
    times_s = iter([1000.0, 1001.0, 1100.0, 1102.0, 1102.0])
    collector = GarbageCollector(lambda: next(times_s))
    old_cycle, new_cycle = Cycle(), Cycle()
    old, new = weakref.ref(old_cycle), weakref.ref(new_cycle)
    try:
        del new_cycle
        collector.collect()
        assert new() is None and old() is not None
        del old_cycle
        for is_there in (True, False):
            collector.collect()
            assert (old() is not None) is is_there
    finally:
        gc.unfreeze()
