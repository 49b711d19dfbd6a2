"""The interface to a file system that holds logs, and the local file system.

Network mounts are local file systems. Others are implemented by `http` and `remote`.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable
from dataclasses import dataclass, field
from types import TracebackType
from typing import NamedTuple, Protocol

from tracklight.errors import Message


class FileStat(NamedTuple):
    """The state of a file: a file with an equal stat has not been written to."""

    size: int
    mtime_ns: int
    #: Inode or entity tag. Not the device, whose number may change when the machine restarts.
    identity: str


class ListedFile(NamedTuple):
    """A regular file below a root."""

    #: Path relative to the root, with ``/`` between its parts; "" for the root itself.
    directory: str
    name: str
    path: str
    stat: FileStat


@dataclass(slots=True)
class Listing:
    """The files below a root, and the directories that could not be listed."""

    files: list[ListedFile] = field(default_factory=list)
    #: Messages for the user.
    problems: list[Message] = field(default_factory=list)
    #: Directories that could not be listed; files known to be below them may still exist.
    failed_directories: list[str] = field(default_factory=list)
    #: Targets of symbolic links, where changes have to be watched instead of at the link.
    linked: set[str] = field(default_factory=set)

    def add_problem(self, path: str, error: OSError) -> None:
        self.problems.append(
            Message.format(
                "files.cannot_list",
                'cannot list "{path}": {reason}',
                path=path,
                reason=error.strerror or error,
            )
        )
        self.failed_directories.append(path)


class ReadSizes(NamedTuple):
    """How many bytes to read at a time, which depends on the cost of a request."""

    min_bytes: int
    initial_bytes: int
    max_bytes: int
    max_dense_bytes: int = 16 << 20
    """Limit where each series has many records, so that they stay in the processor's caches."""


class FileHandle(Protocol):
    """An open file, which stays the same even if another file replaces it at its path."""

    def read(self, offset: int, size: int) -> bytes:
        """Read ``size`` bytes, or fewer at the end of the file."""

    def read_into(self, buffer: memoryview, offset: int) -> int:
        """Fill ``buffer`` with the bytes at ``offset``; return how many there were."""

    def __enter__(self) -> FileHandle: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...


class FileSystem(Protocol):
    """Read access to files. All failures are raised as OSError."""

    read_sizes: ReadSizes

    def list_files(
        self, root: str, is_wanted: Callable[[str], bool], is_excluded: Callable[[str], bool]
    ) -> Listing:
        """List the files below a directory, in any order. Failures are part of the result.

        Args:
            root: The directory; if it does not exist, it has no files.
            is_wanted: Called with the base name of a file.
            is_excluded: Called with the relative path of a directory; if true, it is not entered.
        """

    def exists(self, path: str) -> bool:
        """Return whether a file or directory exists; also True if that cannot be determined."""

    def find_stat(self, path: str) -> FileStat | None:
        """Return the current state of a file, or None if there is no such regular file."""

    def read(self, path: str, offset: int, size: int) -> bytes:
        """Read ``size`` bytes of a file, or fewer at its end."""

    def open(self, path: str) -> FileHandle: ...


# ---- the local file system

#: Device and inode, the same for all paths of one directory.
Identity = tuple[int, int]

#: Errors of broken and circular links, which are ignored.
_BROKEN_LINK_ERRNOS = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)


