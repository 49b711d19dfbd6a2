"""Files on this machine, or on what is mounted into it."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from types import TracebackType

from tracklight.logdir.filesystem import FileHandle, FileStat, Listing, ReadSizes
from tracklight.logdir.walk import Walk, get_file_stat


class LocalHandle:
    """An open local file.

    Read by copying and never mapped into memory: a mapped file that somebody truncates kills the
    process that looks at it.
    """

    def __init__(self, path: str) -> None:
        self._file = open(path, "rb", buffering=0)

    def read(self, offset: int, size: int) -> bytes:
        buffer = bytearray(size)
        count = self.read_into(memoryview(buffer), offset)
        return bytes(buffer[:count])

    def read_into(self, buffer: memoryview, offset: int) -> int:
        self._file.seek(offset)
        count = 0
        while count < len(buffer):
            # A single read may give less than there is: at most 2 GB, or less over a network.
            got = self._file.readinto(buffer[count:])
            if not got:
                break
            count += got
        return count

    def __enter__(self) -> FileHandle:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._file.close()


class LocalFiles:
    """The file system of this machine."""

    read_sizes = ReadSizes(least=16 * 1024, first=512 * 1024, most=8 * 1024 * 1024)

    def list_files(
        self, root: str, wanted: Callable[[str], bool], skip: Callable[[str], bool]
    ) -> Listing:
        return Walk(root, wanted, skip).run()

    def exists(self, path: str) -> bool:
        return os.path.exists(path)

    def find_stat(self, path: str) -> FileStat | None:
        try:
            found = os.stat(path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        return get_file_stat(found) if stat.S_ISREG(found.st_mode) else None

    def read(self, path: str, offset: int, size: int) -> bytes:
        with LocalHandle(path) as handle:
            return handle.read(offset, size)

    def open(self, path: str) -> FileHandle:
        return LocalHandle(path)
