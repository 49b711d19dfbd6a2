from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.server.alerts.receiver import Receiver, receive
from tests.server.waiting import wait_until
from tracklight.errors import UsageError
from tracklight.server.alerts.webhook import Webhook, validate_webhook_url


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receive() as receiver:
        yield receiver


@pytest.fixture
def said() -> list[str | None]:
    return []


@pytest.fixture
def webhook(receiver: Receiver, said: list[str | None]) -> Iterator[Webhook]:
    webhook = Webhook(receiver.url, said.append, retry_delays_s=(0.01, 0.01))
    webhook.start()
    yield webhook
    webhook.stop()


def test_messages_arrive_in_order(webhook: Webhook, receiver: Receiver) -> None:
    webhook.send({"text": "one"})
    webhook.send({"text": "two", "value": float("nan")})
    wait_until(lambda: len(receiver.got) == 2)
    assert receiver.got == [{"text": "one"}, {"text": "two", "value": None}]


def test_a_server_that_is_busy_is_asked_again(
    webhook: Webhook, receiver: Receiver, said: list[str | None]
) -> None:
    receiver.statuses = [503, 429]
    webhook.send({"text": "one"})
    wait_until(lambda: said == [None])
    assert receiver.got == [{"text": "one"}]


def test_what_is_refused_is_given_up_and_said_without_the_secret(
    webhook: Webhook, receiver: Receiver, said: list[str | None]
) -> None:
    receiver.statuses = [404, 500, 500, 500]
    webhook.send({"text": "refused"})
    webhook.send({"text": "unlucky"})
    webhook.send({"text": "fine"})
    wait_until(lambda: len(said) == 3)
    assert receiver.got == [{"text": "fine"}]
    assert said == [
        "alarms do not reach 127.0.0.1: it answered 404",
        "alarms do not reach 127.0.0.1: it answered 500",
        None,
    ]


def test_nobody_waits_for_a_slow_server(webhook: Webhook, receiver: Receiver) -> None:
    receiver.gate.clear()
    for number in range(5000):
        webhook.send(number)
    assert receiver.got == []


def test_a_server_that_is_not_there(said: list[str | None]) -> None:
    webhook = Webhook("http://127.0.0.1:1/", said.append, retry_delays_s=())
    webhook.start()
    webhook.send({})
    wait_until(lambda: len(said) == 1)
    webhook.stop()
    assert "refused" in (said[0] or "")


@pytest.mark.parametrize(
    "url", ["ftp://host/x", "file:///etc/passwd", "host/x", "http://", "http://["]
)
def test_other_addresses_are_refused_in_a_sentence(url: str) -> None:
    with pytest.raises(UsageError, match="http:// or https:// address"):
        validate_webhook_url(url)
