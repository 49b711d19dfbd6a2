"""Describes tags again in records that were encoded for another file."""

from __future__ import annotations

import atexit
import logging
import os
import queue
import signal
import sys
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Mapping, Sized
from types import FrameType
from typing import Protocol

from tracklight.formats.event import decode_event
from tracklight.formats.record_buffer import AppendResult, RecordBuffer
from tracklight.formats.tfrecord import encode_record, iter_records
from tracklight.writer.sinks import FileRemovedError, Sink


def restore_metadata(records: bytes, metadata: Mapping[bytes, bytes]) -> bytes:
    """The same records, with the first value of every tag saying what the tag holds."""
    described: set[bytes] = set()
    return b"".join(
        encode_record(_restore_event_metadata(payload, metadata, described))
        for _, payload in iter_records(records)
    )


def _restore_event_metadata(
    payload: bytes, metadata: Mapping[bytes, bytes], described: set[bytes]
) -> bytes:
    event = decode_event(payload)
    for value in event.summary.value:
        if value.tag in metadata and value.tag not in described:
            value.metadata.ParseFromString(metadata[value.tag])
            described.add(value.tag)
    data: bytes = event.SerializeToString()
    return data


# The thread that empties a buffer into a sink, and keeps trying where the sink is in trouble.
#
# Whatever goes wrong with the target is said once in tracklight's log (`logging`), tried again after
# a pause that grows, and never raised. While a target is in trouble, what was accepted stays in
# memory; what comes when the buffer is full is refused, counted, and told of.

_log = logging.getLogger("tracklight")

#: How long a producer waits for room before the target counts as stalled.
STALL_TIMEOUT_S = 10.0

_MIN_WRITE_INTERVAL_S = 0.05

_MIN_RETRY_DELAY_S = 0.2

_MAX_RETRY_DELAY_S = 30.0

#: A slow target is written to so rarely that it is busy for no more than this part of the time.
_MAX_BUSY_FRACTION = 0.1

#: What may wait to be made by the thread.
_MAX_DEFERRED_BYTES = 64 << 20


class _FlushRequest:
    """Asks for everything to be written that is in the buffer now."""

    def __init__(self, *, is_last: bool) -> None:
        self.is_last = is_last
        self.succeeded = False
        self.done = threading.Event()


