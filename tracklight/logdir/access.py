"""Log directories: parse the argument, open file systems, and read files inside of them only.

The argument is parsed into a list of roots:

    logs                      one directory; runs are named by their path relative to it
    base:logs/a,new:logs/b    named directories; runs are ``base/…`` and ``new/…``
    logs/a,logs/b             several unnamed directories are named by the end of their path
    s3://bucket/logs          a URL; the part before ``://`` is never a name

A path that exists exactly as written is used unchanged, even if it contains commas or colons. A
list of paths, or a mapping from names to paths, avoids this ambiguity.

Files that a log names, and data files for What-If and Fairness, are read below the log directories
and ``--data-dir`` and nowhere else.
"""

from __future__ import annotations

import glob
import io
import os
import posixpath
import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path, PurePath
from typing import Any, BinaryIO, cast
from urllib.parse import urlsplit

import msgspec

from tracklight.errors import LogError, UsageError, list_similar_names
from tracklight.logdir.filesystem import FileHandle, FileStat, FileSystem, LocalFileSystem

# ---- parsing the argument

PathSpec = str | os.PathLike[str]
LogdirSpec = PathSpec | Sequence[PathSpec] | Mapping[str, PathSpec]

_MAX_SIBLINGS = 10_000

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_DRIVE = re.compile(r"[A-Za-z]:[\\/]")
_BACKSLASH_DRIVE = re.compile(r"[A-Za-z]:\\")
_NAMED = re.compile(r"(?P<name>[^:/\\~]*):(?P<path>.*)", re.DOTALL)


class Root(msgspec.Struct, frozen=True):
    """A directory or URL that contains runs."""

    name: str
    path: str

    def get_run_name(self, relative: str) -> str:
        """Return the name of the run in a directory ``relative`` to the root ("" is the root)."""
        run = relative or "."
        return f"{self.name}/{run}" if self.name else run


def is_url(path: str) -> bool:
    """Return whether a path begins with a scheme such as ``s3://``."""
    return _URL.match(path) is not None


def parse_roots(spec: LogdirSpec) -> tuple[Root, ...]:
    """Parse a log directory argument.

    Args:
        spec: A path, a comma-separated list of paths with optional names, a list of these, or a
            mapping from names to paths.

    Returns:
        The roots with absolute paths. If there are several, all of them have a name.

    Raises:
        UsageError: The argument is empty or ambiguous.

    Example:
        >>> [root.name for root in parse_roots("logs/a,new:logs/b")]
        ['a', 'new']
    """
    if isinstance(spec, Mapping):
        pairs = [(_check_name(name), os.fspath(path)) for name, path in spec.items()]
    elif isinstance(spec, str):
        pairs = [_split_name(piece) for piece in _split_pieces(spec)]
    elif isinstance(spec, os.PathLike):
        pairs = [("", os.fspath(spec))]
    else:
        pairs = [_split_name(p) if isinstance(p, str) else ("", os.fspath(p)) for p in spec]
    if not pairs:
        raise UsageError("no log directory was given")
    return _name_all([Root(name, _resolve(path)) for name, path in pairs])


def _split_pieces(spec: str) -> list[str]:
    if "," not in spec or _exists(spec):
        return [spec]
    pieces = [piece.strip() for piece in spec.split(",")]
    if not all(pieces):
        raise UsageError(f'the log directory "{spec}" has an empty path between commas')
    return pieces


def _split_name(piece: str) -> tuple[str, str]:
    named = _NAMED.fullmatch(piece)
    if named is None or is_url(piece) or _is_drive(piece) or _exists(piece):
        return "", piece
    if not named["path"]:
        raise UsageError(f'missing path after the name in "{piece}"; write name:path')
    return _check_name(named["name"]), named["path"]


def _is_drive(piece: str, os_name: str = os.name) -> bool:
    # Except on Windows, ``a:/logs`` is the directory ``/logs`` with the name ``a``; but ``a:\logs``
    # can only be a Windows path.
    drive = _DRIVE if os_name == "nt" else _BACKSLASH_DRIVE
    return drive.match(piece) is not None


def _exists(path: str) -> bool:
    return not is_url(path) and os.path.lexists(os.path.expanduser(path))


def _check_name(name: str) -> str:
    if name.strip() in ("", ".", "..") or "/" in name:
        raise UsageError(
            f'"{name}" cannot be the name of a log directory; use a name without "/", other than '
            '"." and ".."'
        )
    return name


