"""The on-disk cache: a folder of packs for each log, in the cache folder of the user.

Packs are immutable and named by the time they were written, so several processes can share a folder
without locks: each adds its own packs and reads those of the others. The content of a pack is only
used if the stat and fingerprint of the event file still match. Any file may be deleted at any time.

`PackCache` reads and writes packs; `SegmentStore` decides when rows move from memory to the cache.
"""

from __future__ import annotations

import contextlib
import itertools
import logging
import os
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path

from tracklight.errors import FormatError
from tracklight.index import Segment, join_segments
from tracklight.index.event_file import EventFile
from tracklight.index.pack import CorruptPackError, Pack, release_pages, write_pack
from tracklight.util.files import TEMPORARY_GLOB, hash_key
from tracklight.util.memory import trim_memory

DEFAULT_CACHE_BYTES = 8 << 30

CACHE_VERSION = "v1"
_SUFFIX = ".pack"

#: If there are more packs smaller than this, they are merged into one.
_MAX_SMALL_PACKS = 16
_SMALL_PACK_BYTES = 64 << 20

#: Temporary files older than this belong to processes that were killed.
_MAX_TEMPORARY_AGE_S = 3600.0

#: Rows are stored at least this often, so that little has to be read again after a crash.
_STORE_INTERVAL_S = 300.0

#: Approximate size of a file in a pack without its rows.
_FILE_OVERHEAD_BYTES = 4096

_log = logging.getLogger(__name__)
_counter = itertools.count()

#: For each event file, consecutive segments from its start.
SegmentChains = dict[str, list[Segment]]


class CacheFullError(FormatError):
    """The size limit of the cache is reached."""


class PackCache:
    """The packs of one log.

    Args:
        folder: Created on the first `store`. Its siblings are the caches of other logs.
        limit_bytes: Limit for the size of all caches together.
    """

    def __init__(self, folder: Path, limit_bytes: int = DEFAULT_CACHE_BYTES) -> None:
        self.folder = folder
        self._limit_bytes = limit_bytes

    def load(self) -> SegmentChains:
        """Return the cached segments of all event files."""
        chains: SegmentChains = {}
        self._remove_leftovers()
        for path in self._list_packs():
            for segment in self._load_pack(path):
                add_to_chain(chains, segment)
        return chains

    def store(self, segments: Iterable[Segment], size_bytes: int) -> list[Segment]:
        """Write segments to a new pack and return them backed by that pack.

        Args:
            segments: Consumed one at a time, so that only one has to be in memory.
            size_bytes: Their approximate size.

        Raises:
            CacheFullError: The size limit of the cache is reached.
            OSError: The folder cannot be written.
        """
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._free_space(size_bytes)
        stored = Pack(self._write(self._make_path(), segments)).list_segments()
        self._merge_small_packs()
        return stored

    def discard(self, path: Path) -> None:
        """Delete a corrupt pack."""
        _log.warning("deleting a corrupt cache file: %s", path)
        _unlink(path)

    def close(self) -> None:
        """Release resources; the packs stay on disk for the next process."""

    def _remove_leftovers(self) -> None:
        """Mark the folder as used, and delete temporary files of processes that were killed."""
        with contextlib.suppress(OSError):
            os.utime(self.folder)
        for path in self.folder.glob(TEMPORARY_GLOB):
            if time.time() - _get_mtime(path) > _MAX_TEMPORARY_AGE_S:
                _unlink(path)

    def _list_packs(self) -> list[Path]:
        """Return the packs in the order written, which is the order of their names."""
        return sorted(self.folder.glob(f"*{_SUFFIX}"))

    def _make_path(self) -> Path:
        name = f"{time.time_ns():020d}-{os.getpid()}-{next(_counter)}{_SUFFIX}"
        return self.folder / name

    def _write(self, path: Path, segments: Iterable[Segment]) -> Path:
        """Write a pack and return its path."""
        write_pack(path, segments)
        return path

    def _delete(self, path: Path) -> None:
        """Delete a pack whose segments are in another one."""
        _unlink(path)

    def _load_pack(self, path: Path) -> list[Segment]:
        try:
            return Pack(path).list_segments()
        except CorruptPackError:
            self.discard(path)
        except OSError:  # another process merged it into a newer one
            pass
        return []

    def _free_space(self, needed_bytes: int) -> None:
        """Delete the caches of other logs, least recently used first, until the bytes fit."""
        used = {folder: _get_folder_bytes(folder) for folder in _list_folders(self.folder.parent)}
        others = sorted((folder for folder in used if folder != self.folder), key=_get_mtime)
        while sum(used.values()) + needed_bytes > self._limit_bytes:
            if not others:
                raise CacheFullError(
                    f"the cache has reached its limit of {self._limit_bytes} bytes"
                )
            shutil.rmtree(others[0], ignore_errors=True)
            del used[others.pop(0)]

    def _merge_small_packs(self) -> None:
        """Merge the newest packs, up to a large one: the segments of a file must stay in order."""
        newest = reversed(self._list_packs())
        small = list(itertools.takewhile(_is_small, newest))[::-1]
        if len(small) <= _MAX_SMALL_PACKS:
            return
        chains: SegmentChains = {}
        for path in small:
            for segment in self._load_pack(path):
                chain = chains.setdefault(segment.origin.path, [])
                if chain and chain[-1].origin.end != segment.origin.begin:
                    chain.clear()
                chain.append(segment)
        # Named after the newest of them, so that it sorts before packs written later.
        merged = small[-1].with_name(small[-1].stem + "j" + _SUFFIX)
        try:
            self._write(merged, (join_segments(chain) for chain in chains.values()))
        except CorruptPackError as error:
            self.discard(error.path)
            return
        for path in small:
            self._delete(path)


