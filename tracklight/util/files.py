"""Atomic file writes, and the limit on open files.

A file written here has either the old or the new content at any time, even if the process is killed
half-way.
"""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

#: Matches the temporary files of `open_atomic`; killed processes leave some behind.
TEMPORARY_GLOB = "*.part-*"

_TARGET_OPEN_FILES = 65_536
#: Windows has no limit that can be queried; this is the maximum of its C runtime.
_WINDOWS_OPEN_FILES = 8192


@contextmanager
def open_atomic(path: Path, *, mode: int = 0o666, sync: bool = False) -> Iterator[BinaryIO]:
    """Open a temporary file that replaces ``path`` when the block ends without an exception.

    The temporary file is in the same folder and is removed if anything fails. An `OSError` about
    the temporary file names ``path`` instead.

    Args:
        path: The file to write; its folder must exist.
        mode: Permissions of the file, reduced by the umask.
        sync: Wait until the content is on disk, so that it survives a power failure.

    Example:
        >>> with open_atomic(Path("index.html")) as file:
        ...     file.write(b"<!doctype html>")
    """
    temporary = make_temporary_path(path)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    try:
        with open(os.open(temporary, flags, mode), "wb") as file:
            yield file
            if sync:
                file.flush()
                os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError as error:
        if error.filename is not None and os.fspath(error.filename) == os.fspath(temporary):
            error.filename, error.filename2 = str(path), None
        raise
    finally:
        with suppress(OSError):
            temporary.unlink()


def write_atomic(path: Path, data: bytes, *, mode: int = 0o666, sync: bool = False) -> None:
    """Replace the content of a file; see `open_atomic`."""
    with open_atomic(path, mode=mode, sync=sync) as file:
        file.write(data)


def make_temporary_path(path: Path) -> Path:
    """Return an unused path in the same folder that matches `TEMPORARY_GLOB`."""
    # Shortened because most file systems limit names to 255 bytes.
    return path.with_name(f".{path.name[:40]}.part-{os.getpid()}-{secrets.token_hex(4)}")


#: The limit on open files to request, and the one of the C runtime on Windows.
_WANTED_FILES = 65_536
_WINDOWS_FILES = 8192


def get_open_file_limit() -> int:
    """Return how many files and sockets this process may have open."""
    if sys.platform == "win32":
        return _WINDOWS_OPEN_FILES
    import resource

    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _TARGET_OPEN_FILES if soft == resource.RLIM_INFINITY else int(soft)


def raise_open_file_limit() -> None:
    """Raise the limit on open files and sockets, as far as this process is allowed to."""
    if sys.platform == "win32":
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    target = _TARGET_OPEN_FILES if hard == resource.RLIM_INFINITY else min(_TARGET_OPEN_FILES, hard)
    if resource.RLIM_INFINITY != soft < target:
        resource.setrlimit(resource.RLIMIT_NOFILE, (target, hard))
