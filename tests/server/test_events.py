from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator

import msgspec
import pytest

from tests.server.memory_source import MemorySource, MemoryWatch
from tracklight.server.events import DashboardEvent, LiveUpdates, PollRequest
from tracklight.server.source import LogOverview, Refresher


class Reader:
    """Read the events of one stream."""

    def __init__(self, stream: AsyncIterator[bytes]) -> None:
        self._stream = stream

    async def next(self, name: str) -> dict[str, object]:
        """Return the data of the next event called ``name`` and skip others."""
        async for chunk in self._stream:
            fields = dict(line.split(": ", 1) for line in chunk.decode().strip().splitlines())
            if fields["event"] == name:
                return msgspec.json.decode(fields["data"])
        raise AssertionError(f"the stream ended before {name}")


@pytest.fixture
def live(source: MemorySource, watch: MemoryWatch) -> LiveUpdates:
    return LiveUpdates(source, LogOverview(source), Refresher(source, watch))


def test_stream_sends_added_changed_and_removed_runs(
    source: MemorySource, live: LiveUpdates
) -> None:
    async def follow() -> None:
        live.notifier.attach_loop()
        reader = Reader(live.stream(live.history.cursor()))
        live.refresher.refresh()
        first = await reader.next("delta")
        assert [run["name"] for run in first["added"]] == ["conv", "vit"]

        source.logged["conv"]["loss"].append(1.0)
        del source.logged["vit"]
        live.refresher.refresh()
        second = await reader.next("delta")
        assert [(run["name"], run["points"]) for run in second["changed"]] == [("conv", 5)]
        assert second["removed"] == ["vit"]

    asyncio.run(follow())


def test_reconnecting_client_gets_one_merged_change(
    source: MemorySource, live: LiveUpdates
) -> None:
    async def follow() -> None:
        live.notifier.attach_loop()
        before = live.history.cursor()
        live.refresher.refresh()
        source.logged["late"] = {"loss": [1.0]}
        live.refresher.refresh()
        delta = await Reader(live.stream(before)).next("delta")
        assert [run["name"] for run in delta["added"]] == ["conv", "vit", "late"]
        assert delta["cursor"] == live.history.cursor()

    asyncio.run(follow())


@pytest.mark.parametrize("cursor", ["", "another.3", "nonsense"])
def test_cursor_of_another_process_is_reset(live: LiveUpdates, cursor: str) -> None:
    async def follow() -> None:
        live.notifier.attach_loop()
        reset = await Reader(live.stream(cursor)).next("reset")
        assert reset["cursor"] == live.history.cursor()

    asyncio.run(follow())


@pytest.fixture
def fast_live(source: MemorySource, watch: MemoryWatch) -> LiveUpdates:
    """Send pings every 0.2 s instead of every 15 s."""
    return LiveUpdates(source, LogOverview(source), Refresher(source, watch), heartbeat_s=0.2)


def test_idle_stream_sends_pings(fast_live: LiveUpdates) -> None:
    fast_live.refresher.refresh()

    async def follow() -> None:
        fast_live.notifier.attach_loop()
        reader = Reader(fast_live.stream(fast_live.history.cursor()))
        assert await asyncio.wait_for(reader.next("ping"), 60) == {"interval_s": 0.2}

    asyncio.run(follow())


def test_refreshes_without_changes_do_not_delay_pings(fast_live: LiveUpdates) -> None:
    """A finished log is still checked every few seconds, and every check wakes the stream."""
    fast_live.refresher.refresh()
    done = threading.Event()

    def refresh() -> None:
        while not done.wait(0.02):
            fast_live.refresher.refresh()

    async def follow() -> list[float]:
        fast_live.notifier.attach_loop()
        reader = Reader(fast_live.stream(fast_live.history.cursor()))
        times_s = []
        for _ in range(5):
            await asyncio.wait_for(reader.next("ping"), 60)
            times_s.append(time.monotonic())
        return times_s

    refresher = threading.Thread(target=refresh)
    refresher.start()
    try:
        times_s = asyncio.run(follow())
    finally:
        done.set()
        refresher.join()
    # One ping per interval, not one per refresh.
    assert times_s[-1] - times_s[0] > 4 * 0.2 * 0.6


def test_pings_are_sent_while_loading_makes_no_progress(fast_live: LiveUpdates) -> None:
    async def follow() -> None:
        fast_live.notifier.attach_loop()
        reader = Reader(fast_live.stream(fast_live.history.cursor()))
        assert (await reader.next("status"))["loading"] is True
        await asyncio.wait_for(reader.next("ping"), 60)

    asyncio.run(follow())


def test_stream_sends_status_when_loading_ends(source: MemorySource, live: LiveUpdates) -> None:
    async def follow() -> None:
        live.notifier.attach_loop()
        reader = Reader(live.stream(live.history.cursor()))
        assert (await reader.next("status"))["loading"] is True
        await asyncio.to_thread(live.refresher.refresh)
        status = await reader.next("status")
        assert status["loading"] is False
        assert status["progress"] == {
            "files_done": 2,
            "files_total": 2,
            "bytes_done": 1000,
            "bytes_total": 1000,
        }

    asyncio.run(follow())


