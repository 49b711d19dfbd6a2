"""Event files in object stores and on other remote file systems, by way of fsspec."""

from __future__ import annotations

import importlib
import os
import tempfile
from typing import Any

from tracklight.errors import MissingExtra
from tracklight.sdk.sink import make_name


class RemoteSink:
    """A file under an address such as ``s3://bucket/logs``.

    An object cannot be added to, so all bytes are kept in a local temporary file as well and every
    `sync` uploads the whole. Whoever calls it should do so the less often the longer it takes.
    """

    def __init__(self, folder: str, suffix: str = "") -> None:
        self._folder = folder.rstrip("/")
        self._suffix = suffix
        self._address = ""
        self._spool = -1
        self._spool_path = ""

    @property
    def place(self) -> str:
        return self._address or self._folder

    @property
    def is_open(self) -> bool:
        return self._spool >= 0

    def open(self, head: bytes) -> None:
        self._spool, self._spool_path = tempfile.mkstemp(prefix="tracklight-")
        self._address = f"{self._folder}/{make_name(self._suffix)}"
        os.write(self._spool, head)

    def append(self, data: memoryview) -> int:
        return os.write(self._spool, data)

    def sync(self) -> None:
        file_system, path = _find_file_system(self._address)
        file_system.makedirs(path.rpartition("/")[0], exist_ok=True)
        file_system.put_file(self._spool_path, path)

    def close(self) -> None:
        if self.is_open:
            self.abandon()
            os.unlink(self._spool_path)

    def abandon(self) -> None:
        if self.is_open:
            os.close(self._spool)
        self._spool = -1


def _find_file_system(address: str) -> tuple[Any, str]:
    try:
        core = importlib.import_module("fsspec.core")
    except ImportError as error:
        raise MissingExtra(f"writing to {address}", "remote") from error
    file_system, path = core.url_to_fs(address)
    return file_system, path
