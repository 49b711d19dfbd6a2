"""Memory: byte sizes as text, an LRU cache and uploads with a budget, and returning freed memory.

`is_process_alive` checks a process, and `get_pid_namespace` identifies the processes that can
be checked from here.
"""

from __future__ import annotations

import ctypes
import os
import re
import secrets
import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Generic, TypeVar

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


def get_memory_size() -> int:
    """Return the physical memory of this machine in bytes; 16 GiB if unknown."""
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


def get_pid_namespace() -> str:
    """Return a text that is the same for all processes that see the same process ids.

    It changes when the machine is started again, and differs between containers. Empty where the
    system does not report it, as on all but Linux.
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


# ---- LRU cache

KeyT = TypeVar("KeyT", bound=Hashable)
ValueT = TypeVar("ValueT")


@dataclass(eq=False)
class _Build(Generic[ValueT]):
    """A value that is being built, shared by the threads that wait for it."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    users: int = 0
    value: ValueT | None = None


class LruCache(Generic[KeyT, ValueT]):
    """Keep the most recently used values. All methods may be called from any thread.

    A value of ``None`` means "not cached", so ``None`` itself cannot be cached.

    Args:
        max_bytes: Budget for the sizes given to `put`. A value that is larger than the whole
            budget is not kept, so that it does not evict everything else.
        max_items: Budget for the number of values.
        idle_s: Drop all values once the cache has not been used for this many seconds.
        keep_oversized: Also keep the last oversized value, outside the budget, until another
            oversized one is added or it has not been used for ``idle_s``. For values that are too
            slow to build without a cache.

    Example:
        >>> cache = LruCache[str, bytes](max_bytes=64 << 20)
        >>> cache.get_or_build("logo", lambda: b"...", len)
        b'...'
    """

    def __init__(
        self,
        *,
        max_bytes: int | None = None,
        max_items: int | None = None,
        idle_s: float | None = None,
        keep_oversized: bool = False,
    ) -> None:
        self.max_bytes = max_bytes
        self.max_items = max_items
        self.size_bytes = 0
        self._idle_s = idle_s
        self._keep_oversized = keep_oversized
        self._lock = threading.Lock()
        self._entries: OrderedDict[KeyT, tuple[ValueT, int]] = OrderedDict()
        self._used_at = 0.0
        self._oversized: tuple[KeyT, ValueT] | None = None
        self._oversized_used_at = 0.0
        self._builds: dict[KeyT, _Build[ValueT]] = {}
        self._timer: threading.Timer | None = None

    def __len__(self) -> int:
        with self._lock:
            return len(self._entries) + (self._oversized is not None)

    def list_keys(self) -> list[KeyT]:
        """Return the keys of the values within the budget, the least recently used first."""
        with self._lock:
            return list(self._entries)

    def find(self, key: KeyT) -> ValueT | None:
        """Return the value of a key and mark it as used, or None if it is not cached."""
        with self._lock:
            entry = self._entries.get(key)
            if entry is not None:
                self._entries.move_to_end(key)
                self._used_at = time.monotonic()
                return entry[0]
            if self._oversized is not None and self._oversized[0] == key:
                self._oversized_used_at = time.monotonic()
                return self._oversized[1]
            return None

    def put(self, key: KeyT, value: ValueT, size_bytes: int = 0) -> None:
        """Add or replace the value of a key, and evict the least recently used values.

        Args:
            key: The key.
            value: The value.
            size_bytes: What it counts towards the limit of the cache.
        """
        with self._lock:
            self._remove(key)
            if self.max_bytes is not None and size_bytes > self.max_bytes:
                if not self._keep_oversized:
                    return
                self._oversized = (key, value)
                self._oversized_used_at = time.monotonic()
            else:
                self._entries[key] = (value, size_bytes)
                self.size_bytes += size_bytes
                self._used_at = time.monotonic()
                self._evict()
            if self._idle_s is not None and self._timer is None:
                self._start_timer(self._idle_s)

    def remove(self, key: KeyT) -> None:
        """Remove a key, if it is cached."""
        with self._lock:
            self._remove(key)

    def get_or_build(
        self,
        key: KeyT,
        build: Callable[[], ValueT],
        measure: Callable[[ValueT], int] = lambda _: 0,
    ) -> ValueT:
        """Return the value of a key; build and cache it if there is none.

        Threads that request the same key meanwhile wait for the result; other keys are not blocked.
        If ``build`` raises, the exception propagates to the caller and the next thread tries again.

        Args:
            key: The key.
            build: Creates the value.
            measure: Returns the size of a value in bytes.
        """
        value = self.find(key)
        if value is not None:
            return value
        with self._lock:
            shared = self._builds.setdefault(key, _Build())
            shared.users += 1
        try:
            with shared.lock:
                # An oversized value is only in `shared`.
                value = self.find(key) if shared.value is None else shared.value
                if value is None:
                    value = shared.value = build()
                    self.put(key, value, measure(value))
                return value
        finally:
            with self._lock:
                shared.users -= 1
                if not shared.users:
                    del self._builds[key]

    def _remove(self, key: KeyT) -> None:
        entry = self._entries.pop(key, None)
        if entry is not None:
            self.size_bytes -= entry[1]
        if self._oversized is not None and self._oversized[0] == key:
            self._oversized = None

    def _evict(self) -> None:
        while (self.max_items is not None and len(self._entries) > self.max_items) or (
            self.max_bytes is not None and self.size_bytes > self.max_bytes
        ):
            _, (_, freed) = self._entries.popitem(last=False)
            self.size_bytes -= freed

    def _start_timer(self, seconds: float) -> None:
        self._timer = threading.Timer(seconds, self._drop_idle)
        self._timer.daemon = True
        self._timer.start()

    def _drop_idle(self) -> None:
        with self._lock:
            self._timer = None
            idle_since = time.monotonic() - (self._idle_s or 0)
            if self._used_at <= idle_since:
                self._entries.clear()
                self.size_bytes = 0
            if self._oversized_used_at <= idle_since:
                self._oversized = None
            uses = [self._used_at] if self._entries else []
            uses += [self._oversized_used_at] if self._oversized else []
            if uses:
                self._start_timer(min(uses) - idle_since)


