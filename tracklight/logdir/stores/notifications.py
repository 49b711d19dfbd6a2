"""Learn from an Amazon SQS queue which objects of S3 were written or deleted: ``--notifications``.

A bucket can send its events to a queue. A `NotificationQueue` receives them in a thread and keeps
the folders of the objects, by the prefixes that are subscribed to, until a
`tracklight.logdir.stores.listing.StoreListing` takes them and lists only these folders.

Messages are deleted when they are received: a server that starts lists everything anyway. A queue
delivers each message once, so every server needs a queue of its own.
"""

from __future__ import annotations

import json
import logging
import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Protocol
from urllib.parse import unquote_plus

from tracklight.errors import UsageError, import_optional

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


def get_queue() -> NotificationQueue | None:
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
