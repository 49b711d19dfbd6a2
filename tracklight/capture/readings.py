"""How busy this machine and this program are, as the system tells without anything installed."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

from tracklight.capture.nvml import find_nvml

_GB = 1e9
_PROC = Path("/proc")


class Readings:
    """What can be read here; shares are of the time since the last reading."""

    def __init__(self, proc: Path = _PROC) -> None:
        self._proc = proc
        self._nvml = find_nvml()
        self._last: dict[str, tuple[float, float]] = {}
        self.read()

    def read(self) -> dict[str, float]:
        """By name; what this system does not tell is left out."""
        return dict([*self._iter_shares(), *self._iter_memory(), *self._iter_gpus()])

    def _iter_shares(self) -> Iterator[tuple[str, float]]:
        yield from self._share("process_cpu_percent", time.process_time(), time.monotonic())
        # The first line sums up all cores: user, nice, system, idle, waiting for disks, …
        ticks = [int(tick) for tick in self._read("stat").partition("\n")[0].split()[1:9]]
        if ticks:
            yield from self._share("cpu_percent", sum(ticks) - sum(ticks[3:5]), sum(ticks))

    def _share(self, name: str, busy: float, total: float) -> Iterator[tuple[str, float]]:
        before, self._last[name] = self._last.get(name), (busy, total)
        if before is not None and total > before[1]:
            yield name, 100 * (busy - before[0]) / (total - before[1])

    def _iter_memory(self) -> Iterator[tuple[str, float]]:
        lines = (line.split() for line in self._read("meminfo").splitlines())
        sizes = {name: int(size) for name, size, *_ in lines}
        if "MemAvailable:" in sizes:
            yield "memory_percent", 100 * (1 - sizes["MemAvailable:"] / sizes["MemTotal:"])
        pages = self._read("self/statm").split()
        if pages:
            yield "process_memory_gb", int(pages[1]) * os.sysconf("SC_PAGE_SIZE") / _GB

    def _iter_gpus(self) -> Iterator[tuple[str, float]]:
        for number, busy, memory, power, heat in self._nvml.iter_readings() if self._nvml else ():
            told = {
                "percent": busy,
                "memory_gb": None if memory is None else memory / _GB,
                "watts": power,
                "celsius": heat,
            }
            for name, value in told.items():
                if value is not None:
                    yield f"gpu{number}_{name}", value

    def _read(self, name: str) -> str:
        try:
            return (self._proc / name).read_text()
        except OSError:  # a system without such files, or one that keeps them to itself
            return ""
