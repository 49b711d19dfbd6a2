"""The interface to a file system that holds logs, implemented by `local`, `http` and `remote`."""

from __future__ import annotations

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
