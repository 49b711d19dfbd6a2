from __future__ import annotations

from tracklight.server.events import EventLog


def test_events_are_returned_once_in_order() -> None:
    log = EventLog()
    log.add("alert", {"id": 1})
    log.add("notes", {"revision": 2})
    assert [event.name for event in log.find_since(0) or []] == ["alert", "notes"]
    assert [event.data for event in log.find_since(1) or []] == [{"revision": 2}]
    assert log.find_since(2) == []


def test_returns_none_if_events_were_missed() -> None:
    log = EventLog()
    for number in range(1000):
        log.add("alert", number)
    assert log.find_since(0) is None
    assert log.find_since(1001) is None
    assert log.find_since(-5) is None
    assert len(log.find_since(990) or []) == 10
