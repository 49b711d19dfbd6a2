"""Tells another server of alarms, in a thread of its own: nothing ever waits for it."""

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

from tracklight.errors import UsageError

log = logging.getLogger(__name__)

_TIMEOUT_S = 10.0
_RETRY_DELAYS_S = (1.0, 5.0, 25.0)
_MAX_QUEUED = 1000
_STOP_TIMEOUT_S = 0.5
#: The other side asks for patience; any other refusal will not change by asking again.
_RETRYABLE_STATUS = frozenset({408, 425, 429})


def validate_webhook_url(url: str) -> str:
    """``url`` if alarms can be sent there; a UsageError that says why not."""
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        usable = False
    if not usable:
        raise UsageError(f'alarms go to an http:// or https:// address, and "{url}" is none')
    return url


class Webhook:
    """Sends one JSON message after the other to ``url``.

    ``complain`` hears in a sentence that a message was given up, and None when one got through.
    """

    def __init__(
        self,
        url: str,
        report_problem: Callable[[str | None], None] = lambda sentence: None,
        retry_delays_s: Sequence[float] = _RETRY_DELAYS_S,
    ) -> None:
        self._url = validate_webhook_url(url)
        # The rest of the address may be a secret.
        self._host = urlsplit(url).hostname
        self._report_problem = report_problem
        self._retry_delays_s = retry_delays_s
        self._queue: queue.Queue[bytes | None] = queue.Queue(_MAX_QUEUED)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="tracklight-webhook", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """End the thread; what has not been sent by then is lost."""
        self._stop.set()
        self.send(None)
        self._thread.join(_STOP_TIMEOUT_S)

    def send(self, message: object) -> None:
        """Send a message some time soon."""
        try:
            self._queue.put_nowait(None if message is None else msgspec.json.encode(message))
        except queue.Full:
            log.warning("more than %d alarms wait for %s", _MAX_QUEUED, self._host)

    def _run(self) -> None:
        while not self._stop.is_set():
            body = self._queue.get()
            if body is not None:
                self._report_problem(self._deliver(body))

    def _deliver(self, body: bytes) -> str | None:
        """Try until it got through; else a sentence on why it did not."""
        for pause_s in (*self._retry_delays_s, None):
            failure, is_final = self._post(body)
            if failure is None:
                return None
            log.warning("an alarm did not reach %s: %s", self._host, failure)
            if is_final or pause_s is None or self._stop.wait(pause_s):
                break
        return f"alarms do not reach {self._host}: {failure}"

    def _post(self, body: bytes) -> tuple[str | None, bool]:
        """What went wrong, and whether it is of no use to try again."""
        headers = {"content-type": "application/json", "user-agent": "tracklight"}
        request = urllib.request.Request(self._url, body, headers, method="POST")
        try:
            with urllib.request.urlopen(request, timeout=_TIMEOUT_S):
                return None, True
        except urllib.error.HTTPError as error:
            error.close()
            refused = error.code < 500 and error.code not in _RETRYABLE_STATUS
            return f"it answered {error.code}", refused
        except (OSError, http.client.HTTPException) as error:
            return str(getattr(error, "reason", None) or error or type(error).__name__), False
