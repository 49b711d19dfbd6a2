"""Send alerts to another server with HTTP POST, in a thread of its own, so that nothing waits."""

from __future__ import annotations

import http.client
import logging
import queue
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from urllib.parse import urlsplit

import msgspec

from tracklight.errors import Message, UsageError

log = logging.getLogger(__name__)

_TIMEOUT_S = 10.0
_RETRY_DELAYS_S = (1.0, 5.0, 25.0)
_MAX_QUEUED = 1000
_STOP_TIMEOUT_S = 0.5
#: Client errors that are worth a retry; all others are final.
_RETRYABLE_STATUS = frozenset({408, 425, 429})


def validate_webhook_url(url: str) -> str:
    """Return ``url`` if alerts can be sent there.

    Raises:
        UsageError: It is not an HTTP URL.
    """
    try:
        parts = urlsplit(url)
        is_usable = parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        is_usable = False
    if not is_usable:
        raise UsageError(f'the webhook must be an http:// or https:// URL, not "{url}"')
    return url


class Webhook:
    """Send JSON messages to a URL one after the other.

    Args:
        url: Where to send them. Only its host name is ever shown: the rest may be a secret.
        report_problem: Called with a message when sending has failed for good, and with None when
            it works again.
        retry_delays_s: How long to wait before each retry.
    """

    def __init__(
        self,
        url: str,
        report_problem: Callable[[Message | None], None] = lambda problem: None,
        retry_delays_s: Sequence[float] = _RETRY_DELAYS_S,
    ) -> None:
        self._url = validate_webhook_url(url)
        self._host = urlsplit(url).hostname
        self._report_problem = report_problem
        self._retry_delays_s = retry_delays_s
        self._queue: queue.Queue[bytes | None] = queue.Queue(_MAX_QUEUED)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="tracklight-webhook", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Stop the thread; messages that are still queued are lost."""
        self._stop.set()
        self.send(None)
        self._thread.join(_STOP_TIMEOUT_S)

    def send(self, message: object) -> None:
        """Queue a message; it is dropped with a warning if the queue is full."""
        try:
            self._queue.put_nowait(None if message is None else msgspec.json.encode(message))
        except queue.Full:
            log.warning("dropped an alert: %d are already queued for %s", _MAX_QUEUED, self._host)

    def _run(self) -> None:
        while not self._stop.is_set():
            body = self._queue.get()
            if body is not None:
                self._report_problem(self._deliver(body))

    def _deliver(self, body: bytes) -> Message | None:
        """Send a message, with retries; return why it failed, or None."""
        for delay_s in (*self._retry_delays_s, None):
            failure, is_final = self._post(body)
            if failure is None:
                return None
            log.warning("sending an alert to %s failed: %s", self._host, failure)
            if is_final or delay_s is None or self._stop.wait(delay_s):
                break
        return Message.format(
            "alerts.not_sent",
            "alerts cannot be sent to {host}: {failure}",
            host=self._host,
            failure=failure,
        )

    def _post(self, body: bytes) -> tuple[str | Message | None, bool]:
        """Send a message; return why it failed, or None, and whether a retry is pointless."""
        headers = {"content-type": "application/json", "user-agent": "tracklight"}
        request = urllib.request.Request(self._url, body, headers, method="POST")
        try:
            with urllib.request.urlopen(request, timeout=_TIMEOUT_S):
                return None, True
        except urllib.error.HTTPError as error:
            error.close()
            is_final = error.code < 500 and error.code not in _RETRYABLE_STATUS
            message = Message.format(
                "alerts.webhook_status", "it responded with status {status}", status=error.code
            )
            return message, is_final
        except (OSError, http.client.HTTPException) as error:
            return str(getattr(error, "reason", None) or error or type(error).__name__), False
