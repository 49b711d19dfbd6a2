"""List and read buckets of S3 and containers of Azure with obstore.

obstore takes a tenth of the processor time of fsspec's drivers. These connect, so that credentials,
endpoints and messages about what is missing are their own. The client is used if obstore is
installed and can list the bucket. A call that fails returns None, and
`tracklight.logdir.remote.RemoteFileSystem` repeats it with fsspec.
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

_AZURE_SCOPE = "https://storage.azure.com/.default"

#: How long credentials are used before they are requested from botocore again.
_CREDENTIALS_S = 300

#: fsspec's drivers and `RemoteFileSystem` repeat requests for longer.
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


class ObstoreClient:
    """Requests to one bucket or container; keys begin with its name.

    Args:
        obstore: The module.
        store: A store of obstore.
        bucket: The name of the bucket or container.
    """

    def __init__(self, obstore: Any, store: Any, bucket: str) -> None:
        self._obstore = obstore
        self._store = store
        self._bucket = bucket
        self._lock = threading.Lock()
        self._failures = 0

    def list_below(self, prefix: str) -> dict[str, FileStat] | None:
        """Return all files below a folder; None to ask fsspec."""

        def list_all() -> dict[str, FileStat]:
            stream = self._obstore.list(self._store, self._strip(prefix), chunk_size=_CHUNK_KEYS)
            return _drop_folders(dict(self._parse(found) for chunk in stream for found in chunk))

        # fsspec finds an object of that name as well, or says that there is no such bucket.
        return self._call(list_all) or None

    def list_folder(self, prefix: str) -> tuple[dict[str, FileStat], list[str]] | None:
        """Return the files in a folder and its subfolders; None to ask fsspec."""

        def list_one() -> tuple[dict[str, FileStat], list[str]] | None:
            found = self._obstore.list_with_delimiter(self._store, self._strip(prefix))
            folders = [f"{self._bucket}/{path}" for path in found["common_prefixes"]]
            files = dict(map(self._parse, found["objects"]))
            return (files, folders) if files or folders else None

        return self._call(list_one)

    def read(self, key: str, start: int, end: int) -> memoryview | None:
        """Return the bytes from ``start`` to ``end``; None to ask fsspec."""

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
        except Exception as error:  # of many kinds; fsspec has the message for the user
            with self._lock:
                self._failures += 1
            _log.debug("obstore failed: %s", error)
            return None
        self._failures = 0
        return result

    def _strip(self, key: str) -> str:
        return key[len(self._bucket) + 1 :]

    def _parse(self, found: dict[str, Any]) -> tuple[str, FileStat]:
        # The same as what fsspec's drivers return, with times in whole seconds.
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


def open_client(extra: str, fs: Any, key: str) -> ObstoreClient | None:
    """Return a client for the bucket of a key; None if it has to be read with fsspec.

    Args:
        extra: The extra that installs the driver of fsspec.
        fs: A connected file system of fsspec without options.
        key: Any key in the bucket.
    """
    create_store = _STORES.get(extra)
    if create_store is None:
        return None
    try:
        obstore = importlib.import_module("obstore")
        store_module = importlib.import_module("obstore.store")
    except ImportError:
        return None
    bucket, _, path = key.partition("/")
    try:
        store = create_store(store_module, fs, bucket)
        # The first page of a listing; a bucket that cannot be listed cannot be shown either.
        next(iter(obstore.list(store, path, chunk_size=1)), None)
    except Exception as error:
        _log.debug("obstore cannot read %s: %s", bucket, error)
        return None
    return ObstoreClient(obstore, store, bucket)


def _make_options(endpoint: str) -> dict[str, Any]:
    """Return the options that all stores have."""
    client_options: dict[str, Any] = {"connect_timeout": "10s", "timeout": "120s"}
    if endpoint.startswith("http://"):
        client_options["allow_http"] = True
    return {"retry_config": _RETRIES, "client_options": client_options}


# ---- S3


def _create_s3_store(store_module: Any, fs: Any, bucket: str) -> Any:
    """Create a store that sends requests as s3fs does.

    Raises:
        ValueError: s3fs has options of its own, for example from a configuration file of fsspec.
    """
    if fs.key or fs.secret or fs.token or fs.req_kw or fs.kwargs:
        raise ValueError("s3fs has been configured")
    meta = fs.s3.meta
    options = {"region": meta.region_name, **_make_options(meta.endpoint_url)}
    host = urlsplit(meta.endpoint_url).hostname or ""
    if host.endswith(".amazonaws.com"):
        response = fs.call_s3("head_bucket", Bucket=bucket)["ResponseMetadata"]
        options["region"] = response["HTTPHeaders"]["x-amz-bucket-region"]
    else:
        options["endpoint"] = meta.endpoint_url
    if fs.anon:
        options["skip_signature"] = True
    else:
        options["credential_provider"] = _make_aws_provider()
    return store_module.S3Store(bucket, **options)


def _make_aws_provider() -> Callable[[], dict[str, Any]]:
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


# ---- Azure


def _create_azure_store(store_module: Any, fs: Any, container: str) -> Any:
    """Create a store that sends requests as adlfs does, with its credentials."""
    client = fs.service_client
    url = urlsplit(client.url)
    endpoint = f"{url.scheme}://{url.netloc}{url.path}".rstrip("/")
    options = {
        "account_name": client.account_name,
        "endpoint": endpoint,
        **_make_options(endpoint),
    }
    account_key = getattr(client.credential, "account_key", None)
    if account_key:
        options["account_key"] = account_key
    elif url.query:
        options["sas_key"] = url.query  # a shared access signature
    elif fs.sync_credential is not None:
        options["credential_provider"] = _make_azure_provider(fs.sync_credential)
    else:
        options["skip_signature"] = True
    return store_module.AzureStore(container, **options)


def _make_azure_provider(credential: Any) -> Callable[[], dict[str, Any]]:
    """Return a function that gets tokens from a credential of azure-identity."""

    def provide() -> dict[str, Any]:
        token = credential.get_token(_AZURE_SCOPE)
        expires_at = datetime.fromtimestamp(token.expires_on, timezone.utc)
        return {"token": token.token, "expires_at": expires_at}

    return provide


#: The stores that obstore reads, by the extra of fsspec's driver. Google Cloud Storage is not among
#: them: its two APIs have different ETags, so that files would seem to change.
_STORES: dict[str, Callable[[Any, Any, str], Any]] = {
    "s3": _create_s3_store,
    "azure": _create_azure_store,
}
