"""Where an event file's bytes go: a local file here, other places in `tracklight.sdk.remote`."""

from __future__ import annotations

import errno
import itertools
import os
import re
import socket
import time
from typing import Protocol

_counter = itertools.count()

#: Errors after which the descriptor is of no more use, though the file may be.
_DEAD_DESCRIPTOR = {errno.EBADF, errno.ESTALE}


class FileRemoved(Exception):
    """The file is no longer there: it, or a folder above it, was removed."""


class Sink(Protocol):
    """Takes one event file's bytes, in order. All methods may raise OSError and be called again."""

    @property
    def place(self) -> str:
        """The path or address, to be shown to the user."""

    @property
    def is_open(self) -> bool: ...

    def open(self, head: bytes) -> None:
        """Start a new file, under a name that no file has, with ``head``."""

    def append(self, data: memoryview) -> int:
        """Take some bytes from the start of ``data``; return how many."""

    def sync(self) -> None:
        """Let readers see what was taken."""

    def close(self) -> None: ...

    def abandon(self) -> None:
        """Let go of the file without touching it: another process goes on with it."""


class LocalSink:
    """A file in a folder, which is made if there is none."""

    def __init__(self, folder: str, suffix: str = "") -> None:
        self._folder = folder
        self._suffix = suffix
        self._path = ""
        self._descriptor = -1

    @property
    def place(self) -> str:
        return self._path or self._folder

    @property
    def is_open(self) -> bool:
        return bool(self._path)

    def open(self, head: bytes) -> None:
        os.makedirs(self._folder, exist_ok=True)
        path, descriptor = self._create()
        try:
            self._write_whole(descriptor, head)
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
            raise FileRemoved(self._path)
        try:
            return os.write(descriptor, data)
        except OSError as error:
            if error.errno in _DEAD_DESCRIPTOR:
                self._descriptor = -1
            raise

    def sync(self) -> None:
        """Nothing to do: what the system has taken, other processes see."""

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
        self._descriptor = -1

    def abandon(self) -> None:
        self.close()
        self._path = ""

    def _create(self) -> tuple[str, int]:
        while True:
            path = os.path.join(self._folder, make_name(self._suffix))
            try:
                return path, _open(path, os.O_CREAT | os.O_EXCL)
            except FileExistsError:  # containers may share a folder, a host name and process ids
                continue

    def _get_descriptor(self) -> int:
        if self._descriptor < 0:
            try:
                self._descriptor = _open(self._path, 0)
            except FileNotFoundError:
                raise FileRemoved(self._path) from None
        return self._descriptor

    @staticmethod
    def _write_whole(descriptor: int, data: bytes) -> None:
        if os.write(descriptor, data) < len(data):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def make_name(suffix: str = "") -> str:
    """A file name as all writers make it, which readers know by its second word."""
    host = re.sub(r"[^\w.-]", "_", socket.gethostname()) or "localhost"
    secs = int(time.time())
    return f"events.out.tfevents.{secs:010d}.{host}.{os.getpid()}.{next(_counter)}{suffix}"


def _open(path: str, flags: int) -> int:
    flags |= os.O_WRONLY | os.O_APPEND | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
    return os.open(path, flags, 0o666)
