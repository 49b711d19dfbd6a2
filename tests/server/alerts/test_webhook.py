from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.server.alerts.receiver import Receiver, receive
from tests.server.waiting import wait_until
from tracklight.errors import Message, UsageError
from tracklight.server.alerts.monitor import Webhook, validate_webhook_url


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receive() as receiver:
        yield receiver


@pytest.fixture
def problems() -> list[Message | None]:
    return []


@pytest.fixture
def webhook(receiver: Receiver, problems: list[Message | None]) -> Iterator[Webhook]:
    webhook = Webhook(receiver.url, problems.append, retry_delays_s=(0.01, 0.01))
    webhook.start()
    yield webhook
    webhook.stop()


def test_messages_are_sent_in_order(webhook: Webhook, receiver: Receiver) -> None:
    webhook.send({"text": "one"})
    webhook.send({"text": "two", "value": float("nan")})
    wait_until(lambda: len(receiver.messages) == 2)
    assert receiver.messages == [{"text": "one"}, {"text": "two", "value": None}]


def test_retries_while_the_receiver_is_busy(
    webhook: Webhook, receiver: Receiver, problems: list[Message | None]
) -> None:
    receiver.statuses = [503, 429]
    webhook.send({"text": "one"})
    wait_until(lambda: problems == [None])
    assert receiver.messages == [{"text": "one"}]


def test_refused_message_is_reported_without_the_url(
    webhook: Webhook, receiver: Receiver, problems: list[Message | None]
) -> None:
    receiver.statuses = [404, 500, 500, 500]
    webhook.send({"text": "refused"})
    webhook.send({"text": "unlucky"})
    webhook.send({"text": "fine"})
    wait_until(lambda: len(problems) == 3)
    assert receiver.messages == [{"text": "fine"}]
    assert [problem and problem.text for problem in problems] == [
        "alerts cannot be sent to 127.0.0.1: it responded with status 404",
        "alerts cannot be sent to 127.0.0.1: it responded with status 500",
        None,
    ]


def test_send_does_not_wait_for_a_slow_receiver(webhook: Webhook, receiver: Receiver) -> None:
    receiver.gate.clear()
    for number in range(5000):
        webhook.send(number)
    assert receiver.messages == []


def test_unreachable_receiver_is_reported(problems: list[Message | None]) -> None:
    webhook = Webhook("http://127.0.0.1:1/", problems.append, retry_delays_s=())
    webhook.start()
    webhook.send({})
    wait_until(lambda: len(problems) == 1)
    webhook.stop()
    assert "refused" in str(problems[0])


@pytest.mark.parametrize(
    "url", ["ftp://host/x", "file:///etc/passwd", "host/x", "http://", "http://["]
)
def test_invalid_url_raises_usage_error(url: str) -> None:
    with pytest.raises(UsageError, match="http:// or https:// URL"):
        validate_webhook_url(url)
