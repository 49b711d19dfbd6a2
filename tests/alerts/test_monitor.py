from __future__ import annotations

import math

import pytest

from tests.server.memory_source import MemorySource
from tracklight.alerts.monitor import Monitor
from tracklight.notes.book import Rule

NAN = Rule("nan", "*", "nan")
ABOVE = Rule("above", "loss", "above", 5.0)


@pytest.fixture
def log() -> MemorySource:
    log = MemorySource(logged={"a": {"loss": [1.0, 9.0, 2.0]}, "b": {"loss": [math.nan]}})
    log.refresh()
    return log


def write(log: MemorySource, run: str, *values: float, tag: str = "loss") -> None:
    log.logged.setdefault(run, {}).setdefault(tag, []).extend(values)
    log.refresh()


def test_what_was_there_is_judged_by_its_present_state(log: MemorySource) -> None:
    monitor = Monitor(log)
    fired = monitor.set_rules([NAN, ABOVE], ["a", "b"])
    assert [(one.rule, one.run, one.step) for one in fired] == [("nan", "b", 0)]
    assert fired[0].text == "b: loss is NaN at step 0"
    assert monitor.alarms.newest() == fired


def test_only_new_points_are_looked_at(log: MemorySource) -> None:
    monitor = Monitor(log)
    monitor.set_rules([ABOVE], ["a", "b"])
    assert monitor.follow(["a"]) == []
    write(log, "a", 3.0, 8.0)
    assert [(one.step, one.value) for one in monitor.follow(["a"])] == [(4, 8.0)]
    write(log, "a", 9.0)
    assert monitor.follow(["a"]) == []


def test_an_alarm_rings_again_after_it_recovered(log: MemorySource) -> None:
    monitor = Monitor(log)
    monitor.set_rules([ABOVE], ["a"])
    write(log, "a", 8.0)
    (rang,) = monitor.follow(["a"])
    write(log, "a", 1.0)
    (over,) = monitor.follow(["a"])
    assert (over.id, over.recovered) == (rang.id, True)
    write(log, "a", 8.0)
    (again,) = monitor.follow(["a"])
    assert again.id != rang.id
    assert monitor.alarms.newest() == [again, over]


def test_a_spike_between_two_looks_rings_and_recovers(log: MemorySource) -> None:
    monitor = Monitor(log)
    monitor.set_rules([ABOVE], ["a"])
    write(log, "a", 8.0, 1.0)
    assert [one.recovered for one in monitor.follow(["a"])] == [False, True]


def test_all_points_of_a_run_that_is_new_are_looked_at(log: MemorySource) -> None:
    monitor = Monitor(log)
    monitor.set_rules([ABOVE, NAN], ["a", "b"])
    write(log, "new", 9.0, 1.0)
    write(log, "new", math.inf, tag="other")
    found = {(one.rule, one.tag, one.recovered) for one in monitor.follow(["new"])}
    assert found == {("above", "loss", False), ("above", "loss", True), ("nan", "other", False)}


def test_a_rule_that_goes_takes_its_alarms_along(log: MemorySource) -> None:
    monitor = Monitor(log)
    monitor.set_rules([NAN], ["a", "b"])
    assert monitor.set_rules([NAN, ABOVE], ["a", "b"]) == []
    assert len(monitor.alarms.newest()) == 1
    monitor.set_rules([Rule("nan", "a*", "nan")], ["a", "b"])
    assert monitor.alarms.newest() == []


def test_a_rule_that_comes_back_is_new(log: MemorySource) -> None:
    monitor = Monitor(log)
    monitor.set_rules([ABOVE], ["a"])
    monitor.set_rules([], ["a"])
    write(log, "a", 99.0, 1.0)
    monitor.set_rules([ABOVE], ["a"])
    write(log, "a", 1.0)
    assert monitor.follow(["a"]) == []


def test_a_run_that_is_gone_is_forgotten(log: MemorySource) -> None:
    monitor = Monitor(log)
    monitor.set_rules([NAN], ["a", "b"])
    del log.logged["b"]
    log.refresh()
    monitor.forget(["b"])
    assert monitor.alarms.newest() == []
    assert monitor.follow(["b"]) == []


def test_a_series_that_was_written_anew_is_judged_from_its_start(log: MemorySource) -> None:
    monitor = Monitor(log)
    monitor.set_rules([ABOVE], ["a"])
    log.logged["a"]["loss"] = [7.0]
    log.refresh()
    assert [one.step for one in monitor.follow(["a"])] == [0]
