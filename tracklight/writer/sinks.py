"""Where an event file's bytes go: a local file here, other places in `tracklight.writer.sinks`."""

from __future__ import annotations

import errno
import importlib
import itertools
import os
import re
import socket
import tempfile
import time
from typing import Any, Protocol

from tracklight.errors import MissingDependencyError

_counter = itertools.count()

#: Errors after which the descriptor is of no more use, though the file may be.
_STALE_DESCRIPTOR_ERRNOS = {errno.EBADF, errno.ESTALE}


class FileRemovedError(Exception):
    """The file is no longer there: it, or a folder above it, was removed."""


class Sink(Protocol):
    """Takes one event file's bytes, in order. All methods may raise OSError and be called again."""

    @property
    def location(self) -> str:
        """The path or address, to be shown to the user."""

    @property
    def is_open(self) -> bool: ...

    def open(self, header: bytes) -> None:
        """Start a new file, under a name that no file has, with ``head``."""

    def append(self, data: memoryview) -> int:
        """Take some bytes from the start of ``data``; return how many."""

    def sync(self) -> None:
        """Let readers see what was taken."""

    def close(self) -> None: ...

    def detach(self) -> None:
        """Let go of the file without touching it: another process goes on with it."""


class LocalSink:
    """A file in a folder, which is made if there is none."""

    def __init__(self, folder: str, suffix: str = "") -> None:
        self._folder = folder
        self._suffix = suffix
        self._path = ""
        self._descriptor = -1

    @property
    def location(self) -> str:
        return self._path or self._folder

    @property
    def is_open(self) -> bool:
        return bool(self._path)

    def open(self, header: bytes) -> None:
        os.makedirs(self._folder, exist_ok=True)
        path, descriptor = self._create()
        try:
            self._write_whole(descriptor, header)
        except OSError:
            # A full disk often still has room for a name, and each try would leave an empty file.
            os.close(descriptor)
            os.unlink(path)
            raise
        self._path, self._descriptor = path, descriptor

    def append(self, data: memoryview) -> int:
        """One call to the system, so that a killed process leaves at most one record torn."""
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
        """Nothing to do: what the system has taken, other processes see."""

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
        self._descriptor = -1

    def detach(self) -> None:
        self.close()
        self._path = ""

    def _create(self) -> tuple[str, int]:
        while True:
            path = os.path.join(self._folder, make_file_name(self._suffix))
            try:
                return path, _open(path, os.O_CREAT | os.O_EXCL)
            except FileExistsError:  # containers may share a folder, a host name and process ids
                continue

    def _get_descriptor(self) -> int:
        if self._descriptor < 0:
            try:
                self._descriptor = _open(self._path, 0)
            except FileNotFoundError:
                raise FileRemovedError(self._path) from None
        return self._descriptor

    @staticmethod
    def _write_whole(descriptor: int, data: bytes) -> None:
        if os.write(descriptor, data) < len(data):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def make_file_name(suffix: str = "") -> str:
    """A file name as all writers make it, which readers know by its second word."""
    host = re.sub(r"[^\w.-]", "_", socket.gethostname()) or "localhost"
    secs = int(time.time())
    return f"events.out.tfevents.{secs:010d}.{host}.{os.getpid()}.{next(_counter)}{suffix}"


def _open(path: str, flags: int) -> int:
    flags |= os.O_WRONLY | os.O_APPEND | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
    return os.open(path, flags, 0o666)


# Event files in object stores and on other remote file systems, by way of fsspec.


class RemoteSink:
    """A file under an address such as ``s3://bucket/logs``.

    An object cannot be added to, so all bytes are kept in a local temporary file as well and every
    `sync` uploads the whole. Whoever calls it should do so the less often the longer it takes.
    """

    def __init__(self, folder: str, suffix: str = "") -> None:
        self._folder = folder.rstrip("/")
        self._suffix = suffix
        self._url = ""
        self._spool = -1
        self._spool_path = ""

    @property
    def location(self) -> str:
        return self._url or self._folder

    @property
    def is_open(self) -> bool:
        return self._spool >= 0

    def open(self, header: bytes) -> None:
        self._spool, self._spool_path = tempfile.mkstemp(prefix="tracklight-")
        self._url = f"{self._folder}/{make_file_name(self._suffix)}"
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


def _get_file_system(address: str) -> tuple[Any, str]:
    try:
        core = importlib.import_module("fsspec.core")
    except ImportError as error:
        raise MissingDependencyError(f"writing to {address}", "remote") from error
    file_system, path = core.url_to_fs(address)
    return file_system, path


def create_sink(logdir: str, suffix: str) -> Sink:
    """What writes to a folder, or to an address such as ``s3://bucket/logs``."""
    if "://" not in logdir:
        return LocalSink(logdir, suffix)
    from tracklight.writer.sinks import RemoteSink

    return RemoteSink(logdir, suffix)
