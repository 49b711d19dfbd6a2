"""Object stores and other remote file systems through fsspec: s3://, gs://, az://, hdfs://, …

Contents are not cached, because logs change while they are written, and only the requested byte
ranges are downloaded. Logs on web servers (http://) are read by `tracklight.logdir.http`.

Buckets of S3 and containers of Azure are listed and read with obstore where it is installed and can
list the bucket: it takes a tenth of the processor time of fsspec's drivers. These still connect, so
that credentials, endpoints and messages about what is missing are their own. A call of obstore that
fails returns None, and `RemoteFileSystem` repeats it with fsspec.
"""

from __future__ import annotations

import errno
import importlib
import logging
import random
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from datetime import datetime, timedelta, timezone
from types import TracebackType
from typing import Any, NamedTuple, TypeVar
from urllib.parse import urlsplit

from tracklight.errors import Message, MissingDependencyError, UsageError
from tracklight.logdir.filesystem import FileHandle, FileStat, ListedFile, Listing, ReadSizes
from tracklight.logdir.object_store import (
    METER,
    NotificationQueue,
    Operation,
    StoreListing,
    count_pages,
    find_queue,
)

T = TypeVar("T")

# ---- obstore

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


# ---- obstore: S3


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


# ---- obstore: Azure


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


# ---- fsspec

#: The extra that installs the library for a kind of URL.
EXTRAS = {
    "s3": "s3",
    "s3a": "s3",
    "gs": "gcs",
    "gcs": "gcs",
    "az": "azure",
    "abfs": "azure",
    "abfss": "azure",
    "adl": "azure",
}

#: Delays between attempts. The underlying libraries also retry, some of them for a minute, so no
#: attempt starts later than `_RETRY_WINDOW_S` after the first one.
_RETRY_DELAYS_S = (0.1, 0.4, 1.6)
_RETRY_WINDOW_S = 5.0

#: How long to wait for the first response of a store. Without a network, Google's library searches
#: for credentials for 17 s and then retries requests for two minutes.
_CONNECT_TIMEOUT_S = 10.0

#: How much of both ends of what was read from a file is kept until it is closed.
_KEPT_HEAD_BYTES, _KEPT_TAIL_BYTES = 4 << 10, 64 << 10

#: These log tracebacks of errors that are reported to the user in one sentence anyway.
_NOISY_LOGGERS = ("gcsfs", "google", "s3fs", "adlfs", "azure", "fsspec")

#: Errors that a retry cannot fix.
_FINAL_ERRORS = (FileNotFoundError, PermissionError, IsADirectoryError, NotADirectoryError)

#: What to do about errors, by the names of their classes.
_HINTS = {
    "NoCredentialsError": "; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE",
}

# Stores use different names for these fields.
_IDENTITY_FIELDS = ("ETag", "etag", "generation", "md5Hash", "content_md5", "checksum", "ino")
_MTIME_FIELDS = ("LastModified", "last_modified", "updated", "mtime", "modified", "created")


