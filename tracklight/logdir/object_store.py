"""What object stores need besides reading: request counts, a budget, partial listings, and
notifications of changes. Nothing here knows fsspec; `tracklight.logdir.remote` uses it.

A listing of S3 returns 1,000 keys per request, one request after the other, so that a bucket with
100,000 runs takes hundreds of them. Therefore

- folders are listed in parallel, if there are not too many of them for their number of keys;
- between two complete listings, only folders are listed in which a file was written in the last
  ten minutes. Each is extended to the largest folder above it that still fits into one response, so
  that new runs beside an active one are found for the same price;
- a complete listing of N requests is repeated after N seconds, and after at most five minutes. That
  is the longest time until a new run in an inactive folder is found.

A log of up to 1,000 keys is one request, and always listed completely.

With ``--notifications``, a bucket sends its events to an Amazon SQS queue. A `NotificationQueue`
receives them in a thread and keeps the folders of the objects that were written or deleted, by the
prefixes that are subscribed to, until a `StoreListing` takes them and lists only these folders, and
everything once per hour, in case a notification was lost. Messages are deleted when they are
received: a server that starts lists everything anyway. A queue delivers each message once, so every
server needs a queue of its own.
"""

from __future__ import annotations

import json
import logging
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, get_args
from urllib.parse import unquote_plus

from tracklight.errors import Message, UsageError, import_optional
from tracklight.logdir.filesystem import FileStat

# ---- notifications

#: How long a request waits for messages, as long as SQS allows.
_WAIT_S = 20
_MAX_MESSAGES = 10
_RETRY_S = 10.0
_STOP_TIMEOUT_S = 1.0

#: Folders that are kept for a listing. If there are more, it follows its usual schedule.
MAX_FOLDERS = 10_000

_QUEUE_URL = re.compile(r"https?://[^\s/]+/\d+/[\w.-]+")
_REGION = re.compile(r"https?://sqs\.([a-z0-9-]+)\.amazonaws\.com")

_log = logging.getLogger(__name__)


class SqsClient(Protocol):
    """The methods of botocore's client for SQS that are used here."""

    def receive_message(self, **options: Any) -> Mapping[str, Any]: ...

    def delete_message_batch(self, **options: Any) -> Mapping[str, Any]: ...


class NotificationQueue:
    """The folders in which something changed, as far as a queue tells.

    Args:
        url: The URL of the queue.
        client: Sends requests to SQS.
    """

    def __init__(self, url: str, client: SqsClient) -> None:
        self._url = url
        self._client = client
        self._lock = threading.Lock()
        #: The changed folders below each prefix; None if there were too many to keep.
        self._folders: dict[str, set[str] | None] = {}
        self._is_working = False
        self._stopped = threading.Event()
        self._thread = threading.Thread(
            target=self._follow, name="tracklight-notifications", daemon=True
        )

    def start(self) -> None:
        """Receive messages in a thread until `stop`."""
        self._thread.start()

    def stop(self) -> None:
        self._stopped.set()
        # It may wait for messages; as a daemon it does not keep the program from exiting.
        self._thread.join(_STOP_TIMEOUT_S)

    def subscribe(self, prefix: str) -> None:
        """Keep changes below a prefix such as ``bucket/folder`` from now on."""
        with self._lock:
            self._folders.setdefault(prefix, set())

    def take(self, prefix: str) -> set[str] | None:
        """Return the folders below a prefix that changed since the last call.

        Returns:
            None if that is not known: the queue does not answer, or there were too many.
        """
        with self._lock:
            folders = self._folders.get(prefix)
            self._folders[prefix] = set()
            if folders is None:
                return None
            if not self._is_working:
                self._folders[prefix] = folders
                return None
            return folders

    def receive(self, wait_s: int = _WAIT_S) -> int:
        """Receive and delete some messages; return how many.

        Raises:
            Exception: SQS answered with an error, or not at all.
        """
        response = self._client.receive_message(
            QueueUrl=self._url, MaxNumberOfMessages=_MAX_MESSAGES, WaitTimeSeconds=wait_s
        )
        messages = response.get("Messages", ())
        for message in messages:
            self._add(parse_message(message.get("Body", "")))
        if messages:
            entries = [
                {"Id": str(index), "ReceiptHandle": message["ReceiptHandle"]}
                for index, message in enumerate(messages)
            ]
            self._client.delete_message_batch(QueueUrl=self._url, Entries=entries)
        self._is_working = True
        return len(messages)

    def _add(self, keys: list[str]) -> None:
        with self._lock:
            for prefix, folders in self._folders.items():
                if folders is None:
                    continue
                below = (key for key in keys if key == prefix or key.startswith(f"{prefix}/"))
                folders.update(key.rpartition("/")[0] for key in below)
                if len(folders) > MAX_FOLDERS:
                    self._folders[prefix] = None

    def _follow(self) -> None:
        has_warned = False
        while not self._stopped.is_set():
            try:
                self.receive()
            except Exception as error:  # the libraries have no common base class
                if self._is_working or not has_warned:
                    has_warned = True
                    reason = " ".join(str(error).split()) or type(error).__name__
                    _log.warning("no notifications of changes, listing instead: %s", reason)
                self._is_working = False
                self._stopped.wait(_RETRY_S)


