"""A JSON file that several processes may read and change at the same time, and JSON numbers.

An update is applied to the current content while holding a lock file, and the file is replaced
atomically, so readers need no lock and a killed process leaves either the old or the new content.

Content that cannot be read is never overwritten: updates fail while the file cannot be read, and a
damaged file is renamed before a new one is written.

JSON has no NaN and no infinities; they are encoded as strings.
"""

from __future__ import annotations

import logging
import math
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from tracklight.errors import Message, SaveError
from tracklight.util.files import write_atomic

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
        return "-".join(map(str, _get_file_version(self.path) or ()))

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
                    self._cached = _get_file_version(self.path), content
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
        version = _get_file_version(self.path)
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


def _get_file_version(path: Path) -> _Version | None:
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
