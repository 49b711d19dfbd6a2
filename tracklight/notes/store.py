"""One JSON file that several servers may read and change at the same time.

A change is made under a lock on what the file says then, and the file is replaced as a whole: a
reader needs no lock, and a kill leaves the old file or the new one.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from tracklight.errors import NotKept
from tracklight.notes.book import Book
from tracklight.notes.lock import hold

log = logging.getLogger(__name__)

#: Tells one state of a file from another: replacing it makes a new inode.
_Look = tuple[int, int, int]


class Store:
    """The book at ``path``, which appears with the first change."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._changing = threading.Lock()
        self._known: tuple[_Look | None, Book] = None, Book()

    def read(self) -> Book:
        """The book as it is now; where it cannot be read just now, as it was."""
        try:
            return self._read()
        except OSError as error:
            log.warning("notes could not be read from %s: %s", self.path, error)
            return self._known[1]

    def change(self, edit: Callable[[Book], Book]) -> Book:
        """Make the book what ``edit`` makes of it, also against others who change it now."""
        with self._changing:
            try:
                self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                with hold(self.path.with_suffix(".lock")):
                    before = self._read()
                    book = msgspec.structs.replace(edit(before), revision=before.revision + 1)
                    self._write(book)
            except OSError as error:
                reason = error.strerror or error
                raise NotKept(f"{self.path} could not be written: {reason}") from error
        return book

    def _read(self) -> Book:
        """The file is read only if it is another than before."""
        look = _look_at(self.path)
        known = self._known
        if look != known[0]:
            known = self._known = look, self._load()
        return known[1]

    def _load(self) -> Book:
        try:
            return msgspec.json.decode(self.path.read_bytes(), type=Book)
        except FileNotFoundError:
            return Book()
        except msgspec.MsgspecError as error:
            self._put_aside(error)
            return Book()

    def _put_aside(self, error: Exception) -> None:
        """What cannot be read is kept for its owner, but must not stop new notes."""
        aside = self.path.with_suffix(f".damaged-{time.time_ns()}")
        log.warning("%s is damaged (%s) and was renamed to %s", self.path, error, aside.name)
        try:
            os.replace(self.path, aside)
        except OSError as failure:
            log.warning("it could not be renamed: %s", failure)

    def _write(self, book: Book) -> None:
        part = self.path.with_suffix(f".part-{os.getpid()}")
        try:
            with part.open("wb") as file:
                file.write(msgspec.json.format(msgspec.json.encode(book), indent=1))
                file.flush()
                os.fsync(file.fileno())
            os.replace(part, self.path)
        finally:
            part.unlink(missing_ok=True)
        self._known = _look_at(self.path), book


def _look_at(path: Path) -> _Look | None:
    try:
        stat = path.stat()
    except FileNotFoundError:
        return None
    return stat.st_mtime_ns, stat.st_size, stat.st_ino
