"""Changes of a bucket are learned from a queue."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from typing import Any

import pytest

from tests.logdir.test_listing import NAME, Bucket, Clock, bucket, clock, requested, update
from tests.logdir.test_listing import put_runs as put_old_runs
from tests.server.waiting import wait_until
from tracklight.errors import MissingDependencyError, UsageError
from tracklight.logdir import object_store
from tracklight.logdir.object_store import (
    MAX_COMPLETE_INTERVAL_S,
    NOTIFIED_INTERVAL_S,
    NotificationQueue,
    StoreListing,
    follow_notifications,
    parse_message,
)

__all__ = ["bucket", "clock", "requested"]

URL = "https://sqs.eu-central-1.amazonaws.com/123456789012/tracklight"


def make_event(*keys: str) -> str:
    """Return a message as S3 sends it."""
    records = [{"s3": {"bucket": {"name": "bucket"}, "object": {"key": key}}} for key in keys]
    return json.dumps({"Records": records})


@pytest.mark.parametrize(
    ("body", "keys"),
    [
        (make_event("logs/a+b/events%3D1", "x"), ["bucket/logs/a b/events=1", "bucket/x"]),
        (
            json.dumps({"Type": "Notification", "Message": make_event("logs/a/f")}),
            ["bucket/logs/a/f"],
        ),
        (
            json.dumps(
                {
                    "detail-type": "Object Created",
                    "detail": {"bucket": {"name": "bucket"}, "object": {"key": "logs/a+b"}},
                }
            ),
            ["bucket/logs/a+b"],
        ),
        (json.dumps({"Service": "Amazon S3", "Event": "s3:TestEvent"}), []),
        (json.dumps({"Records": [{"s3": None}]}), []),
        ("[1, 2]", []),
        ("not JSON", []),
        ("", []),
    ],
)
def test_parses_messages(body: str, keys: list[str]) -> None:
    assert parse_message(body) == keys


class Messages:
    """A queue in memory, with the requests that SQS would have answered."""

    def __init__(self) -> None:
        self.bodies: list[str] = []
        self.deleted: list[str] = []
        self.is_available = True

    def receive_message(self, **options: Any) -> Mapping[str, Any]:
        if not self.is_available:
            raise ConnectionError("no route to host")
        count = options["MaxNumberOfMessages"]
        taken, self.bodies = self.bodies[:count], self.bodies[count:]
        return {"Messages": [{"Body": body, "ReceiptHandle": body} for body in taken]}

    def delete_message_batch(self, **options: Any) -> Mapping[str, Any]:
        self.deleted += [entry["ReceiptHandle"] for entry in options["Entries"]]
        return {}


@pytest.fixture
def messages() -> Messages:
    return Messages()


@pytest.fixture
def queue(messages: Messages) -> NotificationQueue:
    return NotificationQueue(URL, messages)


def test_keeps_folders_by_prefix(queue: NotificationQueue, messages: Messages) -> None:
    queue.subscribe("bucket/logs")
    queue.subscribe("bucket/other")
    assert queue.take("bucket/logs") is None, "the queue has not answered yet"
    messages.bodies = [make_event(f"logs/run{number}/{NAME}", "logs2/x") for number in range(12)]
    sent = list(messages.bodies)
    assert (queue.receive(), queue.receive(), queue.receive()) == (10, 2, 0)
    assert messages.deleted == sent
    assert queue.take("bucket/logs") == {f"bucket/logs/run{number}" for number in range(12)}
    assert queue.take("bucket/logs") == set()
    assert queue.take("bucket/other") == set()


def test_too_many_changes_are_not_kept(
    queue: NotificationQueue, messages: Messages, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(object_store, "MAX_FOLDERS", 3)
    queue.subscribe("bucket/logs")
    messages.bodies = [make_event(*(f"logs/run{number}/{NAME}" for number in range(5)))] * 2
    queue.receive()
    assert queue.take("bucket/logs") is None
    assert queue.take("bucket/logs") == set()


def test_follows_the_queue_in_a_thread(
    queue: NotificationQueue,
    messages: Messages,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """After an error, which is logged once, it is asked again."""
    caplog.set_level(logging.WARNING)
    monkeypatch.setattr(object_store, "_RETRY_S", 0.01)
    messages.is_available = False
    queue.subscribe("bucket/logs")
    queue.start()
    wait_until(lambda: "listing instead: no route to host" in caplog.text)
    assert queue.take("bucket/logs") is None
    messages.bodies = [make_event(f"logs/a/{NAME}")]
    messages.is_available = True
    wait_until(lambda: bool(messages.deleted))
    wait_until(lambda: queue.take("bucket/logs") is not None)
    queue.stop()
    assert caplog.text.count("listing instead") == 1


@pytest.fixture
def known(bucket: Bucket, clock: Clock, queue: NotificationQueue) -> StoreListing:
    """A listing of 3,000 runs, of which one is active."""
    put_old_runs(bucket, 3000)
    bucket.put(f"logs/run7/{NAME}", 10, clock.now_s - 5)
    known = StoreListing(bucket, "bucket/logs", clock, clock, queue)
    queue.receive()
    update(known, bucket)
    known._cost = 100_000  # of a bucket that is too large for a test
    return known


def test_lists_what_was_reported(
    known: StoreListing, bucket: Bucket, clock: Clock, queue: NotificationQueue, messages: Messages
) -> None:
    assert update(known, bucket) == []
    bucket.put(f"logs/new/run/{NAME}")
    del bucket.files[f"bucket/logs/run9/{NAME}"]
    messages.bodies = [make_event(f"logs/new/run/{NAME}"), make_event(f"logs/run9/{NAME}")]
    queue.receive()
    clock.now_s += MAX_COMPLETE_INTERVAL_S
    assert sorted(update(known, bucket)) == ["bucket/logs/new", "bucket/logs/run9"]
    assert known.files == bucket.files
    assert update(known, bucket) == []
    # In case a notification was lost.
    bucket.put(f"logs/unreported/{NAME}")
    clock.now_s += NOTIFIED_INTERVAL_S
    assert update(known, bucket)[0] == "bucket/logs"
    assert known.files == bucket.files


def test_reported_folder_that_fails_is_listed_again(
    known: StoreListing, bucket: Bucket, queue: NotificationQueue, messages: Messages
) -> None:
    bucket.put(f"logs/run9/{NAME}", 20)
    messages.bodies = [make_event(f"logs/run9/{NAME}")]
    queue.receive()
    bucket.unavailable.add("bucket/logs/run9")
    assert [*map(str, known.update())] == ['cannot list "bucket/logs/run9": no route to host']
    bucket.unavailable.clear()
    assert update(known, bucket) == ["bucket/logs/run9"]
    assert known.files == bucket.files


def test_file_in_a_very_large_folder(
    known: StoreListing, bucket: Bucket, clock: Clock, queue: NotificationQueue, messages: Messages
) -> None:
    """Its folder takes many requests and is listed on the schedule without notifications."""
    bucket.put(f"logs/{NAME}")
    messages.bodies = [make_event(f"logs/{NAME}")]
    queue.receive()
    assert update(known, bucket) == []
    clock.now_s += MAX_COMPLETE_INTERVAL_S
    assert update(known, bucket)[0] == "bucket/logs"
    assert known.files == bucket.files
    assert update(known, bucket) == []


def test_usual_schedule_if_the_queue_fails(
    bucket: Bucket, clock: Clock, queue: NotificationQueue
) -> None:
    put_old_runs(bucket, 10)
    known = StoreListing(bucket, "bucket/logs", clock, clock, queue)
    update(known, bucket)
    bucket.put(f"logs/new/{NAME}")
    assert update(known, bucket) == ["bucket/logs"]
    assert known.files == bucket.files


@pytest.mark.parametrize(
    "url", ["", "tracklight", "s3://bucket/logs", "https://sqs.eu-central-1.amazonaws.com"]
)
def test_rejects_other_urls(url: str) -> None:
    with pytest.raises(UsageError, match="is not the URL of an SQS queue"):
        with follow_notifications(url):
            pass


def test_needs_botocore(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "botocore.session", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'tracklight\[s3\]'"):
        with follow_notifications(URL):
            pass
