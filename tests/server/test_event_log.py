from __future__ import annotations

from tracklight.server.events import EventLog


def test_each_is_heard_once_and_in_order() -> None:
    sayings = EventLog()
    sayings.add("alert", {"id": 1})
    sayings.add("notes", {"revision": 2})
    assert [saying.name for saying in sayings.find_since(0) or []] == ["alert", "notes"]
    assert [saying.body for saying in sayings.find_since(1) or []] == [{"revision": 2}]
    assert sayings.find_since(2) == []


def test_who_was_away_too_long_or_elsewhere_is_told_so() -> None:
    sayings = EventLog()
    for number in range(1000):
        sayings.add("alert", number)
    assert sayings.find_since(0) is None
    assert sayings.find_since(1001) is None
    assert sayings.find_since(-5) is None
    assert len(sayings.find_since(990) or []) == 10
