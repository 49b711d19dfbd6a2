"""The on-disk cache: a folder of packs for each log, in the cache folder of the user.

Packs are immutable and named by the time they were written, so several processes can share a folder
without locks: each adds its own packs and reads those of the others. The content of a pack is only
used if the stat and fingerprint of the event file still match. Any file may be deleted at any time.

`PackCache` reads and writes packs; `SegmentStore` decides when rows move from memory to the cache.
`SharedPackCache` also exchanges packs with other servers and shards through a folder or an object
store (``--shared-cache``).
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import logging
import os
import re
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

from tracklight.errors import FormatError, MissingDependencyError, UsageError, import_optional
from tracklight.index import Segment, SegmentOrigin, join_segments
from tracklight.index.event_file import EventFile
from tracklight.index.pack import CorruptPackError, Pack, StoredSegment, release_pages, write_pack
from tracklight.util.files import TEMPORARY_GLOB, hash_key, make_temporary_path, open_atomic
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
SegmentChains = dict[str, list[StoredSegment]]


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
        pack = Pack(self._write(self._make_path(), segments))
        stored = [segment.load() for segment in pack.list_segments()]
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

    def _load_pack(self, path: Path) -> list[StoredSegment]:
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
                chain = chains.setdefault(segment.path, [])
                if chain and chain[-1].end != segment.begin:
                    chain.clear()
                chain.append(segment)
        # Named after the newest of them, so that it sorts before packs written later.
        merged = small[-1].with_name(small[-1].stem + "j" + _SUFFIX)
        try:
            joined = (join_segments([it.load() for it in chain]) for chain in chains.values())
            self._write(merged, joined)
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

    def get_segments(self, path: str) -> list[Segment]:
        """Return the cached segments of a file, consecutive from its start."""
        return [segment.load() for segment in self._chains.get(path, ())]

    def find_origin(self, path: str) -> SegmentOrigin | None:
        """Return where the last cached segment of a file is from."""
        chain = self._chains.get(path)
        return chain[-1].load().origin if chain else None

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


def add_to_chain(chains: SegmentChains, segment: StoredSegment) -> None:
    """Add a segment that continues its chain; one from the start of its file replaces the chain."""
    chain = chains.setdefault(segment.path, [])
    if segment.begin == 0:
        chain[:] = [segment]
    elif chain and chain[-1].end == segment.begin:
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


# ---- the shared cache
#
#     URL/v1/<log>/<time>-<SHA-256>.pack
#
# Each process keeps its packs in its own cache folder as before, and publishes every pack that it
# writes. A process that starts downloads the packs that it does not have, so that it reads only
# what is newer than they are. Names contain the hash of the content: a pack that arrives incomplete
# or damaged is not used, and the same content is published once. An object appears when it is
# complete; in a folder it is written under a temporary name. There are no locks: packs are
# immutable, of two packs with the same rows the later one is used, and the other one is deleted
# after a while.
#
# A store that fails never stops a server: it warns once and continues with its own cache.

#: A pack without a row in use is deleted when it is older than this, so that a process that is just
#: downloading it can finish.
_MIN_GARBAGE_AGE_S = 3600.0

_CHUNK_BYTES = 1 << 20
_NAME = re.compile(r"(\d{20})j*-([0-9a-f]{64})\.pack")


class PackStore(Protocol):
    """Where packs are shared. All failures are raised as OSError."""

    def list_names(self) -> list[str]: ...

    def download(self, name: str, target: Path) -> None: ...

    def upload(self, source: Path, name: str) -> None:
        """Store a file; it becomes visible when it is complete."""

    def delete(self, name: str) -> None:
        """Delete a file, if it exists."""


class FolderStore:
    """Packs in a folder, such as one on a network file system."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def list_names(self) -> list[str]:
        try:
            return sorted(os.listdir(self._folder))
        except FileNotFoundError:
            return []

    def download(self, name: str, target: Path) -> None:
        shutil.copyfile(self._folder / name, target)

    def upload(self, source: Path, name: str) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        with source.open("rb") as data, open_atomic(self._folder / name) as file:
            shutil.copyfileobj(data, file, _CHUNK_BYTES)

    def delete(self, name: str) -> None:
        (self._folder / name).unlink(missing_ok=True)


class ObjectStore:
    """Packs in an object store, through fsspec.

    Raises:
        MissingDependencyError: The library for this kind of URL is not installed.
        UsageError: The scheme of the URL is unknown.
    """

    def __init__(self, url: str) -> None:
        fsspec = import_optional("fsspec", "--shared-cache with a URL", "remote")
        scheme = url.partition("://")[0]
        try:
            fsspec.get_filesystem_class(scheme)
        except ImportError:
            from tracklight.logdir.remote import EXTRAS

            extra = EXTRAS.get(scheme, "remote")
            raise MissingDependencyError(f"--shared-cache {scheme}://…", extra) from None
        except ValueError as error:
            raise UsageError(f"--shared-cache {scheme}://… cannot be used: {error}") from None
        self._url = url
        self._connection: tuple[Any, str] | None = None

    def list_names(self) -> list[str]:
        fs, root = self._connect()
        fs.invalidate_cache()
        try:
            paths = self._call(fs.ls, root, detail=False)
        except FileNotFoundError:
            return []
        return sorted(path.rpartition("/")[2] for path in paths)

    def download(self, name: str, target: Path) -> None:
        fs, root = self._connect()
        self._call(fs.get_file, f"{root}/{name}", str(target))

    def upload(self, source: Path, name: str) -> None:
        fs, root = self._connect()
        self._call(fs.put_file, str(source), f"{root}/{name}")

    def delete(self, name: str) -> None:
        fs, root = self._connect()
        try:
            self._call(fs.rm_file, f"{root}/{name}")
        except FileNotFoundError:
            pass

    def _connect(self) -> tuple[Any, str]:
        if self._connection is None:
            import fsspec.core  # type: ignore[import-untyped]

            fs, root = self._call(fsspec.core.url_to_fs, self._url)
            self._connection = fs, root.rstrip("/")
        return self._connection

    def _call(self, function: Any, *args: Any, **options: Any) -> Any:
        """Call fsspec, whose drivers raise errors of many libraries."""
        try:
            return function(*args, **options)
        except OSError:
            raise
        except Exception as error:
            raise OSError(" ".join(str(error).split()) or type(error).__name__) from error


