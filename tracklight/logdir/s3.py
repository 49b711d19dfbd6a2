"""List and read buckets of S3 with obstore, which takes a tenth of the processor time of s3fs.

s3fs connects, so that credentials, endpoints and messages about what is missing are its own; this
client is used beside it if obstore is installed and can list the bucket. A call that fails returns
None, and the caller repeats it with s3fs. `RemoteFileSystem` does that.
"""

from __future__ import annotations

import importlib
import logging
import threading
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from typing import Any, TypeVar
from urllib.parse import urlsplit

from tracklight.logdir.filesystem import FileStat

T = TypeVar("T")

#: After this many failures in a row, obstore is no longer used.
_MAX_FAILURES = 3

#: Keys in one response.
_CHUNK_KEYS = 1000

#: How long credentials are used before they are requested from botocore again.
_CREDENTIALS_S = 300

#: s3fs and `RemoteFileSystem` repeat requests for longer.
_RETRIES = {
    "max_retries": 2,
    "backoff": {
        "init_backoff": timedelta(seconds=0.1),
        "max_backoff": timedelta(seconds=1),
        "base": 2,
    },
    "retry_timeout": timedelta(seconds=10),
}

_log = logging.getLogger(__name__)


class S3Client:
    """Requests to one bucket; keys begin with its name.

    Args:
        obstore: The module.
        store: An ``obstore.store.S3Store``.
        bucket: The name of the bucket.
    """

    def __init__(self, obstore: Any, store: Any, bucket: str) -> None:
        self._obstore = obstore
        self._store = store
        self._bucket = bucket
        self._lock = threading.Lock()
        self._failures = 0

    def list_below(self, prefix: str) -> dict[str, FileStat] | None:
        """Return all files below a folder; None to ask s3fs."""

        def list_all() -> dict[str, FileStat]:
            stream = self._obstore.list(self._store, self._strip(prefix), chunk_size=_CHUNK_KEYS)
            return _drop_folders(dict(self._parse(found) for chunk in stream for found in chunk))

        # s3fs finds an object of that name as well, or says that there is no such bucket.
        return self._call(list_all) or None

    def list_folder(self, prefix: str) -> tuple[dict[str, FileStat], list[str]] | None:
        """Return the files in a folder and its subfolders; None to ask s3fs."""

        def list_one() -> tuple[dict[str, FileStat], list[str]] | None:
            found = self._obstore.list_with_delimiter(self._store, self._strip(prefix))
            folders = [f"{self._bucket}/{path}" for path in found["common_prefixes"]]
            files = dict(map(self._parse, found["objects"]))
            return (files, folders) if files or folders else None

        return self._call(list_one)

    def read(self, key: str, start: int, end: int) -> memoryview | None:
        """Return the bytes from ``start`` to ``end``; None to ask s3fs."""

        def read_range() -> memoryview | None:
            data = self._obstore.get_range(self._store, self._strip(key), start=start, end=end)
            return memoryview(data) if len(data) == end - start else None

        return self._call(read_range)

    def _call(self, call: Callable[[], T]) -> T | None:
        if self._failures >= _MAX_FAILURES:
            return None
        try:
            result = call()
        except FileNotFoundError:
            return None
        except Exception as error:  # of many kinds; s3fs has the message for the user
            with self._lock:
                self._failures += 1
            _log.debug("obstore failed: %s", error)
            return None
        self._failures = 0
        return result

    def _strip(self, key: str) -> str:
        return key[len(self._bucket) + 1 :]

    def _parse(self, found: dict[str, Any]) -> tuple[str, FileStat]:
        # The same as what s3fs returns, whose times are whole seconds.
        time_s = int(found["last_modified"].timestamp())
        stat = FileStat(found["size"], time_s * 1_000_000_000, (found["e_tag"] or "").strip('"'))
        return f"{self._bucket}/{found['path']}", stat


def _drop_folders(files: dict[str, FileStat]) -> dict[str, FileStat]:
    """Leave out the empty objects of folders, of whose names obstore drops the ``/``."""
    empty = {key for key, stat in files.items() if not stat.size}
    if not empty:
        return files
    folders: set[str] = set()
    for key in files:
        folder = key.rpartition("/")[0]
        while folder and folder not in folders:
            folders.add(folder)
            folder = folder.rpartition("/")[0]
    return {key: stat for key, stat in files.items() if key not in folders or stat.size}


def open_client(fs: Any, key: str) -> S3Client | None:
    """Return a client for the bucket of a key; None if it has to be read with s3fs.

    Args:
        fs: A connected file system of s3fs without options.
        key: Any key in the bucket.
    """
    try:
        obstore = importlib.import_module("obstore")
        store_module = importlib.import_module("obstore.store")
    except ImportError:
        return None
    bucket, _, path = key.partition("/")
    try:
        store = store_module.S3Store(bucket, **_get_options(fs, bucket))
        # The first page of a listing; a bucket that cannot be listed cannot be shown either.
        next(iter(obstore.list(store, path, chunk_size=1)), None)
    except Exception as error:
        _log.debug("obstore cannot read s3://%s: %s", bucket, error)
        return None
    return S3Client(obstore, store, bucket)


def _get_options(fs: Any, bucket: str) -> dict[str, Any]:
    """Return the options of a store that sends requests as s3fs does.

    Raises:
        ValueError: s3fs has options of its own, for example from a configuration file of fsspec.
    """
    if fs.key or fs.secret or fs.token or fs.req_kw or fs.kwargs:
        raise ValueError("s3fs has been configured")
    meta = fs.s3.meta
    options: dict[str, Any] = {
        "region": meta.region_name,
        "retry_config": _RETRIES,
        "client_options": {"connect_timeout": "10s", "timeout": "120s"},
    }
    host = urlsplit(meta.endpoint_url).hostname or ""
    if host.endswith(".amazonaws.com"):
        response = fs.call_s3("head_bucket", Bucket=bucket)["ResponseMetadata"]
        options["region"] = response["HTTPHeaders"]["x-amz-bucket-region"]
    else:
        options["endpoint"] = meta.endpoint_url
        options["client_options"]["allow_http"] = meta.endpoint_url.startswith("http://")
    if fs.anon:
        return options | {"skip_signature": True}
    return options | {"credential_provider": _make_credential_provider()}


def _make_credential_provider() -> Callable[[], dict[str, Any]]:
    """Return a function that asks botocore for credentials, which knows profiles and roles."""
    session = importlib.import_module("botocore.session").get_session()
    credentials = session.get_credentials()

    def provide() -> dict[str, Any]:
        frozen = credentials.get_frozen_credentials()
        return {
            "access_key_id": frozen.access_key,
            "secret_access_key": frozen.secret_key,
            "token": frozen.token,
            "expires_at": datetime.now(timezone.utc) + timedelta(seconds=_CREDENTIALS_S),
        }

    return provide
