from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

from tests.server.run_table.tables import NOW, LogBuilder
from tracklight.formats.hparams import Status
from tracklight.util.memory import get_pid_namespace, is_process_alive

HOUR = 3600.0


def get_states(builder: LogBuilder, now: float = NOW) -> dict[str, object]:
    table = builder.build(now)
    column = table.get_column("state")
    return {name: column.get_value(row) for row, name in enumerate(table.names)}


def test_log_without_runs() -> None:
    assert get_states(LogBuilder()) == {}


def test_runs_without_records_are_running_or_inactive() -> None:
    builder = LogBuilder()
    builder.add("new", times=(NOW - HOUR, NOW - 10))
    builder.add("old", times=(NOW - HOUR, NOW - 301))
    builder.add("unknown", times=(float("nan"), float("nan")))
    assert get_states(builder) == {"new": "running", "old": "inactive", "unknown": "inactive"}


def test_runs_with_a_start_and_no_end() -> None:
    builder = LogBuilder()
    for name, age in (("running", 10), ("stalled", 2 * HOUR), ("crashed", 25 * HOUR)):
        builder.add(name, times=(NOW - 48 * HOUR, NOW - age))
        builder.start(name, host="elsewhere")
    assert get_states(builder) == {name: name for name in ("running", "stalled", "crashed")}


def test_recorded_ends_count_unless_the_run_goes_on() -> None:
    builder = LogBuilder()
    for name in ("ok", "failed", "session", "failed_session", "pruned", "resumed"):
        builder.add(name, {"lr": 1}, times=(NOW - HOUR, NOW - 10))
    builder.end("ok", wall_time=NOW - 10)
    builder.end("failed", failed=True, error="ValueError: boom", wall_time=NOW - 10)
    builder.end_session("session", Status.SUCCESS, NOW - 10)
    builder.end_session("failed_session", Status.FAILURE, NOW - 10)
    builder.end_session("pruned", Status.PRUNED, NOW - 10)
    builder.end("resumed", wall_time=NOW - 0.5 * HOUR)
    assert get_states(builder) == {
        "ok": "finished",
        "failed": "crashed",
        "session": "finished",
        "failed_session": "crashed",
        "pruned": "finished",
        "resumed": "running",
    }
    error = builder.build().get_column("error")
    assert error.get_value(1) == "ValueError: boom"


def test_runs_below_a_record_share_its_state_and_activity() -> None:
    builder = LogBuilder()
    builder.add("trial", {"lr": 1}, times=(NOW - HOUR, NOW - HOUR))
    builder.add("trial/train", times=(NOW - HOUR, NOW - 10))
    builder.add("other", times=(NOW - HOUR, NOW - HOUR))
    expected = {"trial": "running", "trial/train": "running", "other": "inactive"}
    assert get_states(builder) == expected


@pytest.mark.skipif(not get_pid_namespace(), reason="only Linux tells which processes there are")
def test_a_killed_process_has_crashed_at_once() -> None:
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    now = time.time()
    builder = LogBuilder()
    for name, pid in (("alive", os.getpid()), ("killed", process.pid)):
        builder.add(name, times=(now - 48 * HOUR, now - 30 * HOUR))
        builder.start(name, pid=pid, pid_namespace=get_pid_namespace(), wall_time=now)
    builder.add("fresh", times=(now - HOUR, now))
    builder.start("fresh", pid=process.pid, pid_namespace=get_pid_namespace(), wall_time=now)
    expected = {"alive": "stalled", "killed": "stalled", "fresh": "running"}
    assert get_states(builder, now) == expected
    process.kill()
    process.communicate()
    expected = {"alive": "stalled", "killed": "crashed", "fresh": "crashed"}
    assert get_states(builder, now) == expected


@pytest.mark.skipif(not get_pid_namespace(), reason="only Linux tells which processes there are")
def test_a_reused_process_id_is_not_the_process() -> None:
    assert is_process_alive(os.getpid(), time.time())
    assert not is_process_alive(os.getpid(), 1e9)
    assert not is_process_alive(2**22 + 1, time.time())
