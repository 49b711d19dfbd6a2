"""The on-disk cache: a folder of packs for each log directory, in the user's own cache folder.

Packs are immutable and named by the time they were written, so several processes may share a folder
without locks: each adds packs of its own, and each reads what it finds. What a pack says of
a file is believed only as long as the file still looks as it did. Anything here may be deleted at
any time.
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
from tracklight.index.blocks import Segment, join_segments
from tracklight.index.event_file import EventFile
from tracklight.index.pack import CorruptPackError, Pack, release_pages, write_pack
from tracklight.util.files import TEMPORARY_GLOB
from tracklight.util.hashing import hash_key
from tracklight.util.memory import trim_memory

DEFAULT_CACHE_BYTES = 8 << 30

_VERSION = "v1"

_SUFFIX = ".pack"

#: With more packs than this, small ones are joined into one.
_MAX_SMALL_PACKS = 16

_SMALL_PACK_BYTES = 64 << 20

#: A pack that is still not whole after this long never will be.
_MAX_TEMPORARY_AGE_S = 3600.0

_log = logging.getLogger(__name__)

_counter = itertools.count()

SegmentChains = dict[str, list[Segment]]


class CacheFullError(FormatError):
    """There is no room left within the cache's limit."""


class PackCache:
    """The packs of one log directory."""

    def __init__(self, folder: Path, limit_bytes: int = DEFAULT_CACHE_BYTES) -> None:
        self.folder = folder
        self._limit_bytes = limit_bytes

    def load(self) -> SegmentChains:
        """For each event file, the segments known of it: they begin at its start without gaps."""
        chains: SegmentChains = {}
        self._remove_leftovers()
        for path in self._list_packs():
            for segment in self._load_pack(path):
                _add_to_chain(chains, segment)
        return chains

    def store(self, segments: Iterable[Segment], size_bytes: int) -> list[Segment]:
        """Write segments of about that size into a new pack; give them back as they stand in it.

        They are taken one at a time, so that one may be put together when the one before is gone.
        """
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._make_room(size_bytes)
        path = self._make_path()
        write_pack(path, segments)
        stored = Pack(path).list_segments()
        self._merge_small_packs()
        return stored

    def discard(self, path: Path) -> None:
        """Throw a pack away that turned out to be damaged."""
        _log.warning("a cache file was damaged and is thrown away: %s", path)
        _unlink(path)

    def close(self) -> None:
        """Nothing to do: what is on disk stays for the next time."""

    def _remove_leftovers(self) -> None:
        """Mark the folder as in use, and remove what processes that were killed left behind."""
        with contextlib.suppress(OSError):
            os.utime(self.folder)
        for part in self.folder.glob(TEMPORARY_GLOB):
            if time.time() - _get_mtime(part) > _MAX_TEMPORARY_AGE_S:
                _unlink(part)

    def _list_packs(self) -> list[Path]:
        """In the order written, which is that of their names."""
        return sorted(self.folder.glob(f"*{_SUFFIX}"))

    def _make_path(self) -> Path:
        name = f"{time.time_ns():020d}-{os.getpid()}-{next(_counter)}{_SUFFIX}"
        return self.folder / name

    def _load_pack(self, path: Path) -> list[Segment]:
        try:
            return Pack(path).list_segments()
        except CorruptPackError:
            self.discard(path)
        except OSError:  # another process joined it into a newer one
            pass
        return []

    def _make_room(self, wanted: int) -> None:
        """Throw out the folders of other logs, longest unused first, until ``wanted`` bytes fit."""
        used = {folder: _get_folder_bytes(folder) for folder in _list_folders(self.folder.parent)}
        others = sorted((f for f in used if f != self.folder), key=_get_mtime)
        while sum(used.values()) + wanted > self._limit_bytes:
            if not others:
                raise CacheFullError(f"the cache's limit of {self._limit_bytes} bytes is reached")
            shutil.rmtree(others[0], ignore_errors=True)
            del used[others.pop(0)]

    def _merge_small_packs(self) -> None:
        small = [path for path in self._list_packs() if _get_file_bytes(path) < _SMALL_PACK_BYTES]
        if len(small) <= _MAX_SMALL_PACKS:
            return
        chains: SegmentChains = {}
        for path in small:
            for segment in self._load_pack(path):
                chain = chains.setdefault(segment.origin.path, [])
                if chain and chain[-1].origin.end != segment.origin.begin:
                    chain.clear()
                chain.append(segment)
        # The newest of the old names, so that it still counts as older than what came after.
        joined = small[-1].with_name(small[-1].stem + "j" + _SUFFIX)
        try:
            write_pack(joined, (join_segments(chain) for chain in chains.values()))
        except CorruptPackError as damaged:
            self.discard(damaged.path)
            return
        for path in small:
            _unlink(path)