def _resolve(path: str) -> str:
    """Make a path absolute, so that it does not depend on the current directory."""
    if not path:
        raise UsageError("the log directory is an empty path")
    if path.startswith("file://"):
        from urllib.request import url2pathname  # slow to import: loads an HTTP client

        path = url2pathname(urlsplit(path).path)
    elif is_url(path):
        return path.rstrip("/")
    path = os.path.expanduser(path)
    # abspath would turn "link/.." into the parent of the link instead of the parent of its target.
    has_parent = os.pardir in PurePath(path).parts
    return os.path.realpath(path) if has_parent else os.path.abspath(path)


def _name_all(roots: Sequence[Root]) -> tuple[Root, ...]:
    """Name all roots if there are several, so that the names of their runs differ."""
    roots = list(dict.fromkeys(roots))
    if len(roots) == 1:
        return tuple(roots)
    names = [root.name for root in roots if root.name]
    for name in names:
        if names.count(name) > 1:
            raise UsageError(f'two log directories are both named "{name}"')
    unnamed = [root.path for root in roots if not root.name]
    by_path = _name_by_tail(unnamed, set(names))
    return tuple(root if root.name else Root(by_path[root.path], root.path) for root in roots)


def _name_by_tail(paths: Sequence[str], taken: set[str]) -> dict[str, str]:
    """Name each path by the shortest end of it that is unique."""
    by_path: dict[str, str] = {}
    for path in paths:
        others = [_split_path(other) for other in paths if other != path]
        name = _shortest_tail(_split_path(path), others, taken)
        by_path[path] = _number(name, taken | set(by_path.values()))
    return by_path


def _shortest_tail(
    parts: Sequence[str], others: Sequence[Sequence[str]], taken: Iterable[str]
) -> str:
    for length in range(1, len(parts)):
        tail = parts[-length:]
        name = "/".join(tail)
        if name not in taken and all(other[-length:] != tail for other in others):
            return name
    return "/".join(parts) or "root"


def _number(name: str, taken: Iterable[str]) -> str:
    """Add a number to a name if it equals another one or one is a parent (``a`` and ``a/b``)."""
    numbered, count = name, 1
    while any(_is_within(numbered, other) or _is_within(other, numbered) for other in taken):
        count += 1
        numbered = f"{name}-{count}"
    return numbered


def _is_within(name: str, other: str) -> bool:
    return f"{name}/".startswith(f"{other}/")


def _split_path(path: str) -> list[str]:
    without_scheme = _URL.sub("", path, count=1)
    return [part for part in re.split(r"[\\/]", without_scheme) if part]


def find_nearest_path(path: str) -> str | None:
    """Return an existing path whose name is similar to that of a local path that does not exist.

    The first missing part of the path is compared with the existing names in the same directory.
    ``logs/tarin/run1`` gives ``logs/train/run1``, or ``logs/train`` if that has no ``run1``.
    """
    missing = os.path.abspath(path)
    below: list[str] = []
    parent, name = os.path.split(missing)
    while name and not os.path.isdir(parent):
        below.insert(0, name)
        parent, name = os.path.split(parent)
    nearest = list_similar_names(name, _list_names(parent), cutoff=0.6)
    if not nearest:
        return None
    whole = os.path.join(parent, nearest[0], *below)
    return whole if os.path.exists(whole) else os.path.join(parent, nearest[0])


def _list_names(folder: str) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return [entry.name for entry in islice(entries, _MAX_SIBLINGS) if entry.is_dir()]
    except OSError:
        return []


# ---- file systems


def open_filesystem(path: str) -> tuple[FileSystem, str]:
    """Return the file system that a path or URL belongs to, and the path to use with it.

    Raises:
        MissingDependencyError: The library for this kind of URL is not installed.
        UsageError: The scheme of the URL is unknown.
    """
    if not is_url(path):
        return LocalFileSystem(), path
    # Imported here so that local logs do not load the libraries for remote ones.
    if path.partition("://")[0].lower() in ("http", "https"):
        from tracklight.logdir.http import HttpFileSystem

        return HttpFileSystem(), path
    from tracklight.logdir.remote import RemoteFileSystem

    return RemoteFileSystem(path), path


