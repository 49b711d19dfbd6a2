"""Read files inside the log directories, and nowhere else.

A projector config can name any path, and symbolic links can point anywhere. `ConfinedFiles` rejects
paths outside of the log directories before they are opened.
"""

from __future__ import annotations

import io
import os
import posixpath
from collections.abc import Sequence
from typing import Any, BinaryIO, cast

from tracklight.errors import LogError
from tracklight.logdir.access import is_inside, open_filesystem, resolve_path
from tracklight.logdir.filesystem import FileHandle, FileStat
from tracklight.logdir.roots import is_url

_BUFFER_BYTES = 64 * 1024


class ConfinedFiles:
    """Access to the files inside some log directories, local or remote.

    All methods raise LogError for a path outside of these directories.
    """

    def __init__(self, roots: Sequence[str]) -> None:
        self._roots = tuple(resolve_path(root) for root in roots)

    def open(self, path: str) -> BinaryIO:
        """Open a file for reading; raises LogError if it cannot be read."""
        self.check_path(path)
        files, path = open_filesystem(path)
        try:
            stat = files.find_stat(path)
            if stat is None:
                raise LogError(f'no file "{path}"')
            raw = _HandleFile(files.open(path), stat.size)
        except OSError as error:
            raise LogError(f'cannot read "{path}": {error.strerror or error}') from None
        return cast(BinaryIO, io.BufferedReader(raw, _BUFFER_BYTES))

    def find_size(self, path: str) -> int | None:
        """Return the size of a file in bytes; None if it does not exist."""
        stat = self._find_stat(path)
        return None if stat is None else stat.size

    def get_fingerprint(self, path: str) -> str:
        """Return a string that changes when the file is written; empty if it does not exist."""
        stat = self._find_stat(path)
        return "" if stat is None else repr(stat)

    def list_file_names(self, folder: str) -> list[str]:
        """Return the sorted names of the files in a folder, without its subfolders."""
        self.check_path(folder)
        files, folder = open_filesystem(folder)
        listing = files.list_files(folder, lambda name: True, bool)
        return sorted(file.name for file in listing.files)

    def _find_stat(self, path: str) -> FileStat | None:
        self.check_path(path)
        files, path = open_filesystem(path)
        try:
            return files.find_stat(path)
        except OSError:
            return None

    def check_path(self, path: str) -> None:
        """Raise LogError if a path is outside of the log directories."""
        resolved = resolve_path(path)
        if not any(is_inside(resolved, root) for root in self._roots):
            raise LogError(
                f'"{path}" is outside of the log directory and is not read; '
                "move the file into the log directory"
            )


def join_path(folder: str, path: str) -> str:
    """Return ``path`` relative to ``folder``; both may be URLs."""
    if is_url(path) or not is_url(folder):
        return path if is_url(path) else os.path.join(folder, path)
    return posixpath.join(folder, path.replace("\\", "/"))


class _HandleFile(io.RawIOBase):
    """Adapts a `FileHandle` to the file interface of Python."""

    def __init__(self, handle: FileHandle, size: int) -> None:
        self._handle = handle
        self._size = size
        self._position = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._position = max(offset + (0, self._position, self._size)[whence], 0)
        return self._position

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer).cast("B")
        count = self._handle.read_into(view[: max(self._size - self._position, 0)], self._position)
        self._position += count
        return count

    def close(self) -> None:
        if not self.closed:
            self._handle.__exit__(None, None, None)
        super().close()
