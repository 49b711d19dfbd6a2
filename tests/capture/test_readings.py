from __future__ import annotations

import ctypes
import os
from pathlib import Path
from typing import Any

import pytest

from tracklight.capture import nvml, readings
from tracklight.capture.nvml import GpuReading, Nvml, find_nvml
from tracklight.capture.readings import Readings


def write_proc(folder: Path, idle: int, busy: int) -> None:
    (folder / "self").mkdir(parents=True, exist_ok=True)
    (folder / "stat").write_text(f"cpu  {busy} 0 0 {idle} 0 0 0 0 0 0\ncpu0 1 2 3 4\n")
    (folder / "meminfo").write_text("MemTotal: 1000 kB\nMemAvailable:  250 kB\nHugePages: 0\n")
    (folder / "self/statm").write_text("900 100 30 1 0 80 0\n")


def test_shares_are_of_the_time_since_the_last_reading(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(readings, "find_nvml", lambda: None)
    write_proc(tmp_path, idle=100, busy=900)
    read = Readings(tmp_path)
    write_proc(tmp_path, idle=160, busy=940)
    said = read.read()
    assert said.pop("process_cpu_percent") >= 0
    page = os.sysconf("SC_PAGE_SIZE")
    assert said == pytest.approx(
        {"cpu_percent": 40, "memory_percent": 75, "process_memory_gb": 100 * page / 1e9}
    )


def test_a_system_that_tells_nothing_is_no_matter(tmp_path: Path) -> None:
    assert Readings(tmp_path / "nothing").read().keys() <= {"process_cpu_percent"}


class Library:
    """NVIDIA's, with two devices, the second of which does not know how hot it is."""

    def __init__(self, fails: bool = False) -> None:
        self._fails = fails

    def nvmlInit_v2(self) -> int:
        return int(self._fails)

    def nvmlDeviceGetCount_v2(self, count: Any) -> int:
        return self._set(count, 2)

    def nvmlDeviceGetHandleByIndex_v2(self, number: int, device: Any) -> int:
        return self._set(device, number + 1)

    def nvmlDeviceGetUtilizationRates(self, device: Any, answer: Any) -> int:
        answer._obj.gpu = 40 + device.value
        return 0

    def nvmlDeviceGetMemoryInfo(self, device: Any, answer: Any) -> int:
        answer._obj.used = 2_000_000_000 * device.value
        return 0

    def nvmlDeviceGetPowerUsage(self, device: Any, answer: Any) -> int:
        return self._set(answer, 70_500)

    def nvmlDeviceGetTemperature(self, device: Any, sensor: int, answer: Any) -> int:
        return 3 if device.value == 2 else self._set(answer, 61)

    def _set(self, answer: Any, value: int) -> int:
        answer._obj.value = value
        return 0


def test_gpus_are_asked_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    assert list(Nvml(Library()).iter_readings()) == [
        GpuReading(0, 41, 2_000_000_000, 70.5, 61),
        GpuReading(1, 42, 4_000_000_000, 70.5, None),
    ]


@pytest.mark.parametrize(
    ("visible", "numbers"), [("1", [1]), ("0, 1", [0, 1]), ("", []), ("-1", []), ("GPU-8f", [0, 1])]
)
def test_only_gpus_that_the_program_was_given(
    visible: str, numbers: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert [it.number for it in Nvml(Library()).iter_readings()] == numbers


def test_gpus_have_scalars_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")
    monkeypatch.setattr(ctypes, "CDLL", lambda _: Library())
    said = Readings(tmp_path).read()
    gpus = {name: value for name, value in said.items() if name.startswith("gpu")}
    assert gpus == {"gpu1_percent": 42, "gpu1_memory_gb": 4, "gpu1_watts": 70.5}


def test_no_driver_and_a_driver_that_fails_are_no_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nvml, "_LIBRARY", "no-such-library.so")
    assert find_nvml() is None
    monkeypatch.setattr(ctypes, "CDLL", lambda _: Library(fails=True))
    assert find_nvml() is None
