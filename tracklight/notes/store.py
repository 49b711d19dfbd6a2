"""The notes on a log in their file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec

from tracklight.notes.book import Book
from tracklight.notes.json_file import JsonFile


class Store:
    """Notes, annotations, layouts and alert rules, shared by all servers of a log."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = JsonFile(path, Book, Book)

    def read(self) -> Book:
        """Return the current notes; if they cannot be read now, the last known ones."""
        return self._file.read()

    def change(self, edit: Callable[[Book], Book]) -> Book:
        """Replace the notes by ``edit(notes)``, with the next revision.

        Raises:
            NotKept: The file cannot be read or written.
        """
        return self._file.change(
            lambda book: msgspec.structs.replace(edit(book), revision=book.revision + 1)
        )
