from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import msgspec
import pytest

from tests.server.memory_source import MemorySource, MemoryWatch
from tracklight.server import live as live_module
from tracklight.server.follow import Follower
from tracklight.server.live import Live
from tracklight.server.overview import Overview


class Reader:
    """Reads the events of one stream."""

    def __init__(self, stream: AsyncIterator[bytes]) -> None:
        self._stream = stream

    async def next(self, name: str) -> dict[str, object]:
        """The body of the next event called ``name``; others are passed over."""
        async for chunk in self._stream:
            fields = dict(line.split(": ", 1) for line in chunk.decode().strip().splitlines())
            if fields["event"] == name:
                return msgspec.json.decode(fields["data"])
        raise AssertionError(f"the stream ended before {name}")


@pytest.fixture
def live(source: MemorySource, watch: MemoryWatch) -> Live:
    return Live(source, Overview(source), Follower(source, watch))


def test_stream_tells_what_came_grew_and_went(source: MemorySource, live: Live) -> None:
    async def follow() -> None:
        live.bell.attach()
        reader = Reader(live.stream(live.history.cursor()))
        live._publish(source.refresh())
        first = await reader.next("delta")
        assert [run["name"] for run in first["added"]] == ["conv", "vit"]

        source.logged["conv"]["loss"].append(1.0)
        del source.logged["vit"]
        live._publish(source.refresh())
        second = await reader.next("delta")
        assert [(run["name"], run["points"]) for run in second["changed"]] == [("conv", 5)]
        assert second["removed"] == ["vit"]

    asyncio.run(follow())


def test_a_client_that_was_away_gets_one_joined_change(source: MemorySource, live: Live) -> None:
    async def follow() -> None:
        live.bell.attach()
        before = live.history.cursor()
        live._publish(source.refresh())
        source.logged["late"] = {"loss": [1.0]}
        live._publish(source.refresh())
        delta = await Reader(live.stream(before)).next("delta")
        assert [run["name"] for run in delta["added"]] == ["conv", "vit", "late"]
        assert delta["cursor"] == live.history.cursor()

    asyncio.run(follow())


@pytest.mark.parametrize("cursor", ["", "another.3", "nonsense"])
def test_a_cursor_of_another_process_starts_anew(live: Live, cursor: str) -> None:
    async def follow() -> None:
        live.bell.attach()
        reset = await Reader(live.stream(cursor)).next("reset")
        assert reset["cursor"] == live.history.cursor()

    asyncio.run(follow())


def test_quiet_streams_have_a_heartbeat(live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_module, "BEAT_S", 0.01)
    live.follower._refresh(None)

    async def follow() -> None:
        live.bell.attach()
        await Reader(live.stream(live.history.cursor())).next("beat")

    asyncio.run(follow())


def test_loading_is_told_and_then_told_to_be_over(source: MemorySource, live: Live) -> None:
    async def follow() -> None:
        live.bell.attach()
        reader = Reader(live.stream(live.history.cursor()))
        assert (await reader.next("status"))["loading"] is True
        await asyncio.to_thread(live.follower._refresh, None)
        status = await reader.next("status")
        assert status["loading"] is False
        assert status["progress"] == {
            "files_done": 2,
            "files_total": 2,
            "bytes_done": 1000,
            "bytes_total": 1000,
        }

    asyncio.run(follow())


def test_streams_end_when_the_server_does(live: Live) -> None:
    async def follow() -> list[bytes]:
        live.bell.attach()
        asyncio.get_running_loop().call_later(0.05, live.bell.end)
        return [chunk async for chunk in live.stream(live.history.cursor())]

    assert asyncio.run(asyncio.wait_for(follow(), 20))
