"""Problems other than NaN and Inf are noticed while recordings and dumps are written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tracklight.analysis.debugger import AlertKind
from tracklight.analysis.debugger.library import HealthMonitor
from tracklight.debugger.recorder import Recorder, Schedule
from tracklight.formats.tensor_health import STAT_INDEX, STATS, WatchedTensor
from tracklight.index.catalog import Catalog
from tracklight.logdir.access import parse_roots
from tracklight.types import Float32

_TENSORS = (
    WatchedTensor("relu", "output", "ReLU", "float32", 40, (4, 10), channels=10),
    WatchedTensor("fc", "output", "Linear", "float32", 40, (4, 10)),
    WatchedTensor("half", "output", "Linear", "float16", 40, (4, 10)),
    WatchedTensor("first.weight", "parameter", "", "float32", 4, (2, 2)),
    WatchedTensor("last.weight", "parameter", "", "float32", 4, (2, 2)),
    WatchedTensor("first.weight", "gradient", "", "float32", 4, (2, 2), of=3),
    WatchedTensor("last.weight", "gradient", "", "float32", 4, (2, 2), of=4),
    WatchedTensor("half.weight", "gradient", "", "float16", 4, (2, 2)),
)

Change = Callable[[Float32, int], None]


def set_stat(row: int, stat: str, value: float, first_step: int = 5) -> Change:
    def change(health: Float32, step: int) -> None:
        if step >= first_step:
            health[row, STAT_INDEX[stat]] = value

    return change


def make_constant(health: Float32, step: int) -> None:
    health[1, [STAT_INDEX["min"], STAT_INDEX["max"]]] = 0.5


class Program:
    """Writes a recording step by step."""

    def __init__(self, folder: Path, rank: int = 0) -> None:
        self.step = 0
        self.recorder = Recorder(
            str(folder),
            "torch",
            "2",
            rank=rank,
            schedule=Schedule(1, 0),
            history=5,
            on_problem="continue",
        )
        for tensor in _TENSORS:
            self.recorder.add(tensor)

    def run(self, steps: int, change: Change = lambda health, step: None) -> None:
        for step in range(self.step, self.step + steps):
            health: Float32 = np.zeros((len(_TENSORS), len(STATS)), np.float32)
            for row in range(len(_TENSORS)):
                stats = {"order": row, "min": -1, "max": 1, "std": 0.5, "norm": 2 + row}
                for name, value in stats.items():
                    health[row, STAT_INDEX[name]] = value
            change(health, step)
            self.recorder.end_step(step, health)
        self.step += steps
        self.recorder.writer.flush()


def check(catalog: Catalog, monitor: HealthMonitor, *, is_new: bool = True) -> list[str]:
    """Return what is new: ``+kind`` for a problem that was found, ``-kind`` for one that ended."""
    delta = catalog.refresh()
    monitor.remove_runs(delta.removed)
    monitor.add_runs([*delta.added, *delta.changed], is_new=is_new)
    found = []
    while monitor.find_delay_s() is not None:
        changes = monitor.check_next()
        assert changes.is_new == is_new
        found += [f"+{it.alert.kind}" for it in changes.found]
        found += [f"-{it.alert.kind}" for it in changes.ended]
    return found


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        ("exploding_gradient", set_stat(5, "norm", 1e6, first_step=12)),
        ("vanishing_gradient", set_stat(5, "norm", 1e-9, first_step=0)),
        ("dead_units", set_stat(0, "dead", 10)),
        ("constant_output", make_constant),
        ("overflow", set_stat(2, "overflow", 3)),
        ("underflow", set_stat(7, "underflow", 4)),
    ],
)
def test_reports_each_kind_once(tmp_path: Path, kind: str, change: Change) -> None:
    program = Program(tmp_path / "run")
    catalog = Catalog(parse_roots(str(tmp_path)), cache=False)
    monitor = HealthMonitor(catalog, frozenset(AlertKind))
    program.run(20, change)
    assert check(catalog, monitor) == [f"+{kind}"]
    program.run(5, change)
    assert check(catalog, monitor) == []


def test_reports_the_collapse_of_the_loss_scale(tmp_path: Path) -> None:
    program = Program(tmp_path / "run")
    catalog = Catalog(parse_roots(str(tmp_path)), cache=False)
    monitor = HealthMonitor(catalog, frozenset(AlertKind))
    for step in range(6):
        program.recorder.log_loss_scale(step, 2.0**-step, is_skipped=True)
    program.run(6)
    assert check(catalog, monitor) == ["+loss_scale"]


def test_healthy_recordings_and_chosen_kinds(tmp_path: Path) -> None:
    program = Program(tmp_path / "run")
    catalog = Catalog(parse_roots(str(tmp_path)), cache=False)
    monitor = HealthMonitor(catalog, frozenset(AlertKind) - {AlertKind.DEAD_UNITS})
    program.run(20)
    assert check(catalog, monitor) == []
    program.run(20, set_stat(0, "dead", 10))
    assert check(catalog, monitor) == []
    monitor = HealthMonitor(catalog, [AlertKind.NAN])
    monitor.add_runs(["run"], is_new=True)
    assert monitor.find_delay_s() is None


def test_problem_that_ends_is_resolved_and_not_reported_again(tmp_path: Path) -> None:
    program = Program(tmp_path / "run")
    catalog = Catalog(parse_roots(str(tmp_path)), cache=False)
    monitor = HealthMonitor(catalog, frozenset(AlertKind))
    dead = set_stat(0, "dead", 10)
    program.run(20, dead)
    assert check(catalog, monitor) == ["+dead_units"]
    program.run(5)
    assert check(catalog, monitor) == ["-dead_units"]
    program.run(10, dead)
    assert check(catalog, monitor) == []


def test_consequences_of_nan_are_not_reported(tmp_path: Path) -> None:
    program = Program(tmp_path / "run")
    catalog = Catalog(parse_roots(str(tmp_path)), cache=False)
    monitor = HealthMonitor(catalog, frozenset(AlertKind))
    program.run(10)

    def change(health: Float32, step: int) -> None:
        health[1, STAT_INDEX["nan"]] = 1
        set_stat(0, "dead", 10)(health, step)

    program.run(20, change)
    assert check(catalog, monitor) == []


def test_names_the_rank(tmp_path: Path) -> None:
    catalog = Catalog(parse_roots(str(tmp_path)), cache=False)
    monitor = HealthMonitor(catalog, frozenset(AlertKind))
    Program(tmp_path / "run").run(20)
    Program(tmp_path / "run", rank=1).run(20, set_stat(0, "dead", 10))
    delta = catalog.refresh()
    monitor.add_runs(delta.added, is_new=False)
    changes = monitor.check_next()
    assert [(it.run, it.source) for it in changes.found] == [("run", "run (rank 1)")]
    assert not changes.is_new


def test_waits_after_a_check_that_took_long(tmp_path: Path) -> None:
    Program(tmp_path / "run").run(20)
    catalog = Catalog(parse_roots(str(tmp_path)), cache=False)
    times = iter([0.0, 100.0, 103.0, 105.0])
    monitor = HealthMonitor(catalog, frozenset(AlertKind), clock=lambda: next(times))
    monitor.add_runs(catalog.refresh().added, is_new=True)
    assert monitor.find_delay_s() == 0
    monitor.check_next()
    monitor.add_runs(["run"], is_new=True)
    assert monitor.find_delay_s() == 28


def test_nan_in_dumps_is_left_to_the_dump_monitor(dumps_folder: Path) -> None:
    catalog = Catalog(parse_roots(str(dumps_folder)), cache=False)
    assert check(catalog, HealthMonitor(catalog, frozenset(AlertKind))) == []
