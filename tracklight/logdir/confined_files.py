"""Where files with tensors may be read: below the log directories and nowhere else."""

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

    A config can name any path, and links can lead anywhere: whatever ends outside of these
    directories is refused before it is opened. Files are read by copying and never mapped: one
    that is cut short under a mapping, as a checkpoint may be that is saved anew, would
    end the process.
    """

    def __init__(self, roots: Sequence[str]) -> None:
        self._roots = tuple(resolve_path(root) for root in roots)

    def open(self, path: str) -> BinaryIO:
        """Open a file to read it; raises LogError where that may not or cannot be done."""
        self.check_path(path)
        files, path = open_filesystem(path)
        try:
            stat = files.find_stat(path)
            if stat is None:
                raise LogError(f'there is no file "{path}"')
            raw = _HandleFile(files.open(path), stat.size)
        except OSError as error:
            raise LogError(f'cannot read "{path}": {error.strerror or error}') from None
        return cast(BinaryIO, io.BufferedReader(raw, _BUFFER_BYTES))

    def find_size(self, path: str) -> int | None:
        """How many bytes a file has; None where there is none."""
        stat = self._find_stat(path)
        return None if stat is None else stat.size

    def get_fingerprint(self, path: str) -> str:
        """Another text whenever a file was written; empty where there is none."""
        stat = self._find_stat(path)
        return "" if stat is None else repr(stat)

    def list_file_names(self, folder: str) -> list[str]:
        """The names of the files in a folder, those of its folders left out."""
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
        resolved = resolve_path(path)
        if not any(is_inside(resolved, root) for root in self._roots):
            raise LogError(
                f'"{path}" leads out of the log directory, where nothing is read; '
                "move the file there"
            )


def join_path(folder: str, path: str) -> str:
    """A path that starts at a folder, which may be a URL."""
    if is_url(path) or not is_url(folder):
        return path if is_url(path) else os.path.join(folder, path)
    return posixpath.join(folder, path.replace("\\", "/"))


class _HandleFile(io.RawIOBase):
    """An open file of any file system, as Python and its libraries read one."""

    def __init__(self, handle: FileHandle, size: int) -> None:
        self._handle = handle
        self._size = size
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._at = max(offset + (0, self._at, self._size)[whence], 0)
        return self._at

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer).cast("B")
        count = self._handle.read_into(view[: max(self._size - self._at, 0)], self._at)
        self._at += count
        return count

    def close(self) -> None:
        if not self.closed:
            self._handle.__exit__(None, None, None)
        super().close()
