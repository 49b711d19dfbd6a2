"""`EventWriter`: append records to one event file of a run.

All logging APIs write through this class. It encodes records on the calling thread and leaves the
I/O to a `WriterThread`.

The default writer, the default step and the condition of `record_if` are here as well. Each of the
three is a `ContextSetting`: a thread or task may override it, and threads that never set it use the
value that was set last.
"""

from __future__ import annotations

import os
import struct
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from types import TracebackType
from typing import Any, Generic, TypeAlias, TypeVar

from tracklight.formats.proto import Message
from tracklight.formats.record_buffer import AppendResult, RecordBuffer, create_buffer
from tracklight.writer import warnings, writer_thread
from tracklight.writer.warnings import find_replica_id, is_tracing
from tracklight.writer.writer_thread import WriterThread, create_sink

#: Upper bound on buffered records. A single record larger than this is still accepted.
MAX_BUFFER_BYTES = 64 << 20

_WAKE_BYTES = 1 << 20
_FLUSH_INTERVAL_S = 1.0
#: Every flush to an object store uploads the whole file.
_REMOTE_WAKE_BYTES = 16 << 20
_REMOTE_FLUSH_INTERVAL_S = 30.0
_NO_RECORD_LIMIT = 1 << 62
_CLOSE_TIMEOUT_S = 10.0

_WRITER_NAME = b"tracklight"
#: The fields file_version and source_metadata of an Event message.
_FILE_VERSION = (
    b"\x1a\x0dbrain.Event:2\x52"
    + bytes([len(_WRITER_NAME) + 2, 0x0A, len(_WRITER_NAME)])
    + _WRITER_NAME
)


