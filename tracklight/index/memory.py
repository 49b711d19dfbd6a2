"""Hands memory that is not needed back to the system, so that a board at rest is small."""

from __future__ import annotations

import ctypes
import sys
from functools import lru_cache
from typing import Any

_M_MMAP_THRESHOLD = -3
_M_ARENA_MAX = -8
_LARGE_BYTES = 256 << 10


def give_back() -> None:
    """After large arrays were let go: glibc keeps what they took unless it is asked."""
    libc = _find_libc()
    if libc is not None:
        libc.malloc_trim(0)


def be_frugal() -> None:
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