class WriterThread:
    """Writes one event file.

    Requests go through a `queue.SimpleQueue`, which may be put to from signal handlers and
    finalizers: those can interrupt any line, and no lock that the line may hold is needed.
    """

    def __init__(
        self,
        buffer: RecordBuffer,
        sink: Sink,
        make_header: Callable[[], bytes],
        flush_interval_s: float,
        wake_bytes: int,
        wake_records: int,
    ) -> None:
        self._buffer = buffer
        self._sink = sink
        self._make_header = make_header
        self._flush_interval_s = flush_interval_s
        self._wake_bytes = wake_bytes
        self._wake_records = wake_records
        self._requests: queue.SimpleQueue[_FlushRequest | None] = queue.SimpleQueue()
        self._start_lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._deferred: deque[tuple[Callable[[], bytes], int]] = deque()
        self._deferred_lock = threading.Lock()
        self._deferred_bytes = 0
        self._built_bytes = 0
        self._built_record = b""
        self._batch = b""
        self._written = 0
        self._next_write_at: float | None = None
        self._earliest_write_at = 0.0
        self._retry_delay_s = 0.0
        self._dropped_records = 0
        self._finished = threading.Event()
        self.is_failing = False
        self.is_closed = False

    @property
    def has_finished(self) -> bool:
        """Whether nothing more will be written."""
        return self._finished.is_set()

    @property
    def location(self) -> str:
        """The file, or the folder in which it will be."""
        return self._sink.location

    def open(self) -> None:
        """Start the file now rather than with the first record. Raises OSError."""
        self._sink.open(self._make_header())

    def wake(self) -> None:
        """Say that the buffer is no longer empty, or that it is time to write."""
        self._requests.put(None)
        self._ensure_started()

    def defer(self, make_event: Callable[[], bytes], size_bytes: int) -> bool:
        """Have the thread make a record, which must not fail; False if it has too much to do.

        The function is called once. ``size_bytes`` is what it holds on to.
        """
        if self.is_closed:
            return False
        with self._deferred_lock:
            # Two counters, as the thread changes one of them and must not have to wait.
            waiting = self._deferred_bytes - self._built_bytes
            if waiting and waiting + size_bytes > _MAX_DEFERRED_BYTES:
                return False
            self._deferred_bytes += size_bytes
            self._deferred.append((make_event, size_bytes))
        self.wake()
        return True

    def flush(self, timeout_s: float | None = None) -> bool:
        """Wait until all that was accepted is written; False if it could not be."""
        return self._submit(_FlushRequest(is_last=False), timeout_s)

    def wait_for_space(self) -> bool:
        """Wait for a full buffer to be emptied; False if the record must be refused instead."""
        return self._wait_until_empty(self._buffer)

    def wait_for_deferred(self) -> bool:
        """Wait for what was put off to be made, as a tag's values must stay in order."""
        return self._wait_until_empty(self._deferred)

    def _wait_until_empty(self, waiting: Sized) -> bool:
        if not self.is_failing and not self.is_closed:
            if self.flush(STALL_TIMEOUT_S) or not waiting:
                return True
            self._report_failure(f"took longer than {STALL_TIMEOUT_S:.0f} seconds to write")
        self._dropped_records += 1
        if self._dropped_records == 1:
            _log.error("%s: the buffer is full, so records are lost from now on", self.location)
        return False

    def close(self, timeout_s: float) -> bool:
        """Write what can be written in that time, and end."""
        deadline = time.monotonic() + timeout_s
        while not self.flush(max(0.0, deadline - time.monotonic())):
            if time.monotonic() + _MIN_RETRY_DELAY_S > deadline:
                break
            time.sleep(_MIN_RETRY_DELAY_S)
        self.finish()
        return self._finished.wait(max(_MIN_RETRY_DELAY_S, deadline - time.monotonic()))

    def finish(self) -> None:
        """End as soon as all is written, without waiting for it."""
        if not self.is_closed:
            self.is_closed = True
            self._requests.put(_FlushRequest(is_last=True))
            self._ensure_started()

    def detach(self) -> None:
        """In a forked child: leave file and buffer to the parent."""
        self._sink.detach()

    def _submit(self, ticket: _FlushRequest, timeout_s: float | None) -> bool:
        if self.is_closed:
            return self._finished.wait(timeout_s)
        self._requests.put(ticket)
        self._ensure_started()
        if (
            self.has_finished
        ):  # by someone else, in between: then nobody answers the ticket any more
            return True
        return ticket.done.wait(timeout_s) and ticket.succeeded

    def _ensure_started(self) -> None:
        # Not waited for: whoever holds it is starting the thread, maybe on this very stack.
        if self._thread is not None or not self._start_lock.acquire(blocking=False):
            return
        try:
            if self._thread is None:
                thread = threading.Thread(target=self._run, name="tracklight", daemon=True)
                thread.start()
                self._thread = thread
        except RuntimeError:  # the interpreter is shutting down and starts no more threads
            self._handle_pending()
        finally:
            self._start_lock.release()

    def _run(self) -> None:
        while not self._handle(self._wait_for_request()):
            pass
        self._handle_pending()

    def _handle_pending(self) -> None:
        while not self._requests.empty():
            self._handle(self._requests.get())

    def _handle(self, ticket: _FlushRequest | None) -> bool:
        """Write once; True if that was the last time."""
        succeeded = self._write()
        if ticket is None:
            return False
        ticket.succeeded = succeeded
        if ticket.is_last:
            self._finish()
        ticket.done.set()
        return ticket.is_last

    def _wait_for_request(self) -> _FlushRequest | None:
        """Sleep until something is to be written; the ticket that asks for it, if one does."""
        while True:
            timeout = (
                None
                if self._next_write_at is None
                else max(0.0, self._next_write_at - time.monotonic())
            )
            try:
                ticket = self._requests.get(timeout=timeout)
            except queue.Empty:
                return None
            if ticket is not None:
                return ticket
            self._build_deferred()
            self._schedule()

    def _build_deferred(self) -> None:
        """Make what was put off, for as long as the buffer has room for it."""
        while self._deferred:
            make_event, size_bytes = self._deferred[0]
            self._built_record = self._built_record or make_event()
            if self._buffer.add_record(self._built_record) == AppendResult.FULL:
                return
            self._built_record = b""
            self._deferred.popleft()
            self._built_bytes += size_bytes

    def _schedule(self) -> None:
        if self.is_failing and self._next_write_at is not None:
            return
        now = time.monotonic()
        due = max(
            self._earliest_write_at, now if self._is_urgent() else now + self._flush_interval_s
        )
        self._next_write_at = due if self._next_write_at is None else min(self._next_write_at, due)

    def _is_urgent(self) -> bool:
        return (
            len(self._buffer) >= self._wake_bytes or self._buffer.record_count >= self._wake_records
        )

    def _write(self) -> bool:
        started = time.monotonic()
        self._next_write_at = None
        try:
            if not self._sink.is_open:
                self.open()
            self._write_batch()
            # As often as the buffer may be filled by what was put off, but not for ever.
            for _ in range(1 + len(self._deferred)):
                self._build_deferred()
                self._batch = self._buffer.drain()
                self._write_batch()
            self._sink.sync()
        except Exception as error:  # a remote file system may raise anything
            self.record_failure(error)
            return False
        self._earliest_write_at = started + max(
            _MIN_WRITE_INTERVAL_S, (time.monotonic() - started) / _MAX_BUSY_FRACTION
        )
        self._recover()
        return True

    def _write_batch(self) -> None:
        while self._written < len(self._batch):
            try:
                self._written += self._sink.append(memoryview(self._batch)[self._written :])
            except FileRemovedError:
                self._continue_in_new_file()
        self._batch = b""
        self._written = 0

    def _continue_in_new_file(self) -> None:
        """Go on in a new file, in which every tag has to be described anew."""
        pass

        _log.warning("%s was removed; what comes goes to a new file", self.location)
        self.open()
        known = self._buffer.get_metadata()
        # In this order, a record that comes meanwhile is described either here or by its own value.
        self._buffer.clear_metadata()
        self._batch = restore_metadata(self._batch + self._buffer.drain(), known)
        self._written = 0

    def record_failure(self, error: Exception) -> None:
        """Take note that the target is in trouble, and when to try again."""
        self._retry_delay_s = min(
            _MAX_RETRY_DELAY_S, max(_MIN_RETRY_DELAY_S, 2 * self._retry_delay_s)
        )
        self._next_write_at = time.monotonic() + self._retry_delay_s
        self._report_failure(f"cannot be written: {error}")

    def _report_failure(self, what: str) -> None:
        if not self.is_failing:
            _log.error("%s %s; records are kept in memory, trying again", self.location, what)
        self.is_failing = True

    def _recover(self) -> None:
        self._retry_delay_s = 0.0
        if self.is_failing:
            self.is_failing = False
            self._report_dropped("%s is written to again; %d records were lost")

    def _finish(self) -> None:
        left = len(self._batch) - self._written + len(self._buffer)
        if left:
            _log.error("%s: %d bytes of records were never written", self.location, left)
        self._dropped_records += len(self._deferred)
        self._report_dropped("%s: %d records were lost")
        self._sink.close()
        self._finished.set()

    def _report_dropped(self, text: str) -> None:
        if self._dropped_records:
            _log.error(text, self.location, self._dropped_records)
        self._dropped_records = 0


