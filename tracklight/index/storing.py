"""Decides when rows leave memory for the cache, and brings back what the cache knows of a file."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path

from tracklight.index.cache import Cache, CacheFull, Chains, PrivateCache
from tracklight.index.file import EventFile
from tracklight.index.memory import give_back
from tracklight.index.pack import let_go
from tracklight.index.segment import Segment

_log = logging.getLogger(__name__)

#: Rows may stay in memory alone for this long, so that a crash costs little reading.
_STORE_AFTER_S = 300.0

#: What a file takes in a pack beside its rows, roughly.
_FILE_BYTES = 4096


class Storage:
    """The cache of a shard, if it has one, and the bound on the memory of its rows."""

    def __init__(
        self, cache: Cache | None, memory_bytes: int, threads: int, lock: threading.RLock
    ) -> None:
        self._cache = cache
        self._memory_bytes = memory_bytes
        self._file_bytes = memory_bytes // (2 * threads)
        self._lock = lock  # of the shard: held while blocks change places
        self._writing = threading.Lock()
        self._stored_at_s = 0.0
        self._broken = False

    def find(self, path: str) -> Sequence[Segment]:
        """What the cache knows of a file: segments without gaps from its start."""
        return self._chains.get(path, ())

    def bound(self, file: EventFile) -> None:
        """Store a file in the midst of reading if its rows alone take much of the memory allowed.

        To be called by the thread that reads the file.
        """
        if file.memory_bytes() > self._file_bytes:
            self._store([file])

    def store_when_due(self, files: Iterable[EventFile]) -> None:
        """After a refresh: store what is only in memory, unless it is little and fresh."""
        waiting = [file for file in files if not file.is_stored]
        due = time.monotonic() - self._stored_at_s > _STORE_AFTER_S
        if self._cache is None or not due:
            due = sum(file.memory_bytes() for file in waiting) > self._memory_bytes // 2
        if due:
            self._store(waiting)

    def discard(self, pack: Path) -> None:
        """A pack is damaged: never use it again."""
        if self._cache is not None:
            self._cache.discard(pack)
        self.__dict__.pop("_chains", None)

    def close(self, files: Iterable[EventFile]) -> None:
        if self._cache is None:
            return
        if not isinstance(self._cache, PrivateCache):
            self._store([file for file in files if not file.is_stored])
        self._cache.close()

    @cached_property
    def _chains(self) -> Chains:
        return self._cache.load() if self._cache is not None else {}

    def _store(self, files: Sequence[EventFile]) -> None:
        if not files or self._broken:
            return
        with self._writing:
            if self._cache is None:
                self._cache = PrivateCache()
            try:
                size = sum(_FILE_BYTES + 2 * file.memory_bytes() for file in files)
                stored = self._cache.store((file.unstored() for file in files), size)
            except (OSError, CacheFull) as error:
                self._broken = True
                _log.warning("the cache cannot be written, so all stays in memory: %s", error)
                return
            with self._lock:
                for file, segment in zip(files, stored, strict=True):
                    file.store(segment)
            self._stored_at_s = time.monotonic()
        let_go()
        give_back()
