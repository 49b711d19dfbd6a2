"""What the rest of tracklight asks of a place where logs are kept, be it a disk or a bucket."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from types import TracebackType
from typing import NamedTuple, Protocol


class FileStat(NamedTuple):
    """What tells one state of a file from another without reading it."""

    size: int
    mtime_ns: int
    #: Inode or entity tag. Not the device: its number may change when the machine restarts.
    identity: str


class ListedFile(NamedTuple):
    """A regular file found below a root."""

    #: Path from the root with ``/`` between its parts; "" for the root itself.
    directory: str
    name: str
    path: str
    stat: FileStat


@dataclass(slots=True)
class Listing:
    """All wanted files below a root, and what stood in the way of finding more."""

    files: list[ListedFile] = field(default_factory=list)
    #: Sentences to show to the user.
    problems: list[str] = field(default_factory=list)
    #: Directories that could not be listed: what was known below them may well still be there.
    failed_directories: list[str] = field(default_factory=list)
    #: Real files and directories that links lead to: changes happen there, not at the link.
    linked: set[str] = field(default_factory=set)

    def add_problem(self, path: str, error: OSError) -> None:
        self.problems.append(f'cannot list "{path}": {error.strerror or error}')
        self.failed_directories.append(path)


class ReadSizes(NamedTuple):
    """How many bytes to ask for at a time, which is a matter of what one request costs."""

    min_bytes: int
    initial_bytes: int
    max_bytes: int


class FileHandle(Protocol):
    """An open file. What was opened stays open even when another file takes over its name."""

    def read(self, offset: int, size: int) -> bytes:
        """Read up to ``size`` bytes; fewer only where the file ends."""

    def read_into(self, buffer: memoryview, offset: int) -> int:
        """Fill ``buffer`` from ``offset`` on; return how many bytes there were."""

    def __enter__(self) -> FileHandle: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...


class FileSystem(Protocol):
    """A place where logs are kept. Everything it cannot do is an OSError."""

    read_sizes: ReadSizes

    def list_files(
        self, root: str, is_wanted: Callable[[str], bool], is_excluded: Callable[[str], bool]
    ) -> Listing:
        """Find the files below ``root`` whose base name is ``wanted``, in any order.

        Directories for whose path from the root ``skip`` holds are not entered. A root that does
        not exist has no files. Nothing is raised: what could not be listed is in the answer.
        """

    def exists(self, path: str) -> bool:
        """Return whether there is a file or directory; True as well where that cannot be told."""

    def find_stat(self, path: str) -> FileStat | None:
        """Say what state a file is in now; None if there is no such regular file."""

    def read(self, path: str, offset: int, size: int) -> bytes:
        """Read up to ``size`` bytes of a file; fewer only where it ends."""

    def open(self, path: str) -> FileHandle: ...
