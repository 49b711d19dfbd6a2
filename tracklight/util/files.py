"""Write files atomically: under their name there is the old content or the new, never a part."""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

#: Matches the temporary files of `open_atomic`, which a process that was killed leaves behind.
TEMPORARY_GLOB = "*.part-*"


@contextmanager
def open_atomic(path: Path, *, mode: int = 0o666, sync: bool = False) -> Iterator[BinaryIO]:
    """Open a temporary file that replaces ``path`` when the block ends without an exception.

    The temporary file is in the same folder and is removed if anything fails. An `OSError` about
    it names ``path`` instead.

    Args:
        path: The file to write; its folder has to exist.
        mode: Permissions of the file, less the umask.
        sync: Wait until the content is on the disk, so that it survives a power cut.
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
    """Return an unused name beside ``path`` that matches `TEMPORARY_GLOB`."""
    # Shortened, as file systems allow 255 bytes for a name.
    return path.with_name(f".{path.name[:40]}.part-{os.getpid()}-{secrets.token_hex(4)}")


#: The limit on open files to request, and the one of the C runtime on Windows.
_WANTED_FILES = 65_536
_WINDOWS_FILES = 8192


def get_open_file_limit() -> int:
    """Return how many files, including sockets, this process may have open."""
    if sys.platform == "win32":
        return _WINDOWS_FILES
    import resource

    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _WANTED_FILES if soft == resource.RLIM_INFINITY else int(soft)


def raise_open_file_limit() -> None:
    """Raise the low default limit on open files of this process as far as permitted."""
    if sys.platform == "win32":
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _WANTED_FILES if hard == resource.RLIM_INFINITY else min(_WANTED_FILES, hard)
    if resource.RLIM_INFINITY != soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