class TemporaryPackCache(PackCache):
    """A cache for one process, deleted when the process ends."""

    def __init__(self) -> None:
        self._temporary = tempfile.TemporaryDirectory(
            prefix="tracklight-", ignore_cleanup_errors=True
        )
        super().__init__(Path(self._temporary.name) / CACHE_VERSION, sys.maxsize)

    def close(self) -> None:
        self._temporary.cleanup()


class SegmentStore:
    """Move rows from memory to the cache, to bound the memory of a shard and for later processes.

    Without a cache, a temporary one is created when the rows need too much memory.

    Args:
        cache: The cache of the shard, if it has one.
        memory_bytes: Limit for the rows in memory.
        threads: Number of threads that read files at the same time.
        lock: The lock of the shard, held while rows are replaced.
    """

    def __init__(
        self, cache: PackCache | None, memory_bytes: int, threads: int, lock: threading.RLock
    ) -> None:
        self._cache = cache
        self._memory_bytes = memory_bytes
        self._max_file_bytes = memory_bytes // (2 * threads)
        self._lock = lock
        self._write_lock = threading.Lock()
        self._stored_at_s = 0.0
        self._is_broken = False

    def get_segments(self, path: str) -> Sequence[Segment]:
        """Return the cached segments of a file, consecutive from its start."""
        return self._chains.get(path, ())

    def store_if_large(self, file: EventFile) -> None:
        """Store a file while it is being read, if its rows alone use much of the memory limit.

        Must be called by the thread that reads the file.
        """
        if file.count_memory_bytes() > self._max_file_bytes:
            self._store([file])

    def store_if_due(self, files: Iterable[EventFile]) -> None:
        """Store the rows in memory if they are large or were not stored for a while."""
        unstored = [file for file in files if not file.is_stored]
        is_due = time.monotonic() - self._stored_at_s > _STORE_INTERVAL_S
        if self._cache is None or not is_due:
            used_bytes = sum(file.count_memory_bytes() for file in unstored)
            is_due = used_bytes > self._memory_bytes // 2
        if is_due:
            self._store(unstored)

    def discard_pack(self, pack: Path) -> None:
        """Delete a corrupt pack and reload the others on next use."""
        if self._cache is not None:
            self._cache.discard(pack)
        self.__dict__.pop("_chains", None)

    def close(self, files: Iterable[EventFile]) -> None:
        if self._cache is None:
            return
        if not isinstance(self._cache, TemporaryPackCache):
            self._store([file for file in files if not file.is_stored])
        self._cache.close()

    @cached_property
    def _chains(self) -> SegmentChains:
        return self._cache.load() if self._cache is not None else {}

    def _store(self, files: Sequence[EventFile]) -> None:
        if not files or self._is_broken:
            return
        with self._write_lock:
            if self._cache is None:
                self._cache = TemporaryPackCache()
            try:
                size = sum(_FILE_OVERHEAD_BYTES + 2 * file.count_memory_bytes() for file in files)
                stored = self._cache.store((file.make_unstored_segment() for file in files), size)
            except (OSError, CacheFullError) as error:
                self._is_broken = True
                _log.warning("cannot write the cache, keeping everything in memory: %s", error)
                return
            with self._lock:
                for file, segment in zip(files, stored, strict=True):
                    file.replace_unstored(segment)
            self._stored_at_s = time.monotonic()
        release_pages()
        trim_memory()


