"""Gives the file system that a path or URL belongs to."""

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
    """Give the file system that a path or URL belongs to, and the path to use with it."""
    if not is_url(path):
        return LocalFileSystem(), path
    # Imported here so that a local log never pays for what remote ones need.
    if path.partition("://")[0].lower() in ("http", "https"):
        from tracklight.logdir.http import HttpFileSystem

        return HttpFileSystem(), path
    from tracklight.logdir.remote import RemoteFileSystem

    return RemoteFileSystem(path), path


# Whether a path, wherever its links lead, stays below a directory.


def resolve_path(path: str) -> str:
    """Where a path really leads; a URL without its detours."""
    if not is_url(path):
        return os.path.realpath(path)
    scheme, _, rest = path.partition("://")
    return f"{scheme}://{posixpath.normpath(rest)}"


def is_inside(path: str, root: str) -> bool:
    """Whether a resolved path is a resolved directory, or lies below it."""
    separator = "/" if is_url(root) else os.sep
    return path == root or path.startswith(root.rstrip(separator) + separator)


def escapes_roots(path: str, roots: Iterable[str]) -> bool:
    """Whether a file that was found below the roots is a link to what lies elsewhere.

    Its directory may be a link: people put runs from several places together that way.
    """
    places = [os.path.dirname(path), *roots] if not is_url(path) else roots
    resolved = resolve_path(path)
    return not any(is_inside(resolved, resolve_path(place)) for place in places)


# A file as one on this machine, wherever it lies.


@contextmanager
def fetch_local_copy(path: str) -> Iterator[Path]:
    """The file itself, or a copy of one that lies elsewhere, which is gone afterwards."""
    if not is_url(path):
        yield Path(path)
        return
    with tempfile.TemporaryDirectory(prefix="tracklight-") as folder:
        copy = Path(folder, path.rpartition("/")[2])
        _copy(path, copy)
        yield copy


def _copy(path: str, copy: Path) -> None:
    files, at = open_filesystem(path)
    stat = files.find_stat(at)
    if stat is None:
        raise FileNotFoundError(f'"{path}" has gone')
    with files.open(at) as source, copy.open("wb") as target:
        # Some refuse to be asked for what lies behind the end.
        for offset in range(0, stat.size, files.read_sizes.max_bytes):
            target.write(source.read(offset, min(files.read_sizes.max_bytes, stat.size - offset)))