# What happens to writers when the process ends, is told to end, or forks.

_EXIT_TIMEOUT_S = 10.0

#: Whoever sends SIGTERM may send SIGKILL soon after: ten seconds is usual.
_SIGTERM_TIMEOUT_S = 5.0


class _Forkable(Protocol):
    def reopen_after_fork(self) -> None:
        """In a forked child: go on in a file of one's own."""


_writers: weakref.WeakSet[_Forkable] = weakref.WeakSet()

#: Held strongly, so that a writer nobody holds any more still gets its last records written.
_threads: set[WriterThread] = set()

_registered_pid = 0

_is_sigterm_handled = False


def register_writer(writer: _Forkable) -> None:
    """Look after a writer for as long as someone holds it."""
    _writers.add(writer)
    _install_sigterm_handler()


def flush_at_exit(drain: WriterThread) -> None:
    """Have a drain emptied when the process ends."""
    if drain not in _threads:
        _threads.difference_update([other for other in _threads if other.has_finished])
        _threads.add(drain)
        _register_exit_handlers()


def is_exiting() -> bool:
    """Whether the program is over and only exit handlers still run."""
    return not threading.main_thread().is_alive()


def close_all() -> None:
    """Write everything that was accepted."""
    deadline = time.monotonic() + _EXIT_TIMEOUT_S
    for drain in list(_threads):
        drain.close(max(0.0, deadline - time.monotonic()))


def _register_exit_handlers() -> None:
    global _registered_pid
    if _registered_pid == os.getpid():
        return
    is_child = _registered_pid != 0
    _registered_pid = os.getpid()
    if not is_child:  # children inherit it
        atexit.register(close_all)
    if "multiprocessing.util" in sys.modules:
        # Children that multiprocessing forks leave without a call to atexit's functions.
        from multiprocessing.util import Finalize

        Finalize(None, close_all, exitpriority=-1)


def _install_sigterm_handler() -> None:
    """Write what there is on SIGTERM, then do what would have been done without us.

    Set once, when the first writer is made: a handler that the program sets later stays the
    program's. Only the main thread may set handlers.
    """
    global _is_sigterm_handled
    if _is_sigterm_handled or threading.current_thread() is not threading.main_thread():
        return
    _is_sigterm_handled = True
    before = signal.getsignal(signal.SIGTERM)
    if before is None or before is signal.SIG_IGN:  # someone else's in C, or not wanted
        return

    def terminate(number: int, frame: FrameType | None) -> None:
        deadline = time.monotonic() + _SIGTERM_TIMEOUT_S
        for drain in list(_threads):
            drain.flush(max(0.0, deadline - time.monotonic()))
        _call_previous_handler(before, number, frame)

    signal.signal(signal.SIGTERM, terminate)


def _call_previous_handler(
    before: Callable[[int, FrameType | None], object] | int, number: int, frame: FrameType | None
) -> None:
    if callable(before):
        before(number, frame)
        return
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


def _after_fork_in_child() -> None:
    _threads.clear()
    for writer in list(_writers):
        writer.reopen_after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
