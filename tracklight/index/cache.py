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
import time
from collections.abc import Iterable
from pathlib import Path

from tracklight.errors import FormatError
from tracklight.index.pack import DamagedPack, Pack, write_pack
from tracklight.index.segment import Segment, join_segments
from tracklight.util.files import TEMPORARY_GLOB
from tracklight.util.hashing import hash_key

DEFAULT_LIMIT_BYTES = 8 << 30

_VERSION = "v1"
_SUFFIX = ".pack"
#: With more packs than this, small ones are joined into one.
_MANY_PACKS = 16
_SMALL_PACK_BYTES = 64 << 20

#: A pack that is still not whole after this long never will be.
_LEFT_BEHIND_S = 3600.0

_log = logging.getLogger(__name__)
_counter = itertools.count()

Chains = dict[str, list[Segment]]


class CacheFull(FormatError):
    """There is no room left within the cache's limit."""


class Cache:
    """The packs of one log directory."""

    def __init__(self, folder: Path, limit_bytes: int = DEFAULT_LIMIT_BYTES) -> None:
        self.folder = folder
        self._limit_bytes = limit_bytes

    def load(self) -> Chains:
        """For each event file, the segments known of it: they begin at its start without gaps."""
        chains: Chains = {}
        self._sweep()
        for path in self._packs():
            for segment in self._open(path):
                _add(chains, segment)
        return chains

    def store(self, segments: Iterable[Segment], size_bytes: int) -> list[Segment]:
        """Write segments of about that size into a new pack; give them back as they stand in it.

        They are taken one at a time, so that one may be put together when the one before is gone.
        """
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._make_room(size_bytes)
        path = self._new_path()
        write_pack(path, segments)
        stored = Pack(path).segments()
        self._join_small_packs()
        return stored

    def discard(self, path: Path) -> None:
        """Throw a pack away that turned out to be damaged."""
        _log.warning("a cache file was damaged and is thrown away: %s", path)
        _unlink(path)

    def close(self) -> None:
        """Nothing to do: what is on disk stays for the next time."""

    def _sweep(self) -> None:
        """Mark the folder as in use, and remove what processes that were killed left behind."""
        with contextlib.suppress(OSError):
            os.utime(self.folder)
        for part in self.folder.glob(TEMPORARY_GLOB):
            if time.time() - _mtime(part) > _LEFT_BEHIND_S:
                _unlink(part)

    def _packs(self) -> list[Path]:
        """In the order written, which is that of their names."""
        return sorted(self.folder.glob(f"*{_SUFFIX}"))

    def _new_path(self) -> Path:
        name = f"{time.time_ns():020d}-{os.getpid()}-{next(_counter)}{_SUFFIX}"
        return self.folder / name

    def _open(self, path: Path) -> list[Segment]:
        try:
            return Pack(path).segments()
        except DamagedPack:
            self.discard(path)
        except OSError:  # another process joined it into a newer one
            pass
        return []

    def _make_room(self, wanted: int) -> None:
        """Throw out the folders of other logs, longest unused first, until ``wanted`` bytes fit."""
        used = {folder: _folder_bytes(folder) for folder in _folders(self.folder.parent)}
        others = sorted((f for f in used if f != self.folder), key=_mtime)
        while sum(used.values()) + wanted > self._limit_bytes:
            if not others:
                raise CacheFull(f"the cache's limit of {self._limit_bytes} bytes is reached")
            shutil.rmtree(others[0], ignore_errors=True)
            del used[others.pop(0)]

    def _join_small_packs(self) -> None:
        small = [path for path in self._packs() if _file_bytes(path) < _SMALL_PACK_BYTES]
        if len(small) <= _MANY_PACKS:
            return
        chains: Chains = {}
        for path in small:
            for segment in self._open(path):
                chain = chains.setdefault(segment.origin.path, [])
                if chain and chain[-1].origin.end != segment.origin.begin:
                    chain.clear()
                chain.append(segment)
        # The newest of the old names, so that it still counts as older than what came after.
        joined = small[-1].with_name(small[-1].stem + "j" + _SUFFIX)
        try:
            write_pack(joined, (join_segments(chain) for chain in chains.values()))
        except DamagedPack as damaged:
            self.discard(damaged.path)
            return
        for path in small:
            _unlink(path)


class PrivateCache(Cache):
    """Room on disk for one process alone; it goes when the process does."""

    def __init__(self) -> None:
        self._temporary = tempfile.TemporaryDirectory(
            prefix="tracklight-", ignore_cleanup_errors=True
        )
        super().__init__(Path(self._temporary.name) / _VERSION, sys.maxsize)

    def close(self) -> None:
        self._temporary.cleanup()


def find_folder(roots: Iterable[str], base: Path | None = None, shard: int = 0) -> Path | None:
    """Where the cache of these log directories is kept; None if only inside one of them."""
    places = sorted(roots)
    name = hash_key(*places, str(shard))
    usual = (find_user_cache(), Path(tempfile.gettempdir()) / _temp_name())
    for folder in [base] if base else usual:
        if not any(_is_inside(folder, place) for place in places):
            return folder / _VERSION / name
    return None


def _add(chains: Chains, segment: Segment) -> None:
    """A segment from the start of its file replaces what was known; another must fit on."""
    chain = chains.setdefault(segment.origin.path, [])
    if segment.origin.begin == 0:
        chain[:] = [segment]
    elif chain and chain[-1].origin.end == segment.origin.begin:
        chain.append(segment)


def find_user_cache() -> Path:
    """The folder in which the caches of all logs are kept unless another is chosen."""
    chosen = os.environ.get("TRACKLIGHT_CACHE")
    if chosen:
        return Path(chosen)
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "tracklight"
    if os.name == "nt":
        return Path(os.environ.get("LOCALAPPDATA", Path.home())) / "tracklight" / "cache"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tracklight"


def _temp_name() -> str:
    return f"tracklight-cache-{os.getuid() if hasattr(os, 'getuid') else 'user'}"


def _is_inside(folder: Path, place: str) -> bool:
    return "://" not in place and folder.resolve().is_relative_to(Path(place).resolve())


def _folders(parent: Path) -> list[Path]:
    with contextlib.suppress(OSError):
        return [path for path in parent.iterdir() if path.is_dir()]
    return []


def _folder_bytes(folder: Path) -> int:
    return sum(map(_file_bytes, folder.glob("*")))


def _file_bytes(path: Path) -> int:
    with contextlib.suppress(OSError):
        return path.stat().st_size
    return 0


def _mtime(path: Path) -> float:
    with contextlib.suppress(OSError):
        return path.stat().st_mtime
    return 0.0


def _unlink(path: Path) -> None:
    with contextlib.suppress(OSError):  # gone already, or mapped by a process on Windows
        path.unlink(missing_ok=True)
