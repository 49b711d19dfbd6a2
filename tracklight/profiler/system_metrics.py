"""Log CPU, memory and GPU utilization as scalars while a program runs.

CPU and memory are read with psutil, NVIDIA GPUs with nvidia-ml-py (module `pynvml`). Both come with
the extra `system`. What is not installed or not supported by the machine is left out.
"""

from __future__ import annotations

import os
import shutil
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from types import ModuleType
from typing import Any, Protocol

from tracklight.errors import MissingDependencyError, import_optional
from tracklight.writer import warnings
from tracklight.writer.event_writer import EventWriter

_INTERVAL_S = 1.0
_JOIN_TIMEOUT_S = 5.0
_FILE_SUFFIX = ".system"
_EXTRA = "system"
_GB = 1e9
_MB = 1e6


class MetricSource(Protocol):
    """Something that reports metrics by name."""

    def read(self) -> Iterator[tuple[str, float]]: ...

    def close(self) -> None: ...


class _Rates:
    """The changes of counters of bytes since the previous reading, in MB/s.

    Args:
        read: Returns an object with the counters; it is called once per reading, as it reads files
            of the system.
        fields: The names of the counters by the names of the metrics.
    """

    def __init__(self, read: Callable[[], object], fields: Mapping[str, str]) -> None:
        self._read = read
        self._fields = fields
        self._last: tuple[float, dict[str, int]] | None = None

    def __call__(self) -> dict[str, float]:
        counters = self._read()
        now = time.monotonic()
        counts = {name: int(getattr(counters, field)) for name, field in self._fields.items()}
        last, self._last = self._last, (now, counts)
        if last is None or now <= last[0]:
            return dict.fromkeys(counts, 0.0)
        passed_s = now - last[0]
        return {
            name: max(0, count - last[1][name]) / passed_s / _MB for name, count in counts.items()
        }


class HostMetrics:
    """CPU, memory, disk and network of the machine, and CPU and memory of this process.

    CPU percentages cover the time since the previous reading of the same thread, so the first
    reading of a thread has none worth logging.
    """

    def __init__(self, psutil: ModuleType) -> None:
        self._psutil = psutil
        self._process = psutil.Process()
        self._rates = [
            _Rates(
                psutil.disk_io_counters,
                {"disk_read_mb_s": "read_bytes", "disk_write_mb_s": "write_bytes"},
            ),
            _Rates(
                psutil.net_io_counters,
                {"network_received_mb_s": "bytes_recv", "network_sent_mb_s": "bytes_sent"},
            ),
        ]

    def read(self) -> Iterator[tuple[str, float]]:
        readers: dict[str, Callable[[], float]] = {
            "process_cpu_percent": self._process.cpu_percent,
            "cpu_percent": self._psutil.cpu_percent,
            "memory_percent": lambda: self._psutil.virtual_memory().percent,
            "process_memory_gb": lambda: self._process.memory_info().rss / _GB,
        }
        # Some are not available, for example in a container without /proc.
        unavailable = (self._psutil.Error, OSError, AttributeError)
        for name, reader in readers.items():
            with suppress(*unavailable):
                yield name, float(reader())
        for rates in self._rates:
            with suppress(*unavailable):
                yield from rates().items()

    def close(self) -> None:
        pass


class GpuMetrics:
    """Utilization, memory, power and temperature of the NVIDIA GPUs visible to this process.

    Raises:
        pynvml.NVMLError: There is no NVIDIA driver, or it does not work.
    """

    def __init__(self, pynvml: ModuleType) -> None:
        self._nvml = pynvml
        pynvml.nvmlInit()
        self._devices: dict[int, Any] = {}
        for index in range(pynvml.nvmlDeviceGetCount()):
            try:
                device = pynvml.nvmlDeviceGetHandleByIndex(index)
                uuid = pynvml.nvmlDeviceGetUUID(device)
            except pynvml.NVMLError:  # a device that this user may not access, or that failed
                continue
            if _is_visible(index, uuid):
                self._devices[index] = device

    def read(self) -> Iterator[tuple[str, float]]:
        nvml = self._nvml
        readers: dict[str, Callable[[Any], float]] = {
            "percent": lambda device: nvml.nvmlDeviceGetUtilizationRates(device).gpu,
            "memory_gb": lambda device: nvml.nvmlDeviceGetMemoryInfo(device).used / _GB,
            "watts": lambda device: nvml.nvmlDeviceGetPowerUsage(device) / 1000,
            "celsius": lambda device: nvml.nvmlDeviceGetTemperature(
                device, nvml.NVML_TEMPERATURE_GPU
            ),
        }
        for index, device in self._devices.items():
            for name, reader in readers.items():
                try:
                    yield f"gpu{index}_{name}", float(reader(device))
                except nvml.NVMLError:
                    continue  # the device does not support this reading

    def close(self) -> None:
        self._nvml.nvmlShutdown()