def test_streams_end_at_shutdown(live: LiveUpdates) -> None:
    async def follow() -> list[bytes]:
        live.notifier.attach_loop()
        asyncio.get_running_loop().call_later(0.05, live.notifier.close)
        return [chunk async for chunk in live.stream(live.history.cursor())]

    assert asyncio.run(asyncio.wait_for(follow(), 60))


def test_delta_has_new_tags_and_last_points(source: MemorySource, live: LiveUpdates) -> None:
    live.refresher.refresh()
    before = live.history.cursor()
    source.logged["conv"]["lr"] = [0.5]
    live.refresher.refresh()
    source.logged["conv"]["lr"].append(0.25)
    live.refresher.refresh()

    async def follow() -> dict[str, object]:
        live.notifier.attach_loop()
        return await Reader(live.stream(before)).next("delta")

    delta = asyncio.run(follow())
    assert delta["tags"] == [{"run": "conv", "tag": "lr", "kind": "scalar", "plugin": "scalars"}]
    assert delta["points"] == {"conv": {"lr": [1, 11.0, 0.25, 2]}}
    assert delta["tags_truncated"] is False and delta["points_truncated"] is False


def test_published_events_reach_all_streams(live: LiveUpdates) -> None:
    async def follow() -> None:
        live.notifier.attach_loop()
        first = Reader(live.stream(live.history.cursor()))
        second = Reader(live.stream(live.history.cursor()))
        await asyncio.gather(first.next("status"), second.next("status"))
        await asyncio.to_thread(live.publish, "alert", {"id": "a"})
        assert await asyncio.gather(first.next("alert"), second.next("alert")) == [{"id": "a"}] * 2

    asyncio.run(follow())


def test_polling_returns_what_a_stream_sends(source: MemorySource, live: LiveUpdates) -> None:
    live.refresher.refresh()
    start = live.poll(PollRequest())
    assert start.reset and start.delta is None
    quiet = live.poll(PollRequest(start.cursor, start.last_event))
    assert (quiet.reset, quiet.delta, quiet.events) == (False, None, [])
    source.logged["late"] = {"loss": [1.0]}
    live.refresher.refresh()
    live.publish("notes", {"revision": 3})
    update = live.poll(PollRequest(quiet.cursor, quiet.last_event))
    assert update.delta is not None and [run.name for run in update.delta.added] == ["late"]
    assert [(event.name, event.data) for event in update.events] == [("notes", {"revision": 3})]
    assert live.poll(PollRequest(update.cursor, update.last_event)).events == []


def test_new_clients_get_the_latest_revisions(live: LiveUpdates) -> None:
    live.refresher.refresh()
    for revision in ("1", "2"):
        live.publish_revision(DashboardEvent("boards", revision))
    live.publish("alert", {"id": "a"})
    sent = live.poll(PollRequest())
    assert [(event.name, event.data) for event in sent.events] == [
        ("dashboard", DashboardEvent("boards", "2"))
    ]
    assert live.poll(PollRequest(sent.cursor, sent.last_event)).events == []

    async def follow() -> None:
        live.notifier.attach_loop()
        reader = Reader(live.stream(sent.cursor))
        assert await reader.next("dashboard") == {"name": "boards", "revision": "2"}

    asyncio.run(follow())


@pytest.mark.parametrize("last_event", [-1, 5])
def test_poll_with_unknown_last_event_is_reset(live: LiveUpdates, last_event: int) -> None:
    assert live.poll(PollRequest(live.history.cursor(), last_event)).reset


def test_streams_miss_nothing_of_a_growing_log(source: MemorySource, live: LiveUpdates) -> None:
    """All clients end up with the same runs, also those that read slowly."""
    rounds = 200

    async def collect_points(pause_s: float) -> dict[str, int]:
        points: dict[str, int] = {}
        async for chunk in live.stream(start):
            fields = dict(line.split(": ", 1) for line in chunk.decode().strip().splitlines())
            if fields["event"] == "delta":
                delta = msgspec.json.decode(fields["data"])
                for row in (*delta["added"], *delta["changed"]):
                    points[row["name"]] = row["points"]
                for name in delta["removed"]:
                    points.pop(name, None)  # it may have been added and removed in between
                await asyncio.sleep(pause_s)
            if points.get("end"):
                return points
        raise AssertionError("the stream ended early")

    def write() -> None:
        for number in range(rounds):
            source.logged.setdefault(f"run-{number % 7}", {"loss": []})["loss"].append(1.0)
            if number % 50 == 49:
                del source.logged["run-3"]
            live.refresher.refresh()
        source.logged["end"] = {"loss": [1.0]}
        live.refresher.refresh()

    async def follow() -> list[dict[str, int]]:
        live.notifier.attach_loop()
        readers = [asyncio.create_task(collect_points(0.003 * number)) for number in range(10)]
        await asyncio.to_thread(write)
        return await asyncio.wait_for(asyncio.gather(*readers), 60)

    start = live.history.cursor()
    results = asyncio.run(follow())
    expected = {run.name: run.points for run in source.runs()}
    assert results == [expected] * 10
