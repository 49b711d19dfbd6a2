"""A background thread that keeps the index up to date while the server handles requests."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from tracklight.logdir.watch import Changes
from tracklight.server.source import Source, Watch
from tracklight.types import Delta

log = logging.getLogger(__name__)

_PAUSE_AFTER_FAILURE_S = 5.0
_LONG_REFRESH_S = 1.0
_JOIN_S = 0.5


class Follower:
    """Refresh the source whenever the watch reports changes, until it is stopped.

    ``listeners`` are called in the follower's thread: with None when a refresh begins, and with
    what changed when it ends.
    """

    def __init__(self, source: Source, watch: Watch) -> None:
        self._source = source
        self._watch = watch
        self._thread = threading.Thread(target=self._run, name="tracklight-follow", daemon=True)
        self._stop = threading.Event()
        self._began_s: float | None = None
        self._first_done = False
        self.failure: str | None = None
        self.listeners: list[Callable[[Delta | None], None]] = []

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
        """Stop the thread; do not wait for a long refresh to end."""
        self._stop.set()
        self._watch.stop()
        self._thread.join(_JOIN_S)

    def _run(self) -> None:
        while not self._stop.is_set():
            changes = self._watch.wait()
            if changes:
                self.refresh(changes)
            while self.failure is not None and not self._stop.wait(_PAUSE_AFTER_FAILURE_S):
                self.refresh()

    def refresh(self, changes: Changes | None = None) -> None:
        """Read what is new and notify the listeners; None looks at everything.

        The thread calls this; tests call it directly instead of starting the thread.
        """
        self._began_s = time.monotonic()
        self._notify(None)
        delta = None
        try:
            delta = self._source.refresh(changes)
            for root, linked in self._source.linked.items():
                self._watch.follow(root, linked)
            self.failure = None
        except Exception as error:
            if self._stop.is_set():
                return
            # A network share may be gone for a minute only, so keep trying.
            log.exception("reading the log failed")
            self.failure = f"reading the log failed: {error or type(error).__name__}"
        self._began_s = None
        self._first_done = True
        self._notify(delta)

    def _notify(self, delta: Delta | None) -> None:
        for listener in self.listeners:
            listener(delta)
