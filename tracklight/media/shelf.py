"""A cache that holds the things used last, up to so many bytes."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

KeyT = TypeVar("KeyT", bound=Hashable)
ThingT = TypeVar("ThingT")


class Shelf(Generic[KeyT, ThingT]):
    """What does not fit by itself is not kept, so that one giant does not drive all others out.

    With ``idle_s`` it is cleared when nobody has asked for anything for so many seconds.
    """

    def __init__(self, limit_bytes: int, idle_s: float | None = None) -> None:
        self.limit_bytes = limit_bytes
        self.held_bytes = 0
        self._idle_s = idle_s
        self._used_at = 0.0
        self._timer: threading.Timer | None = None
        self._things: OrderedDict[KeyT, tuple[ThingT, int]] = OrderedDict()
        self._turns: dict[KeyT, threading.Lock] = {}
        self._lock = threading.Lock()

    def find(self, key: KeyT) -> ThingT | None:
        with self._lock:
            found = self._things.get(key)
            if found is None:
                return None
            self._things.move_to_end(key)
            self._used_at = time.monotonic()
            return found[0]

    def keep(self, key: KeyT, thing: ThingT, size_bytes: int) -> None:
        if size_bytes > self.limit_bytes:
            return
        with self._lock:
            known = self._things.pop(key, None)
            self.held_bytes += size_bytes - (known[1] if known else 0)
            self._things[key] = (thing, size_bytes)
            while self.held_bytes > self.limit_bytes:
                _, (_, freed) = self._things.popitem(last=False)
                self.held_bytes -= freed
            self._used_at = time.monotonic()
            if self._idle_s is not None and self._timer is None:
                self._wait(self._idle_s)

    def get(
        self, key: KeyT, make: Callable[[], ThingT], measure: Callable[[ThingT], int]
    ) -> ThingT:
        """What is there, or what is made now; the one that is looked at is kept however large.

        Who comes while it is made waits for it; who asks for another one does not.
        """
        with self._lock:
            turn = self._turns.setdefault(key, threading.Lock())
        with turn:
            thing = self.find(key)
            if thing is None:
                thing = make()
                self.keep(key, thing, min(measure(thing), self.limit_bytes))
        with self._lock:
            self._turns.pop(key, None)
        return thing

    def _wait(self, seconds: float) -> None:
        self._timer = threading.Timer(seconds, self._clear_if_idle)
        self._timer.daemon = True
        self._timer.start()

    def _clear_if_idle(self) -> None:
        with self._lock:
            left_s = self._used_at + (self._idle_s or 0) - time.monotonic()
            if left_s > 0:
                self._wait(left_s)
                return
            self._timer = None
            self._things.clear()
            self.held_bytes = 0
