from __future__ import annotations

import asyncio
from contextlib import nullcontext
from typing import Any

from tracklight.server import middleware
from tracklight.server.middleware import MAX_CONCURRENT, SEMAPHORE_KEY, ConcurrencyLimitMiddleware


class Slow:
    """An application that answers when it is told to."""

    def __init__(self) -> None:
        self.gate = asyncio.Event()
        self.inside: list[str] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        async with scope.get(SEMAPHORE_KEY) or nullcontext():
            self.inside.append(scope["client"][0])
            await self.gate.wait()


def ask(
    app: ConcurrencyLimitMiddleware, address: str, path: str = "/api/v1/runs"
) -> asyncio.Future[list[Any]]:
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def run() -> list[Any]:
        await app({"type": "http", "path": path, "client": (address, 1)}, None, send)  # type: ignore[arg-type]
        return sent

    return asyncio.ensure_future(run())


async def settle() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


def test_one_address_does_not_keep_others_waiting() -> None:
    async def crowd() -> None:
        slow = Slow()
        app = ConcurrencyLimitMiddleware(slow, stream_path="/api/v1/live")
        asks = [ask(app, "1.1.1.1") for _ in range(MAX_CONCURRENT + 5)]
        await settle()
        assert slow.inside == ["1.1.1.1"] * MAX_CONCURRENT
        asks.append(ask(app, "2.2.2.2"))
        asks.append(ask(app, "1.1.1.1", "/api/v1/live"))
        await settle()
        assert slow.inside[MAX_CONCURRENT:] == ["2.2.2.2", "1.1.1.1"]
        slow.gate.set()
        await asyncio.gather(*asks)
        assert len(slow.inside) == MAX_CONCURRENT + 7
        assert app._queues == {}

    asyncio.run(crowd())


def test_who_piles_up_requests_is_turned_away(monkeypatch: Any) -> None:
    monkeypatch.setattr(middleware, "MAX_QUEUED", 3)

    async def pile() -> None:
        slow = Slow()
        app = ConcurrencyLimitMiddleware(slow)
        asks = [ask(app, "1.1.1.1") for _ in range(MAX_CONCURRENT + 3)]
        await settle()
        sent = await ask(app, "1.1.1.1")
        assert sent[0]["status"] == 429
        assert (b"retry-after", b"1") in sent[0]["headers"]
        slow.gate.set()
        await asyncio.gather(*asks)

    asyncio.run(pile())