class UploadStore(Generic[ValueT]):
    """Keep what users upload; the oldest is dropped when there is too much.

    All methods may be called from any thread.

    Args:
        max_items: The number of values to keep.
        max_bytes: Budget for the sizes given to `put`. The newest value is kept in any case.
        on_drop: Called with each value that is dropped or removed.

    Example:
        >>> uploads = UploadStore[bytes](max_items=8)
        >>> key = uploads.put(make_upload_id(), b"...")
        >>> uploads.find(key)
        b'...'
    """

    def __init__(
        self,
        *,
        max_items: int,
        max_bytes: int | None = None,
        on_drop: Callable[[ValueT], object] | None = None,
    ) -> None:
        self._max_items = max_items
        self._max_bytes = max_bytes
        self._on_drop = on_drop
        self._lock = threading.Lock()
        self._entries: OrderedDict[str, tuple[ValueT, int]] = OrderedDict()

    def put(self, key: str, value: ValueT, size_bytes: int = 0) -> str:
        """Keep a value, or replace the one that has this key, and return the key."""
        with self._lock:
            dropped = []
            self._entries[key] = (value, size_bytes)
            while len(self._entries) > 1 and self._is_full():
                dropped.append(self._entries.popitem(last=False)[1][0])
        for item in dropped:
            self._drop(item)
        return key

    def find(self, key: str) -> ValueT | None:
        """Return a value, or None if it was dropped."""
        with self._lock:
            entry = self._entries.get(key)
        return None if entry is None else entry[0]

    def list_values(self) -> list[ValueT]:
        """Return all values, the oldest first."""
        with self._lock:
            return [value for value, _ in self._entries.values()]

    def remove(self, key: str) -> None:
        """Remove a value, such as a file that turns out to be unreadable."""
        with self._lock:
            entry = self._entries.pop(key, None)
        if entry is not None:
            self._drop(entry[0])

    def _is_full(self) -> bool:
        size_bytes = sum(size for _, size in self._entries.values())
        return len(self._entries) > self._max_items or (
            self._max_bytes is not None and size_bytes > self._max_bytes
        )

    def _drop(self, value: ValueT) -> None:
        if self._on_drop is not None:
            self._on_drop(value)


def make_upload_id() -> str:
    """Return a new id that no tag, capture or embedding of a log has."""
    return f"upload-{secrets.token_hex(8)}"
