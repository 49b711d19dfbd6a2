"""Writes one event file of a run."""

from __future__ import annotations

import os
import struct
import time
import weakref
from collections.abc import Callable, Sequence
from types import TracebackType

from tracklight.formats.proto import Message
from tracklight.formats.record_buffer import AppendResult, RecordBuffer, create_buffer
from tracklight.writer import warnings, writer_thread
from tracklight.writer.sinks import create_sink
from tracklight.writer.writer_thread import WriterThread

#: What may wait in memory; a record larger than this still goes through, alone.
MAX_BUFFER_BYTES = 64 << 20

_WAKE_BYTES = 1 << 20

_NO_RECORD_LIMIT = 1 << 62

_FLUSH_INTERVAL_S = 1.0

#: Every flush of an object uploads the whole of it.
_REMOTE_FLUSH_INTERVAL_S = 30.0

_REMOTE_WAKE_BYTES = 16 << 20

_CLOSE_TIMEOUT_S = 10.0

_WRITER = b"tracklight"

_VERSION = b"\x1a\x0dbrain.Event:2\x52" + bytes([len(_WRITER) + 2, 0x0A, len(_WRITER)]) + _WRITER


class EventWriter:
    """Appends records to a new event file in ``logdir``, by way of a thread of its own.

    A call that logs encodes one record into a buffer, which takes about a microsecond, and returns
    True: the record is accepted. It is in the file ``flush_s`` seconds later at the latest, after
    `flush`, after `close`, at the end of the program and on SIGTERM. A full buffer makes callers
    wait; only when the target takes nothing for ten seconds are records refused (False).

    A forked child gets a file of its own when it first logs.
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
        self._flush_s = (
            (_REMOTE_FLUSH_INTERVAL_S if is_remote else _FLUSH_INTERVAL_S)
            if flush_s is None
            else flush_s
        )
        self._wake_bytes = _REMOTE_WAKE_BYTES if is_remote else _WAKE_BYTES
        self._wake_records = _NO_RECORD_LIMIT if max_queue is None else max(1, max_queue)
        self._suffix = filename_suffix
        self._max_buffer_bytes = max_buffer_bytes
        self._start_thread()
        self._open_file()

    @property
    def path(self) -> str:
        """The event file, or the folder while there is none yet."""
        return self._thread.location

    @property
    def is_closed(self) -> bool:
        return self._thread.is_closed

    def scalar(self, tag: str, value: float, step: int, wall_time: float | None = None) -> bool:
        """Log a number as float32. Raises TypeError unless it is a float or an int."""
        answer = self._buffer.add_scalar(tag, step, wall_time, value)
        return not answer or self._handle_status(
            answer, "scalar", tag, step, _or_now(wall_time), value
        )

    def simple(self, tag: str, value: float, step: int, wall_time: float | None = None) -> bool:
        """Log a number in the old form, as PyTorch does."""
        answer = self._buffer.add_simple_value(tag, step, wall_time, value)
        return not answer or self._handle_status(
            answer, "simple", tag, step, _or_now(wall_time), value
        )

    def double(self, tag: str, value: float, step: int, wall_time: float | None = None) -> bool:
        """Log a number as float64, which TensorBoard only shows with ``--load_fast=false``."""
        answer = self._buffer.add_double(tag, step, wall_time, value)
        return not answer or self._handle_status(
            answer, "double", tag, step, _or_now(wall_time), value
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

        Only the first value of a tag keeps its metadata, unless ``always_describe``.
        """
        wall = _or_now(wall_time)
        return self.add_event(
            _encode_values(self._buffer, values, step, wall, always_write_metadata)
        )

    def add_later(
        self,
        build: Callable[[], Message],
        step: int,
        wall_time: float | None = None,
        *,
        size_bytes: int,
        always_write_metadata: bool = False,
    ) -> bool:
        """Log a value that takes long to build, which the writer's thread then does.

        ``build`` must not fail, and holds on to ``size_bytes``, which nobody else may change.
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
        """Log any event, given as the bytes of the message."""
        answer = self._buffer.add_record(event)
        return not answer or self._handle_status(answer, "record", event)

    def flush(self) -> bool:
        """Wait until all that was logged is in the file; False if it cannot be written now."""
        return self._thread.flush(_CLOSE_TIMEOUT_S)

    def close(self) -> None:
        """Write all and end; logging anything later is misuse."""
        if not self.is_closed:
            self._thread.close(_CLOSE_TIMEOUT_S)
            self._finalizer.detach()

    def reopen_after_fork(self) -> None:
        """In a forked child: leave the file to the parent and start another when needed."""
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
        self._finalizer.atexit = False  # the end of the program is waited for elsewhere
        writer_thread.register_writer(self)

    def _open_file(self) -> None:
        try:
            self._thread.open()
        except OSError as error:
            if self.strict:
                self._finalizer.detach()
                raise
            self._thread.record_failure(error)

    def _handle_status(self, answer: int, method: str, *arguments: object) -> bool:
        """Deal with an answer of the buffer's that is not simply TAKEN."""
        if self.is_closed:
            self._buffer.drain()
            with warnings.catch_errors(f"{self.path}", strict=self.strict):
                raise warnings.ArgumentError(
                    "writer", "is closed; log before `close`, or make a new one"
                )
            return False
        while answer == AppendResult.FULL:
            if not self._thread.wait_for_space():
                # It may have been the first of its tag, and then the next one is.
                self._buffer.clear_metadata()
                return False
            answer = getattr(self._buffer, method)(*arguments)
        if answer == AppendResult.WAKE:
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
    always_describe: bool,
) -> bytes:
    from tracklight.formats.event import encode_event

    for value in values:
        is_first = buffer.register_metadata(value.tag.decode(), value.metadata.SerializeToString())
        if not (is_first or always_describe):
            value.ClearField("metadata")
    return encode_event(wall_time, step, values)


def make_file_header() -> bytes:
    """The record that every event file starts with."""
    buffer = create_buffer(MAX_BUFFER_BYTES, _WAKE_BYTES, 1)
    buffer.add_record(struct.pack("<Bd", 0x09, time.time()) + _VERSION)
    return buffer.drain()
