"""Amounts of memory as people write them: ``2GB``, ``512 MiB``, or a plain number of bytes."""

from __future__ import annotations

import ctypes
import re
import sys
from functools import lru_cache
from typing import Any

from tracklight.errors import UsageError

_SIZE = re.compile(r"\s*(?P<number>\d+(?:\.\d*)?|\.\d+)\s*(?P<prefix>[kmgt]?)(?P<i>i?)b?\s*", re.I)

_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}


def parse_bytes(size: str | int) -> int:
    """``2GB`` is 2,000,000,000 bytes and ``2GiB`` is 2,147,483,648."""
    if isinstance(size, int):
        return size
    match = _SIZE.fullmatch(size)
    if match is None:
        raise UsageError(f'"{size}" is not an amount of memory; write it as 2GB or 512MB')
    base = 1024 if match["i"] else 1000
    return int(float(match["number"]) * base ** _POWERS[match["prefix"].lower()])


def format_bytes(size_bytes: int) -> str:
    """A few digits and a unit: ``1.4 MB``."""
    if size_bytes < 1000:
        return f"{size_bytes} B"
    size = float(size_bytes)
    for unit in ("kB", "MB", "GB"):
        size /= 1000
        if size < 999.5:
            return f"{size:.3g} {unit}"
    return f"{size / 1000:,.3g} TB"


# Hands memory that is not needed back to the system, so that a board at rest is small.

_M_MMAP_THRESHOLD = -3

_M_ARENA_MAX = -8

_LARGE_BYTES = 256 << 10


def trim_memory() -> None:
    """After large arrays were let go: glibc keeps what they took unless it is asked."""
    libc = _find_libc()
    if libc is not None:
        libc.malloc_trim(0)


def limit_memory_retention() -> None:
    """For a process that runs for days beside a training: let glibc keep little for later.

    It would otherwise raise the size from which it gives memory back at once, after the first large
    array, and keep a heap for each thread.
    """
    libc = _find_libc()
    if libc is not None:
        libc.mallopt(_M_MMAP_THRESHOLD, _LARGE_BYTES)
        libc.mallopt(_M_ARENA_MAX, 1)


@lru_cache(maxsize=1)
def _find_libc() -> Any | None:
    if not sys.platform.startswith("linux"):
        return None
    libc = ctypes.CDLL(None)
    return libc if hasattr(libc, "malloc_trim") else None
