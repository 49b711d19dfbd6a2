"""The background thread that writes a record buffer to a sink, and its shutdown.

A `Sink` is where the bytes of an event file go: a local file, or an object store through fsspec.
Errors of the target never reach the training program: they are logged once (`logging`, logger
``tracklight``) and writing is retried with exponential backoff. Until the target recovers, accepted
records stay in memory; records that no longer fit the buffer are dropped, counted and reported.

The last part of the module makes sure that nothing accepted is lost when the process exits, gets
SIGTERM, or forks.
"""

from __future__ import annotations

import atexit
import errno
import importlib
import itertools
import logging
import os
import queue
import re
import signal
import socket
import sys
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Mapping, Sized
from types import FrameType
from typing import Any, Protocol

from tracklight.errors import MissingDependencyError
from tracklight.formats.record_buffer import AppendResult, RecordBuffer

# ---- sinks

_file_counter = itertools.count()

#: Errors after which a descriptor is useless, although the file may still exist.
_STALE_DESCRIPTOR_ERRNOS = {errno.EBADF, errno.ESTALE}


class FileRemovedError(Exception):
    """The file, or a directory above it, was removed."""


class Sink(Protocol):
    """Receives the bytes of one event file in order.

    All methods may raise OSError, after which they can be called again.
    """

    @property
    def location(self) -> str:
        """Path or URL for messages."""

    @property
    def is_open(self) -> bool: ...

    def open(self, header: bytes) -> None:
        """Create a file under an unused name and write ``header``."""

    def append(self, data: memoryview) -> int:
        """Write some bytes from the start of ``data`` and return their number.

        Raises:
            FileRemovedError: The file was removed; call `open` to continue in a new one.
        """

    def sync(self) -> None:
        """Make the written bytes visible to readers."""

    def close(self) -> None: ...

    def detach(self) -> None:
        """Release the file without modifying it, because another process continues it."""


class LocalSink:
    """An event file in a local directory, which is created if needed."""

    def __init__(self, directory: str, suffix: str = "") -> None:
        self._directory = directory
        self._suffix = suffix
        self._path = ""
        self._descriptor = -1

    @property
    def location(self) -> str:
        return self._path or self._directory

    @property
    def is_open(self) -> bool:
        return bool(self._path)

    def open(self, header: bytes) -> None:
        os.makedirs(self._directory, exist_ok=True)
        path, descriptor = self._create()
        try:
            self._write_all(descriptor, header)
        except OSError:
            # A full disk often still accepts new names; do not leave an empty file per attempt.
            os.close(descriptor)
            os.unlink(path)
            raise
        self._path, self._descriptor = path, descriptor

    def append(self, data: memoryview) -> int:
        """Append with one system call, so that a killed process truncates at most one record."""
        descriptor = self._get_descriptor()
        if os.fstat(descriptor).st_nlink == 0:
            self.close()
            raise FileRemovedError(self._path)
        try:
            return os.write(descriptor, data)
        except OSError as error:
            if error.errno in _STALE_DESCRIPTOR_ERRNOS:
                self._descriptor = -1
            raise

    def sync(self) -> None:
        """Do nothing: other processes see written data at once."""

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
        self._descriptor = -1

    def detach(self) -> None:
        self.close()
        self._path = ""

    def _create(self) -> tuple[str, int]:
        while True:
            path = os.path.join(self._directory, make_file_name(self._suffix))
            try:
                return path, _open_for_append(path, os.O_CREAT | os.O_EXCL)
            except FileExistsError:  # containers may share directory, host name and process ids
                continue

    def _get_descriptor(self) -> int:
        if self._descriptor < 0:
            try:
                self._descriptor = _open_for_append(self._path)
            except FileNotFoundError:
                raise FileRemovedError(self._path) from None
        return self._descriptor

    @staticmethod
    def _write_all(descriptor: int, data: bytes) -> None:
        if os.write(descriptor, data) < len(data):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


class RemoteSink:
    """An event file below a URL such as ``s3://bucket/logs``.

    Objects cannot be appended to. All bytes are kept in a local temporary file and every `sync`
    uploads the whole file, so the caller should sync less often the longer it takes.
    """

    def __init__(self, directory: str, suffix: str = "") -> None:
        self._directory = directory.rstrip("/")
        self._suffix = suffix
        self._url = ""
        self._spool = -1
        self._spool_path = ""

    @property
    def location(self) -> str:
        return self._url or self._directory

    @property
    def is_open(self) -> bool:
        return self._spool >= 0

    def open(self, header: bytes) -> None:
        import tempfile

        self._spool, self._spool_path = tempfile.mkstemp(prefix="tracklight-")
        self._url = f"{self._directory}/{make_file_name(self._suffix)}"
        os.write(self._spool, header)

    def append(self, data: memoryview) -> int:
        return os.write(self._spool, data)

    def sync(self) -> None:
        file_system, path = _get_file_system(self._url)
        file_system.makedirs(path.rpartition("/")[0], exist_ok=True)
        file_system.put_file(self._spool_path, path)

    def close(self) -> None:
        if self.is_open:
            self.detach()
            os.unlink(self._spool_path)

    def detach(self) -> None:
        if self.is_open:
            os.close(self._spool)
        self._spool = -1


