from __future__ import annotations

import time
from pathlib import Path

from tests.sdk.reading import read_scalars
from tracklight.capture.machine import MachineLog

PATIENCE_S = 60


def wait_for_file(logdir: Path, tag: str, step: int) -> None:
    end = time.monotonic() + PATIENCE_S
    while not any(row[:2] == (tag, step) for row in read_scalars(logdir)):
        assert time.monotonic() < end
        time.sleep(0.02)


def test_each_step_gets_one_point_however_long_it_takes(tmp_path: Path) -> None:
    log = MachineLog(str(tmp_path), strict=True, every_s=0.01)
    log.step = 5
    log.start()
    wait_for_file(tmp_path, "system/process_cpu_percent", 5)
    log.step = 7
    log.stop()
    points = [
        step for tag, step, _ in read_scalars(tmp_path) if tag.endswith("process_cpu_percent")
    ]
    assert points == [5, 7]
    assert all(value >= 0 for _, _, value in read_scalars(tmp_path))


def test_without_steps_each_reading_is_one(tmp_path: Path) -> None:
    log = MachineLog(str(tmp_path), strict=True, every_s=0.01)
    log.start()
    wait_for_file(tmp_path, "system/process_cpu_percent", 2)
    log.stop()
    points = [
        step for tag, step, _ in read_scalars(tmp_path) if tag.endswith("process_cpu_percent")
    ]
    assert points == list(range(len(points)))
