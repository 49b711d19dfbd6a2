"""Open file systems of paths and URLs, fetch local copies, and confine paths to log directories."""

from __future__ import annotations

import os
import posixpath
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tracklight.logdir.filesystem import FileSystem
from tracklight.logdir.local import LocalFileSystem
from tracklight.logdir.roots import is_url


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
