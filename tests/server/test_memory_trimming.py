from __future__ import annotations

import asyncio
import gc
import weakref

import pytest

from tracklight.server import middleware as tidy_module
from tracklight.server.middleware import GarbageCollector, MemoryTrimMiddleware


def test_memory_is_handed_back_once_after_a_burst(monkeypatch: pytest.MonkeyPatch) -> None:
    tidied: list[int] = []
    monkeypatch.setattr(tidy_module, "IDLE_S", 0.1)
    monkeypatch.setattr(tidy_module, "release_idle_memory", lambda: tidied.append(1))

    async def app(*_: object) -> None:
        assert tidied == []

    async def burst() -> None:
        tidy = MemoryTrimMiddleware(app)
        for _ in range(20):
            await tidy({"type": "http"}, None, None)  # type: ignore[arg-type]
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.5)

    asyncio.run(burst())
    assert tidied == [1]


def test_tidying_up_works_here() -> None:
    tidy_module.release_idle_memory()


class Cycle:
    def __init__(self) -> None:
        self.itself = self


def test_all_is_looked_at_seldom() -> None:
    """What stays is not looked at each time, as that takes long; but it is dropped in the end."""
    # By this clock the first look takes a second, which is to be one of a hundred.
    times_s = iter([1000.0, 1001.0, 1100.0, 1102.0, 1102.0])
    collector = GarbageCollector(lambda: next(times_s))
    stays, passes = Cycle(), Cycle()
    old, new = weakref.ref(stays), weakref.ref(passes)
    try:
        del passes
        collector.collect()
        assert new() is None and old() is not None
        del stays
        for is_there in (True, False):
            collector.collect()
            assert (old() is not None) is is_there
    finally:
        gc.unfreeze()
