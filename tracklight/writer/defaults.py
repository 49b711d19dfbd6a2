"""A value that a thread or a task may have of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Generic, TypeAlias, TypeVar

from tracklight.writer import warnings
from tracklight.writer.event_writer import EventWriter
from tracklight.writer.tf_context import find_replica_id, is_tracing

T = TypeVar("T")

_UNSET: Any = object()


class _ThreadCell(threading.local):
    """The value of one thread, in a list so that other threads can be given a reference to it."""

    def __init__(self) -> None:
        self.current: list[Any] = [_UNSET]


class ContextSetting(Generic[T]):
    """A thread's own value where it has set one, else the value that was set last by any thread.

    A thread that logs for the main program sees the main program's writer and step, while two
    trainings in two threads do not disturb each other.
    """

    __slots__ = ("_cell", "_first_cell", "_is_traced", "_own", "_shared", "was_set")

    def __init__(self, name: str, value: T) -> None:
        self._own: ContextVar[T] = ContextVar(name, default=_UNSET)
        #: Whether the own value was set while a ``tf.function`` was traced.
        self._is_traced: ContextVar[bool] = ContextVar(f"{name}_is_traced", default=False)
        self._cell = _ThreadCell()
        #: That of the thread which imported tracklight, as a rule the main thread.
        self._first_cell = self._cell.current
        self._shared = value
        #: False as long as nobody can have anything but the initial value.
        self.was_set = False

    def get(self) -> T:
        own = self._own.get()
        return self._shared if own is _UNSET else own

    def set(self, value: T) -> None:
        self.was_set = True
        self._own.set(value)
        self._cell.current[0] = value
        self._shared = value

    def replace(self, old: T, new: T) -> None:
        """Replace ``old`` by ``new`` where it is set, for this thread or for all."""
        if self._own.get() is old:
            self._own.set(new)
            self._cell.current[0] = new
        if self._shared is old:
            self._shared = new

    @contextmanager
    def override(self, value: T) -> Iterator[None]:
        """Set ``value`` inside a ``with``, for this thread or task alone."""
        self.was_set = True
        token = self._own.set(value)
        traced_token = self._is_traced.set(is_tracing())
        self._cell.current[0] = value
        try:
            yield
        finally:
            try:
                self._is_traced.reset(traced_token)
                self._own.reset(token)
            finally:
                self._cell.current[0] = self._own.get()

    def bind(self, *, keep_current: bool) -> Callable[[], T]:
        """Return a function that reads this thread's value later, from any thread.

        TensorFlow runs the operations of a ``tf.function`` in threads of its own. A value that
        was set while the function was traced (a ``with`` inside of it) stays. Else the value is
        the one that the tracing thread has when the operation runs; where it has none by then,
        with ``keep`` the one that it has now.
        """
        own, cell = self._own.get(), self._cell.current
        if own is _UNSET and find_replica_id() is not None:
            # A distribution strategy traces each replica in a thread of its own.
            cell = self._first_cell
            own = cell[0]
        if own is not _UNSET and self._is_traced.get():
            return lambda: own

        def read() -> T:
            value: T = cell[0]
            if value is _UNSET and keep_current:
                value = own
            return self._shared if value is _UNSET else value

        return read


# Where a program logs to, at which step, and whether it does so now.

Condition: TypeAlias = bool | Callable[[], object]

writer: ContextSetting[EventWriter | None] = ContextSetting("tracklight_writer", None)

step: ContextSetting[object] = ContextSetting("tracklight_step", None)

condition: ContextSetting[Condition] = ContextSetting("tracklight_condition", True)


def find_active_writer() -> EventWriter | None:
    """The default writer, if there is one and what is logged now is to be recorded."""
    active = writer.get()
    # Most programs have no condition, and looking for one takes as long as encoding a scalar.
    if active is None or not condition.was_set:
        return active
    # A condition may raise, or be a symbolic tensor that has no value yet.
    with warnings.catch_errors("record_if", strict=active.strict):
        wanted = condition.get()
        return active if _is_true(wanted() if callable(wanted) else wanted) else None
    return None


def _is_true(wanted: object) -> bool:
    try:
        return bool(wanted)
    except TypeError:
        raise warnings.ArgumentError(
            "condition", "is a symbolic tensor, which has no value here"
        ) from None
