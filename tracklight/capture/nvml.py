"""Asks NVIDIA's own library, which comes with the driver, how busy the GPUs are."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterator
from typing import Any, NamedTuple

_LIBRARY = "nvml.dll" if sys.platform == "win32" else "libnvidia-ml.so.1"
#: The sensor in the chip itself.
_CHIP = 0


class _Utilization(ctypes.Structure):
    _fields_ = (("gpu", ctypes.c_uint), ("memory", ctypes.c_uint))


class _Memory(ctypes.Structure):
    _fields_ = tuple((name, ctypes.c_ulonglong) for name in ("total", "free", "used"))


class GpuReading(NamedTuple):
    """None: this device does not tell."""

    number: int
    busy_percent: float | None
    memory_bytes: int | None
    power_w: float | None
    temperature_c: float | None


class Nvml:
    """The devices that this program may use."""

    def __init__(self, library: Any) -> None:
        self._library = library
        self._devices: dict[int, ctypes.c_void_p] = {}
        if library.nvmlInit_v2():
            return
        count = ctypes.c_uint()
        library.nvmlDeviceGetCount_v2(ctypes.byref(count))
        for number in range(count.value):
            device = ctypes.c_void_p()
            code = library.nvmlDeviceGetHandleByIndex_v2(number, ctypes.byref(device))
            if not code and _is_visible(number):
                self._devices[number] = device

    def __len__(self) -> int:
        return len(self._devices)

    def iter_readings(self) -> Iterator[GpuReading]:
        for number, device in self._devices.items():
            busy = self._ask("nvmlDeviceGetUtilizationRates", device, _Utilization())
            memory = self._ask("nvmlDeviceGetMemoryInfo", device, _Memory())
            power = self._ask("nvmlDeviceGetPowerUsage", device, ctypes.c_uint())
            heat = self._ask("nvmlDeviceGetTemperature", device, ctypes.c_uint(), _CHIP)
            yield GpuReading(
                number,
                busy and float(busy.gpu),
                memory and int(memory.used),
                power and power.value / 1000,
                heat and float(heat.value),
            )

    def _ask(self, call: str, device: ctypes.c_void_p, answer: Any, *more: int) -> Any:
        """The answer filled in; None where the device does not support the question."""
        failed = getattr(self._library, call)(device, *more, ctypes.byref(answer))
        return None if failed else answer


def find_nvml() -> Nvml | None:
    """None: there is no such driver, or no device for this program."""
    try:
        nvml = Nvml(ctypes.CDLL(_LIBRARY))
    except (OSError, AttributeError):  # an old driver lacks some of the calls
        return None
    return nvml if len(nvml) else None


def _is_visible(number: int) -> bool:
    """Whether the program was given this device; lists by other than numbers are not understood."""
    chosen = os.environ.get("CUDA_VISIBLE_DEVICES")
    if chosen is None:
        return True
    names = [name.strip() for name in chosen.split(",") if name.strip()]
    return str(number) in names or not all(name.lstrip("-").isdigit() for name in names)
