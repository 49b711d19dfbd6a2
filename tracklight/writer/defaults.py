"""The default writer, the default step and the condition of `record_if`.

Each of the three is a `ContextSetting`: a thread or task may override it, and threads that never
set it use the value that was set last.
"""

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
    """The value of one thread, in a list so that other threads can hold a reference to it."""

    def __init__(self) -> None:
        self.current: list[Any] = [_UNSET]


class ContextSetting(Generic[T]):
    """The value that this thread has set, otherwise the value that any thread has set last.

    A worker thread that logs for the main program sees the main program's writer and step, while
    two training loops in two threads do not affect each other.

    Args:
        name: Name of the underlying context variable.
        value: The initial value.
    """

    __slots__ = ("_cell", "_first_cell", "_is_traced", "_own", "_shared", "was_set")

    def __init__(self, name: str, value: T) -> None:
        self._own: ContextVar[T] = ContextVar(name, default=_UNSET)
        #: Whether the own value was set while a ``tf.function`` was traced.
        self._is_traced: ContextVar[bool] = ContextVar(f"{name}_is_traced", default=False)
        self._cell = _ThreadCell()
        #: The cell of the thread that imported tracklight, usually the main thread.
        self._first_cell = self._cell.current
        self._shared = value
        #: Whether the value may differ from the initial one; False allows callers a fast path.
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
        """Replace ``old`` by ``new`` wherever it is set: for this thread, for all, or both."""
        if self._own.get() is old:
            self._own.set(new)
            self._cell.current[0] = new
        if self._shared is old:
            self._shared = new

    @contextmanager
    def override(self, value: T) -> Iterator[None]:
        """Set ``value`` inside a ``with`` block, for this thread or task only."""
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

        TensorFlow runs the operations of a ``tf.function`` in its own threads. If the value was
        overridden inside the traced function, the returned function always returns that value.
        Otherwise it returns the value that the tracing thread has when the operation runs.

        Args:
            keep_current: Fall back to the current value if the tracing thread has none by then.
        """
        own, cell = self._own.get(), self._cell.current
        if own is _UNSET and find_replica_id() is not None:
            # A distribution strategy traces each replica in a separate thread.
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


#: What `record_if` accepts.
Condition: TypeAlias = bool | Callable[[], object]

writer: ContextSetting[EventWriter | None] = ContextSetting("tracklight_writer", None)
step: ContextSetting[object] = ContextSetting("tracklight_step", None)
condition: ContextSetting[Condition] = ContextSetting("tracklight_condition", True)


def find_active_writer() -> EventWriter | None:
    """Return the default writer; None if there is none or `record_if` disables recording."""
    active = writer.get()
    # Most programs set no condition, and evaluating one takes as long as encoding a scalar.
    if active is None or not condition.was_set:
        return active
    # A condition may raise, or be a symbolic tensor that has no value yet.
    with warnings.catch_errors("record_if", strict=active.strict):
        value = condition.get()
        return active if _is_true(value() if callable(value) else value) else None
    return None


def _is_true(value: object) -> bool:
    try:
        return bool(value)
    except TypeError:
        raise warnings.ArgumentError(
            "condition", "is a symbolic tensor, which has no value outside of its tf.function"
        ) from None
