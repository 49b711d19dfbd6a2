"""Keeps what takes long to put together until the index has changed."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from tracklight.server.source import Source
from tracklight.types import Progress

T = TypeVar("T")


class Kept(Generic[T]):
    """A value that is made anew only when the index has changed."""

    def __init__(self, source: Source, make: Callable[[], T]) -> None:
        self._source = source
        self._make = make
        self._lock = threading.Lock()
        self._known: tuple[tuple[int, Progress], T] | None = None

    def get(self) -> T:
        with self._lock:
            # The version grows at the end of a refresh, but runs do so all the while.
            state = self._source.version, self._source.progress
            if self._known is None or self._known[0] != state:
                self._known = state, self._make()
            return self._known[1]