class EventWriter:
    """Append records to a new event file in a log directory.

    A logging call encodes one record into a buffer, which takes about a microsecond, and returns
    True. A background thread writes the buffer to the file: after ``flush_s`` seconds at the
    latest, on `flush` and `close`, at the end of the program, and on SIGTERM. When the buffer is
    full, callers block. If the target accepts no data for ten seconds, records are dropped and the
    call returns False.

    A forked child process gets a file of its own when it first logs.

    Args:
        logdir: The directory of the run, or a URL such as ``s3://bucket/logs``.
        max_queue: Write to the file when this many records are buffered.
        flush_s: Write to the file after this time; by default 1 second, and 30 for a URL.
        filename_suffix: Appended to the name of the event file.
        strict: Raise exceptions on misuse instead of warning; by default TRACKLIGHT_STRICT decides.
        max_buffer_bytes: Upper bound on buffered records.

    Raises:
        OSError: The file cannot be created, and ``strict`` is set. Otherwise the writer keeps
            records in memory and retries.

    Example:
        >>> with EventWriter("logs/run1") as writer:
        ...     writer.scalar("loss", 0.5, step=1)
        True
    """

    def __init__(
        self,
        logdir: str | os.PathLike[str],
        *,
        max_queue: int | None = None,
        flush_s: float | None = None,
        filename_suffix: str = "",
        strict: bool | None = None,
        max_buffer_bytes: int = MAX_BUFFER_BYTES,
    ) -> None:
        self.logdir = os.path.expanduser(os.fspath(logdir))
        self.strict = warnings.is_strict() if strict is None else strict
        is_remote = "://" in self.logdir
        default_flush_s = _REMOTE_FLUSH_INTERVAL_S if is_remote else _FLUSH_INTERVAL_S
        self._flush_s = default_flush_s if flush_s is None else flush_s
        self._wake_bytes = _REMOTE_WAKE_BYTES if is_remote else _WAKE_BYTES
        self._wake_records = _NO_RECORD_LIMIT if max_queue is None else max(1, max_queue)
        self._suffix = filename_suffix
        self._max_buffer_bytes = max_buffer_bytes
        self._start_thread()
        self._open_file()

    @property
    def path(self) -> str:
        """Path or URL of the event file; the directory until the file exists."""
        return self._thread.location

    @property
    def is_closed(self) -> bool:
        return self._thread.is_closed

    def scalar(self, tag: str, value: float, step: int, wall_time: float | None = None) -> bool:
        """Log a number as float32.

        Args:
            tag: Name of the series.
            value: A float or an int.
            step: Step of the point.
            wall_time: Seconds since the epoch; by default now.

        Returns:
            Whether the record was accepted.

        Raises:
            TypeError: ``value`` is neither a float nor an int.
        """
        status = self._buffer.add_scalar(tag, step, wall_time, value)
        return not status or self._handle_status(
            status, self._buffer.add_scalar, tag, step, _or_now(wall_time), value
        )

    def simple(self, tag: str, value: float, step: int, wall_time: float | None = None) -> bool:
        """Log a number in the TensorFlow 1 format (``simple_value``), as PyTorch does."""
        status = self._buffer.add_simple_value(tag, step, wall_time, value)
        return not status or self._handle_status(
            status, self._buffer.add_simple_value, tag, step, _or_now(wall_time), value
        )

    def double(self, tag: str, value: float, step: int, wall_time: float | None = None) -> bool:
        """Log a number as float64, which TensorBoard only shows with ``--load_fast=false``."""
        status = self._buffer.add_double(tag, step, wall_time, value)
        return not status or self._handle_status(
            status, self._buffer.add_double, tag, step, _or_now(wall_time), value
        )

    def add(
        self,
        values: Sequence[Message],
        step: int,
        wall_time: float | None = None,
        *,
        always_write_metadata: bool = False,
    ) -> bool:
        """Log ``Summary.Value`` messages in one event.

        Args:
            values: The messages. Only the first value of a tag keeps its metadata, so the others
                are modified.
            step: Step of the event.
            wall_time: Seconds since the epoch; by default now.
            always_write_metadata: Keep the metadata of every value.

        Returns:
            Whether the record was accepted.
        """
        event = _encode_values(
            self._buffer, values, step, _or_now(wall_time), always_write_metadata
        )
        return self.add_event(event)

    def add_later(
        self,
        build: Callable[[], Message],
        step: int,
        wall_time: float | None = None,
        *,
        size_bytes: int,
        always_write_metadata: bool = False,
    ) -> bool:
        """Log a value that the writer thread builds, because building it takes long.

        Args:
            build: Returns the ``Summary.Value`` message. It must not raise, and the data it refers
                to must not be changed by the caller.
            step: Step of the event.
            wall_time: Seconds since the epoch; by default now.
            size_bytes: Memory that ``build`` keeps alive; limits how many calls are queued.
            always_write_metadata: Keep the metadata even if the tag was written before.

        Returns:
            Whether the value was accepted.
        """
        wall = _or_now(wall_time)
        buffer = self._buffer

        def make_event() -> bytes:
            return _encode_values(buffer, [build()], step, wall, always_write_metadata)

        while not self._thread.defer(make_event, size_bytes):
            if self.is_closed:
                return self.add_event(make_event())
            if not self._thread.wait_for_deferred():
                return False
        writer_thread.flush_at_exit(self._thread)
        return True

    def add_event(self, event: bytes) -> bool:
        """Log a serialized ``Event`` message. Return whether it was accepted."""
        status = self._buffer.add_record(event)
        return not status or self._handle_status(status, self._buffer.add_record, event)

    def flush(self) -> bool:
        """Wait until all records are in the file; return False if it cannot be written now."""
        return self._thread.flush(_CLOSE_TIMEOUT_S)

    def close(self) -> None:
        """Write all records and close the file. Logging afterwards is misuse."""
        if not self.is_closed:
            self._thread.close(_CLOSE_TIMEOUT_S)
            self._finalizer.detach()

    def reopen_after_fork(self) -> None:
        """In a forked child: leave the file to the parent and create another one when needed."""
        self._thread.detach()
        if not self.is_closed:
            self._finalizer.detach()
            self._start_thread()

    def __enter__(self) -> EventWriter:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _start_thread(self) -> None:
        wake = self._wake_bytes, self._wake_records
        self._buffer = create_buffer(self._max_buffer_bytes, *wake)
        sink = create_sink(self.logdir, self._suffix)
        self._thread = WriterThread(self._buffer, sink, make_file_header, self._flush_s, *wake)
        self._finalizer = weakref.finalize(self, self._thread.finish)
        self._finalizer.atexit = False  # writer_thread closes all files at exit
        writer_thread.register_writer(self)

    def _open_file(self) -> None:
        try:
            self._thread.open()
        except OSError as error:
            if self.strict:
                self._finalizer.detach()
                raise
            self._thread.record_failure(error)

    def _handle_status(self, status: int, append: Callable[..., int], *arguments: object) -> bool:
        """Handle a status other than APPENDED; retry ``append`` while the buffer is full."""
        if self.is_closed:
            self._buffer.drain()
            with warnings.catch_errors(f"{self.path}", strict=self.strict):
                raise warnings.ArgumentError(
                    "writer", "is closed; log before calling `close`, or create a new writer"
                )
            return False
        while status == AppendResult.FULL:
            if not self._thread.wait_for_space():
                # The dropped record may have carried the metadata of its tag; write it again.
                self._buffer.clear_metadata()
                return False
            status = append(*arguments)
        if status == AppendResult.WAKE:
            writer_thread.flush_at_exit(self._thread)
            self._thread.wake()
        if writer_thread.is_exiting():
            self._thread.flush(_CLOSE_TIMEOUT_S)
        return True


def _or_now(wall_time: float | None) -> float:
    return time.time() if wall_time is None else wall_time


def _encode_values(
    buffer: RecordBuffer,
    values: Sequence[Message],
    step: int,
    wall_time: float,
    always_write_metadata: bool,
) -> bytes:
    from tracklight.formats.summary import encode_event

    for value in values:
        is_first = buffer.register_metadata(value.tag.decode(), value.metadata.SerializeToString())
        if not (is_first or always_write_metadata):
            value.ClearField("metadata")
    return encode_event(wall_time, step, values)


def make_file_header() -> bytes:
    """Return the record that every event file starts with."""
    buffer = create_buffer(MAX_BUFFER_BYTES, _WAKE_BYTES, 1)
    buffer.add_record(struct.pack("<Bd", 0x09, time.time()) + _FILE_VERSION)
    return buffer.drain()


# ---- defaults

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
