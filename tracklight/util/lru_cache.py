"""A thread-safe LRU cache with a budget in bytes, items or both."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

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
        """Add or replace the value of a key, and evict the least recently used values."""
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