class RemoteFileSystem:
    """The store of a URL; see `FileSystem`.

    The connection is opened on first use. If the store does not respond within
    `_CONNECT_TIMEOUT_S`, the call raises OSError; the attempt continues in the background, and
    later calls use its result.

    Args:
        url: A URL of the store.
        options: Passed on to fsspec.

    Raises:
        MissingDependencyError: The library for this kind of URL is not installed.
        UsageError: The scheme of the URL is unknown.
    """

    #: A request takes as long as the transfer of a few megabytes, so requests are few and large.
    read_sizes = ReadSizes(min_bytes=4 << 20, initial_bytes=4 << 20, max_bytes=16 << 20)

    def __init__(self, url: str, **options: Any) -> None:
        _check_scheme(url)
        self._url = url
        self._options = options
        #: What is known about the folders that were listed.
        self._listings: dict[str, StoreListing] = {}

    def list_files(
        self, root: str, is_wanted: Callable[[str], bool], is_excluded: Callable[[str], bool]
    ) -> Listing:
        """See `FileSystem.list_files`; repeated calls list only what may have changed."""
        listing = Listing()
        try:
            self._fs.invalidate_cache()  # fsspec would otherwise return the first listing forever
            root_key = self._strip(root)
            known = self._listings.get(root)
            if known is None:
                known = StoreListing(self, root_key, queue=_find_queue(root))
            listing.problems += known.update()
            self._listings[root] = known
            if not known.files:
                self._check_bucket(root_key.partition("/")[0])
        except FileNotFoundError:
            listing.problems.append(self._describe_missing(root))
            return listing
        except OSError as error:
            listing.add_problem(root, error)
            return listing
        for key, stat in known.files.items():
            # As for local logs, the root may be an event file instead of a directory.
            relative = key[len(root_key) + 1 :] or key.rpartition("/")[2]
            directory, _, name = relative.rpartition("/")
            if is_wanted(name) and not is_excluded(directory):
                path = root if key == root_key else f"{root}/{relative}"
                listing.files.append(ListedFile(directory, name, path, stat))
        return listing

    def _check_bucket(self, bucket: str) -> None:
        """Raise FileNotFoundError if there is no such bucket; adlfs lists no files then."""
        try:
            _retry(bucket, lambda: self._fs.info(bucket), "stat")
        except FileNotFoundError:
            raise
        except OSError:
            pass  # not everybody who may read a folder may ask for the bucket

    def _describe_missing(self, root: str) -> Message:
        bucket = self._strip(root).partition("/")[0]
        if root.partition("://")[0].lower() in EXTRAS:
            try:
                self._check_bucket(bucket)
            except FileNotFoundError:
                return Message.format(
                    "files.no_bucket",
                    'cannot list "{url}": there is no bucket "{bucket}"',
                    url=root,
                    bucket=bucket,
                )
        return Message.format("files.nothing_at", 'nothing found at "{url}"', url=root)

    def list_below(self, prefix: str) -> dict[str, FileStat]:
        fs, client = self._connection
        if client is not None:
            METER.add("list")
            files = client.list_below(prefix)
            if files is not None:
                METER.add("list", count_pages(len(files)) - 1)
                return files
        found: Mapping[str, Mapping[str, Any]] = _retry(
            prefix, lambda: fs.find(prefix, detail=True), "list"
        )
        METER.add("list", count_pages(len(found)) - 1)
        return {key: parse_file_stat(info) for key, info in found.items()}

    def list_folder(self, prefix: str) -> tuple[dict[str, FileStat], list[str]]:
        fs, client = self._connection
        if client is not None:
            METER.add("list")
            listed = client.list_folder(prefix)
            if listed is not None:
                METER.add("list", count_pages(sum(map(len, listed))) - 1)
                return listed
        entries: list[Mapping[str, Any]] = _retry(
            prefix, lambda: fs.ls(prefix, detail=True), "list"
        )
        METER.add("list", count_pages(len(entries)) - 1)
        files, folders = {}, []
        for entry in entries:
            key = str(entry["name"]).rstrip("/")
            if entry.get("type") != "directory":
                files[key] = parse_file_stat(entry)
            elif key != prefix:
                folders.append(key)
        return files, folders

    def exists(self, path: str) -> bool:
        self._fs.invalidate_cache()
        try:
            # Not fsspec's `exists`, which returns False if the connection fails.
            _retry(path, lambda: self._fs.info(self._strip(path)), "stat")
        except FileNotFoundError:
            return False
        except OSError:  # reported when the log is read
            return True
        return True

    def find_stat(self, path: str) -> FileStat | None:
        fs = self._fs
        fs.invalidate_cache()
        try:
            info = _retry(path, lambda: fs.info(self._strip(path)), "stat")
        except FileNotFoundError:
            return None
        return parse_file_stat(info) if info.get("type") == "file" else None

    def read(self, path: str, offset: int, size: int) -> bytes:
        return bytes(self.read_buffer(path, offset, size))

    def read_buffer(self, path: str, offset: int, size: int) -> bytes | memoryview:
        """Read like `read`, without copying if that is possible."""
        if size <= 0:
            return b""
        fs, client = self._connection
        key, end = str(fs._strip_protocol(path)).rstrip("/"), offset + size
        if client is not None:
            METER.add("read")
            whole = client.read(key, offset, end)
            if whole is not None:
                METER.add("read", 0, size)
                return whole

        def read_from(start: int) -> bytes:
            data: bytes = _retry(path, lambda: fs.cat_file(key, start=start, end=end), "read")
            METER.add("read", 0, len(data))
            # A store may ignore the range and send the whole file.
            return data if len(data) <= end - start else data[start:end]

        data = read_from(offset)
        if not data or len(data) == size:
            return data
        # The end of the file, or of a connection that was dropped without an error. Stores reject
        # ranges after the end, each in its own way, so ask for the size first.
        stat = self.find_stat(path)
        while stat is not None and offset + len(data) < min(end, stat.size):
            more = read_from(offset + len(data))
            if not more:
                break
            data += more
        return data

    def open(self, path: str) -> FileHandle:
        return RemoteHandle(self, path)

    @property
    def _fs(self) -> Any:
        """The connected file system of fsspec; OSError if there is none."""
        return self._connection.fs

    @property
    def _connection(self) -> Connection:
        connection = _get_connection(self._url, self._options)
        try:
            return connection.result(_CONNECT_TIMEOUT_S)
        except FutureTimeoutError:
            reason = (
                f"no response within {_CONNECT_TIMEOUT_S:.0f} s; check the address, the network "
                "and your credentials"
            )
            raise OSError(errno.ETIMEDOUT, reason, self._url) from None

    def _strip(self, url: str) -> str:
        return str(self._fs._strip_protocol(url)).rstrip("/")