def parse_message(body: str) -> list[str]:
    """Return the keys that a message is about, such as ``bucket/folder/file``.

    Messages come from S3 itself, through an SNS topic, or from EventBridge. Others, such as the
    test message of S3, are about no keys.
    """
    try:
        message = json.loads(body)
        if message.get("Type") == "Notification":
            message = json.loads(message["Message"])
        if "detail" in message:
            found = message["detail"]
            return [f"{found['bucket']['name']}/{found['object']['key']}"]
        # Unlike EventBridge, S3 encodes keys as in a form.
        return [
            f"{record['s3']['bucket']['name']}/{unquote_plus(record['s3']['object']['key'])}"
            for record in message.get("Records", ())
        ]
    except (ValueError, KeyError, TypeError, AttributeError):
        return []


_current: NotificationQueue | None = None


def find_queue() -> NotificationQueue | None:
    """Return the queue that is followed by this process, if there is one."""
    return _current


@contextmanager
def follow_notifications(url: str | None) -> Iterator[None]:
    """Receive notifications from a queue for the ``with`` block; with None do nothing.

    Raises:
        UsageError: That is not the URL of a queue, or the region is not known.
        MissingDependencyError: botocore is not installed.
    """
    global _current
    if url is None:
        yield
        return
    queue = NotificationQueue(url, _create_client(url))
    _current = queue
    queue.start()
    try:
        yield
    finally:
        _current = None
        queue.stop()


def _create_client(url: str) -> SqsClient:
    if not _QUEUE_URL.fullmatch(url):
        raise UsageError(
            f'--notifications "{url}" is not the URL of an SQS queue, such as '
            "https://sqs.eu-central-1.amazonaws.com/123456789012/tracklight"
        )
    botocore = import_optional("botocore.session", "--notifications", "s3")
    region = _REGION.match(url)
    try:
        client: SqsClient = botocore.get_session().create_client(
            "sqs", region_name=region[1] if region else None
        )
    except Exception as error:
        reason = " ".join(str(error).split())
        raise UsageError(f"--notifications {url} cannot be used: {reason}") from error
    return client


# ---- counting requests

Operation = Literal["list", "stat", "read"]
OPERATIONS: tuple[Operation, ...] = get_args(Operation)

#: Keys in one response to a listing, in S3, Google Cloud Storage and Azure alike (at most).
KEYS_PER_PAGE = 1000

_HOUR_S = 3600.0


@dataclass
class RequestCounts:
    """Requests and received bytes by operation since the start of a process."""

    requests: Counter[str] = field(default_factory=Counter)
    bytes: Counter[str] = field(default_factory=Counter)
    retries: int = 0

    @property
    def total(self) -> int:
        return sum(self.requests.values())


