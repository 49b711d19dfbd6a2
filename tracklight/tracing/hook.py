"""Looks in on the calls of a function of a framework."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, TypeAlias

#: Makes what stands in for a function: of the function itself, and of who is to be told of calls.
Wrap: TypeAlias = Callable[[Callable[..., Any], "list[Any]"], Callable[..., Any]]


class Hook:
    """Puts a function in the place of another, once for all who listen, while there are any.

    Two that each put back what they found would leave the other's behind.
    """

    def __init__(self, wrap: Wrap) -> None:
        self._wrap = wrap
        self._listeners: list[Any] = []
        self._lock = threading.Lock()

    def add(self, owner: Any, name: str, listener: object) -> None:
        with self._lock:
            if not self._listeners:
                self._place = owner, name, getattr(owner, name)
                setattr(owner, name, self._wrap(self._place[2], self._listeners))
            self._listeners.append(listener)

    def remove(self, listener: object) -> None:
        with self._lock:
            if listener in self._listeners:
                self._listeners.remove(listener)
                if not self._listeners:
                    setattr(*self._place)
