"""CPU, memory and GPU metrics. NVIDIA's module is replaced by a fake one with two GPUs."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
import warnings
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import psutil
import pytest

import tracklight
from tests.writer.event_files import read_scalars
from tracklight.errors import UsageWarning
from tracklight.profiler.process import HostMetrics, SystemMetricsLogger, open_sources

DEADLINE_S = 60
HOST_METRICS = {
    "process_cpu_percent",
    "cpu_percent",
    "memory_percent",
    "process_memory_gb",
    "disk_read_mb_s",
    "disk_write_mb_s",
    "network_received_mb_s",
    "network_sent_mb_s",
}


class FakeNvml(ModuleType):
    """Implements the functions of `pynvml` for two GPUs, the second without a thermometer."""

    NVML_TEMPERATURE_GPU = 0

    class NVMLError(Exception):
        pass

    def __init__(self, *, has_driver: bool = True, milliwatts: int = 70_500) -> None:
        super().__init__("pynvml")
        self.has_driver = has_driver
        self.milliwatts = milliwatts
        self.is_shut_down = False

    def nvmlInit(self) -> None:
        if not self.has_driver:
            raise self.NVMLError("Driver Not Loaded")

    def nvmlShutdown(self) -> None:
        self.is_shut_down = True

    def nvmlDeviceGetCount(self) -> int:
        return 2

    def nvmlDeviceGetHandleByIndex(self, index: int) -> int:
        return index

    def nvmlDeviceGetUUID(self, device: int) -> str:
        return f"GPU-{device}abc-def"

    def nvmlDeviceGetUtilizationRates(self, device: int) -> Any:
        return SimpleNamespace(gpu=41 + device, memory=7)

    def nvmlDeviceGetMemoryInfo(self, device: int) -> Any:
        return SimpleNamespace(used=2_000_000_000 * (device + 1))

    def nvmlDeviceGetPowerUsage(self, device: int) -> int:
        return self.milliwatts

    def nvmlDeviceGetTemperature(self, device: int, sensor: int) -> int:
        if device == 1:
            raise self.NVMLError("Not Supported")
        return 61


def install(monkeypatch: pytest.MonkeyPatch, nvml: FakeNvml) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", nvml)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)


def read_metrics() -> dict[str, float]:
    return {name: value for source in open_sources() for name, value in source.read()}


def read_gpu_metrics() -> dict[str, float]:
    return {name: value for name, value in read_metrics().items() if name.startswith("gpu")}


def wait_for_point(logdir: Path, tag: str, step: int) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while not any(row[:2] == (tag, step) for row in read_scalars(logdir)):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def list_steps(logdir: Path, tag: str) -> list[int]:
    return [step for logged_tag, step, _ in read_scalars(logdir) if logged_tag == tag]


def test_host_metrics_agree_with_psutil(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, FakeNvml(has_driver=False))
    metrics = read_metrics()
    assert metrics.keys() == HOST_METRICS
    rss_gb = psutil.Process().memory_info().rss / 1e9
    assert metrics["process_memory_gb"] == pytest.approx(rss_gb, rel=0.2)
    assert metrics["memory_percent"] == pytest.approx(psutil.virtual_memory().percent, abs=20)


def test_cpu_percent_covers_the_time_since_the_last_reading() -> None:
    source = HostMetrics(psutil)
    dict(source.read())
    end = time.process_time() + 0.2
    while time.process_time() < end:
        pass
    assert dict(source.read())["process_cpu_percent"] > 0


def test_unavailable_host_metrics_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise FileNotFoundError("/proc/meminfo")

    monkeypatch.setattr(psutil, "virtual_memory", fail)
    assert dict(HostMetrics(psutil).read()).keys() == HOST_METRICS - {"memory_percent"}


def test_gpu_that_may_not_be_accessed_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    class Restricted(FakeNvml):
        def nvmlDeviceGetHandleByIndex(self, index: int) -> int:
            if index == 0:
                raise self.NVMLError("Insufficient Permissions")
            return index

    install(monkeypatch, Restricted())
    assert {name.partition("_")[0] for name in read_gpu_metrics()} == {"gpu1"}


def test_gpu_metrics_are_named_by_index(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, FakeNvml())
    assert read_gpu_metrics() == {
        "gpu0_percent": 41,
        "gpu0_memory_gb": 2,
        "gpu0_watts": 70.5,
        "gpu0_celsius": 61,
        "gpu1_percent": 42,
        "gpu1_memory_gb": 4,
        "gpu1_watts": 70.5,
    }


@pytest.mark.parametrize(
    ("visible", "indexes"),
    [
        ("1", [1]),
        ("0, 1", [0, 1]),
        ("", []),
        ("-1", []),
        ("0,-1,1", [0]),
        ("GPU-1a", [1]),
        ("GPU-8f", []),
        ("MIG-5c", [0, 1]),
    ],
)
def test_hidden_gpus_are_left_out(
    visible: str, indexes: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    install(monkeypatch, FakeNvml())
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    metrics = read_gpu_metrics()
    assert [index for index in (0, 1) if f"gpu{index}_percent" in metrics] == indexes


def test_a_reading_of_zero_watts_is_logged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nvml = FakeNvml(milliwatts=0)
    install(monkeypatch, nvml)
    logger = SystemMetricsLogger(str(tmp_path), strict=True, interval_s=0.01)
    logger.start()
    wait_for_point(tmp_path, "system/gpu0_watts", 2)
    logger.stop()
    watts = [value for tag, _, value in read_scalars(tmp_path) if tag == "system/gpu0_watts"]
    assert set(watts) == {0.0}
    assert nvml.is_shut_down


def test_each_step_gets_one_point_however_long_it_takes(tmp_path: Path) -> None:
    tag = "system/process_cpu_percent"
    logger = SystemMetricsLogger(str(tmp_path), strict=True, interval_s=0.01)
    logger.step = 5
    logger.start()
    wait_for_point(tmp_path, tag, 5)
    logger.step = 7
    logger.stop()
    assert list_steps(tmp_path, tag) == [5, 7]
    assert all(value >= 0 for _, _, value in read_scalars(tmp_path))


def test_without_steps_each_reading_gets_one_point(tmp_path: Path) -> None:
    tag = "system/process_cpu_percent"
    logger = SystemMetricsLogger(str(tmp_path), strict=True, interval_s=0.01)
    logger.start()
    wait_for_point(tmp_path, tag, 2)
    logger.stop()
    steps = list_steps(tmp_path, tag)
    assert steps == list(range(len(steps)))


@pytest.mark.parametrize("strict", [False, True])
def test_without_psutil_there_is_one_warning_and_the_profile_is_recorded(
    strict: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "psutil", None)
    monkeypatch.setitem(sys.modules, "pynvml", None)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(3):
            with tracklight.profile(tmp_path, framework="python", strict=strict):
                pass
    assert [str(each.message) for each in caught] == [
        "Logging CPU and memory use needs an extra: pip install 'tracklight[system]'. "
        "The profile itself is not affected."
    ]
    assert caught[0].category is UsageWarning
    assert caught[0].filename == __file__
    assert list(tmp_path.glob("plugins/profile/*/*"))
    assert not list(tmp_path.glob("events*"))


@pytest.mark.parametrize("has_gpu", [False, True])
def test_missing_nvidia_package_matters_only_on_machines_with_a_gpu(
    has_gpu: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}" if has_gpu else None)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert [type(source) for source in open_sources()] == [HostMetrics]
    assert [str(each.message) for each in caught] == [
        "Logging GPU use needs an extra: pip install 'tracklight[system]'. "
        "The profile itself is not affected."
    ] * has_gpu


def test_the_real_nvidia_module_has_what_is_called() -> None:
    pynvml = pytest.importorskip("pynvml")
    for name in vars(FakeNvml):
        if name.startswith(("nvml", "NVML")):
            assert hasattr(pynvml, name)


def test_logging_scalars_does_not_import_psutil() -> None:
    code = (
        "import sys, tracklight; tracklight.profile; "
        "print([name for name in ('psutil', 'pynvml') if name in sys.modules])"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "[]"
