from __future__ import annotations

import asyncio
from typing import Any

import pytest
from starlette.requests import Request

from tests.server.memory_source import MemorySource, MemoryWatch
from tracklight.server.events import LiveUpdates
from tracklight.server.events import EventStreamResponse, create_stream_route
from tracklight.server.source import LogOverview, Refresher


@pytest.fixture
def live(source: MemorySource, watch: MemoryWatch) -> LiveUpdates:
    return LiveUpdates(source, LogOverview(source), Refresher(source, watch))


async def answer(live: LiveUpdates, headers: list[tuple[bytes, bytes]]) -> EventStreamResponse:
    scope = {"type": "http", "query_string": b"since=old.1", "headers": headers}
    return await create_stream_route(live).endpoint(Request(scope))


def test_a_client_that_leaves_leaves_nothing_behind(live: LiveUpdates) -> None:
    sent: list[dict[str, Any]] = []

    async def follow() -> None:
        live.notifier.attach_loop()
        gone = asyncio.Event()

        async def receive() -> dict[str, str]:
            await gone.wait()
            return {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            sent.append(message)

        stream = await answer(live, [])
        task = asyncio.create_task(stream({}, receive, send))
        while len(sent) < 3:
            await asyncio.sleep(0.01)
        assert live.notifier.subscriber_count == 1
        gone.set()
        await asyncio.wait_for(task, 10)
        assert live.notifier.subscriber_count == 0

    asyncio.run(follow())
    assert dict(sent[0]["headers"])[b"content-type"].startswith(b"text/event-stream")
    assert sent[1]["body"].startswith(b"event: status")


def test_what_fails_in_a_stream_is_not_hidden() -> None:
    async def events() -> Any:
        yield b"event: beat\n\n"
        raise RuntimeError("broken")

    async def receive() -> Any:
        await asyncio.Event().wait()

    async def send(_: Any) -> None:
        pass

    with pytest.raises(RuntimeError, match="broken"):
        asyncio.run(EventStreamResponse(events())({}, receive, send))


def test_a_browser_that_reconnects_says_where_it_was(live: LiveUpdates) -> None:
    asked: list[str] = []
    live.stream = lambda cursor: asked.append(cursor)  # type: ignore[method-assign, assignment]
    asyncio.run(answer(live, []))
    asyncio.run(answer(live, [(b"last-event-id", b"new.2")]))
    assert asked == ["old.1", "new.2"]
