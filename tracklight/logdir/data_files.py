"""Find data files below the log directories and ``--data-dir``."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator, Sequence
from typing import BinaryIO

from tracklight.errors import LogError, UsageError
from tracklight.logdir.confined_files import ConfinedFiles
from tracklight.logdir.roots import is_url

MAX_FILES = 2000


class DataFiles:
    """The data files that users may open. Paths elsewhere are rejected before they are opened.

    Args:
        log_dirs: The log directories.
        data_dirs: More directories.
    """

    def __init__(self, log_dirs: Sequence[str], data_dirs: Sequence[str] = ()) -> None:
        roots = dict.fromkeys([*log_dirs, *data_dirs])
        self._files = ConfinedFiles(list(roots))
        self._local_roots = [root for root in roots if not is_url(root)]

    def open(self, path: str) -> BinaryIO:
        """Open a file for reading.

        Raises:
            LogError: The file is outside the directories, missing or not readable.
        """
        return self._files.open(path)

    def walk(self) -> Iterator[tuple[str, str, list[str]]]:
        """Yield each local root with a folder and the sorted names of its files; hidden folders
        are left out."""
        for root in self._local_roots:
            for folder, folders, files in os.walk(root):
                folders[:] = sorted(name for name in folders if not name.startswith("."))
                yield root, folder, sorted(files)

    def expand(self, path: str) -> list[str]:
        """Return the file of a path, or those that match a pattern with ``*``.

        Raises:
            LogError: There is no such file, or it is outside the directories.
            UsageError: The path is invalid, or too many files match.
        """
        path = self.resolve(path)
        if is_url(path) or not glob.has_magic(path) or os.path.exists(path):
            return [path]
        paths = []
        for match in sorted(glob.iglob(path)):
            self._check(match)
            paths.append(match)
            if len(paths) > MAX_FILES:
                raise UsageError(
                    "data.too_many_files",
                    'more than {limit:,} files match "{path}"',
                    limit=MAX_FILES,
                    path=path,
                )
        if not paths:
            raise LogError("data.no_match", 'no file matches "{path}"', path=path)
        return paths

    def resolve(self, path: str) -> str:
        """Return an absolute path; relative ones are searched below each directory.

        Raises:
            LogError: The path is outside the directories, or a relative one does not exist.
            UsageError: The path is invalid.
        """
        if "\0" in path:
            raise UsageError("data.null_character", "the path contains a null character")
        if not (is_url(path) or os.path.isabs(path)):
            candidates = [os.path.join(root, path) for root in self._local_roots]
            existing = [c for c in candidates if os.path.exists(c) or _has_match(c)]
            if not existing:
                raise LogError(
                    "data.no_file_below",
                    'no file "{path}" below the log directory or --data-dir',
                    path=path,
                )
            path = existing[0]
        self._check(path.partition("*")[0] if glob.has_magic(path) else path)
        return path

    def check_exists(self, path: str) -> None:
        """Raise `LogError` if a path or pattern cannot be opened.

        Raises:
            LogError: There is no such file, or it is outside the directories.
            UsageError: The path is invalid.
        """
        for file in self.expand(path)[:1]:
            if self._files.find_size(file) is None:
                raise LogError("files.missing", 'no file "{path}"', path=path)

    def _check(self, path: str) -> None:
        try:
            self._files.check_path(path)
        except LogError:
            raise LogError(
                "data.outside",
                '"{path}" is outside the log directory; start the server with --data-dir to open '
                "files elsewhere",
                path=path,
            ) from None


def _has_match(pattern: str) -> bool:
    return glob.has_magic(pattern) and next(glob.iglob(pattern), None) is not None