class RemoteHandle:
    """A file in a store; reads are separate requests.

    Both ends of what was read are kept, because they are read again for the fingerprint of the file
    (see `tracklight.logdir.tail`): one request for a small file instead of three.
    """

    def __init__(self, files: RemoteFileSystem, path: str) -> None:
        self._files = files
        self._path = path
        #: Offsets and bytes of the beginning of the file and of the end of the last read.
        self._kept: list[tuple[int, bytes]] = []

    def read(self, offset: int, size: int) -> bytes:
        return bytes(self._read_buffer(offset, size))

    def read_into(self, buffer: memoryview, offset: int) -> int:
        data = self._read_buffer(offset, len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def _read_buffer(self, offset: int, size: int) -> bytes | memoryview:
        for start, kept in self._kept:
            if start <= offset and offset + size <= start + len(kept):
                return kept[offset - start : offset - start + size]
        data = self._files.read_buffer(self._path, offset, size)
        if offset == 0 or not self._kept:
            self._kept = [(offset, bytes(data[:_KEPT_HEAD_BYTES]))]
        tail = bytes(data[-_KEPT_TAIL_BYTES:])
        self._kept[1:] = [(offset + len(data) - len(tail), tail)]
        return data

    def __enter__(self) -> FileHandle:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        pass


def _find_queue(url: str) -> NotificationQueue | None:
    """Return the queue that reports changes of a store: only S3 sends them there."""
    return find_queue() if EXTRAS.get(url.partition("://")[0].lower()) == "s3" else None


def _check_scheme(url: str) -> None:
    """Raise if the library for this kind of URL is missing, without opening a connection."""
    scheme = url.partition("://")[0].lower()
    try:
        importlib.import_module("fsspec.registry").get_filesystem_class(scheme)
    except ImportError:
        extra = EXTRAS.get(scheme, "remote")
        raise MissingDependencyError(f"a remote log ({scheme}://…)", extra) from None
    except ValueError as error:
        raise UsageError(
            "log.remote_unreadable", 'cannot read logs from "{url}": {error}', url=url, error=error
        ) from None


class Connection(NamedTuple):
    """A connection to a store."""

    fs: Any
    """A file system of fsspec."""
    client: ObstoreClient | None
    """Queried first, if there is one."""


_connections: dict[str, Future[Connection]] = {}
_connections_lock = threading.Lock()


def _get_connection(url: str, options: Mapping[str, Any]) -> Future[Connection]:
    """Return the connection to a store, which is opened in the background once per store."""
    if options:
        return _start(lambda: Connection(_connect(url, options), None))
    store = "/".join(url.split("/", 3)[:3])
    with _connections_lock:
        known = _connections.get(store)
        if known is None or (known.done() and known.exception() is not None):
            known = _connections[store] = _start(lambda: _open(url))
        return known


def _open(url: str) -> Connection:
    fs = _connect(url, {})
    extra = EXTRAS.get(url.partition("://")[0].lower(), "")
    return Connection(fs, open_client(extra, fs, fs._strip_protocol(url)))


def _connect(url: str, options: Mapping[str, Any]) -> Any:
    """Return a file system of fsspec that has responded to one small request."""
    for name in _NOISY_LOGGERS:
        # Programs that configure logging still get these records.
        logging.getLogger(name).addHandler(logging.NullHandler())
    try:
        options = {**_get_default_options(url), **options}
        fs, key = importlib.import_module("fsspec.core").url_to_fs(url, **options)
        try:
            fs.info(key)
        except _FINAL_ERRORS:
            pass  # also a response; reported when files are listed
    except Exception as error:
        raise _describe(url, error) from error
    return fs


def _get_default_options(url: str) -> dict[str, Any]:
    """Return options for fsspec.

    With a range, some S3-compatible servers send the checksum of the whole object, so that botocore
    would reject every response. Records of event files have checksums of their own.
    """
    if EXTRAS.get(url.partition("://")[0].lower()) != "s3":
        return {}
    known = importlib.import_module("botocore.config").Config.OPTION_DEFAULTS
    name = "response_checksum_validation"  # since botocore 1.36, which verifies them
    return {"config_kwargs": {name: "when_required"}} if name in known else {}


def _start(call: Callable[[], T]) -> Future[T]:
    """Run a function in a daemon thread, which does not keep the program from exiting."""
    future: Future[T] = Future()

    def run() -> None:
        try:
            future.set_result(call())
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=run, name="tracklight-connect", daemon=True).start()
    return future


