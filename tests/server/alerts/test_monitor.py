from __future__ import annotations

import math

import pytest

from tests.server.memory_source import MemorySource
from tracklight.analysis.debugger import AlertKind, HealthAlert
from tracklight.analysis.debugger.library import HealthProblem
from tracklight.server.alerts import BUILT_IN_RULES, AlertLog, AlertRule
from tracklight.server.alerts.monitor import AlertMonitor

NAN = AlertRule("nan", "*", "nan")
ABOVE = AlertRule("above", "loss", "above", 5.0)


@pytest.fixture
def log() -> MemorySource:
    log = MemorySource(logged={"a": {"loss": [1.0, 9.0, 2.0]}, "b": {"loss": [math.nan]}})
    log.refresh()
    return log


def write(log: MemorySource, run: str, *values: float, tag: str = "loss") -> None:
    log.logged.setdefault(run, {}).setdefault(tag, []).extend(values)
    log.refresh()


def test_existing_series_are_checked_by_their_last_point(log: MemorySource) -> None:
    monitor = AlertMonitor(log)
    fired = monitor.set_rules([NAN, ABOVE], ["a", "b"])
    assert [(one.rule, one.run, one.step) for one in fired] == [("nan", "b", 0)]
    assert fired[0].text == "b: loss is NaN at step 0"
    assert monitor.alerts.list_newest() == fired


def test_only_new_points_are_checked(log: MemorySource) -> None:
    monitor = AlertMonitor(log)
    monitor.set_rules([ABOVE], ["a", "b"])
    assert monitor.check_new_points(["a"]) == []
    write(log, "a", 3.0, 8.0)
    assert [(one.step, one.value) for one in monitor.check_new_points(["a"])] == [(4, 8.0)]
    write(log, "a", 9.0)
    assert monitor.check_new_points(["a"]) == []


def test_tensors_that_are_not_finite_raise_an_alert_without_a_rule(log: MemorySource) -> None:
    monitor = AlertMonitor(log)
    assert monitor.set_rules(BUILT_IN_RULES, ["a", "b"]) == []
    for tag in ("debugger/non_finite", "debugger/rank3/non_finite", "other/non_finite"):
        write(log, "a", 3.0, tag=tag)
    fired = monitor.check_new_points(["a"])
    assert [one.tag for one in fired] == ["debugger/non_finite", "debugger/rank3/non_finite"]
    assert fired[0].text == "a: tensors with NaN or Inf at step 0: 3. See the Debugger"
    assert [one.view["debugger-run"] for one in fired] == ["a", "a (rank 3)"]
    assert fired[1].text == "a (rank 3): tensors with NaN or Inf at step 0: 3. See the Debugger"
    # A rule of the user is checked on all series.
    assert [one.run for one in monitor.set_rules([*BUILT_IN_RULES, NAN], ["b"])] == ["b"]


def test_alert_fires_again_after_it_was_resolved(log: MemorySource) -> None:
    monitor = AlertMonitor(log)
    monitor.set_rules([ABOVE], ["a"])
    write(log, "a", 8.0)
    (first,) = monitor.check_new_points(["a"])
    write(log, "a", 1.0)
    (resolved,) = monitor.check_new_points(["a"])
    assert (resolved.id, resolved.resolved) == (first.id, True)
    write(log, "a", 8.0)
    (again,) = monitor.check_new_points(["a"])
    assert again.id != first.id
    assert monitor.alerts.list_newest() == [again, resolved]


def test_spike_between_two_checks_fires_and_is_resolved(log: MemorySource) -> None:
    monitor = AlertMonitor(log)
    monitor.set_rules([ABOVE], ["a"])
    write(log, "a", 8.0, 1.0)
    assert [one.resolved for one in monitor.check_new_points(["a"])] == [False, True]


def test_all_points_of_a_new_run_are_checked(log: MemorySource) -> None:
    monitor = AlertMonitor(log)
    monitor.set_rules([ABOVE, NAN], ["a", "b"])
    write(log, "new", 9.0, 1.0)
    write(log, "new", math.inf, tag="other")
    alerts = {(one.rule, one.tag, one.resolved) for one in monitor.check_new_points(["new"])}
    assert alerts == {("above", "loss", False), ("above", "loss", True), ("nan", "other", False)}


def test_removing_a_rule_removes_its_alerts(log: MemorySource) -> None:
    monitor = AlertMonitor(log)
    monitor.set_rules([NAN], ["a", "b"])
    assert monitor.set_rules([NAN, ABOVE], ["a", "b"]) == []
    assert len(monitor.alerts.list_newest()) == 1
    monitor.set_rules([AlertRule("nan", "a*", "nan")], ["a", "b"])
    assert monitor.alerts.list_newest() == []


def test_restored_rule_is_new(log: MemorySource) -> None:
    monitor = AlertMonitor(log)
    monitor.set_rules([ABOVE], ["a"])
    monitor.set_rules([], ["a"])
    write(log, "a", 99.0, 1.0)
    monitor.set_rules([ABOVE], ["a"])
    write(log, "a", 1.0)
    assert monitor.check_new_points(["a"]) == []


def test_removed_run_is_forgotten(log: MemorySource) -> None:
    monitor = AlertMonitor(log)
    monitor.set_rules([NAN], ["a", "b"])
    del log.logged["b"]
    log.refresh()
    monitor.remove_runs(["b"])
    assert monitor.alerts.list_newest() == []
    assert monitor.check_new_points(["b"]) == []


def test_rewritten_series_is_checked_from_its_start(log: MemorySource) -> None:
    monitor = AlertMonitor(log)
    monitor.set_rules([ABOVE], ["a"])
    log.logged["a"]["loss"] = [7.0]
    log.refresh()
    assert [one.step for one in monitor.check_new_points(["a"])] == [0]


@pytest.mark.parametrize("kind", [kind for kind in AlertKind if not kind.is_non_finite])
def test_every_kind_of_problem_has_a_sentence(kind: AlertKind) -> None:
    alert = HealthAlert(kind, "Linear", "fc", 0, 1.7e9, 1200, message="All values are 0.")
    problem = HealthProblem("a", "a (rank 1)", alert, 2)
    log = AlertLog()
    fired = log.fire_problem(problem)
    words = kind.value.replace("_", " ")
    assert fired.text == (
        f'a (rank 1): {words} at step 1,200, "fc". All values are 0. See the Debugger'
    )
    assert (fired.rule, fired.run, fired.value) == (f"built-in-{kind.value}", "a", 2)
    assert fired.view == {"tab": "debugger", "debugger-run": "a (rank 1)"}
    assert [one.resolved for one in log.resolve_problem(problem)] == [True]