def _is_visible(index: int, uuid: str) -> bool:
    """Return whether CUDA_VISIBLE_DEVICES allows a device.

    As in CUDA, entries after the first invalid one (such as -1) are ignored. Indexes are taken
    in PCI order, which is CUDA's order on machines with GPUs of one model.
    """
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is None:
        return True
    for entry in map(str.strip, visible.split(",")):
        if entry.startswith("MIG-"):
            return True  # NVML does not tell which GPU a MIG instance belongs to
        if entry.startswith("GPU-"):
            if uuid.startswith(entry):
                return True
        elif not entry.isdigit():
            break
        elif int(entry) == index:
            return True
    return False


def open_sources() -> list[MetricSource]:
    """Return the metric sources of this machine, and warn about packages that are missing."""
    sources: list[MetricSource] = []
    try:
        psutil = import_optional("psutil", "Logging CPU and memory use", _EXTRA)
        sources.append(HostMetrics(psutil))
    except MissingDependencyError as error:
        warnings.warn_once("sample", f"{error}. The profile itself is not affected.")
    try:
        pynvml = import_optional("pynvml", "Logging GPU use", _EXTRA)
    except MissingDependencyError as error:
        if sources and shutil.which("nvidia-smi"):
            warnings.warn_once("sample", f"{error}. The profile itself is not affected.")
        return sources
    try:
        sources.append(GpuMetrics(pynvml))
    except pynvml.NVMLError:  # no NVIDIA driver
        pass
    return sources


class SystemMetricsLogger:
    """Read the metrics once a second in a background thread and log them as `system/…` scalars.

    A step gets one point: the mean of all readings taken during it. Steps shorter than a second
    share a point. A program that reports no steps gets one point per reading.

    Args:
        run_dir: The directory of the run.
        strict: Whether the event writer raises exceptions instead of warning.
        interval_s: Time between two readings.
    """

    def __init__(self, run_dir: str, *, strict: bool, interval_s: float = _INTERVAL_S) -> None:
        self.step: int | None = None
        self._run_dir, self._strict, self._interval_s = run_dir, strict, interval_s
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._readings: dict[str, list[float]] = defaultdict(list)
        self._last_step = -1

    def start(self) -> None:
        self._sources = open_sources()
        if not self._sources:
            return
        self._writer = EventWriter(self._run_dir, filename_suffix=_FILE_SUFFIX, strict=self._strict)
        self._thread = threading.Thread(target=self._run, name="tracklight-system", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Take a last reading and close the file."""
        thread, self._thread = self._thread, None
        if thread is not None:
            self._stopping.set()
            thread.join(_JOIN_TIMEOUT_S)
            self._writer.close()

    def _run(self) -> None:
        with warnings.catch_errors("profile (sample)", strict=False):
            for source in self._sources:
                for _ in source.read():  # start the intervals that CPU percentages refer to
                    pass
            while not self._stopping.wait(self._interval_s):
                self._log_readings()
            self._log_readings()
            for source in self._sources:
                source.close()

    def _log_readings(self) -> None:
        for source in self._sources:
            for name, value in source.read():
                self._readings[name].append(value)
        step = self._last_step + 1 if self.step is None else self.step
        if step > self._last_step:
            for name, values in self._readings.items():
                self._writer.scalar(f"system/{name}", sum(values) / len(values), step)
            self._readings.clear()
            self._last_step = step