def _retry(path: str, call: Callable[[], T], operation: Operation) -> T:
    """Send a request, and retry a few times if that may help; the final error is an OSError."""
    delays_s = iter(_RETRY_DELAYS_S)
    started_s = time.monotonic()
    while True:
        METER.add(operation)
        try:
            return call()
        except _FINAL_ERRORS:
            raise
        # The libraries have no other common base class for connection errors.
        except Exception as error:
            is_final = isinstance(error, OSError) and error.errno == errno.EINVAL
            is_late = time.monotonic() - started_s > _RETRY_WINDOW_S
            delay_s = None if is_final or is_late else next(delays_s, None)
            if delay_s is None:
                raise _describe(path, error) from error
            METER.add_retry()
            # Random, so that many readers that were told to slow down do not return together.
            time.sleep(delay_s * random.uniform(0.5, 1.5))


def _describe(path: str, error: Exception) -> OSError:
    """Convert an error of a library to an OSError with a message of one line."""
    text = " ".join(str(error).split()) or type(error).__name__
    return OSError(errno.EIO, text + _HINTS.get(type(error).__name__, ""), path)


def parse_file_stat(info: Mapping[str, Any]) -> FileStat:
    """Convert the description of a file by fsspec; stores differ in the names of its fields."""
    identity = next((str(info[key]).strip('"') for key in _IDENTITY_FIELDS if info.get(key)), "")
    time_s = next((_get_seconds(info[key]) for key in _MTIME_FIELDS if info.get(key)), 0)
    return FileStat(int(info["size"] or 0), time_s * 1_000_000_000, identity)


def _get_seconds(value: Any) -> int:
    """Convert a time to whole seconds; some stores return fractions only in listings."""
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value.replace("Z", "+00:00"))
        except ValueError:
            return 0
    return int(value.timestamp() if isinstance(value, datetime) else value)