@contextmanager
def fetch_local_copy(path: str) -> Iterator[Path]:
    """Return a local path of a file; a remote file is downloaded for the ``with`` block.

    Raises:
        OSError: The file does not exist or cannot be read.
    """
    if not is_url(path):
        yield Path(path)
        return
    with tempfile.TemporaryDirectory(prefix="tracklight-") as folder:
        copy = Path(folder, path.rpartition("/")[2])
        _download(path, copy)
        yield copy


def _download(url: str, copy: Path) -> None:
    fs, path = open_filesystem(url)
    stat = fs.find_stat(path)
    if stat is None:
        raise FileNotFoundError(f'"{url}" no longer exists')
    chunk_bytes = fs.read_sizes.max_bytes
    with fs.open(path) as source, copy.open("wb") as target:
        # Some servers reject ranges that extend beyond the end of the file.
        for offset in range(0, stat.size, chunk_bytes):
            target.write(source.read(offset, min(chunk_bytes, stat.size - offset)))


def resolve_path(path: str) -> str:
    """Resolve symbolic links and ``..`` of a path, or ``..`` of a URL."""
    if not is_url(path):
        return os.path.realpath(path)
    scheme, _, rest = path.partition("://")
    return f"{scheme}://{posixpath.normpath(rest)}"


def is_inside(path: str, root: str) -> bool:
    """Return whether a resolved path is a resolved directory or is below it."""
    separator = "/" if is_url(root) else os.sep
    return path == root or path.startswith(root.rstrip(separator) + separator)


def escapes_roots(path: str, roots: Iterable[str]) -> bool:
    """Return whether a file found below the roots is a symbolic link to a file elsewhere.

    Its directory may be a link, because users combine runs from several locations that way.
    """
    allowed = [os.path.dirname(path), *roots] if not is_url(path) else roots
    resolved = resolve_path(path)
    return not any(is_inside(resolved, resolve_path(directory)) for directory in allowed)


# ---- files below log directories

_BUFFER_BYTES = 64 * 1024


class ConfinedFiles:
    """The files below some log directories.

    A projector configuration can name any path, and symbolic links can point anywhere. Paths that
    resolve to a location outside these directories are rejected before they are opened. Files are
    never mapped into memory, because truncating a mapped file, such as a checkpoint that is being
    rewritten, kills the process that reads it.

    Args:
        roots: The log directories.

    Example:
        >>> files = ConfinedFiles(["logs"])
        >>> files.list_file_names("logs/train")
        ['events.out.tfevents...']
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
        """Return the size of a file in bytes, or None if it does not exist.

        Raises:
            LogError: The path is outside the log directories.
        """
        stat = self._find_stat(path)
        return None if stat is None else stat.size

    def get_fingerprint(self, path: str) -> str:
        """Return a text that changes whenever a file is written; empty if it does not exist.

        Raises:
            LogError: The path is outside the log directories.
        """
        stat = self._find_stat(path)
        return "" if stat is None else repr(stat)

    def list_file_names(self, folder: str) -> list[str]:
        """Return the sorted names of the files in a folder, without those in its subfolders.

        Raises:
            LogError: The path is outside the log directories.
        """
        self.check_path(folder)
        fs, folder = open_filesystem(folder)
        listing = fs.list_files(folder, lambda name: True, bool)
        return sorted(file.name for file in listing.files)

    def check_path(self, path: str) -> None:
        """Check that a path is inside the log directories.

        Raises:
            LogError: It is outside.
        """
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


# ---- data files

MAX_FILES = 2000


class DataFiles:
    """The data files that users may open. Paths elsewhere are rejected before they are opened.

    Args:
        log_dirs: The log directories.
        data_dirs: More directories.

    Example:
        >>> files = DataFiles(["logs"])
        >>> files.expand("train/events*")
        ['logs/train/events.out.tfevents...']
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
        """Yield each local root with a folder and the sorted names of its files.

        Hidden folders are left out, and names that are not UTF-8, which a page cannot send back.
        """
        for root in self._local_roots:
            for folder, folders, files in os.walk(root):
                folders[:] = sorted(n for n in folders if not n.startswith(".") and _is_text(n))
                yield root, folder, sorted(filter(_is_text, files))

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
        for match in sorted(filter(_is_text, glob.iglob(path))):
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


def _is_text(path: str) -> bool:
    """Return whether a path is UTF-8; other bytes are surrogates in Python."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def _has_match(pattern: str) -> bool:
    return glob.has_magic(pattern) and next(glob.iglob(pattern), None) is not None
