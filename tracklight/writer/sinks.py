"""Where the bytes of an event file go: a local file, or an object store through fsspec."""

from __future__ import annotations

import errno
import importlib
import itertools
import os
import re
import socket
import time
from typing import Any, Protocol

from tracklight.errors import MissingDependencyError

_file_counter = itertools.count()

#: Errors after which a descriptor is useless, although the file may still exist.
_STALE_DESCRIPTOR_ERRNOS = {errno.EBADF, errno.ESTALE}


class FileRemovedError(Exception):
    """The file, or a directory above it, was removed."""


class Sink(Protocol):
    """Receives the bytes of one event file in order.

    All methods may raise OSError, after which they can be called again.
    """

    @property
    def location(self) -> str:
        """Path or URL for messages."""

    @property
    def is_open(self) -> bool: ...

    def open(self, header: bytes) -> None:
        """Create a file under an unused name and write ``header``."""

    def append(self, data: memoryview) -> int:
        """Write some bytes from the start of ``data`` and return their number.

        Raises:
            FileRemovedError: The file was removed; call `open` to continue in a new one.
        """

    def sync(self) -> None:
        """Make the written bytes visible to readers."""

    def close(self) -> None: ...

    def detach(self) -> None:
        """Release the file without modifying it, because another process continues it."""


class LocalSink:
    """An event file in a local directory, which is created if needed."""

    def __init__(self, directory: str, suffix: str = "") -> None:
        self._directory = directory
        self._suffix = suffix
        self._path = ""
        self._descriptor = -1

    @property
    def location(self) -> str:
        return self._path or self._directory

    @property
    def is_open(self) -> bool:
        return bool(self._path)

    def open(self, header: bytes) -> None:
        os.makedirs(self._directory, exist_ok=True)
        path, descriptor = self._create()
        try:
            self._write_all(descriptor, header)
        except OSError:
            # A full disk often still accepts new names; do not leave an empty file per attempt.
            os.close(descriptor)
            os.unlink(path)
            raise
        self._path, self._descriptor = path, descriptor

    def append(self, data: memoryview) -> int:
        """Append with one system call, so that a killed process truncates at most one record."""
        descriptor = self._get_descriptor()
        if os.fstat(descriptor).st_nlink == 0:
            self.close()
            raise FileRemovedError(self._path)
        try:
            return os.write(descriptor, data)
        except OSError as error:
            if error.errno in _STALE_DESCRIPTOR_ERRNOS:
                self._descriptor = -1
            raise

    def sync(self) -> None:
        """Do nothing: other processes see written data at once."""

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
        self._descriptor = -1

    def detach(self) -> None:
        self.close()
        self._path = ""

    def _create(self) -> tuple[str, int]:
        while True:
            path = os.path.join(self._directory, make_file_name(self._suffix))
            try:
                return path, _open_for_append(path, os.O_CREAT | os.O_EXCL)
            except FileExistsError:  # containers may share directory, host name and process ids
                continue

    def _get_descriptor(self) -> int:
        if self._descriptor < 0:
            try:
                self._descriptor = _open_for_append(self._path)
            except FileNotFoundError:
                raise FileRemovedError(self._path) from None
        return self._descriptor

    @staticmethod
    def _write_all(descriptor: int, data: bytes) -> None:
        if os.write(descriptor, data) < len(data):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


class RemoteSink:
    """An event file below a URL such as ``s3://bucket/logs``.

    Objects cannot be appended to. All bytes are kept in a local temporary file and every `sync`
    uploads the whole file, so the caller should sync less often the longer it takes.
    """

    def __init__(self, directory: str, suffix: str = "") -> None:
        self._directory = directory.rstrip("/")
        self._suffix = suffix
        self._url = ""
        self._spool = -1
        self._spool_path = ""

    @property
    def location(self) -> str:
        return self._url or self._directory

    @property
    def is_open(self) -> bool:
        return self._spool >= 0

    def open(self, header: bytes) -> None:
        import tempfile

        self._spool, self._spool_path = tempfile.mkstemp(prefix="tracklight-")
        self._url = f"{self._directory}/{make_file_name(self._suffix)}"
        os.write(self._spool, header)

    def append(self, data: memoryview) -> int:
        return os.write(self._spool, data)

    def sync(self) -> None:
        file_system, path = _get_file_system(self._url)
        file_system.makedirs(path.rpartition("/")[0], exist_ok=True)
        file_system.put_file(self._spool_path, path)

    def close(self) -> None:
        if self.is_open:
            self.detach()
            os.unlink(self._spool_path)

    def detach(self) -> None:
        if self.is_open:
            os.close(self._spool)
        self._spool = -1


def create_sink(logdir: str, suffix: str) -> Sink:
    """Return a sink for a directory, or for a URL such as ``s3://bucket/logs``."""
    return RemoteSink(logdir, suffix) if "://" in logdir else LocalSink(logdir, suffix)


def make_file_name(suffix: str = "") -> str:
    """Return an event file name in TensorFlow's scheme; readers look for ``tfevents`` in it."""
    host = re.sub(r"[^\w.-]", "_", socket.gethostname()) or "localhost"
    secs = int(time.time())
    return f"events.out.tfevents.{secs:010d}.{host}.{os.getpid()}.{next(_file_counter)}{suffix}"


def _open_for_append(path: str, flags: int = 0) -> int:
    flags |= os.O_WRONLY | os.O_APPEND | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
    return os.open(path, flags, 0o666)


def _get_file_system(url: str) -> tuple[Any, str]:
    try:
        core = importlib.import_module("fsspec.core")
    except ImportError as error:
        raise MissingDependencyError(f"writing to {url}", "remote") from error
    file_system, path = core.url_to_fs(url)
    return file_system, path