def count_pages(keys: int) -> int:
    """Return how many requests a listing of ``keys`` keys takes."""
    return max(1, -(-keys // KEYS_PER_PAGE))


class RequestBudget:
    """A budget of requests per hour, as a token bucket.

    Requests are never refused: what was requested is read, and the budget may become negative by
    at most one hour's worth. Callers that can wait ask `get_wait_s` first.

    Args:
        per_hour: How many requests to send in an hour.
        clock: Returns the time in seconds.
    """

    def __init__(self, per_hour: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.per_hour = per_hour
        self._clock = clock
        self._remaining = float(per_hour)
        self._updated_s = clock()

    @property
    def remaining(self) -> float:
        now_s = self._clock()
        gained = (now_s - self._updated_s) * self.per_hour / _HOUR_S
        self._remaining = min(float(self.per_hour), self._remaining + gained)
        self._updated_s = now_s
        return self._remaining

    def spend(self, requests: int) -> None:
        self._remaining = max(-float(self.per_hour), self.remaining - requests)

    def get_wait_s(self, requests: int) -> float:
        """Return after how many seconds ``requests`` more are within the budget; 0 for now."""
        missing = min(requests, self.per_hour) - self.remaining
        return max(0.0, missing * _HOUR_S / self.per_hour)


class RequestMeter:
    """The requests of this process to object stores, and those of its shards on a cluster."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._own = RequestCounts()
        self._shards: dict[str, RequestCounts] = {}
        self._budget: RequestBudget | None = None

    @property
    def budget(self) -> RequestBudget | None:
        return self._budget

    def set_budget(self, per_hour: int | None) -> None:
        """Limit requests from now on; None removes the limit."""
        self._budget = None if per_hour is None else RequestBudget(per_hour)

    def add(self, operation: Operation, requests: int = 1, received_bytes: int = 0) -> None:
        with self._lock:
            self._own.requests[operation] += requests
            self._own.bytes[operation] += received_bytes
            if self._budget is not None:
                self._budget.spend(requests)

    def add_retry(self) -> None:
        with self._lock:
            self._own.retries += 1

    def set_shard(self, instance: str, counts: RequestCounts) -> None:
        """Replace the counts of a process that reads a part of the log."""
        with self._lock:
            known = self._shards.get(instance, RequestCounts())
            self._shards[instance] = counts
            if self._budget is not None:
                self._budget.spend(counts.total - known.total)

    def get_own(self) -> RequestCounts:
        """Return a copy of the counts of this process."""
        with self._lock:
            own = self._own
            return RequestCounts(own.requests.copy(), own.bytes.copy(), own.retries)

    def get_totals(self) -> RequestCounts:
        """Return the counts of this process and of all shards."""
        with self._lock:
            parts = [self._own, *self._shards.values()]
            return RequestCounts(
                sum((part.requests for part in parts), Counter()),
                sum((part.bytes for part in parts), Counter()),
                sum(part.retries for part in parts),
            )

    def get_wait_s(self, requests: int) -> float:
        """Return how long a refresh of ``requests`` requests has to wait for the budget."""
        with self._lock:
            return 0.0 if self._budget is None else self._budget.get_wait_s(requests)


#: The meter of this process.
METER = RequestMeter()


# ---- listing

#: How long a folder counts as active after a file in it was written.
ACTIVE_S = 600.0

#: The longest time between two complete listings.
MAX_COMPLETE_INTERVAL_S = 300.0
_S_PER_REQUEST = 1.0
#: The same with notifications.
NOTIFIED_INTERVAL_S = 3600.0

#: A folder with more keys is split into its subfolders, if they have enough keys each on average.
_MIN_SPLIT_KEYS = 4 * KEYS_PER_PAGE
_MAX_FOLDERS_PER_PAGE = 4
#: Subfolders into which a folder of unknown size is split.
_MAX_UNKNOWN_FOLDERS = 64

_THREADS = 16

Files = dict[str, FileStat]


class Store(Protocol):
    """Lists keys without a scheme, such as ``bucket/folder/file``. Failures are OSError."""

    def list_below(self, prefix: str) -> Files:
        """Return all files below a folder, or the file of that name; counted as requests."""

    def list_folder(self, prefix: str) -> tuple[Files, list[str]]:
        """Return the files in a folder and its subfolders; counted as requests."""


class StoreListing:
    """The files below one folder of a store as far as they are known.

    Args:
        store: Lists folders.
        root: The key of the folder.
        clock: Returns the time in seconds since some point.
        wall_clock: Returns the time that files are stamped with.
        queue: Reports changes; None to look for them.
    """

    def __init__(
        self,
        store: Store,
        root: str,
        clock: Callable[[], float] = time.monotonic,
        wall_clock: Callable[[], float] = time.time,
        queue: NotificationQueue | None = None,
    ) -> None:
        #: All known files by key.
        self.files: Files = {}
        self._store = store
        self._root = root
        self._clock = clock
        self._wall_clock = wall_clock
        self._is_known = False
        #: When the last complete listing began, and how many requests it took.
        self._complete_s = 0.0
        self._cost = 1
        #: Keys and direct subfolders of each folder, as of the last complete listing.
        self._key_counts: Counter[str] = Counter()
        self._folder_counts: Counter[str] = Counter()
        #: Subfolders and files directly in a folder, together.
        self._entry_counts: Counter[str] = Counter()
        #: When a change was last seen in a folder.
        self._active: dict[str, float] = {}
        self._queue = queue
        #: Folders of which a change was reported and that were not listed since.
        self._notified: set[str] = set()
        if queue is not None:
            queue.subscribe(root)

    def update(self) -> list[Message]:
        """List what may have changed; return messages about what could not be listed.

        Raises:
            OSError: The first listing failed, so that no files are known.
        """
        if not self._is_known:
            self._list_all()
            return []
        is_notified = self._take_notifications()
        active = self._notified if is_notified else self._get_active()
        folders = self._pick_folders(active)
        interval_s = min(self._cost * _S_PER_REQUEST, MAX_COMPLETE_INTERVAL_S)
        if is_notified and not any(map(self._is_too_large, active)):
            interval_s = NOTIFIED_INTERVAL_S
        is_due = self._clock() - self._complete_s >= interval_s
        if is_notified and not active and not is_due:
            return []
        is_complete = is_due or self._cost <= max(1, len(folders))
        wait_s = METER.get_wait_s(self._cost if is_complete else len(folders))
        if wait_s > 0 and METER.budget is not None:
            return [_describe_spent(METER.budget.per_hour, self._wall_clock() + wait_s)]
        if not is_complete:
            problems = self._list_folders(folders)
        else:
            try:
                self._list_all()
                problems = []
            except OSError as error:
                problems = [_describe_failure(self._root, error)]
        if not problems:
            kept = () if is_complete else filter(self._is_too_large, self._notified)
            self._notified = set(kept)
        return problems

    def _take_notifications(self) -> bool:
        """Add reported folders to `_notified`; return whether all changes are reported."""
        folders = None if self._queue is None else self._queue.take(self._root)
        self._notified |= folders or set()
        return folders is not None

    # ---- complete listings

    def _list_all(self) -> None:
        started_s = self._clock()
        found: Files = {}
        cost = 0
        folders = [self._root]
        with ThreadPoolExecutor(_THREADS, thread_name_prefix="tracklight-list") as pool:
            while folders:
                parts = list(pool.map(self._list_part, folders))
                folders = [folder for _, subfolders in parts for folder in subfolders]
                for files, subfolders in parts:
                    found.update(files)
                    cost += count_pages(len(files) + len(subfolders))
        self._note_changes(self.files, found)
        self.files = found
        self._count_keys()
        # The next one takes less than the first, because it does not split small folders.
        self._cost = cost if self._is_known else min(cost, count_pages(len(found)))
        self._complete_s = started_s
        self._is_known = True

    def _list_part(self, folder: str) -> tuple[Files, list[str]]:
        """List all files of a folder, or return its subfolders to list them in parallel."""
        if self._is_split(folder):
            try:
                files, subfolders = self._store.list_folder(folder)
            except FileNotFoundError:  # also if only the bucket exists
                return self._store.list_below(folder), []
            if self._is_known or len(subfolders) <= _MAX_UNKNOWN_FOLDERS:
                return files, subfolders
        return self._store.list_below(folder), []

    def _is_split(self, folder: str) -> bool:
        if not self._is_known:
            return folder == self._root
        keys = self._key_counts[folder]
        max_folders = _MAX_FOLDERS_PER_PAGE * count_pages(keys)
        return keys > _MIN_SPLIT_KEYS and 1 <= self._folder_counts[folder] <= max_folders

    def _count_keys(self) -> None:
        self._key_counts = Counter(
            folder for key in self.files for folder in self._iter_folders(key)
        )
        self._folder_counts = Counter(map(_get_folder, self._key_counts))
        self._entry_counts = self._folder_counts + Counter(map(_get_folder, self.files))

    # ---- active folders

    def _list_folders(self, folders: Sequence[str]) -> list[Message]:
        with ThreadPoolExecutor(_THREADS, thread_name_prefix="tracklight-list") as pool:
            parts = dict(zip(folders, pool.map(self._list_active, folders), strict=True))
        found = {folder: part for folder, part in parts.items() if isinstance(part, dict)}
        large = {folder for folder in found if self._is_large(folder)}
        whole = found.keys() - large
        files = {
            key: stat
            for key, stat in self.files.items()
            if _get_folder(key) not in large and whole.isdisjoint(self._iter_folders(key))
        }
        for part in found.values():
            files.update(part)
        self._note_changes(self.files, files)
        self.files = files
        return [
            _describe_failure(folder, error)
            for folder, error in parts.items()
            if isinstance(error, OSError)
        ]

    def _list_active(self, folder: str) -> Files | OSError:
        """List a folder; of a large one only its own files, and subfolders that are new."""
        try:
            if not self._is_large(folder):
                return self._store.list_below(folder)
            files, subfolders = self._store.list_folder(folder)
            for subfolder in subfolders:
                if not self._key_counts[subfolder]:
                    files |= self._store.list_below(subfolder)
        except FileNotFoundError:
            return {}
        except OSError as error:
            return error
        return files

    def _is_large(self, folder: str) -> bool:
        return self._key_counts[folder] > KEYS_PER_PAGE

    def _note_changes(self, old: Mapping[str, FileStat], new: Mapping[str, FileStat]) -> None:
        now_s = self._clock()
        recent_ns = (self._wall_clock() - ACTIVE_S) * 1e9
        for key, stat in new.items():
            is_changed = old.get(key) != stat if self._is_known else stat.mtime_ns >= recent_ns
            if is_changed:
                self._active[_get_folder(key)] = now_s

    def _get_active(self) -> Iterable[str]:
        """Return the folders in which a change was seen lately, or was reported."""
        now_s = self._clock()
        self._active = {
            folder: seen_s for folder, seen_s in self._active.items() if now_s - seen_s < ACTIVE_S
        }
        return self._active.keys() | self._notified

    def _pick_folders(self, active: Iterable[str]) -> list[str]:
        """Return the folders to list between complete listings, none of them listed twice."""
        extended = {self._extend(folder) for folder in active}
        picked = {folder for folder in extended if not self._is_too_large(folder)}
        whole = {folder for folder in picked if not self._is_large(folder)}
        return [folder for folder in picked if whole.isdisjoint(self._iter_folders(folder))]

    def _is_too_large(self, folder: str) -> bool:
        """Return whether direct entries of a folder are left to the next complete listing."""
        return self._entry_counts[self._extend(folder)] > KEYS_PER_PAGE

    def _extend(self, folder: str) -> str:
        """Return the largest folder at or above one that fits into one response."""
        extended = folder
        for above in self._iter_folders(folder):
            if self._key_counts[above] > KEYS_PER_PAGE:
                break
            extended = above
        return extended

    def _iter_folders(self, key: str) -> Iterable[str]:
        """Yield the folders above a key, the nearest first, up to the root."""
        while key != self._root and "/" in key:
            key = _get_folder(key)
            yield key


def _get_folder(key: str) -> str:
    return key.rpartition("/")[0]


def _describe_failure(folder: str, error: OSError) -> Message:
    return Message.format(
        "files.cannot_list",
        'cannot list "{path}": {reason}',
        path=folder,
        reason=error.strerror or error,
    )


def _describe_spent(per_hour: int, wall_s: float) -> Message:
    return Message.format(
        "files.budget_spent",
        "the budget of {budget} requests per hour is spent; the log is refreshed again at {time}",
        budget=per_hour,
        time=time.strftime("%H:%M UTC", time.gmtime(wall_s + 59)),
    )
