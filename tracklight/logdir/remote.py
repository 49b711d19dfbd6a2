"""Logs behind a URL, through fsspec: s3://, gs://, az://, hdfs://, http:// and what else it knows.

Nothing is cached here, because a log that is being written changes under every cache, and only the
bytes that are asked for travel.
"""

from __future__ import annotations

import errno
import importlib
import time
from collections.abc import Callable, Mapping
from datetime import datetime
from types import TracebackType
from typing import Any, TypeVar

from tracklight.errors import MissingExtra, UsageError
from tracklight.logdir.filesystem import FileHandle, FileStat, ListedFile, Listing, ReadSizes

T = TypeVar("T")

_EXTRAS = {
    "s3": "s3",
    "s3a": "s3",
    "gs": "gcs",
    "gcs": "gcs",
    "az": "azure",
    "abfs": "azure",
    "abfss": "azure",
    "adl": "azure",
}

#: How long to wait before asking again; then it is an error. The libraries below also try again.
_PAUSES_S = (0.1, 0.4, 1.6)

#: Asking again gives the same answer.
_FINAL = (FileNotFoundError, PermissionError, IsADirectoryError, NotADirectoryError)

# The stores do not agree on what they call these.
_IDENTITIES = ("ETag", "etag", "generation", "md5Hash", "content_md5", "checksum", "ino")
_TIMES = ("LastModified", "last_modified", "updated", "mtime", "modified", "created")


class RemoteFiles:
    """The store that a URL leads to; ``options`` go to fsspec as they are."""

    #: A request costs as much time as some megabytes do, so few and large ones are made.
    read_sizes = ReadSizes(least=4 << 20, first=4 << 20, most=16 << 20)

    def __init__(self, url: str, **options: Any) -> None:
        self._fs = _connect(url, options)

    def list_files(
        self, root: str, wanted: Callable[[str], bool], skip: Callable[[str], bool]
    ) -> Listing:
        listing = Listing()
        try:
            found = self._find_all(root)
        except FileNotFoundError:
            return listing
        except OSError as error:
            listing.add_problem(root, error)
            return listing
        start = len(self._strip(root)) + 1
        for key, info in found.items():
            directory, _, name = key[start:].rpartition("/")
            if wanted(name) and not skip(directory):
                stat = _get_stat(info)
                listing.files.append(ListedFile(directory, name, f"{root}/{key[start:]}", stat))
        return listing

    def exists(self, path: str) -> bool:
        self._fs.invalidate_cache()
        try:
            # Not fsspec's own `exists`, which takes a failed connection for a missing file.
            _persist(path, lambda: self._fs.info(self._strip(path)))
        except FileNotFoundError:
            return False
        except OSError:  # reading the log reports what is wrong
            return True
        return True

    def find_stat(self, path: str) -> FileStat | None:
        self._fs.invalidate_cache()
        try:
            info = _persist(path, lambda: self._fs.info(self._strip(path)))
        except FileNotFoundError:
            return None
        return _get_stat(info) if info.get("type") == "file" else None

    def read(self, path: str, offset: int, size: int) -> bytes:
        if size <= 0:
            return b""
        key, end = self._strip(path), offset + size
        data: bytes = _persist(path, lambda: self._fs.cat_file(key, start=offset, end=end))
        # A web server may ignore the range and send the whole file.
        return data if len(data) <= size else data[offset:end]

    def open(self, path: str) -> FileHandle:
        return RemoteHandle(self, path)

    def _find_all(self, root: str) -> Mapping[str, Mapping[str, Any]]:
        self._fs.invalidate_cache()  # by default fsspec would repeat the first listing for good
        key = self._strip(root)
        found: Mapping[str, Mapping[str, Any]] = _persist(
            root, lambda: self._fs.find(key, detail=True)
        )
        return found

    def _strip(self, url: str) -> str:
        return str(self._fs._strip_protocol(url)).rstrip("/")


class RemoteHandle:
    """A remote file; there is nothing to keep open."""

    def __init__(self, files: RemoteFiles, path: str) -> None:
        self._files = files
        self._path = path

    def read(self, offset: int, size: int) -> bytes:
        return self._files.read(self._path, offset, size)

    def read_into(self, buffer: memoryview, offset: int) -> int:
        data = self.read(offset, len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def __enter__(self) -> FileHandle:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        pass


def _connect(url: str, options: Mapping[str, Any]) -> Any:
    scheme = url.partition("://")[0].lower()
    try:
        fs, _ = importlib.import_module("fsspec.core").url_to_fs(url, **options)
    except ImportError:
        extra = _EXTRAS.get(scheme, "remote")
        raise MissingExtra(f"a remote log ({scheme}://…)", extra) from None
    except ValueError as error:
        raise UsageError(f'cannot read logs from "{url}": {error}') from None
    return fs


def _persist(path: str, call: Callable[[], T]) -> T:
    """Call, and call again a few times if that may help; what fails in the end is an OSError."""
    pauses_s = iter(_PAUSES_S)
    while True:
        try:
            return call()
        except _FINAL:
            raise
        # What the libraries raise when a connection breaks has no common base but this one.
        except Exception as error:
            refused = isinstance(error, OSError) and error.errno == errno.EINVAL
            pause_s = None if refused else next(pauses_s, None)
            if pause_s is None:
                raise OSError(errno.EIO, f"{path}: {error}") from error
            time.sleep(pause_s)


def _get_stat(info: Mapping[str, Any]) -> FileStat:
    identity = next((str(info[key]).strip('"') for key in _IDENTITIES if info.get(key)), "")
    time_s = next((_get_seconds(info[key]) for key in _TIMES if info.get(key)), 0)
    return FileStat(int(info["size"] or 0), time_s * 1_000_000_000, identity)


def _get_seconds(value: Any) -> int:
    """Whole seconds only: one and the same store gives fractions in listings but not elsewhere."""
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value.replace("Z", "+00:00"))
        except ValueError:
            return 0
    return int(value.timestamp() if isinstance(value, datetime) else value)