class LocalFileSystem:
    """The file system of this machine; see `FileSystem`."""

    read_sizes = ReadSizes(
        min_bytes=16 << 10, initial_bytes=2 << 20, max_bytes=8 << 20, max_dense_bytes=2 << 20
    )

    def list_files(
        self, root: str, is_wanted: Callable[[str], bool], is_excluded: Callable[[str], bool]
    ) -> Listing:
        return DirectoryWalk(root, is_wanted, is_excluded).run()

    def exists(self, path: str) -> bool:
        return os.path.exists(path)

    def find_stat(self, path: str) -> FileStat | None:
        try:
            stat_result = os.stat(path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        return make_file_stat(stat_result) if stat.S_ISREG(stat_result.st_mode) else None

    def read(self, path: str, offset: int, size: int) -> bytes:
        with LocalHandle(path) as handle:
            return handle.read(offset, size)

    def open(self, path: str) -> FileHandle:
        return LocalHandle(path)


class LocalHandle:
    """An open local file.

    It is never mapped into memory, because truncating a mapped file kills the process that reads
    it.
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
            # A single read may return less than there is: at most 2 GB, or less on a network mount.
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


class Folder(NamedTuple):
    """A directory still to be listed."""

    path: str
    relative: str
    #: The directory and those above it; None until a link was followed, because a tree without
    #: links has no cycles.
    ancestors: frozenset[Identity] | None

    def join_relative(self, name: str) -> str:
        return f"{self.relative}/{name}" if self.relative else name


class DirectoryWalk:
    """One walk over the tree below ``root``; see `FileSystem.list_files`."""

    def __init__(
        self, root: str, is_wanted: Callable[[str], bool], is_excluded: Callable[[str], bool]
    ) -> None:
        self._root = root
        self._is_wanted = is_wanted
        self._is_excluded = is_excluded
        self._folders = [Folder(root, "", None)]
        self._listing = Listing()

    def run(self) -> Listing:
        while self._folders:
            folder = self._folders.pop()
            try:
                self._list(folder)
            except OSError as error:
                self._record_error(folder.path, error)
        return self._listing

    def _list(self, folder: Folder) -> None:
        with os.scandir(folder.path) as entries:
            for entry in entries:
                # is_dir and is_symlink need no system call here: scandir has the entry type.
                if entry.is_dir(follow_symlinks=False):
                    self._enter_directory(folder, entry)
                elif self._is_wanted(entry.name) or entry.is_symlink():
                    self._add_entry(folder, entry)

    def _add_entry(self, folder: Folder, entry: os.DirEntry[str]) -> None:
        # Not entry.stat(), which on Windows has no inode and an outdated size.
        stat_result = self._find_stat(entry.path)
        if stat_result is None:
            return
        if stat.S_ISDIR(stat_result.st_mode):
            self._enter_link(folder, entry, stat_result)
        elif stat.S_ISREG(stat_result.st_mode) and self._is_wanted(entry.name):
            file = ListedFile(folder.relative, entry.name, entry.path, make_file_stat(stat_result))
            self._listing.files.append(file)
            if entry.is_symlink():
                self._listing.linked.add(os.path.realpath(entry.path))

    def _enter_directory(self, folder: Folder, entry: os.DirEntry[str]) -> None:
        relative = folder.join_relative(entry.name)
        if self._is_excluded(relative):
            return
        if folder.ancestors is None:
            self._folders.append(Folder(entry.path, relative, None))
        elif stat_result := self._find_stat(entry.path):
            self._queue_unless_cycle(Folder(entry.path, relative, folder.ancestors), stat_result)

    def _enter_link(
        self, folder: Folder, link: os.DirEntry[str], stat_result: os.stat_result
    ) -> None:
        relative = folder.join_relative(link.name)
        if self._is_excluded(relative):
            return
        ancestors = folder.ancestors
        if ancestors is None:
            ancestors = self._identify_ancestors(folder)
        if self._queue_unless_cycle(Folder(link.path, relative, ancestors), stat_result):
            self._listing.linked.add(os.path.realpath(link.path))

    def _queue_unless_cycle(self, folder: Folder, stat_result: os.stat_result) -> bool:
        """Queue a directory unless it is one of its own ancestors; return whether it was queued."""
        assert folder.ancestors is not None
        identity = _get_identity(stat_result)
        if identity in folder.ancestors:
            return False
        self._folders.append(folder._replace(ancestors=folder.ancestors | {identity}))
        return True

    def _find_stat(self, path: str) -> os.stat_result | None:
        try:
            return os.stat(path)
        except OSError as error:
            self._record_error(path, error)
            return None

    def _identify_ancestors(self, folder: Folder) -> frozenset[Identity]:
        paths = [folder.path]
        for _ in folder.relative.split("/") if folder.relative else ():
            paths.append(os.path.dirname(paths[-1]))
        return frozenset(_get_identity(os.stat(path)) for path in paths)

    def _record_error(self, path: str, error: OSError) -> None:
        # The error of listing a file instead of a directory depends on the system.
        if path == self._root and os.path.isfile(path):
            self._list_root_file()
        elif error.errno not in _BROKEN_LINK_ERRNOS:
            self._listing.add_problem(path, error)

    def _list_root_file(self) -> None:
        """List the root, which is a file instead of a directory."""
        path, name = self._root, os.path.basename(self._root)
        stat_result = self._find_stat(path) if self._is_wanted(name) else None
        if stat_result is not None:
            self._listing.files.append(ListedFile("", name, path, make_file_stat(stat_result)))
        else:
            self._listing.problems.append(
                Message.format(
                    "files.root_is_file",
                    '"{path}" is a file; pass its directory instead',
                    path=path,
                )
            )


def make_file_stat(stat_result: os.stat_result) -> FileStat:
    return FileStat(stat_result.st_size, stat_result.st_mtime_ns, str(stat_result.st_ino))


def _get_identity(stat_result: os.stat_result) -> Identity:
    return stat_result.st_dev, stat_result.st_ino
