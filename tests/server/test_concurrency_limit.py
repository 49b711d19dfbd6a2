from __future__ import annotations

import asyncio
from contextlib import nullcontext
from typing import Any

from tracklight.server import middleware
from tracklight.server.middleware import (
    MAX_CONCURRENT_REQUESTS,
    SEMAPHORE_KEY,
    ConcurrencyLimitMiddleware,
)


class Slow:
    """An application that responds when its gate is opened."""

    def __init__(self) -> None:
        self.gate = asyncio.Event()
        self.inside: list[str] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        async with scope.get(SEMAPHORE_KEY) or nullcontext():
            self.inside.append(scope["client"][0])
            await self.gate.wait()


def send_request(
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


def test_one_client_does_not_delay_others() -> None:
    async def send_many() -> None:
        slow = Slow()
        app = ConcurrencyLimitMiddleware(slow, stream_path="/api/v1/live")
        requests = [send_request(app, "1.1.1.1") for _ in range(MAX_CONCURRENT_REQUESTS + 5)]
        await settle()
        assert slow.inside == ["1.1.1.1"] * MAX_CONCURRENT_REQUESTS
        requests.append(send_request(app, "2.2.2.2"))
        requests.append(send_request(app, "1.1.1.1", "/api/v1/live"))
        await settle()
        assert slow.inside[MAX_CONCURRENT_REQUESTS:] == ["2.2.2.2", "1.1.1.1"]
        slow.gate.set()
        await asyncio.gather(*requests)
        assert len(slow.inside) == MAX_CONCURRENT_REQUESTS + 7
        assert app.client_count == 0

    asyncio.run(send_many())


def test_returns_429_beyond_the_queue(monkeypatch: Any) -> None:
    monkeypatch.setattr(middleware, "MAX_QUEUED_REQUESTS", 3)

    async def fill_queue() -> None:
        slow = Slow()
        app = ConcurrencyLimitMiddleware(slow)
        requests = [send_request(app, "1.1.1.1") for _ in range(MAX_CONCURRENT_REQUESTS + 3)]
        await settle()
        sent = await send_request(app, "1.1.1.1")
        assert sent[0]["status"] == 429
        assert (b"retry-after", b"1") in sent[0]["headers"]
        slow.gate.set()
        await asyncio.gather(*requests)

    asyncio.run(fill_queue())