def create_cache(
    roots: Sequence[str],
    cache: bool | Path,
    limit_bytes: int = DEFAULT_CACHE_BYTES,
    shared_url: str | None = None,
) -> PackCache | None:
    """Return the cache of some log directories, which all shards use.

    Args:
        roots: The log directories.
        cache: Whether to use a cache, or the folder for the caches of all logs.
        limit_bytes: Limit for the size of all caches together.
        shared_url: The URL or folder of a shared cache.

    Raises:
        UsageError: The shared cache cannot be used.
    """
    base = None if isinstance(cache, bool) else cache
    folder = find_cache_folder(roots, base) if cache else None
    if folder is None:
        return None
    if shared_url is None:
        return PackCache(folder, limit_bytes)
    return SharedPackCache(folder, limit_bytes, open_store(shared_url, roots))


def open_store(url: str, roots: Iterable[str]) -> PackStore:
    """Return the part of a shared cache that belongs to some log directories.

    Args:
        url: The URL or folder of the shared cache.
        roots: The log directories.

    Raises:
        UsageError: The URL cannot be used, or is a folder inside a log directory.
    """
    roots = list(roots)
    if "://" in url:
        folder = find_cache_folder(roots, Path("shared"))
        assert folder is not None
        return ObjectStore(f"{url.rstrip('/')}/{CACHE_VERSION}/{folder.name}")
    local_folder = find_cache_folder(roots, Path(url))
    if local_folder is None:
        raise UsageError(
            f'--shared-cache "{url}" is inside the log directory, which is never written to; '
            "choose a directory outside"
        )
    return FolderStore(local_folder)


class SharedPackCache(PackCache):
    """The packs of one log in a local folder, exchanged with other processes through a store.

    Args:
        folder: See `PackCache`.
        limit_bytes: See `PackCache`.
        store: The shared store.
    """

    def __init__(self, folder: Path, limit_bytes: int, store: PackStore) -> None:
        super().__init__(folder, limit_bytes)
        self._store = store
        self._has_warned = False

    def load(self) -> SegmentChains:
        """Download the packs that are not here, and return the segments of all packs."""
        self._download_missing()
        self._remove_leftovers()
        chains: SegmentChains = {}
        packs = {path: self._load_pack(path) for path in self._list_packs()}
        for segments in packs.values():
            for segment in segments:
                add_to_chain(chains, segment)
        used = {id(segment) for chain in chains.values() for segment in chain}
        self._delete_garbage(
            path
            for path, segments in packs.items()
            if not any(id(segment) in used for segment in segments)
        )
        return chains

    def _write(self, path: Path, segments: Iterable[Segment]) -> Path:
        """Write a pack under the name of its content, and publish it."""
        write_pack(path, segments)
        named = path.with_name(f"{_get_time(path)}-{_hash_file(path)}.pack")
        os.replace(path, named)
        try:
            if named.name not in self._store.list_names():
                self._store.upload(named, named.name)
        except OSError as error:
            self._warn(error)
        return named

    def _delete(self, path: Path) -> None:
        super()._delete(path)
        try:
            self._store.delete(path.name)
        except OSError as error:
            self._warn(error)

    def _download_missing(self) -> None:
        try:
            names = self._store.list_names()
        except OSError as error:
            self._warn(error)
            return
        for name in names:
            match = _NAME.fullmatch(name)
            if match and not (self.folder / name).exists():
                self._download(name, match[2])

    def _download(self, name: str, expected_hash: str) -> None:
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        target = self.folder / name
        temporary = make_temporary_path(target)
        try:
            self._store.download(name, temporary)
            if _hash_file(temporary) == expected_hash:
                os.replace(temporary, target)
            else:
                _log.warning("the shared cache has a damaged pack, which is not used: %s", name)
        except FileNotFoundError:
            pass  # another process merged it into a newer one
        except OSError as error:
            self._warn(error)
        finally:
            temporary.unlink(missing_ok=True)

    def _delete_garbage(self, paths: Iterable[Path]) -> None:
        """Delete packs whose rows are all in later ones."""
        for path in paths:
            match = _NAME.fullmatch(path.name)
            if match and time.time() - int(match[1]) / 1e9 > _MIN_GARBAGE_AGE_S:
                self._delete(path)

    def _warn(self, error: OSError) -> None:
        if not self._has_warned:
            self._has_warned = True
            reason = error.strerror or error
            _log.warning("the shared cache cannot be used, continuing without it: %s", reason)


def _get_time(path: Path) -> str:
    """Return the part of a name by which packs are sorted."""
    return path.name.partition("-")[0] + ("j" if path.stem.endswith("j") else "")


def _hash_file(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK_BYTES):
            digest.update(chunk)
    return digest.hexdigest()
