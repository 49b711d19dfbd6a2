from __future__ import annotations

import asyncio
from typing import Any

import pytest
from starlette.requests import Request

from tests.server.memory_source import MemorySource, MemoryWatch
from tracklight.server.events import EventStreamResponse, LiveUpdates, create_stream_route
from tracklight.server.source import LogOverview, Refresher


@pytest.fixture
def live(source: MemorySource, watch: MemoryWatch) -> LiveUpdates:
    return LiveUpdates(source, LogOverview(source), Refresher(source, watch))


async def open_stream(live: LiveUpdates, headers: list[tuple[bytes, bytes]]) -> EventStreamResponse:
    scope = {"type": "http", "query_string": b"since=old.1", "headers": headers}
    return await create_stream_route(live).endpoint(Request(scope))


def test_stream_ends_when_the_client_disconnects(live: LiveUpdates) -> None:
    sent: list[dict[str, Any]] = []

    async def follow() -> None:
        live.notifier.attach_loop()
        disconnected = asyncio.Event()

        async def receive() -> dict[str, str]:
            await disconnected.wait()
            return {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            sent.append(message)

        stream = await open_stream(live, [])
        task = asyncio.create_task(stream({}, receive, send))
        while len(sent) < 3:
            await asyncio.sleep(0.01)
        assert live.notifier.subscriber_count == 1
        disconnected.set()
        await asyncio.wait_for(task, 60)
        assert live.notifier.subscriber_count == 0

    asyncio.run(follow())
    assert dict(sent[0]["headers"])[b"content-type"].startswith(b"text/event-stream")
    assert sent[1]["body"].startswith(b"event: status")


def test_stream_errors_are_raised() -> None:
    async def events() -> Any:
        yield b"event: ping\n\n"
        raise RuntimeError("broken")

    async def receive() -> Any:
        await asyncio.Event().wait()

    async def send(_: Any) -> None:
        pass

    with pytest.raises(RuntimeError, match="broken"):
        asyncio.run(EventStreamResponse(events())({}, receive, send))


def test_reconnect_continues_at_last_event_id(live: LiveUpdates) -> None:
    cursors: list[str] = []
    live.stream = lambda cursor: cursors.append(cursor)  # type: ignore[method-assign, assignment]
    asyncio.run(open_stream(live, []))
    asyncio.run(open_stream(live, [(b"last-event-id", b"new.2")]))
    assert cursors == ["old.1", "new.2"]
