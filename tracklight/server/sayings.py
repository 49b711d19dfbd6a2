"""What the server has to say to all open pages beside the changes of the log."""

from __future__ import annotations

import threading
from collections import deque

import msgspec

_KEPT = 256


class Saying(msgspec.Struct):
    """An event by its name, such as ``alert``."""

    name: str
    body: object


class Sayings:
    """The latest sayings, counted, so that each listener knows how many it has heard."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._latest: deque[Saying] = deque(maxlen=_KEPT)
        self.count = 0

    def add(self, name: str, body: object) -> None:
        with self._lock:
            self._latest.append(Saying(name, body))
            self.count += 1

    def find_since(self, heard: int) -> list[Saying] | None:
        """Those after the first ``heard``; None when some of them are no longer known."""
        with self._lock:
            missed = self.count - heard
            if not 0 <= missed <= len(self._latest):
                return None
            return list(self._latest)[len(self._latest) - missed :]
