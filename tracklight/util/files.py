"""Files: atomic writes, an LRU cache on disk, valid names, per-user folders, hashes of keys.

A file written by `open_atomic` has either the old or the new content at any time, even if the
process is killed half-way. In the folder of a `FileCache`, any file may be deleted at any time.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import secrets
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath
from typing import BinaryIO

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

_TARGET_OPEN_FILES = 65_536
#: Windows has no limit that can be queried; this is the maximum of its C runtime.
_WINDOWS_OPEN_FILES = 8192


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


#: The limit on open files to request, and the one of the C runtime on Windows.
_WANTED_FILES = 65_536
_WINDOWS_FILES = 8192


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
