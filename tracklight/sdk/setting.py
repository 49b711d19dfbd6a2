"""A value that a thread or a task may have of its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Generic, TypeVar

T = TypeVar("T")

_UNSET: Any = object()


class Setting(Generic[T]):
    """A thread's own value where it has set one, else the one that was set last anywhere.

    So a thread that logs for the main program sees its writer and its step, while two trainings
    side by side in two threads do not disturb each other.
    """

    __slots__ = ("_own", "_shared", "was_set")

    def __init__(self, name: str, value: T) -> None:
        self._own: ContextVar[T] = ContextVar(name, default=_UNSET)
        self._shared = value
        #: False as long as nobody can have anything but the value from the start.
        self.was_set = False

    def get(self) -> T:
        own = self._own.get()
        return self._shared if own is _UNSET else own

    def set(self, value: T) -> None:
        self.was_set = True
        self._own.set(value)
        self._shared = value

    def replace(self, old: T, new: T) -> None:
        """Have ``new`` where ``old`` is set, be it for this thread or for all."""
        if self._own.get() is old:
            self._own.set(new)
        if self._shared is old:
            self._shared = new

    @contextmanager
    def holding(self, value: T) -> Iterator[None]:
        """Have ``value`` inside a ``with``, in this thread or task alone."""
        self.was_set = True
        token = self._own.set(value)
        try:
            yield
        finally:
            self._own.reset(token)