def create_sink(logdir: str, suffix: str) -> Sink:
    """Return a sink for a directory, or for a URL such as ``s3://bucket/logs``."""
    return RemoteSink(logdir, suffix) if "://" in logdir else LocalSink(logdir, suffix)


def make_file_name(suffix: str = "") -> str:
    """Return an event file name in TensorFlow's scheme; readers look for ``tfevents`` in it."""
    host = re.sub(r"[^\w.-]", "_", socket.gethostname()) or "localhost"
    secs = int(time.time())
    return f"events.out.tfevents.{secs:010d}.{host}.{os.getpid()}.{next(_file_counter)}{suffix}"


def _open_for_append(path: str, flags: int = 0) -> int:
    flags |= os.O_WRONLY | os.O_APPEND | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
    return os.open(path, flags, 0o666)


def _get_file_system(url: str) -> tuple[Any, str]:
    try:
        core = importlib.import_module("fsspec.core")
    except ImportError as error:
        raise MissingDependencyError(f"writing to {url}", "remote") from error
    file_system, path = core.url_to_fs(url)
    return file_system, path


# ---- the thread

_log = logging.getLogger("tracklight")

#: How long a caller waits for space in the buffer before the target counts as stalled.
STALL_TIMEOUT_S = 10.0

_MIN_WRITE_INTERVAL_S = 0.05
_MIN_RETRY_DELAY_S = 0.2
_MAX_RETRY_DELAY_S = 30.0
#: Writes to a slow target are spaced out so that writing takes at most this share of the time.
_MAX_BUSY_FRACTION = 0.1
#: Deferred values are built this long after the first one. The layers of a model are logged in
#: quick succession, and building values meanwhile would compete for the interpreter lock.
_BUILD_DELAY_S = 0.003
#: Upper bound on the memory of values that wait to be built by the thread.
_MAX_DEFERRED_BYTES = 64 << 20

_EXIT_TIMEOUT_S = 10.0
#: SIGTERM is usually followed by SIGKILL, often ten seconds later.
_SIGTERM_TIMEOUT_S = 5.0


class _FlushRequest:
    """Ask the thread to write everything that is in the buffer now."""

    def __init__(self, *, is_last: bool) -> None:
        self.is_last = is_last
        self.succeeded = False
        self.done = threading.Event()


