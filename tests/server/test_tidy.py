from __future__ import annotations

import asyncio

import pytest

from tracklight.server import tidy as tidy_module
from tracklight.server.tidy import Tidy


def test_memory_is_handed_back_once_after_a_burst(monkeypatch: pytest.MonkeyPatch) -> None:
    tidied: list[int] = []
    monkeypatch.setattr(tidy_module, "QUIET_S", 0.1)
    monkeypatch.setattr(tidy_module, "tidy_up", lambda: tidied.append(1))

    async def app(*_: object) -> None:
        assert tidied == []

    async def burst() -> None:
        tidy = Tidy(app)
        for _ in range(20):
            await tidy({"type": "http"}, None, None)  # type: ignore[arg-type]
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.5)

    asyncio.run(burst())
    assert tidied == [1]


def test_tidying_up_works_here() -> None:
    tidy_module.tidy_up()
