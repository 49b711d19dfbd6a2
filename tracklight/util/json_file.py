"""A lock between processes: whoever holds the file may change what lies beside it."""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Generic, TypeVar

import msgspec

from tracklight.errors import SaveError
from tracklight.util.files import write_atomic


@contextmanager
def lock_file(path: Path) -> Iterator[None]:
    """Wait for the lock and keep it for the block; the system lets go of it if we are killed."""
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


# One JSON file that several servers may read and change at the same time.
#
# A change is applied to the current content under a lock between processes, and the file is replaced
# atomically: readers need no lock, and a killed process leaves the old content or the new.
#
# Content that cannot be read is never overwritten: while reading fails, changes are refused, and a
# damaged file is renamed before a new one is written.

log = logging.getLogger(__name__)

T = TypeVar("T")

#: Time, size and inode: replacing a file makes a new inode.
_Version = tuple[int, int, int]


class JsonFile(Generic[T]):
    """The JSON file at ``path``, which is created by the first change.

    Args:
        path: The file. A lock file and damaged versions are kept beside it.
        kind: The type to decode the content as.
        create: Returns the content of a file that does not exist yet.
    """

    def __init__(self, path: Path, content_type: type[T], make_default: Callable[[], T]) -> None:
        self.path = path
        self.problem = ""
        """A sentence about a damaged file that was renamed, or empty."""
        self._type = content_type
        self._make_default = make_default
        self._lock = threading.Lock()
        self._cached: tuple[_Version | None, T] = None, make_default()

    def read(self) -> T:
        """Return the current content; if it cannot be read now, the last known content."""
        try:
            return self._read()
        except OSError as error:
            log.warning("%s could not be read: %s", self.path, error)
            return self._cached[1]

    def update(self, edit: Callable[[T], T]) -> T:
        """Replace the content by ``edit(content)`` and return it.

        ``edit`` must return a new value and leave its argument as it is.

        Raises:
            NotKept: The file cannot be read or written. It is left as it was.
        """
        with self._lock:
            try:
                self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                with lock_file(self.path.with_suffix(".lock")):
                    content = edit(self._read())
                    encoded = msgspec.json.format(msgspec.json.encode(content), indent=1)
                    write_atomic(self.path, encoded, sync=True)
                    self._cached = _get_file_version(self.path), content
            except OSError as error:
                reason = error.strerror or error
                raise SaveError(f"{self.path} could not be changed: {reason}") from error
        return content

    def _read(self) -> T:
        """Return the content, read again only if the file has changed."""
        version = _get_file_version(self.path)
        known = self._cached
        if version != known[0]:
            known = self._cached = version, self._load()
        return known[1]

    def _load(self) -> T:
        try:
            return msgspec.json.decode(self.path.read_bytes(), type=self._type)
        except FileNotFoundError:
            return self._make_default()
        except msgspec.MsgspecError as error:
            self._rename_damaged(error)
            return self._make_default()

    def _rename_damaged(self, error: Exception) -> None:
        aside = self.path.with_suffix(f".damaged-{time.time_ns()}")
        os.replace(self.path, aside)
        self.problem = f"{self.path} is damaged ({error}) and was renamed to {aside.name}"
        log.warning("%s", self.problem)


def _get_file_version(path: Path) -> _Version | None:
    try:
        stat = path.stat()
    except FileNotFoundError:
        return None
    return stat.st_mtime_ns, stat.st_size, stat.st_ino