class WriterThread:
    """Write one event file. The thread starts with the first request.

    Requests go through a `queue.SimpleQueue`, which is reentrant: signal handlers and finalizers,
    which may interrupt any line, can put to it without a deadlock.

    Args:
        buffer: Where the records come from.
        sink: Where they go.
        make_header: Returns the first record of a file.
        flush_interval_s: Maximum time that a record stays in the buffer.
        wake_bytes: Write earlier when the buffer holds this many bytes.
        wake_records: Write earlier when the buffer holds this many records.
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
        self._build_at: float | None = None
        self._earliest_write_at = 0.0
        self._retry_delay_s = 0.0
        self._dropped_records = 0
        self._finished = threading.Event()
        self.is_failing = False
        self.is_closed = False

    @property
    def has_finished(self) -> bool:
        """Whether the file is closed for good."""
        return self._finished.is_set()

    @property
    def location(self) -> str:
        """Path or URL of the file; the directory until the file exists."""
        return self._sink.location

    def open(self) -> None:
        """Create the file now instead of with the first record.

        Raises:
            OSError: The file cannot be created.
        """
        self._sink.open(self._make_header())

    def wake(self) -> None:
        """Notify the thread that the buffer is no longer empty, or has reached a threshold."""
        self._requests.put(None)
        self._ensure_started()

    def defer(self, make_event: Callable[[], bytes], size_bytes: int) -> bool:
        """Let the thread build a record.

        Args:
            make_event: Called once in the thread. Must not raise.
            size_bytes: Memory that ``make_event`` keeps alive.

        Returns:
            False if too much is queued already, or the writer is closed.
        """
        if self.is_closed:
            return False
        with self._deferred_lock:
            # Two counters, so that the thread can update its own without taking the lock.
            pending_bytes = self._deferred_bytes - self._built_bytes
            if pending_bytes and pending_bytes + size_bytes > _MAX_DEFERRED_BYTES:
                return False
            self._deferred_bytes += size_bytes
            self._deferred.append((make_event, size_bytes))
            is_first = len(self._deferred) == 1
        if is_first:  # otherwise the thread has not built the others yet
            self.wake()
        return True

    def flush(self, timeout_s: float | None = None) -> bool:
        """Wait until all accepted records are written. Return whether they are."""
        request = _FlushRequest(is_last=False)
        if self.is_closed:
            return self._finished.wait(timeout_s)
        self._requests.put(request)
        self._ensure_started()
        if self.has_finished:  # closed by another thread meanwhile; the request gets no reply
            return True
        return request.done.wait(timeout_s) and request.succeeded

    def wait_for_space(self) -> bool:
        """Wait until a full buffer has been written. Return False if the record must be dropped."""
        return self._wait_until_empty(self._buffer)

    def wait_for_deferred(self) -> bool:
        """Wait until all deferred records are built. Return False if the value must be dropped."""
        return self._wait_until_empty(self._deferred)

    def _wait_until_empty(self, pending: Sized) -> bool:
        if not self.is_failing and not self.is_closed:
            if self.flush(STALL_TIMEOUT_S) or not pending:
                return True
            self._report_failure(f"did not accept data for {STALL_TIMEOUT_S:.0f} seconds")
        self._dropped_records += 1
        if self._dropped_records == 1:
            _log.error("%s: the write buffer is full; dropping records", self.location)
        return False

    def close(self, timeout_s: float) -> bool:
        """Write all records, retrying until the timeout, and close the file.

        Returns:
            Whether the file is closed. Otherwise the thread closes it when it can.
        """
        deadline = time.monotonic() + timeout_s
        while not self.flush(max(0.0, deadline - time.monotonic())):
            if time.monotonic() + _MIN_RETRY_DELAY_S > deadline:
                break
            time.sleep(_MIN_RETRY_DELAY_S)
        self.finish()
        return self._finished.wait(max(_MIN_RETRY_DELAY_S, deadline - time.monotonic()))

    def finish(self) -> None:
        """Let the thread write all records and close the file, without waiting for it."""
        if not self.is_closed:
            self.is_closed = True
            self._requests.put(_FlushRequest(is_last=True))
            self._ensure_started()

    def detach(self) -> None:
        """In a forked child: leave the file and the buffered records to the parent."""
        self._sink.detach()

    def record_failure(self, error: Exception) -> None:
        """Report an error of the target and schedule the next attempt."""
        self._retry_delay_s = min(
            _MAX_RETRY_DELAY_S, max(_MIN_RETRY_DELAY_S, 2 * self._retry_delay_s)
        )
        self._next_write_at = time.monotonic() + self._retry_delay_s
        self._report_failure(f"cannot be written: {error}")

    def _ensure_started(self) -> None:
        # Non-blocking: the holder is starting the thread, possibly further up this very stack.
        if self._thread is not None or not self._start_lock.acquire(blocking=False):
            return
        try:
            if self._thread is None:
                thread = threading.Thread(target=self._run, name="tracklight", daemon=True)
                thread.start()
                self._thread = thread
        except RuntimeError:  # the interpreter is shutting down: no new threads
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

    def _handle(self, request: _FlushRequest | None) -> bool:
        """Write the buffer. Return whether this was the last request."""
        succeeded = self._write()
        if request is None:
            return False
        request.succeeded = succeeded
        if request.is_last:
            self._finish()
        request.done.set()
        return request.is_last

    def _wait_for_request(self) -> _FlushRequest | None:
        """Wait until the next write is due. Return the request for it, if there is one."""
        while True:
            if self._deferred and self._build_at is None and not self.is_failing:
                self._build_at = time.monotonic() + _BUILD_DELAY_S
            due = [at for at in (self._next_write_at, self._build_at) if at is not None]
            timeout = max(0.0, min(due) - time.monotonic()) if due else None
            try:
                request = self._requests.get(timeout=timeout)
            except queue.Empty:
                if self._build_at is None or self._build_at > time.monotonic():
                    return None
                self._build_deferred()
                self._schedule()
                continue
            if request is not None:
                return request
            if len(self._buffer):
                self._schedule()

    def _build_deferred(self) -> None:
        """Build deferred records until the buffer is full."""
        self._build_at = None
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
        buffer = self._buffer
        return len(buffer) >= self._wake_bytes or buffer.record_count >= self._wake_records

    def _write(self) -> bool:
        started = time.monotonic()
        self._next_write_at = None
        try:
            if not self._sink.is_open:
                self.open()
            self._write_batch()
            # Deferred records may fill the buffer several times. The bound keeps a producer that
            # never pauses from holding up the reply to a flush.
            for _ in range(1 + len(self._deferred)):
                self._build_deferred()
                self._batch = self._buffer.drain()
                self._write_batch()
            self._sink.sync()
        except Exception as error:  # remote file systems raise exceptions of any type
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
        """Continue in a new file, which needs the metadata of every tag again."""
        _log.warning("%s was removed; continuing in a new file", self.location)
        self.open()
        metadata = self._buffer.get_metadata()
        # In this order, a record that is added concurrently gets its metadata either from
        # `_restore_metadata` or from its own first value.
        self._buffer.clear_metadata()
        self._batch = _restore_metadata(self._batch + self._buffer.drain(), metadata)
        self._written = 0

    def _report_failure(self, problem: str) -> None:
        if not self.is_failing:
            _log.error("%s %s; keeping records in memory and retrying", self.location, problem)
        self.is_failing = True

    def _recover(self) -> None:
        self._retry_delay_s = 0.0
        if self.is_failing:
            self.is_failing = False
            self._report_dropped("%s is writable again; %d records were dropped")

    def _finish(self) -> None:
        unwritten_bytes = len(self._batch) - self._written + len(self._buffer)
        if unwritten_bytes:
            _log.error("%s: %d bytes of records were not written", self.location, unwritten_bytes)
        self._dropped_records += len(self._deferred)
        self._report_dropped("%s: %d records were dropped")
        self._sink.close()
        self._finished.set()

    def _report_dropped(self, message: str) -> None:
        if self._dropped_records:
            _log.error(message, self.location, self._dropped_records)
        self._dropped_records = 0


def _restore_metadata(records: bytes, metadata: Mapping[bytes, bytes]) -> bytes:
    """Return framed records with the metadata of each tag added to its first value."""
    from tracklight.formats.summary import decode_event
    from tracklight.formats.tfrecord import encode_record, iter_records

    described: set[bytes] = set()
    restored = []
    for _, payload in iter_records(records):
        event = decode_event(payload)
        for value in event.summary.value:
            if value.tag in metadata and value.tag not in described:
                value.metadata.ParseFromString(metadata[value.tag])
                described.add(value.tag)
        restored.append(encode_record(event.SerializeToString()))
    return b"".join(restored)


class _Forkable(Protocol):
    def reopen_after_fork(self) -> None:
        """In a forked child: continue in a separate file."""


_writers: weakref.WeakSet[_Forkable] = weakref.WeakSet()
#: Strong references, so that the last records of a garbage-collected writer are still written.
_threads: set[WriterThread] = set()
_registered_pid = 0
_is_sigterm_handled = False


def register_writer(writer: _Forkable) -> None:
    """Reopen a writer in forked children, and flush all writers on SIGTERM."""
    _writers.add(writer)
    _install_sigterm_handler()


def flush_at_exit(thread: WriterThread) -> None:
    """Write the records of a thread and close its file when the process exits."""
    if thread not in _threads:
        _threads.difference_update([other for other in _threads if other.has_finished])
        _threads.add(thread)
        _register_exit_handlers()


def is_exiting() -> bool:
    """Return whether the main thread has ended and only exit handlers still run."""
    return not threading.main_thread().is_alive()


def close_all() -> None:
    """Write all accepted records and close all files."""
    deadline = time.monotonic() + _EXIT_TIMEOUT_S
    for thread in list(_threads):
        thread.close(max(0.0, deadline - time.monotonic()))


def _register_exit_handlers() -> None:
    global _registered_pid
    if _registered_pid == os.getpid():
        return
    is_child = _registered_pid != 0
    _registered_pid = os.getpid()
    if not is_child:  # children inherit the registration
        atexit.register(close_all)
    if "multiprocessing.util" in sys.modules:
        # Children that are forked by multiprocessing exit without running atexit handlers.
        from multiprocessing.util import Finalize

        Finalize(None, close_all, exitpriority=-1)


def _install_sigterm_handler() -> None:
    """Flush on SIGTERM, then do what would have happened without this handler.

    Installed once, with the first writer, so that a handler that the program installs later is
    not replaced. Only the main thread may install handlers.
    """
    global _is_sigterm_handled
    if _is_sigterm_handled or threading.current_thread() is not threading.main_thread():
        return
    _is_sigterm_handled = True
    previous = signal.getsignal(signal.SIGTERM)
    if previous is None or previous is signal.SIG_IGN:  # None: installed by C code
        return

    def handle_sigterm(number: int, frame: FrameType | None) -> None:
        deadline = time.monotonic() + _SIGTERM_TIMEOUT_S
        for thread in list(_threads):
            thread.flush(max(0.0, deadline - time.monotonic()))
        _call_previous_handler(previous, number, frame)

    signal.signal(signal.SIGTERM, handle_sigterm)


def _call_previous_handler(
    previous: Callable[[int, FrameType | None], object] | int, number: int, frame: FrameType | None
) -> None:
    if callable(previous):
        previous(number, frame)
        return
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


def _after_fork_in_child() -> None:
    _threads.clear()
    for writer in list(_writers):
        writer.reopen_after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
