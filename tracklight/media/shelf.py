"""A cache that holds the things used last, up to so many bytes."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

KeyT = TypeVar("KeyT", bound=Hashable)
ThingT = TypeVar("ThingT")


class Shelf(Generic[KeyT, ThingT]):
    """What does not fit by itself is not kept, so that one giant does not drive all others out."""

    def __init__(self, limit_bytes: int) -> None:
        self.limit_bytes = limit_bytes
        self.held_bytes = 0
        self._things: OrderedDict[KeyT, tuple[ThingT, int]] = OrderedDict()
        self._lock = threading.Lock()

    def find(self, key: KeyT) -> ThingT | None:
        with self._lock:
            found = self._things.get(key)
            if found is None:
                return None
            self._things.move_to_end(key)
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
