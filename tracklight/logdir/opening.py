"""Gives the file system that a path or URL belongs to."""

from __future__ import annotations

from tracklight.logdir.filesystem import FileSystem
from tracklight.logdir.local import LocalFiles
from tracklight.logdir.roots import is_url


def open_filesystem(path: str) -> tuple[FileSystem, str]:
    """Give the file system that a path or URL belongs to, and the path to use with it."""
    if not is_url(path):
        return LocalFiles(), path
    # Imported here so that a local log never pays for what remote ones need.
    if path.partition("://")[0].lower() in ("http", "https"):
        from tracklight.logdir.http import HttpFiles

        return HttpFiles(), path
    from tracklight.logdir.remote import RemoteFiles

    return RemoteFiles(path), path
