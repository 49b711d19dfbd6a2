"""One thread that keeps the index up to date while the server answers."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from tracklight.server.source import Source, Watch
from tracklight.types import Delta

log = logging.getLogger(__name__)

_WAIT_S = 1.0
_PAUSE_AFTER_FAILURE_S = 5.0
_LONG_REFRESH_S = 1.0


def _ignore(_: Delta | None) -> None:
    pass


class Follower:
    """Refreshes the source whenever the watch says so, until it is stopped.

    ``listener`` is called in the follower's thread when a refresh begins (with None) and when it
    has ended.
    """

    def __init__(self, source: Source, watch: Watch) -> None:
        self._source = source
        self._watch = watch
        self._thread = threading.Thread(target=self._run, name="tracklight-follow", daemon=True)
        self._stop = threading.Event()
        self._began_s: float | None = None
        self._first_done = False
        self.failure: str | None = None
        self.listener: Callable[[Delta | None], None] = _ignore

    @property
    def is_loading(self) -> bool:
        """True during the first refresh, and during a later one that takes long."""
        began_s = self._began_s
        if not self._first_done:
            return True
        return began_s is not None and time.monotonic() - began_s > _LONG_REFRESH_S

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Ask the thread to end; it does so after the refresh that it may be in."""
        self._stop.set()
        self._watch.close()

    def _run(self) -> None:
        self._refresh()
        while not self._stop.is_set():
            if self.failure is not None:
                self._stop.wait(_PAUSE_AFTER_FAILURE_S)
                self._refresh()
            elif self._watch.wait(_WAIT_S):
                self._refresh()

    def _refresh(self) -> None:
        self._began_s = time.monotonic()
        self.listener(None)
        delta = None
        try:
            delta = self._source.refresh()
            self.failure = None
        except Exception as error:
            # A share that is away for a minute must not end the following for good.
            log.exception("reading the log failed")
            self.failure = str(error) or type(error).__name__
        self._began_s = None
        self._first_done = True
        self.listener(delta)
