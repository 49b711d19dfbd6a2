"""Finds files in a local directory tree: fast, through links, and never round in circles."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable
from typing import NamedTuple

from tracklight.logdir.filesystem import FileStat, ListedFile, Listing

#: Device and inode: the same for all the paths that lead to one directory.
Identity = tuple[int, int]

#: A link that leads nowhere, or only to itself, is as if it were not there.
_ABSENT = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)


class Folder(NamedTuple):
    """A directory still to be listed."""

    path: str
    relative: str
    #: The directories it stands in, itself included; None as long as no link was followed, because
    #: a tree without links has no circles.
    above: frozenset[Identity] | None

    def get_relative(self, name: str) -> str:
        return f"{self.relative}/{name}" if self.relative else name


class Walk:
    """One walk over the tree below ``root``; see `FileSystem.list_files`."""

    def __init__(
        self, root: str, wanted: Callable[[str], bool], skip: Callable[[str], bool]
    ) -> None:
        self._root = root
        self._wanted = wanted
        self._skip = skip
        self._folders = [Folder(root, "", None)]
        self._listing = Listing()

    def run(self) -> Listing:
        while self._folders:
            folder = self._folders.pop()
            try:
                self._list(folder)
            except OSError as error:
                self._note(folder.path, error)
        return self._listing

    def _list(self, folder: Folder) -> None:
        with os.scandir(folder.path) as entries:
            for entry in entries:
                # is_dir and is_symlink ask nothing of the disk here: the listing has the answer.
                if entry.is_dir(follow_symlinks=False):
                    self._descend(folder, entry)
                elif self._wanted(entry.name) or entry.is_symlink():
                    self._look_at(folder, entry)

    def _look_at(self, folder: Folder, entry: os.DirEntry[str]) -> None:
        # Not entry.stat(): on Windows that has no inode, and a size that lags behind.
        found = self._find_stat(entry.path)
        if found is None:
            return
        if stat.S_ISDIR(found.st_mode):
            self._follow(folder, entry, found)
        elif stat.S_ISREG(found.st_mode) and self._wanted(entry.name):
            file = ListedFile(folder.relative, entry.name, entry.path, get_file_stat(found))
            self._listing.files.append(file)
            if entry.is_symlink():
                self._listing.linked.add(os.path.realpath(entry.path))

    def _descend(self, folder: Folder, entry: os.DirEntry[str]) -> None:
        relative = folder.get_relative(entry.name)
        if self._skip(relative):
            return
        if folder.above is None:
            self._folders.append(Folder(entry.path, relative, None))
        elif found := self._find_stat(entry.path):
            self._enter(Folder(entry.path, relative, folder.above), found)

    def _follow(self, folder: Folder, link: os.DirEntry[str], found: os.stat_result) -> None:
        relative = folder.get_relative(link.name)
        if self._skip(relative):
            return
        above = self._identify_above(folder) if folder.above is None else folder.above
        if self._enter(Folder(link.path, relative, above), found):
            self._listing.linked.add(os.path.realpath(link.path))

    def _enter(self, folder: Folder, found: os.stat_result) -> bool:
        """Put a directory on the list unless it is one of those it stands in."""
        assert folder.above is not None
        identity = _get_identity(found)
        if identity in folder.above:
            return False
        self._folders.append(folder._replace(above=folder.above | {identity}))
        return True

    def _find_stat(self, path: str) -> os.stat_result | None:
        try:
            return os.stat(path)
        except OSError as error:
            self._note(path, error)
            return None

    def _identify_above(self, folder: Folder) -> frozenset[Identity]:
        paths = [folder.path]
        for _ in folder.relative.split("/") if folder.relative else ():
            paths.append(os.path.dirname(paths[-1]))
        return frozenset(_get_identity(os.stat(path)) for path in paths)

    def _note(self, path: str, error: OSError) -> None:
        # What listing a file fails with depends on the system.
        if path == self._root and os.path.isfile(path):
            self._take_root()
        elif error.errno not in _ABSENT:
            self._listing.add_problem(path, error)

    def _take_root(self) -> None:
        """What was given is a file; if it is one that is looked for, it is all there is."""
        path, name = self._root, os.path.basename(self._root)
        found = self._find_stat(path) if self._wanted(name) else None
        if found is not None:
            self._listing.files.append(ListedFile("", name, path, get_file_stat(found)))
        else:
            self._listing.problems.append(f'"{path}" is a file; give the directory that holds it')


def get_file_stat(found: os.stat_result) -> FileStat:
    return FileStat(found.st_size, found.st_mtime_ns, str(found.st_ino))


def _get_identity(found: os.stat_result) -> Identity:
    return found.st_dev, found.st_ino
