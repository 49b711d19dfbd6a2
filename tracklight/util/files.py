"""Files: atomic writes, JSON files shared between processes, an LRU cache on disk, valid names,
per-user folders, hashes of keys.

A file written by `open_atomic` has either the old or the new content at any time, even if the
process is killed half-way. In the folder of a `FileCache`, any file may be deleted at any time.

An update of a `JsonFile` is applied to the current content while holding a lock file, and the file
is replaced atomically, so readers need no lock. Content that cannot be read is never overwritten:
updates fail while the file cannot be read, and a damaged file is renamed before a new one is
written. JSON has no NaN and no infinities; `to_json_number` encodes them as strings.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import math
import os
import re
import secrets
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, Generic, NamedTuple, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from tracklight.errors import Message, SaveError

# ---- hashes


def hash_key(*parts: str, size_bytes: int = 12) -> str:
    """Return a hexadecimal hash of some strings that is the same in every process.

    Not for secrets. The parts may be file names that are not valid UTF-8.

    Args:
        parts: The strings; ``("a", "b")`` and ``("ab",)`` have different hashes.
        size_bytes: Length of the hash, half the number of digits.
    """
    text = "\0".join(parts)
    try:
        data = text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # surrogates that do not come from a file name
        data = text.encode("utf-8", "surrogatepass")
    return hashlib.blake2b(data, digest_size=size_bytes).hexdigest()


# ---- atomic writes

#: Matches the temporary files of `open_atomic`; killed processes leave some behind.
TEMPORARY_GLOB = "*.part-*"


@contextmanager
def open_atomic(path: Path, *, mode: int = 0o666, sync: bool = False) -> Iterator[BinaryIO]:
    """Open a temporary file that replaces ``path`` when the block ends without an exception.

    The temporary file is in the same folder and is removed if anything fails. An `OSError` about
    the temporary file names ``path`` instead.

    Args:
        path: The file to write; its folder must exist.
        mode: Permissions of the file, reduced by the umask.
        sync: Wait until the content is on disk, so that it survives a power failure.

    Example:
        >>> with open_atomic(Path("index.html")) as file:
        ...     file.write(b"<!doctype html>")
    """
    temporary = make_temporary_path(path)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    try:
        with open(os.open(temporary, flags, mode), "wb") as file:
            yield file
            if sync:
                file.flush()
                os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError as error:
        if error.filename is not None and os.fspath(error.filename) == os.fspath(temporary):
            error.filename, error.filename2 = str(path), None
        raise
    finally:
        with suppress(OSError):
            temporary.unlink()


def write_atomic(path: Path, data: bytes, *, mode: int = 0o666, sync: bool = False) -> None:
    """Replace the content of a file; see `open_atomic`."""
    with open_atomic(path, mode=mode, sync=sync) as file:
        file.write(data)


def make_temporary_path(path: Path) -> Path:
    """Return an unused path in the same folder that matches `TEMPORARY_GLOB`."""
    # Shortened because most file systems limit names to 255 bytes.
    return path.with_name(f".{path.name[:40]}.part-{os.getpid()}-{secrets.token_hex(4)}")


# ---- open files

_TARGET_OPEN_FILES = 65_536
#: Windows has no limit that can be queried; this is the maximum of its C runtime.
_WINDOWS_OPEN_FILES = 8192


def get_open_file_limit() -> int:
    """Return how many files and sockets this process may have open."""
    if sys.platform == "win32":
        return _WINDOWS_OPEN_FILES
    import resource

    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _TARGET_OPEN_FILES if soft == resource.RLIM_INFINITY else int(soft)


def raise_open_file_limit() -> None:
    """Raise the limit on open files and sockets, as far as this process is allowed to."""
    if sys.platform == "win32":
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    target = _TARGET_OPEN_FILES if hard == resource.RLIM_INFINITY else min(_TARGET_OPEN_FILES, hard)
    if resource.RLIM_INFINITY != soft < target:
        resource.setrlimit(resource.RLIMIT_NOFILE, (target, hard))


# ---- a cache on disk


class FileCache:
    """Store bytes in a folder and delete the least recently used files beyond a budget.

    Several processes may share a folder. A folder that cannot be read or written behaves like an
    empty cache.

    Args:
        folder: Created on the first `put`.
        max_bytes: Budget for the sizes of all files.
        max_files: Budget for their number.
    """

    def __init__(
        self, folder: Path, *, max_bytes: int | None = None, max_files: int | None = None
    ) -> None:
        self._folder = folder
        self._max_bytes = max_bytes
        self._max_files = max_files

    def find(self, key: str) -> bytes | None:
        """Return the content of a key and mark it as used, or None if it is not cached."""
        path = self._get_path(key)
        try:
            content = path.read_bytes()
        except OSError:
            return None
        with contextlib.suppress(OSError):
            os.utime(path)
        return content

    def put(self, key: str, content: bytes) -> None:
        """Store the content of a key, unless it is larger than the whole budget."""
        if self._max_bytes is not None and len(content) > self._max_bytes:
            return
        with contextlib.suppress(OSError):
            self._folder.mkdir(parents=True, exist_ok=True)
            write_atomic(self._get_path(key), content, mode=0o600)
            self._evict()

    def _get_path(self, key: str) -> Path:
        return self._folder / hash_key(key, size_bytes=16)

    def _evict(self) -> None:
        with os.scandir(self._folder) as entries:
            files = [(entry.stat(), entry.path) for entry in entries]
        files.sort(key=lambda file: file[0].st_mtime_ns, reverse=True)
        total_bytes = 0
        for number, (stat, path) in enumerate(files, 1):
            total_bytes += stat.st_size
            is_over = (self._max_files is not None and number > self._max_files) or (
                self._max_bytes is not None and total_bytes > self._max_bytes
            )
            if is_over:
                with contextlib.suppress(OSError):
                    os.unlink(path)


# ---- names of files

#: Characters that Windows, macOS or Linux does not allow in file names.
_UNSAFE = re.compile(r'[\x00-\x1f\x7f<>:"\\|?*]+')
_MAX_PART_CHARS = 100
_FIRST_ZIP_YEAR, _LAST_ZIP_YEAR = 1980, 2107


def make_file_name(name: str) -> str:
    """Turn the name of a run or tag into a relative path that is valid on every system."""
    parts = (_UNSAFE.sub("_", part).strip(" .")[:_MAX_PART_CHARS] for part in name.split("/"))
    return "/".join(filter(None, parts)) or "root"


def make_unique_name(name: str, taken: set[str]) -> str:
    """Return the path, with a number if it is in ``taken``, and add the result to ``taken``.

    >>> make_unique_name("loss.png", {"loss.png"})
    'loss (2).png'
    """
    path = PurePosixPath(name)
    unique, count = name, 1
    while unique in taken:
        count += 1
        unique = str(path.with_name(f"{path.stem} ({count}){path.suffix}"))
    taken.add(unique)
    return unique


def make_zip_time(wall_time: float) -> tuple[int, int, int, int, int, int]:
    """Return the modification time of a zip member; 1980-01-01 if zip cannot represent it."""
    try:
        date_time = time.gmtime(wall_time)[:6]
    except (OverflowError, ValueError, OSError):
        date_time = (0,) * 6
    if _FIRST_ZIP_YEAR <= date_time[0] <= _LAST_ZIP_YEAR:
        return date_time
    return (_FIRST_ZIP_YEAR, 1, 1, 0, 0, 0)


# ---- per-user folders


def get_data_dir() -> Path:
    """Return the data folder: ``TRACKLIGHT_DATA_DIR``, or the convention of the platform."""
    configured = os.environ.get("TRACKLIGHT_DATA_DIR")
    if configured:
        return Path(configured)
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "tracklight"
    if os.name == "nt":
        return Path(os.environ.get("LOCALAPPDATA", Path.home())) / "tracklight" / "data"
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local/share") / "tracklight"


def get_notes_path(roots: Iterable[str]) -> Path:
    """Return the path of the notes on some log directories; their order does not matter."""
    return get_data_dir() / "notes" / f"{hash_key(*sorted(roots))}.json"


# ---- JSON files

_log = logging.getLogger(__name__)

T = TypeVar("T")

#: Modification time, size and inode; a replaced file has a new inode.
_Version = tuple[int, int, int]


class FileUpdate(NamedTuple):
    """The size of a file before and after an update."""

    path: Path
    old_bytes: int
    new_bytes: int


_observed: ContextVar[list[FileUpdate]] = ContextVar("observed_updates")


@contextmanager
def observe_updates() -> Iterator[list[FileUpdate]]:
    """Collect the updates that this thread makes in a ``with`` block."""
    updates: list[FileUpdate] = []
    token = _observed.set(updates)
    try:
        yield updates
    finally:
        _observed.reset(token)


class JsonFile(Generic[T]):
    """The JSON file at ``path``, which is created by the first update.

    Args:
        path: The file. Its lock file and renamed damaged versions are in the same folder.
        content_type: The type that the content is decoded to.
        make_default: Returns the content of a file that does not exist yet.

    Example:
        >>> file = JsonFile(Path("stars.json"), list[str], list)
        >>> file.update(lambda runs: [*runs, "train"])
        ['train']
    """

    def __init__(self, path: Path, content_type: type[T], make_default: Callable[[], T]) -> None:
        self.path = path
        self.problem: Message | None = None
        """A message about a damaged file that was renamed, or empty."""
        self._type = content_type
        self._make_default = make_default
        self._lock = threading.Lock()
        self._cached: tuple[_Version | None, T] = None, make_default()

    def read(self) -> T:
        """Return the current content, or the content last read if the file cannot be read now."""
        try:
            return self._read()
        except OSError as error:
            _log.warning("could not read %s: %s", self.path, error)
            return self._cached[1]

    def get_revision(self) -> str:
        """Return a text that changes with the content; empty if the file does not exist."""
        return "-".join(map(str, _find_file_version(self.path) or ()))

    def update(self, edit: Callable[[T], T]) -> T:
        """Replace the content by ``edit(content)`` and return it.

        ``edit`` must return a new value and must not modify its argument.

        Raises:
            SaveError: The file cannot be read or written; its content is unchanged.
        """
        with self._lock:
            try:
                self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                with lock_file(self.path.with_suffix(".lock")):
                    content = edit(self._read())
                    encoded = msgspec.json.format(msgspec.json.encode(content), indent=1)
                    old_version = self._cached[0]
                    write_atomic(self.path, encoded, sync=True)
                    self._cached = _find_file_version(self.path), content
                    old_bytes = old_version[1] if old_version else 0
                    _observed.get([]).append(FileUpdate(self.path, old_bytes, len(encoded)))
            except OSError as error:
                reason = error.strerror or error
                raise SaveError(
                    "files.cannot_save",
                    "could not save {path}: {reason}",
                    path=self.path,
                    reason=reason,
                ) from error
        return content

    def _read(self) -> T:
        """Return the content; the file is read again only if it has changed."""
        version = _find_file_version(self.path)
        cached = self._cached
        if version != cached[0]:
            cached = self._cached = version, self._load()
        return cached[1]

    def _load(self) -> T:
        try:
            return msgspec.json.decode(self.path.read_bytes(), type=self._type)
        except FileNotFoundError:
            return self._make_default()
        except msgspec.MsgspecError as error:
            self._rename_damaged(error)
            return self._make_default()

    def _rename_damaged(self, error: Exception) -> None:
        renamed = self.path.with_suffix(f".damaged-{time.time_ns()}")
        os.replace(self.path, renamed)
        self.problem = Message.format(
            "files.damaged_renamed",
            "{path} is damaged ({error}) and was renamed to {name}",
            path=self.path,
            error=error,
            name=renamed.name,
        )
        _log.warning("%s", self.problem)


def _find_file_version(path: Path) -> _Version | None:
    try:
        stat = path.stat()
    except FileNotFoundError:
        return None
    return stat.st_mtime_ns, stat.st_size, stat.st_ino


@contextmanager
def lock_file(path: Path) -> Iterator[None]:
    """Hold an exclusive lock on a file, which is created if needed, for the ``with`` block.

    Waits until other processes release the lock. The system releases it if this one is killed.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        _lock(descriptor)
        yield
    finally:
        os.close(descriptor)


if sys.platform == "win32":
    import msvcrt

    def _lock(descriptor: int) -> None:
        msvcrt.locking(descriptor, msvcrt.LK_LOCK, 1)

else:
    import fcntl

    def _lock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX)


# ---- numbers in JSON

#: A finite number, or ``"NaN"``, ``"Infinity"`` or ``"-Infinity"``.
JsonNumber = float | str


def to_json_number(value: float) -> JsonNumber:
    """Replace NaN and infinities by strings that Python's float() and JavaScript's Number() parse.

    Args:
        value: Any number.

    Returns:
        The number, or a string.

    Example:
        >>> to_json_number(0.5), to_json_number(float("-inf"))
        (0.5, '-Infinity')
    """
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def to_json_numbers(column: NDArray[Any]) -> list[Any]:
    """Convert a column like `to_json_number`, value by value."""
    values: list[Any] = column.tolist()
    for row in np.flatnonzero(~np.isfinite(column)).tolist():
        values[row] = to_json_number(values[row])
    return values
