"""Read files below the log directories and nowhere else."""

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
    """The files below some log directories.

    A projector configuration can name any path, and symbolic links can point anywhere. Paths that
    resolve to a location outside these directories are rejected before they are opened. Files are
    never mapped into memory, because truncating a mapped file, such as a checkpoint that is being
    rewritten, kills the process that reads it.

    Args:
        roots: The log directories.
    """

    def __init__(self, roots: Sequence[str]) -> None:
        self._roots = tuple(resolve_path(root) for root in roots)

    def open(self, path: str) -> BinaryIO:
        """Open a file for reading.

        Raises:
            LogError: The file is outside the log directories, missing or not readable.
        """
        self.check_path(path)
        fs, path = open_filesystem(path)
        try:
            stat = fs.find_stat(path)
            if stat is None:
                raise LogError("files.missing", 'no file "{path}"', path=path)
            raw = _RawFile(fs.open(path), stat.size)
        except OSError as error:
            raise LogError(
                "files.cannot_read",
                'cannot read "{path}": {reason}',
                path=path,
                reason=error.strerror or error,
            ) from None
        return cast(BinaryIO, io.BufferedReader(raw, _BUFFER_BYTES))

    def find_size(self, path: str) -> int | None:
        """Return the size of a file in bytes, or None if it does not exist."""
        stat = self._find_stat(path)
        return None if stat is None else stat.size

    def get_fingerprint(self, path: str) -> str:
        """Return a text that changes whenever a file is written; empty if it does not exist."""
        stat = self._find_stat(path)
        return "" if stat is None else repr(stat)

    def list_file_names(self, folder: str) -> list[str]:
        """Return the sorted names of the files in a folder, without those in its subfolders."""
        self.check_path(folder)
        fs, folder = open_filesystem(folder)
        listing = fs.list_files(folder, lambda name: True, bool)
        return sorted(file.name for file in listing.files)

    def check_path(self, path: str) -> None:
        """Raise LogError if a path is outside the log directories."""
        resolved = resolve_path(path)
        if not any(is_inside(resolved, root) for root in self._roots):
            raise LogError(
                "files.outside",
                '"{path}" is outside the log directory; move the file into it',
                path=path,
            )

    def _find_stat(self, path: str) -> FileStat | None:
        self.check_path(path)
        fs, path = open_filesystem(path)
        try:
            return fs.find_stat(path)
        except OSError:
            return None


def join_path(folder: str, path: str) -> str:
    """Join a path to a folder, which may be a URL; absolute paths and URLs are returned as is."""
    if is_url(path) or not is_url(folder):
        return path if is_url(path) else os.path.join(folder, path)
    return posixpath.join(folder, path.replace("\\", "/"))


class _RawFile(io.RawIOBase):
    """A `FileHandle` as a Python file object."""

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
