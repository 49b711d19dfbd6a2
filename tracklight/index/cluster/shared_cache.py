"""A cache that several servers and shards share: packs in a folder or an object store.

    URL/v1/<log>/<time>-<SHA-256>.pack

Each process keeps its packs in its own cache folder as before, and publishes every pack that it
writes. A process that starts downloads the packs that it does not have, so that it reads only what
is newer than they are. Names contain the hash of the content: a pack that arrives incomplete or
damaged is not used, and the same content is published once. An object appears when it is complete;
in a folder it is written under a temporary name. There are no locks: packs are immutable, of two
packs with the same rows the later one is used, and the other one is deleted after a while.

A store that fails never stops a server: it warns once and continues with its own cache.
"""

from __future__ import annotations

import hashlib
import logging
import os
import re
import shutil
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Protocol

from tracklight.errors import MissingDependencyError, UsageError, import_optional
from tracklight.index import Segment
from tracklight.index.cache import (
    CACHE_VERSION,
    DEFAULT_CACHE_BYTES,
    PackCache,
    SegmentChains,
    add_to_chain,
    find_cache_folder,
)
from tracklight.index.pack import write_pack
from tracklight.logdir.remote import EXTRAS
from tracklight.util.files import make_temporary_path, open_atomic

#: A pack without a row in use is deleted when it is older than this, so that a process that is just
#: downloading it can finish.
_MIN_GARBAGE_AGE_S = 3600.0

_CHUNK_BYTES = 1 << 20
_NAME = re.compile(r"(\d{20})j*-([0-9a-f]{64})\.pack")

_log = logging.getLogger(__name__)


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