def find_cache_folder(roots: Iterable[str], base: Path | None = None) -> Path | None:
    """Return the cache folder of some log directories.

    Args:
        roots: The log directories.
        base: The folder for the caches of all logs, if not the one of the user.

    Returns:
        A folder outside the log directories, or None if there is none.
    """
    sorted_roots = sorted(roots)
    name = hash_key(*sorted_roots, "0")  # once the number of a shard
    defaults = (get_user_cache_folder(), Path(tempfile.gettempdir()) / _make_temporary_name())
    for folder in [base] if base else defaults:
        if not any(_is_inside(folder, root) for root in sorted_roots):
            return folder / CACHE_VERSION / name
    return None


def get_user_cache_folder() -> Path:
    """Return the folder for the caches of all logs: ``TRACKLIGHT_CACHE_DIR`` or the default."""
    configured = os.environ.get("TRACKLIGHT_CACHE_DIR")
    if configured:
        return Path(configured)
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "tracklight"
    if os.name == "nt":
        return Path(os.environ.get("LOCALAPPDATA", Path.home())) / "tracklight" / "cache"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tracklight"


def add_to_chain(chains: SegmentChains, segment: Segment) -> None:
    """Add a segment that continues its chain; one from the start of its file replaces the chain."""
    chain = chains.setdefault(segment.origin.path, [])
    if segment.origin.begin == 0:
        chain[:] = [segment]
    elif chain and chain[-1].origin.end == segment.origin.begin:
        chain.append(segment)


def _make_temporary_name() -> str:
    return f"tracklight-cache-{os.getuid() if hasattr(os, 'getuid') else 'user'}"


def _is_inside(folder: Path, root: str) -> bool:
    return "://" not in root and folder.resolve().is_relative_to(Path(root).resolve())


def _list_folders(parent: Path) -> list[Path]:
    with contextlib.suppress(OSError):
        return [path for path in parent.iterdir() if path.is_dir()]
    return []


def _get_folder_bytes(folder: Path) -> int:
    return sum(map(_get_file_bytes, folder.glob("*")))


def _get_file_bytes(path: Path) -> int:
    with contextlib.suppress(OSError):
        return path.stat().st_size
    return 0


def _is_small(pack: Path) -> bool:
    return _get_file_bytes(pack) < _SMALL_PACK_BYTES


def _get_mtime(path: Path) -> float:
    with contextlib.suppress(OSError):
        return path.stat().st_mtime
    return 0.0


def _unlink(path: Path) -> None:
    with contextlib.suppress(OSError):  # already deleted, or mapped by another process on Windows
        path.unlink(missing_ok=True)