class TemporaryPackCache(PackCache):
    """Room on disk for one process alone; it goes when the process does."""

    def __init__(self) -> None:
        self._temporary = tempfile.TemporaryDirectory(
            prefix="tracklight-", ignore_cleanup_errors=True
        )
        super().__init__(Path(self._temporary.name) / _VERSION, sys.maxsize)

    def close(self) -> None:
        self._temporary.cleanup()


def find_cache_folder(
    roots: Iterable[str], base: Path | None = None, shard: int = 0
) -> Path | None:
    """Where the cache of these log directories is kept; None if only inside one of them."""
    places = sorted(roots)
    name = hash_key(*places, str(shard))
    usual = (get_user_cache_folder(), Path(tempfile.gettempdir()) / _make_temporary_name())
    for folder in [base] if base else usual:
        if not any(_is_inside(folder, place) for place in places):
            return folder / _VERSION / name
    return None


def _add_to_chain(chains: SegmentChains, segment: Segment) -> None:
    """A segment from the start of its file replaces what was known; another must fit on."""
    chain = chains.setdefault(segment.origin.path, [])
    if segment.origin.begin == 0:
        chain[:] = [segment]
    elif chain and chain[-1].origin.end == segment.origin.begin:
        chain.append(segment)


def get_user_cache_folder() -> Path:
    """The folder in which the caches of all logs are kept unless another is chosen."""
    chosen = os.environ.get("TRACKLIGHT_CACHE_DIR")
    if chosen:
        return Path(chosen)
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "tracklight"
    if os.name == "nt":
        return Path(os.environ.get("LOCALAPPDATA", Path.home())) / "tracklight" / "cache"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tracklight"


def _make_temporary_name() -> str:
    return f"tracklight-cache-{os.getuid() if hasattr(os, 'getuid') else 'user'}"


def _is_inside(folder: Path, place: str) -> bool:
    return "://" not in place and folder.resolve().is_relative_to(Path(place).resolve())


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


def _get_mtime(path: Path) -> float:
    with contextlib.suppress(OSError):
        return path.stat().st_mtime
    return 0.0


def _unlink(path: Path) -> None:
    with contextlib.suppress(OSError):  # gone already, or mapped by a process on Windows
        path.unlink(missing_ok=True)


# Decides when rows leave memory for the cache, and brings back what the cache knows of a file.

#: Rows may stay in memory alone for this long, so that a crash costs little reading.
_STORE_INTERVAL_S = 300.0

#: What a file takes in a pack beside its rows, roughly.
_FILE_OVERHEAD_BYTES = 4096


class SegmentStore:
    """The cache of a shard, if it has one, and the bound on the memory of its rows."""

    def __init__(
        self, cache: PackCache | None, memory_bytes: int, threads: int, lock: threading.RLock
    ) -> None:
        self._cache = cache
        self._memory_bytes = memory_bytes
        self._file_bytes = memory_bytes // (2 * threads)
        self._lock = lock  # of the shard: held while blocks change places
        self._writing = threading.Lock()
        self._stored_at_s = 0.0
        self._broken = False

    def get_segments(self, path: str) -> Sequence[Segment]:
        """What the cache knows of a file: segments without gaps from its start."""
        return self._chains.get(path, ())

    def store_if_large(self, file: EventFile) -> None:
        """Store a file in the midst of reading if its rows alone take much of the memory allowed.

        To be called by the thread that reads the file.
        """
        if file.count_memory_bytes() > self._file_bytes:
            self._store([file])

    def store_if_due(self, files: Iterable[EventFile]) -> None:
        """After a refresh: store what is only in memory, unless it is little and fresh."""
        waiting = [file for file in files if not file.is_stored]
        due = time.monotonic() - self._stored_at_s > _STORE_INTERVAL_S
        if self._cache is None or not due:
            due = sum(file.count_memory_bytes() for file in waiting) > self._memory_bytes // 2
        if due:
            self._store(waiting)

    def discard_pack(self, pack: Path) -> None:
        """A pack is damaged: never use it again."""
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
        if not files or self._broken:
            return
        with self._writing:
            if self._cache is None:
                self._cache = TemporaryPackCache()
            try:
                size = sum(_FILE_OVERHEAD_BYTES + 2 * file.count_memory_bytes() for file in files)
                stored = self._cache.store((file.make_unstored_segment() for file in files), size)
            except (OSError, CacheFullError) as error:
                self._broken = True
                _log.warning("the cache cannot be written, so all stays in memory: %s", error)
                return
            with self._lock:
                for file, segment in zip(files, stored, strict=True):
                    file.replace_unstored(segment)
            self._stored_at_s = time.monotonic()
        release_pages()
        trim_memory()
