"""Hands memory that was freed back to the system, so that a board at rest is small."""

from __future__ import annotations

import ctypes
import sys
from functools import lru_cache
from typing import Any


def give_back() -> None:
    """After large arrays were let go: glibc keeps what they took unless it is asked."""
    libc = _find_libc()
    if libc is not None:
        libc.malloc_trim(0)


@lru_cache(maxsize=1)
def _find_libc() -> Any | None:
    if not sys.platform.startswith("linux"):
        return None
    libc = ctypes.CDLL(None)
    return libc if hasattr(libc, "malloc_trim") else None
