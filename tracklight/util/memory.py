"""Byte sizes as text, returning freed memory to the system, and whether a process still runs."""

from __future__ import annotations

import ctypes
import os
import re
import sys
from functools import lru_cache
from typing import Any

from tracklight.errors import UsageError

_SIZE = re.compile(r"\s*(?P<number>\d+(?:\.\d*)?|\.\d+)\s*(?P<prefix>[kmgt]?)(?P<i>i?)b?\s*", re.I)
_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}

# Parameters of mallopt(3).
_M_MMAP_THRESHOLD = -3
_M_ARENA_MAX = -8
_MMAP_THRESHOLD_BYTES = 256 << 10


def parse_bytes(size: str | int) -> int:
    """Parse a size such as ``2GB``, ``512 MiB`` or a plain number of bytes.

    Prefixes are decimal (``2GB`` is 2,000,000,000 bytes) unless they contain an ``i`` (``2GiB`` is
    2,147,483,648 bytes).

    Raises:
        UsageError: The text is not a size.
    """
    if isinstance(size, int):
        return size
    match = _SIZE.fullmatch(size)
    if match is None:
        raise UsageError(f'"{size}" is not a size in bytes; write it as 2GB or 512MB')
    base = 1024 if match["i"] else 1000
    return int(float(match["number"]) * base ** _POWERS[match["prefix"].lower()])


def format_bytes(size_bytes: int) -> str:
    """Format a size with three digits and a decimal unit, such as ``1.4 MB``."""
    if size_bytes < 1000:
        return f"{size_bytes} B"
    size = float(size_bytes)
    for unit in ("kB", "MB", "GB"):
        size /= 1000
        if size < 999.5:
            return f"{size:.3g} {unit}"
    return f"{size / 1000:,.3g} TB"


def find_memory_size() -> int:
    """Return the physical memory of this machine in bytes; 16 GiB if it cannot be told."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return 16 << 30


def trim_memory() -> None:
    """Return freed heap memory to the system; glibc would keep it for later allocations."""
    libc = _find_glibc()
    if libc is not None:
        libc.malloc_trim(0)


def limit_memory_retention() -> None:
    """Configure glibc to return freed memory early, for a server that runs for days.

    By default glibc raises its mmap threshold after the first large array is freed, so that later
    ones stay on the heap, and it keeps a separate heap for each thread.
    """
    libc = _find_glibc()
    if libc is not None:
        libc.mallopt(_M_MMAP_THRESHOLD, _MMAP_THRESHOLD_BYTES)
        libc.mallopt(_M_ARENA_MAX, 1)


@lru_cache(maxsize=1)
def _find_glibc() -> Any | None:
    if not sys.platform.startswith("linux"):
        return None
    libc = ctypes.CDLL(None)
    return libc if hasattr(libc, "malloc_trim") else None


# ---- processes

#: Tolerance for the rounding of start times, in seconds.
_START_TOLERANCE_S = 2.0


def find_pid_namespace() -> str:
    """Return a text that is the same for all processes that see the same process ids.

    It changes when the machine is started again, and differs between containers. Empty where the
    system does not tell, which is everywhere but on Linux.
    """
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            boot_id = file.read().strip()
        return f"{boot_id}/{os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return ""


def is_process_alive(pid: int, wall_time: float) -> bool:
    """Return whether a process of this namespace still runs.

    Args:
        pid: The id of the process.
        wall_time: A time at which the process ran. A process that started later has reused the id.
    """
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            # The name of the program, in parentheses, may contain spaces.
            fields = file.read().rpartition(b")")[2].split()
    except OSError:
        return False
    state, start_ticks = fields[0], int(fields[19])
    started_s = _read_boot_time_s() + start_ticks / os.sysconf("SC_CLK_TCK")
    return state not in (b"Z", b"X") and started_s <= wall_time + _START_TOLERANCE_S


def _read_boot_time_s() -> float:
    with open("/proc/stat", "rb") as file:
        return next(float(line.split()[1]) for line in file if line.startswith(b"btime "))
